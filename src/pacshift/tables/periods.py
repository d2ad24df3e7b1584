"""A table cut into periods: by a column of timestamps, by a number of rows, or one file per period."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias, get_args

import numpy as np

from pacshift.arrays import IntArray, KeyArray
from pacshift.certificate import Certificate
from pacshift.errors import InputError
from pacshift.monitor.calendar import Unit, describe
from pacshift.monitor.periods import Counted, CountedRows
from pacshift.progress import Progress
from pacshift.rows.arrow.records import ScoreRows
from pacshift.rows.arrow.source import Records
from pacshift.scores.names import shorten
from pacshift.tables.groups import Choice
from pacshift.tables.keys import RowKeys, read_keys
from pacshift.tables.reader import TableReader
from pacshift.tables.timestamps import FIRST_YEAR, LAST_YEAR, column_days
from pacshift.tally import Tally
from pacshift.tally.counter import Counter, CountOptions
from pacshift.tally.groups import Grouped

NO_TIME = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class Calendar:
    """Days, weeks from Monday on, or months; ``column`` holds the time of each row."""

    column: str
    unit: Unit

    def keys(self, batch: Records) -> IntArray:
        """The first day of each row's period, since 1970; ``NO_TIME`` where there is none."""
        days = column_days(
            batch.data.column(batch.data.schema.get_field_index(self.column)), self.column, batch.file
        )
        first = days.astype("M8[M]").astype("M8[D]") if self.unit == "month" else days
        if self.unit == "week":
            first = days - (days.astype(np.int64) + 3) % 7  # 1970 began on a Thursday
        return np.where(np.isnat(days), NO_TIME, first.astype(np.int64))

    def describe(self, key: int) -> tuple[str, str, str]:
        """Name, first and last day of a period.

        >>> Calendar("seen", "month").describe(31), Calendar("seen", "week").describe(4)
        (('1970-02', '1970-02-01', '1970-02-28'), ('1970-W02', '1970-01-05', '1970-01-11'))
        """
        return describe(date(1970, 1, 1) + timedelta(days=key), self.unit)


@dataclass(frozen=True, slots=True)
class RowRanges:
    """Periods of ``length`` rows, in the order in which rows arrive; ``offset`` rows came before this file."""

    length: int
    offset: int
    column: None = None

    def keys(self, batch: Records) -> IntArray:
        first = self.offset + batch.first_row
        return np.arange(first, first + batch.data.num_rows) // self.length

    def describe(self, key: int) -> tuple[str, str, str]:
        """Name, first and last row of a period, counted from 1.

        >>> RowRanges(1000, 0).describe(2)
        ('rows 2001 to 3000', '2001', '3000')
        """
        first, last = key * self.length + 1, (key + 1) * self.length
        return f"rows {first} to {last}", str(first), str(last)


@dataclass(frozen=True, slots=True)
class WholeFile:
    """The file is one period, called like the file."""

    name: str
    column: None = None

    def keys(self, batch: Records) -> IntArray:
        return np.zeros(batch.data.num_rows, np.int64)

    def describe(self, _key: int) -> tuple[str, None, None]:
        return self.name, None, None


Cut: TypeAlias = Calendar | RowRanges | WholeFile


def read_period(text: str) -> Unit | int:
    """``day``, ``week``, ``month``, or a number of rows.

    >>> read_period("week"), read_period("5000")
    ('week', 5000)
    """
    for unit in get_args(Unit):
        if text == unit:
            return unit  # type: ignore[no-any-return]
    if re.fullmatch(r"[0-9]{1,15}", text) and int(text) > 0:
        return int(text)
    raise InputError(f"a period must be day, week, month or a number of rows, got {text!r}.")


@dataclass(eq=False)
class PeriodCounter:
    """Counts rows by period, with one counter each, and the sizes of the sets in use; any thread may add.

    Without ``options`` only sizes are counted. With ``row_keys`` rows that were counted before are left out.
    """

    cut: Cut
    n_classes: int
    options: CountOptions | None
    in_use: Certificate | None
    row_keys: RowKeys | None = None
    n_undated: int = 0
    counters: dict[int, Counter] = field(default_factory=dict)
    sizes: dict[int, IntArray] = field(default_factory=dict)
    keys: dict[int, list[KeyArray]] = field(default_factory=dict)
    again: dict[int, Counter] = field(default_factory=dict)
    moved: set[int] = field(default_factory=set)
    _lock: Any = field(default_factory=Lock)

    def add(self, rows: ScoreRows, batch: Records) -> None:
        """Count the usable rows of a batch."""
        periods, scores = self.cut.keys(batch), rows.scores
        periods = periods if rows.kept is None else periods[rows.kept]
        own_keys = None
        if self.row_keys is not None:
            own_keys, is_new, owner = self.row_keys.of(batch, rows.kept)
            self._add_again(periods, scores, owner, self.row_keys.periods)
            periods, scores, own_keys = periods[is_new], scores[is_new], own_keys[is_new]
        for key in np.unique(periods).tolist():
            own = periods == key
            if key == NO_TIME:
                with self._lock:
                    self.n_undated += int(own.sum())
                continue
            self._add_to(key, scores if own.all() else scores[own])
            if own_keys is not None:
                with self._lock:
                    self.keys.setdefault(key, []).append(own_keys[own])

    def _add_again(self, periods: IntArray, scores: Any, owner: IntArray, names: Sequence[str]) -> None:
        """Count rows that were counted before by the period that has them, and note which of them left it."""
        for place in np.unique(owner[owner >= 0]).tolist() if self.options is not None else ():
            own = owner == place
            self._counter(place, self.options, self.again).count(scores[own], None)
            now = [] if self.cut.column is None else np.unique(periods[own]).tolist()
            if any(key == NO_TIME or self.cut.describe(key)[0] != names[place] for key in now):
                self.moved.add(place)

    def _add_to(self, key: int, scores: Any) -> None:
        if self.in_use is not None:
            (sizes,) = self.in_use.sizes_of_rows(scores, [self.in_use.thresholds])
            with self._lock:
                self.sizes[key] = self.sizes.get(key, 0) + sizes
        if self.options is not None:
            self._counter(key, self.options, self.counters).count(scores, None)

    def _counter(self, key: int, options: CountOptions | None, counters: dict[int, Counter]) -> Counter:
        assert options is not None  # or only sizes are counted
        with self._lock:
            if key not in counters:
                counters[key] = Counter(self.n_classes, options, labelled=False)
            return counters[key]

    def result(self, classes: tuple[Any, ...], choice: Choice | None) -> dict[str, Counted]:
        """The counts of each period by its name, in the order of time; by ``choice`` of one row per group."""
        found = {}
        for key in sorted(self.counters):
            name, start, end = self.cut.describe(key)
            grouped = None if choice is None else Grouped(choice.n_by_period[key])
            tally = Tally.from_counter(self.counters[key], classes, grouped)
            keys = np.sort(np.concatenate(self.keys[key])) if key in self.keys else None
            found[name] = Counted(tally, start, end, self.sizes.get(key), keys)
        return found


def count_periods(
    file: Path,
    cut: Cut,
    *,
    classes: tuple[Any, ...],
    table: Mapping[str, Any] | None = None,
    soft: bool = False,
    softmax: bool = False,
    in_use: Certificate | None = None,
    drop_invalid: bool = False,
    keep: bool = False,
    key: str | None = None,
    known_keys: Mapping[str, KeyArray] | None = None,
    progress: Progress | None = None,
) -> CountedRows:
    """Count an unlabelled file period by period, in one pass; memory grows with the periods, not with the rows.

    ``table`` says how ``TableReader`` finds the score columns, ``keep`` that it keeps a small file in memory.
    ``key`` is a column that identifies rows: those among ``known_keys``, by period, are left out. Memory then
    grows by 17 bytes a row.
    """
    asked = dict(table or {})
    if asked.get("group") is not None and isinstance(cut, RowRanges):
        raise InputError(
            "periods of a number of rows cannot be told where one row of each group is counted. Use days, weeks, "
            "months or files as periods, or leave group= out."
        )
    reader = TableReader(file, label=None, classes=classes, keep=keep, within=cut.keys, softmax=softmax, **asked)
    require_column(reader, cut.column, "timestamps")
    require_column(reader, key, "keys")
    columns = [cut.column] if cut.column is not None else []
    row_keys = None if key is None else read_keys(reader, key, known_keys or {}, drop_invalid=drop_invalid)

    def run(counter: PeriodCounter, progress: Progress | None = None) -> PeriodCounter:
        for _ in reader.map_rows(counter.add, columns=columns, drop_invalid=drop_invalid, progress=progress):
            pass
        return counter

    def sizes(certificate: Certificate) -> dict[str, IntArray]:
        counted = run(PeriodCounter(cut, len(classes), None, certificate, row_keys)).sizes
        return {cut.describe(key)[0]: counts for key, counts in counted.items()}

    options = CountOptions(soft=soft, softmax=softmax)
    counter = run(PeriodCounter(cut, len(classes), options, in_use, row_keys), progress)
    if counter.n_undated and not drop_invalid:
        raise InputError(
            f"{file}: {counter.n_undated} row(s) have no timestamp in column {cut.column!r}, or one outside the "
            f"years {FIRST_YEAR} to {LAST_YEAR} (9999-12-31 often stands for none). Correct them, or leave the "
            "rows out with drop_invalid=True."
        )
    n_known, n_keyless = (0, 0) if row_keys is None else (row_keys.n_known, row_keys.n_missing)
    n_dropped = reader.faults.n_rows + counter.n_undated + n_keyless
    names = [] if row_keys is None else row_keys.periods
    again = {names[place]: Tally.from_counter(found, classes) for place, found in sorted(counter.again.items())}
    moved = [names[place] for place in sorted(counter.moved)]
    periods = counter.result(classes, reader.choice)
    digest = None if reader.choice is None else reader.choice.digest
    return CountedRows(periods, reader.n_in_all, sizes, n_dropped, n_known, again, moved, digest)


def require_column(reader: TableReader, name: str | None, holding: str) -> None:
    """Refuse a file without a column that was named."""
    names = reader.source.schema.names
    if name is not None and name not in names:
        raise InputError(
            f"{reader.source.files[0]}: no column {name!r} with {holding}. The columns are {shorten(names)}."
        )
