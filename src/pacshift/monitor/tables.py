"""Tables cut into periods and counted: by a column of timestamps, or one file per period."""

from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pacshift.arrays import IntArray
from pacshift.certificate import Certificate
from pacshift.errors import InputError, param
from pacshift.monitor.calendar import Unit, describe
from pacshift.monitor.periods import CountedRows, Period
from pacshift.rows.arrow.source import without_codes
from pacshift.rows.base import CheckedRows, require_few
from pacshift.rows.groups import OnePerGroup, require_few_groups
from pacshift.scores.names import shorten
from pacshift.tally import Tally
from pacshift.tally.counter import Counter, CountOptions
from pacshift.tally.inputs import Grouped
from pacshift.words.numbers import have, plural

NO_TIME = np.iinfo(np.int64).min
FIRST_YEAR, LAST_YEAR = 1901, 2199
"""Times outside are no times: 1900-01-01 and 9999-12-31 stand for "unknown" or "open" in many databases."""

_BELOW_SECONDS = r"(?i)(:[0-9]{2})(?:[.,][0-9]+)?(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)?$"  # and the zone


@dataclass(frozen=True, slots=True)
class PeriodRule:
    """How rows are cut into periods.

    By the calendar, if ``column`` holds the time of each row: days, weeks from Monday on, or months. Without a
    column the file is one period, called ``name``.
    """

    unit: Unit = "month"
    column: str | None = None
    name: str = ""

    def keys(self, batch: Any) -> IntArray:
        """The first day of each row's period since 1970, ``NO_TIME`` where there is none; 0 for a whole file."""
        if self.column is None:
            return np.zeros(batch.n_rows, np.int64)
        days = column_days(batch.data.column(self.column), self.column, batch.file)
        start = days.astype("M8[M]").astype("M8[D]") if self.unit == "month" else days
        if self.unit == "week":
            start = days - (days.astype(np.int64) + 3) % 7  # 1970 began on a Thursday
        return np.where(np.isnat(days), NO_TIME, start.astype(np.int64))

    def describe(self, key: int) -> tuple[str, str | None, str | None]:
        """Name, first and last day of a period.

        >>> PeriodRule("month", "seen").describe(31), PeriodRule(name="May").describe(0)
        (('1970-02', '1970-02-01', '1970-02-28'), ('May', None, None))
        """
        if self.column is None:
            return self.name, None, None
        return describe(date(1970, 1, 1) + timedelta(days=key), self.unit)


def count_periods(
    rows: CheckedRows, rule: PeriodRule, *, soft: bool = False, in_use: Certificate | None = None
) -> CountedRows:
    """Count an unlabelled table period by period, in one pass; memory grows with the periods, not with the rows.

    One row of each group is one of each group and period if they are read ``within=rule.keys``.
    """
    if rule.column is not None and rule.column not in rows.column_names:
        raise InputError(
            f"{rows.described}: no column {rule.column!r} with timestamps. The columns are "
            f"{shorten(rows.column_names)}."
        )
    counts = _ByPeriod(rule, len(rows.classes), CountOptions(soft=soft), in_use)
    for _ in rows.fold(counts.add, "counting", keep=[rule.column] if rule.column else [], every=True):
        pass
    if counts.n_undated and not rows.drop_invalid:
        raise InputError(
            f"{rows.described}: {have(counts.n_undated, 'row')} no timestamp in column {rule.column!r}, or one "
            f"outside the years {FIRST_YEAR} to {LAST_YEAR} (9999-12-31 often stands for none). Correct them, or "
            f"leave the rows out with {param('drop_invalid=True')}."
        )
    n_rows, n_dropped = rows.last_scan.n_rows, rows.last_scan.faults.n_rows + counts.n_undated
    require_few(n_dropped, n_rows, rows.drop_invalid, f"{plural(n_dropped, 'row')} cannot be used")
    choice = rows.choice if isinstance(rows, OnePerGroup) else None
    n_lost = {} if choice is None else choice.n_lost
    periods: dict[str, Period] = {}
    for key in sorted({*counts.counters, *counts.n_unusable, *n_lost} - {NO_TIME}):
        name, start, end = rule.describe(key)
        if key in counts.counters:
            grouped = None if choice is None else Grouped(choice.n_by_period[key])
            tally = Tally.from_counter(counts.counters[key], rows.classes, grouped)
            periods[name] = Period(name, start, end, replace(tally, softmax=rows.softmax), counts.sizes.get(key))
        n_kept, n_bad = periods[name].target.n_target if name in periods else 0, counts.n_unusable.get(key, 0)
        what = f"{plural(n_bad, 'row')} of {name} cannot be used"
        require_few(n_bad, n_bad + n_kept, rows.drop_invalid, what)
        require_few_groups(n_lost.get(key, 0), n_kept, rows.drop_invalid, name)
    return CountedRows(periods, n_rows, n_dropped, None if choice is None else choice.digest)


@dataclass(eq=False)
class _ByPeriod:
    """Counts rows by period, with one counter each, and the sizes of the sets in use; any thread may add.

    ``n_unusable`` counts the rows of each period that cannot be used.
    """

    rule: PeriodRule
    n_classes: int
    options: CountOptions
    in_use: Certificate | None
    n_undated: int = 0
    n_unusable: dict[int, int] = field(default_factory=dict)
    counters: dict[int, Counter] = field(default_factory=dict)
    sizes: dict[int, IntArray] = field(default_factory=dict)
    _lock: Any = field(default_factory=Lock)

    def add(self, batch: Any) -> bool:
        """Count the usable rows of a batch."""
        keys = self.rule.keys(batch)
        if batch.kept is not None:
            unusable = np.unique(keys[~batch.kept], return_counts=True)
            with self._lock:
                for key, n_rows in zip(*(each.tolist() for each in unusable), strict=True):
                    self.n_unusable[key] = self.n_unusable.get(key, 0) + n_rows
            keys = keys[batch.kept]
        for key in np.unique(keys).tolist():
            is_inside = keys == key
            if key == NO_TIME:
                with self._lock:
                    self.n_undated += int(is_inside.sum())
                continue
            of_period = slice(None) if is_inside.all() else is_inside
            if self.in_use is not None:
                sizes = self.in_use.sizes_of_rows(batch.raw_scores[of_period])
                with self._lock:
                    self.sizes[key] = self.sizes.get(key, 0) + sizes
            with self._lock:
                if key not in self.counters:
                    self.counters[key] = Counter(self.n_classes, self.options, labelled=False)
            self.counters[key].count(batch.scores[of_period], None)
        return True


def column_days(column: Any, name: str, file: str) -> Any:
    """The day of each timestamp in its own time zone, NaT where there is none. Texts are read as ISO dates."""
    column = without_codes(column)
    kind = column.type
    is_text, is_time = pa.types.is_string(kind) or pa.types.is_large_string(kind), pa.types.is_timestamp(kind)
    if not (is_text or is_time or pa.types.is_date(kind) or pa.types.is_null(kind)):
        raise InputError(
            f"{file}: column {name!r} holds {kind}, not timestamps. Convert it to dates or timestamps."
        )
    if is_text:  # 23:30+02:00 is half past eleven where it was written
        column = pc.replace_substring_regex(column, pattern=_BELOW_SECONDS, replacement=r"\1")
    if is_time and kind.tz is not None:
        try:
            column = pc.local_timestamp(column)
        except pa.ArrowInvalid:
            raise InputError(
                f"{file}: column {name!r} is in the time zone {kind.tz!r}, which this machine does not know. "
                "Convert it to UTC or another known zone, or install the time zone database (pip install tzdata)."
            ) from None
    try:
        days = column.cast(pa.timestamp("s"), safe=is_text).to_numpy(zero_copy_only=False).astype("M8[D]")
    except pa.ArrowInvalid as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{file}: column {name!r} holds texts that are not ISO dates ({reason}).") from None
    years = days.astype("M8[Y]").astype(np.int64) + 1970
    return np.where((years < FIRST_YEAR) | (years > LAST_YEAR), np.datetime64("NaT"), days)
