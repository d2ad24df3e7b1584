"""The history with its gaps: what there is to see at each place of the time axis."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from pacshift.monitor.calendar import Gap
from pacshift.monitor.report import PeriodReport

Timeline: TypeAlias = list[PeriodReport | Gap]


def timeline(history: Iterable[PeriodReport], gaps: Sequence[Gap]) -> Timeline:
    """Reports in their order, and each gap before the first period after it."""
    found: Timeline = []
    left = list(gaps)
    for report in history:
        while left and report.start is not None and left[0].end < report.start:
            found.append(left.pop(0))
        found.append(report)
    return [*found, *left]
