"""A period: its counts, which grow until it is counted anew, and the last report about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np

from pacshift.arrays import IntArray, KeyArray
from pacshift.monitor.report import PeriodReport
from pacshift.rows.sets import mean_and_empty
from pacshift.tally import Tally


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """New rows of a period.

    ``set_sizes[s]`` counts the sets in use with s labels; None where they were not counted. ``keys`` are hashes of
    what identifies each row; None where rows have no keys.
    """

    target: Tally
    start: str | None = None
    end: str | None = None
    set_sizes: IntArray | None = None
    keys: KeyArray | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Period:
    """All rows of a period so far. ``sized_by`` numbers the certificate that ``set_sizes`` belong to."""

    name: str
    start: str | None
    end: str | None
    target: Tally
    set_sizes: IntArray | None = None
    sized_by: int = 0
    report: PeriodReport | None = None
    keys: KeyArray | None = None

    @classmethod
    def of(cls, name: str, counted: Counted, in_use_number: int) -> "Period":
        """A period with its first rows."""
        sizes = counted.set_sizes
        return cls(name, counted.start, counted.end, counted.target, sizes, in_use_number, keys=counted.keys)

    def plus(self, counted: Counted, in_use_number: int) -> "Period":
        """The period with more rows. Sizes that not all rows have under one certificate are dropped."""
        known = self.set_sizes is not None and counted.set_sizes is not None and self.sized_by == in_use_number
        sizes = self.set_sizes + counted.set_sizes if known else None  # type: ignore[operator]
        ends = [end for end in (self.end, counted.end) if end is not None]
        return replace(
            self,
            target=self.target + counted.target,
            set_sizes=sizes,
            sized_by=in_use_number,
            end=max(ends, key=_number) if ends else None,
            keys=None if self.keys is None or counted.keys is None else np.append(self.keys, counted.keys),
        )

    @property
    def is_reported(self) -> bool:
        """Whether the last report saw all rows."""
        return self.report is not None and self.report.rows == self.target.n_target

    def sized(self, counts: IntArray, in_use_number: int) -> "Period":
        """The period with the sizes of its sets; the same period if they do not cover all rows."""
        if counts.sum() != self.target.n_target:
            return self
        size, empty = mean_and_empty(counts)
        report = None if self.report is None else replace(self.report, size=size, empty=empty)
        return replace(self, set_sizes=counts, sized_by=in_use_number, report=report)


Periods = Mapping[str, Period]
"""By name, in the order in which they came."""


def in_order(periods: Periods) -> list[Period]:
    """By their start, and those without one by their arrival."""
    # Sorting keeps the order of arrival where starts are equal.
    return sorted(periods.values(), key=lambda period: 0 if period.start is None else _number(period.start))


def with_rows(periods: Periods, counted: Mapping[str, Counted], in_use_number: int) -> dict[str, Period]:
    """The periods with new rows, by the name of the period."""
    found = dict(periods)
    for name, part in counted.items():
        known = found.get(name)
        found[name] = Period.of(name, part, in_use_number) if known is None else known.plus(part, in_use_number)
    return found


def recounted(periods: Periods, counted: Mapping[str, Counted], in_use_number: int) -> dict[str, Period]:
    """The periods with some of them counted anew, each in its place, without a report: that was on other rows."""
    return {
        name: Period.of(name, counted[name], in_use_number) if name in counted else period
        for name, period in periods.items()
    }


def sum_of(parts: Sequence[Counted]) -> Counted:
    """The rows of several files as those of one."""
    whole = Period.of("", parts[0], 0)
    for part in parts[1:]:
        whole = whole.plus(part, 0)
    return Counted(whole.target, whole.start, whole.end, whole.set_sizes, whole.keys)


def _number(text: str) -> int:
    """A day or a row number as an integer, so that it sorts; 0 for any other text."""
    try:
        return date.fromisoformat(text).toordinal()
    except ValueError:
        return int(text) if text.isascii() and text.isdigit() else 0
