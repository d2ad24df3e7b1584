"""Tables whose rows come in groups: a first pass chooses one row of each group, later passes read only these.

The first pass keeps two numbers of 64 bits for every row, and no row itself (``pacshift.tally.groups``).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pacshift.arrays import BoolArray, IntArray
from pacshift.errors import InputError
from pacshift.scores.names import NOT_FOUND, is_missing, text_of
from pacshift.scores.transforms import mixed
from pacshift.tables.columns.layout import Layout
from pacshift.tables.rows import Faults, batch_labels, first_place, plain_array, score_rows
from pacshift.tables.sources.base import Batch, without_codes
from pacshift.tally.coins import group_coins
from pacshift.tally.groups import choose_rows, row_keys

NO_GROUP = "no group id"


@dataclass(frozen=True, slots=True, eq=False)
class BatchKeys:
    """What the choice needs of a batch: its usable rows, and of each the coin of its group and its own number.

    ``marks`` tell rows of equal scores apart, where only some rows have a label.
    """

    kept: BoolArray
    groups: NDArray[np.uint64]
    rows: NDArray[np.uint64]
    n_by_period: dict[int, int]
    marks: IntArray | None = None


def batch_keys(
    batch: Batch,
    layout: Layout,
    periods: IntArray | None = None,
    *,
    some_labels: bool = False,
    softmax: bool = False,
) -> tuple[BatchKeys, Faults]:
    """The keys of the usable rows, and what is wrong with the others.

    With ``some_labels`` rows without a label are usable too: the choice is that of unlabelled rows, and labels
    only tell rows of equal scores apart.
    """
    scored = layout.without_label() if some_labels else layout
    rows, (groups, missing) = score_rows(batch, scored, softmax=softmax), group_keys(batch, layout, periods)
    usable = np.ones(batch.data.num_rows, bool) if rows.kept is None else rows.kept
    kept, bad = usable & ~missing, usable & missing
    if bad.any():
        n_bad = int(bad.sum())
        rows.faults.add(Faults(n_bad, Counter({NO_GROUP: n_bad}), first_place(batch, bad)))
    own = kept[usable]
    keys = row_keys(rows.scores[own], None if rows.index is None else rows.index[own])
    whole = np.zeros(len(kept), np.int64) if periods is None else periods
    found, counts = np.unique(whole[kept], return_counts=True)
    n_by_period = dict(zip(found.tolist(), counts.tolist(), strict=True))
    marks = batch_labels(batch, layout) if some_labels else None
    if marks is not None:  # also labels of rows that will not be chosen: nothing is left out silently
        unknown = marks == NOT_FOUND
        place = first_place(batch, unknown, value_of=len(layout.columns))
        rows.faults.add(Faults(n_unknown=int(unknown.sum()), first_unknown=place))
    return BatchKeys(kept, groups[kept], keys, n_by_period, None if marks is None else marks[kept]), rows.faults


def group_keys(
    batch: Batch, layout: Layout, periods: IntArray | None = None
) -> tuple[NDArray[np.uint64], BoolArray]:
    """The coin of each row's group, another one in every period where there are any, and which rows name none."""
    column = without_codes(batch.data.column(len(layout.columns) + (layout.label is not None)))
    encoded = column.dictionary_encode()
    names = [None if is_missing(name) else text_of(name) for name in [*encoded.dictionary.to_pylist(), None]]
    codes = plain_array(encoded.indices.fill_null(len(names) - 1))
    coins = group_coins(name or "" for name in names)[codes]
    if periods is not None:
        coins = mixed(coins + mixed(periods.astype(np.uint64)))
    return coins, np.array([name is None for name in names])[codes]


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """One row of each group.

    ``places`` numbers the rows in the order in which the table is read, ``groups`` are the coins of their groups,
    and ``n_by_period`` counts the usable rows in all, under 0 where there are no periods.
    """

    places: IntArray
    groups: NDArray[np.uint64]
    n_by_period: dict[int, int]
    faults: Faults

    @property
    def n_rows(self) -> int:
        """Usable rows in all."""
        return sum(self.n_by_period.values())

    @classmethod
    def of(cls, parts: Sequence[BatchKeys], faults: Faults) -> "Choice":
        """The choice among the rows of all batches, in their order."""
        usable = np.flatnonzero(np.concatenate([part.kept for part in parts]))
        groups, rows = (np.concatenate([getattr(part, name) for part in parts]) for name in ("groups", "rows"))
        marks = [part.marks for part in parts if part.marks is not None]
        chosen = choose_rows(groups, rows, np.concatenate(marks) if marks else None)
        n_by_period: Counter[int] = Counter()
        for part in parts:
            n_by_period.update(part.n_by_period)
        return cls(usable[chosen], groups[chosen], n_by_period, faults)

    def only(self, batches: Iterable[Batch], groups_of: Callable[[Batch], NDArray[np.uint64]]) -> Iterator[Batch]:
        """The chosen rows of every batch. A table that gives its rows in another order this time is refused."""
        first = 0
        for batch in batches:
            batch.require_sound()
            start, stop = np.searchsorted(self.places, [first, first + batch.data.num_rows])
            part = Batch(_taken(batch.data, self.places[start:stop] - first), batch.file, batch.first_row)
            if not np.array_equal(groups_of(part), self.groups[start:stop]):
                raise InputError(
                    f"{batch.file}: the rows came in another order when they were read again, so that one row of "
                    "each group cannot be told. Sort the table, or save it as a file first."
                )
            first += batch.data.num_rows
            yield part


def without_view(column: Any) -> Any:
    """Texts that Arrow can take from; views as plain texts, which older releases of Arrow cannot cast."""
    is_view = getattr(pa.types, "is_string_view", lambda _kind: False)
    if not is_view(column.type):
        return column
    try:
        return column.cast(pa.string())
    except pa.ArrowNotImplementedError:
        return pa.array(column.to_pylist(), pa.string())


def _taken(rows: Any, places: IntArray) -> Any:
    """Some rows of a record batch. Arrow cannot take from views of texts, which polars gives."""
    columns = [without_view(column) for column in rows.columns]
    return pa.RecordBatch.from_arrays([column.take(pa.array(places)) for column in columns], rows.schema.names)
