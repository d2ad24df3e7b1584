"""After the first certificate: is it still right, period after period?"""

from pacshift.monitor.monitor import Monitor
from pacshift.monitor.report import PeriodReport

__all__ = ["Monitor", "PeriodReport"]
