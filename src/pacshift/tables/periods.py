"""A table cut into periods: by a column of timestamps, by a number of rows, or one file per period."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pacshift.arrays import IntArray
from pacshift.certificate import Certificate
from pacshift.certificate.sets import count_sizes
from pacshift.errors import InputError
from pacshift.monitor.periods import Counted
from pacshift.progress import Progress
from pacshift.tables.reader import TableReader
from pacshift.tables.rows import ScoreRows
from pacshift.tables.sources.base import Batch, without_codes
from pacshift.tally import Tally
from pacshift.tally.counter import Counter, CountOptions

NO_TIME = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class Calendar:
    """Days, weeks from Monday on, or months; ``column`` holds the time of each row."""

    column: str
    unit: str

    def keys(self, batch: Batch) -> IntArray:
        """The first day of each row's period, since 1970; ``NO_TIME`` where there is none."""
        days = _days(batch.data.column(batch.data.schema.get_field_index(self.column)), self.column, batch.file)
        first = days.astype("M8[M]").astype("M8[D]") if self.unit == "month" else days
        if self.unit == "week":
            first = days - (days.astype(np.int64) + 3) % 7  # 1970 began on a Thursday
        return np.where(np.isnat(days), NO_TIME, first.astype(np.int64))

    def describe(self, key: int) -> tuple[str, str, str]:
        """Name, first and last day of a period.

        >>> Calendar("seen", "month").describe(31), Calendar("seen", "week").describe(4)
        (('1970-02', '1970-02-01', '1970-02-28'), ('1970-W02', '1970-01-05', '1970-01-11'))
        """
        first = last = date(1970, 1, 1) + timedelta(days=key)
        name = first.isoformat()
        if self.unit == "month":
            last = (first.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)
            name = f"{first:%Y-%m}"
        elif self.unit == "week":
            last = first + timedelta(days=6)
            name = f"{first:%G-W%V}"
        return name, first.isoformat(), last.isoformat()


@dataclass(frozen=True, slots=True)
class RowRanges:
    """Periods of ``length`` rows, in the order in which rows arrive; ``offset`` rows came before this file."""

    length: int
    offset: int
    column: None = None

    def keys(self, batch: Batch) -> IntArray:
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

    def keys(self, batch: Batch) -> IntArray:
        return np.zeros(batch.data.num_rows, np.int64)

    def describe(self, _key: int) -> tuple[str, None, None]:
        return self.name, None, None


Cut: TypeAlias = Calendar | RowRanges | WholeFile


def read_period(text: str) -> str | int:
    """``day``, ``week``, ``month``, or a number of rows.

    >>> read_period("week"), read_period("5000")
    ('week', 5000)
    """
    if text in ("day", "week", "month"):
        return text
    if text.isdigit() and int(text) > 0:
        return int(text)
    raise InputError(f"a period must be day, week, month or a number of rows, got {text!r}.")


@dataclass(eq=False)
class PeriodCounter:
    """Counts rows by period, with one counter each, and the sizes of the sets in use; any thread may add.

    Without ``options`` only sizes are counted.
    """

    cut: Cut
    n_classes: int
    options: CountOptions | None
    in_use: Certificate | None
    n_undated: int = 0
    counters: dict[int, Counter] = field(default_factory=dict)
    sizes: dict[int, IntArray] = field(default_factory=dict)
    _lock: Any = field(default_factory=Lock)

    def add(self, rows: ScoreRows, batch: Batch) -> None:
        """Count the usable rows of a batch."""
        keys = self.cut.keys(batch)
        keys = keys if rows.kept is None else keys[rows.kept]
        for key in np.unique(keys).tolist():
            own = keys == key
            if key == NO_TIME:
                with self._lock:
                    self.n_undated += int(own.sum())
                continue
            scores = rows.scores if own.all() else rows.scores[own]
            if self.in_use is not None:
                sizes = count_sizes(self.in_use.sets_of_rows(scores))
                with self._lock:
                    self.sizes[key] = self.sizes.get(key, 0) + sizes
            if self.options is not None:
                self._counter(key, self.options).count(scores, None)

    def _counter(self, key: int, options: CountOptions) -> Counter:
        with self._lock:
            if key not in self.counters:
                self.counters[key] = Counter(self.n_classes, options, labelled=False)
            return self.counters[key]

    def result(self, classes: tuple[Any, ...]) -> dict[str, Counted]:
        """The counts of each period by its name, in the order of time."""
        found = {}
        for key in sorted(self.counters):
            name, start, end = self.cut.describe(key)
            tally = Tally.from_counter(self.counters[key], classes)
            found[name] = Counted(tally, start, end, self.sizes.get(key))
        return found


@dataclass(frozen=True, slots=True, eq=False)
class CountedFile:
    """The counts of a file by period, its rows in all, and how many of them were left out.

    ``sizes`` counts the sizes of a certificate's sets by period. It reads the file again, unless it was kept.
    """

    periods: dict[str, Counted]
    n_rows: int
    n_dropped: int
    sizes: Callable[[Certificate], dict[str, IntArray]]


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
    progress: Progress | None = None,
) -> CountedFile:
    """Count an unlabelled file period by period, in one pass; memory grows with the periods, not with the rows.

    ``table`` says how ``TableReader`` finds the score columns, ``keep`` that it keeps a small file in memory.
    """
    reader = TableReader(file, label=None, classes=classes, keep=keep, softmax=softmax, **(table or {}))
    if cut.column is not None and cut.column not in reader.source.schema.names:
        names = ", ".join(map(str, reader.source.schema.names[:20]))
        raise InputError(f"{file}: no column {cut.column!r} with timestamps. The columns are {names}.")
    columns = [cut.column] if cut.column is not None else []

    def run(counter: PeriodCounter, progress: Progress | None = None) -> PeriodCounter:
        for _ in reader.map_rows(counter.add, columns=columns, drop_invalid=drop_invalid, progress=progress):
            pass
        return counter

    def sizes(certificate: Certificate) -> dict[str, IntArray]:
        counted = run(PeriodCounter(cut, len(classes), None, certificate)).sizes
        return {cut.describe(key)[0]: counts for key, counts in counted.items()}

    counter = run(PeriodCounter(cut, len(classes), CountOptions(soft=soft, softmax=softmax), in_use), progress)
    if counter.n_undated and not drop_invalid:
        raise InputError(
            f"{file}: {counter.n_undated} row(s) have no timestamp in column {cut.column!r}. "
            "Fill them in, or leave the rows out with drop_invalid=True."
        )
    return CountedFile(counter.result(classes), reader.n_rows, reader.faults.n_rows + counter.n_undated, sizes)


def _days(column: Any, name: str, file: str) -> Any:
    """Timestamps as days, in their own time zone; texts are read as ISO dates."""
    column = without_codes(column)
    kind = column.type
    is_text, is_time = pa.types.is_string(kind) or pa.types.is_large_string(kind), pa.types.is_timestamp(kind)
    if not (is_text or is_time or pa.types.is_date(kind) or pa.types.is_null(kind)):
        raise InputError(
            f"{file}: column {name!r} holds {kind}, not timestamps. Convert it to dates or timestamps."
        )
    try:
        column = pc.local_timestamp(column) if is_time and kind.tz is not None else column
        return column.cast(pa.timestamp("s"), safe=is_text).to_numpy(zero_copy_only=False).astype("M8[D]")
    except pa.ArrowInvalid as error:
        said = str(error).splitlines()[0]
        raise InputError(f"{file}: column {name!r} holds texts that are not ISO dates ({said}).") from None
