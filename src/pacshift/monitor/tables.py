"""Tables cut into periods and counted: by a column of timestamps, by a number of rows, or one file per period.

A column may identify rows, so that those that were counted before are left out. Only hashes of it are kept.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from hashlib import blake2b
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pacshift.arrays import BoolArray, IntArray, KeyArray
from pacshift.certificate import Certificate
from pacshift.errors import InputError
from pacshift.monitor.calendar import Unit, describe
from pacshift.monitor.periods import CountedRows, Period
from pacshift.rows.arrow.source import Source, without_codes
from pacshift.rows.arrow.table import ArrowRows
from pacshift.rows.base import CheckedRows, require_few
from pacshift.rows.groups import OnePerGroup, require_few_groups
from pacshift.scores.names import shorten
from pacshift.tally import Tally
from pacshift.tally.counter import Counter, CountOptions
from pacshift.tally.groups import Grouped
from pacshift.words.numbers import have, plural

NO_TIME = np.iinfo(np.int64).min
FIRST_YEAR, LAST_YEAR = 1901, 2199
"""Times outside are no times: 1900-01-01 and 9999-12-31 stand for "unknown" or "open" in many databases."""

_BELOW_SECONDS = r"(?i)(:[0-9]{2})(?:[.,][0-9]+)?(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)?$"  # and the zone
NEW, REPEATED, NO_KEY = -1, -2, -3
HASH_BYTES = 8
"""Two of 100 million rows share a hash with a probability of about 0.03 %."""


@dataclass(frozen=True, slots=True)
class Cut:
    """How rows are cut into periods.

    By the calendar, if ``column`` holds the time of each row: days, weeks from Monday on, or months. Or as many
    rows as ``unit`` says, in the order in which they arrive; ``offset`` rows came before this file. Without a unit
    the file is one period, called ``name``.
    """

    unit: Unit | int | None
    column: str | None = None
    offset: int = 0
    name: str = ""

    def keys(self, batch: Any) -> IntArray:
        """The period of each row: its number, or its first day since 1970, ``NO_TIME`` where there is none."""
        if self.column is None:
            first = self.offset + batch.first
            rows = np.arange(first, first + batch.n_rows)
            return rows // self.unit if isinstance(self.unit, int) else np.zeros_like(rows)
        days = column_days(batch.data.column(self.column), self.column, batch.file)
        start = days.astype("M8[M]").astype("M8[D]") if self.unit == "month" else days
        if self.unit == "week":
            start = days - (days.astype(np.int64) + 3) % 7  # 1970 began on a Thursday
        return np.where(np.isnat(days), NO_TIME, start.astype(np.int64))

    def describe(self, key: int) -> tuple[str, str | None, str | None]:
        """Name, first and last day of a period, or its first and last row, counted from 1.

        >>> Cut("month", "seen").describe(31), Cut(1000).describe(2), Cut(None, name="May").describe(0)
        (('1970-02', '1970-02-01', '1970-02-28'), ('rows 2001 to 3000', '2001', '3000'), ('May', None, None))
        """
        if self.unit is None:
            return self.name, None, None
        if not isinstance(self.unit, int):
            return describe(date(1970, 1, 1) + timedelta(days=key), self.unit)
        first, last = key * self.unit + 1, (key + 1) * self.unit
        return f"rows {first} to {last}", str(first), str(last)


def count_periods(
    rows: CheckedRows,
    cut: Cut,
    *,
    soft: bool = False,
    in_use: Certificate | None = None,
    key: str | None = None,
    known_keys: Mapping[str, KeyArray] | None = None,
) -> CountedRows:
    """Count an unlabelled table period by period, in one pass; memory grows with the periods, not with the rows.

    One row of each group is one of each group and period if they are read ``within=cut.keys``. ``key`` is a column
    that identifies rows: those among ``known_keys``, by period, are left out. Memory then grows by 17 bytes a row.
    """
    choice = rows.chooser if isinstance(rows, OnePerGroup) else None
    if choice is not None and isinstance(cut.unit, int):
        raise InputError(
            "periods of a number of rows cannot be told where one row of each group is counted. Use days, weeks, "
            "months or files as periods, or leave group= out."
        )
    table = rows.rows if isinstance(rows, OnePerGroup) else rows
    assert isinstance(table, ArrowRows)
    for column, holding in ((cut.column, "timestamps"), (key, "keys")):
        if column is not None and column not in table.source.schema.names:
            raise InputError(
                f"{rows.described}: no column {column!r} with {holding}. The columns are "
                f"{shorten(table.source.schema.names)}."
            )
    known, row_keys = known_keys or {}, None
    if key is not None:
        row_keys = read_keys(table.source, key, known, drop_invalid=rows.drop_invalid)

    def run(options: CountOptions | None, certificate: Certificate | None) -> _ByPeriod:
        found = _ByPeriod(cut, len(rows.classes), options, certificate, row_keys, list(known))
        keep = [] if cut.column is None else [cut.column]
        for _ in rows.fold(found.add, "counting", keep=keep, every=True):
            pass
        return found

    found = run(CountOptions(soft=soft, softmax=rows.softmax), in_use)
    if found.n_undated and not rows.drop_invalid:
        raise InputError(
            f"{rows.described}: {have(found.n_undated, 'row')} no timestamp in column {cut.column!r}, or one "
            f"outside the years {FIRST_YEAR} to {LAST_YEAR} (9999-12-31 often stands for none). Correct them, or "
            "leave the rows out with drop_invalid=True."
        )
    owner = np.empty(0, np.int64) if row_keys is None else row_keys[1]
    n_missing, n_rows = int((owner == NO_KEY).sum()), rows.last.n_rows
    n_dropped = rows.last.faults.n_rows + found.n_undated + n_missing
    require_few(n_dropped, n_rows, rows.drop_invalid, f"{plural(n_dropped, 'row')} cannot be used")
    periods: dict[str, Period] = {}
    for place in sorted(found.counters):
        name, start, end = cut.describe(place)
        grouped = None if choice is None else Grouped(choice.choose().n_by_period[place])
        tally = Tally.from_counter(found.counters[place], rows.classes, grouped)
        n_bad = found.n_unusable.pop(place, 0)
        what = f"{plural(n_bad, 'row')} of {name} cannot be used"
        require_few(n_bad, n_bad + tally.n_target, rows.drop_invalid, what)
        own = np.sort(np.concatenate(found.keys[place])) if place in found.keys else None
        periods[name] = Period(name, start, end, tally, found.sizes.get(place), keys=own)
    for place, n_lost in () if choice is None else choice.choose().n_lost.items():
        if place != NO_TIME:
            name = cut.describe(place)[0]
            n_chosen = periods[name].target.n_target if name in periods else 0
            require_few_groups(n_lost, n_chosen, rows.drop_invalid, name)
    for place, n_bad in found.n_unusable.items():  # periods of which no row is left
        if place != NO_TIME:
            what = f"{plural(n_bad, 'row')} of {cut.describe(place)[0]} cannot be used"
            require_few(n_bad, n_bad, rows.drop_invalid, what)
    return CountedRows(
        periods,
        n_rows,
        lambda certificate: {
            cut.describe(place)[0]: sizes for place, sizes in run(None, certificate).sizes.items()
        },
        n_dropped=n_dropped,
        n_known=len(owner) - n_missing - int((owner == NEW).sum()),
        again={name: Tally.from_counter(one, rows.classes) for name, one in sorted(found.again.items())},
        moved=sorted(found.moved),
        digest=None if choice is None else choice.choose().digest,
    )


@dataclass(eq=False)
class _ByPeriod:
    """Counts rows by period, with one counter each, and the sizes of the sets in use; any thread may add.

    Without ``options`` only sizes are counted. With ``row_keys`` rows that were counted before are
    left out: they are counted ``again`` by the period that has them (one of ``owners``), and ``moved`` are those
    periods that some of them have left. ``n_unusable`` counts the rows of each period that cannot be used.
    """

    cut: Cut
    n_classes: int
    options: CountOptions | None
    in_use: Certificate | None
    row_keys: tuple[KeyArray, IntArray] | None
    owners: Sequence[str]
    n_undated: int = 0
    n_unusable: dict[int, int] = field(default_factory=dict)
    counters: dict[int, Counter] = field(default_factory=dict)
    sizes: dict[int, IntArray] = field(default_factory=dict)
    keys: dict[int, list[KeyArray]] = field(default_factory=dict)
    again: dict[str, Counter] = field(default_factory=dict)
    moved: set[str] = field(default_factory=set)
    _lock: Any = field(default_factory=Lock)

    def add(self, batch: Any) -> bool:
        """Count the usable rows of a batch."""
        kept, periods = slice(None) if batch.kept is None else batch.kept, self.cut.keys(batch)
        if batch.kept is not None:
            places, counts = np.unique(periods[~batch.kept], return_counts=True)
            with self._lock:
                for place, count in zip(places.tolist(), counts.tolist(), strict=True):
                    self.n_unusable[place] = self.n_unusable.get(place, 0) + count
        periods, scores, own_keys = periods[kept], batch.given, None
        if self.row_keys is not None:
            part = slice(batch.first, batch.first + batch.n_rows)
            own_keys, owner = (each[part][kept] for each in self.row_keys)
            for place in np.unique(owner[owner >= 0]).tolist() if self.options is not None else ():
                own, name = owner == place, self.owners[place]
                self._count(name, scores[own], self.again)
                now = [] if self.cut.column is None else np.unique(periods[own]).tolist()
                if any(key == NO_TIME or self.cut.describe(key)[0] != name for key in now):
                    self.moved.add(name)
            periods, scores, own_keys = (each[owner == NEW] for each in (periods, scores, own_keys))
        for key in np.unique(periods).tolist():
            own = periods == key
            if key == NO_TIME:
                with self._lock:
                    self.n_undated += int(own.sum())
                continue
            of_period = scores if own.all() else scores[own]
            if self.in_use is not None:
                sizes = self.in_use.sizes_of_rows(of_period)
                with self._lock:
                    self.sizes[key] = self.sizes.get(key, 0) + sizes
            self._count(key, of_period, self.counters)
            if own_keys is not None:
                with self._lock:
                    self.keys.setdefault(key, []).append(own_keys[own])
        return True

    def _count(self, key: Any, scores: Any, counters: dict[Any, Counter]) -> None:
        if self.options is None:
            return
        with self._lock:
            if key not in counters:
                counters[key] = Counter(self.n_classes, self.options, labelled=False)
            counter = counters[key]
        counter.count(scores, None)


def read_keys(
    source: Source, column: str, known: Mapping[str, KeyArray], *, drop_invalid: float
) -> tuple[KeyArray, IntArray]:
    """The hash of each row's key in a file, and the place in ``known`` of the period that has counted the row.

    It is ``NEW`` for rows to count, ``REPEATED`` where an earlier row of the file has the same key, or ``NO_KEY``.
    Hashed are texts, so that 7 in Parquet and 7 in CSV are one key.
    """
    hashed: list[KeyArray] = []
    empty: list[BoolArray] = []
    for batch in source.batches([], 1, (), [column]):
        values = without_codes(batch.data.column(0))
        try:
            texts = values.cast(pa.string()).to_pylist()
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise InputError(
                f"{batch.file}: column {column!r} holds {values.type}, which cannot be a key. Name a column of "
                "texts or numbers."
            ) from None
        found = (int.from_bytes(blake2b((text or "").encode(), digest_size=HASH_BYTES).digest()) for text in texts)
        hashed.append(np.fromiter(found, np.uint64, len(texts)))
        empty.append(np.array([not text for text in texts], np.bool_))
    hashes, missing = np.concatenate(hashed), np.concatenate(empty)
    if missing.any() and not drop_invalid:
        raise InputError(
            f"{have(int(missing.sum()), 'row')} no key in column {column!r}. Fill them in, or leave the rows out "
            "with drop_invalid=True."
        )
    owner = np.full(len(hashes), REPEATED)
    owner[np.unique(hashes, return_index=True)[1]] = NEW
    for place, keys in enumerate(known.values()):
        owner[(owner != REPEATED) & np.isin(hashes, keys)] = place
    owner[missing] = NO_KEY
    return hashes, owner


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
        said = str(error).splitlines()[0]
        raise InputError(f"{file}: column {name!r} holds texts that are not ISO dates ({said}).") from None
    years = days.astype("M8[Y]").astype(np.int64) + 1970
    return np.where((years < FIRST_YEAR) | (years > LAST_YEAR), np.datetime64("NaT"), days)
