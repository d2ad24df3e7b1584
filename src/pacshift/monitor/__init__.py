"""After the first certificate: is it still right, period after period?"""

from pacshift.monitor.monitor import Monitor
from pacshift.monitor.report import PeriodReport, history_rows, write_history

__all__ = ["Monitor", "PeriodReport", "history_rows", "write_history"]
