"""Tables whose rows come in groups: a first pass chooses one row of each group, later passes read only these.

The first pass keeps two numbers of 64 bits for every row and a digest of all, and no row itself
(``pacshift.tally.groups``).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pacshift.arrays import BoolArray, IntArray
from pacshift.errors import InputError
from pacshift.rows.arrow.layout import Layout
from pacshift.rows.arrow.records import batch_labels, first_place, plain_array, score_rows
from pacshift.rows.arrow.source import Records, without_codes
from pacshift.rows.faults import NO_GROUP, Faults
from pacshift.scores.names import NOT_FOUND, is_missing, text_of
from pacshift.tally.coins import group_coins, name_hashes, rows_digest
from pacshift.tally.groups import LabelsPer, choose_labelled, choose_rows, row_keys
from pacshift.tally.once import Role


@dataclass(frozen=True, slots=True, eq=False)
class BatchKeys:
    """What the choice needs of a batch: its usable rows, and of each the hash of its group and its own number.

    ``digests`` are those of each period's rows, under 0 where there are no ``periods``. ``marks`` are the labels,
    where only some rows have one.
    """

    kept: BoolArray
    names: NDArray[np.uint64]
    rows: NDArray[np.uint64]
    digests: dict[int, NDArray[np.uint64]]
    periods: IntArray | None = None
    marks: IntArray | None = None

    def coins(self, digests: Mapping[int, NDArray[np.uint64]], role: Role) -> NDArray[np.uint64]:
        """The coin of each row's group, thrown over all rows of its period, in whatever batch they are."""
        if self.periods is None:
            return group_coins(self.names, digests[0], role)
        coins = np.empty_like(self.names)
        for period in self.digests:
            own = self.periods == period
            coins[own] = group_coins(self.names[own], digests[period], role)
        return coins


def batch_keys(
    batch: Records,
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
    rows, (names, missing) = score_rows(batch, scored, softmax=softmax), group_names(batch, layout)
    usable = np.ones(batch.data.num_rows, bool) if rows.kept is None else rows.kept
    kept, bad = usable & ~missing, usable & missing
    if bad.any():
        n_bad = int(bad.sum())
        rows.faults.add(Faults(n_bad, Counter({NO_GROUP: n_bad}), first_place(batch, bad)))
    own = kept[usable]
    keys, names = row_keys(rows.scores[own], None if rows.index is None else rows.index[own]), names[kept]
    if periods is None:
        digests = {0: rows_digest(names, keys)}
    else:
        periods = periods[kept]
        each = ((period, periods == period) for period in np.unique(periods).tolist())
        digests = {period: rows_digest(names[rows], keys[rows]) for period, rows in each}
    marks = batch_labels(batch, layout) if some_labels else None
    if marks is not None:  # also labels of rows that will not be chosen: nothing is left out silently
        unknown = marks == NOT_FOUND
        place = first_place(batch, unknown, value_of=len(layout.columns))
        rows.faults.add(Faults(n_unknown=int(unknown.sum()), first_unknown=place))
    return BatchKeys(kept, names, keys, digests, periods, None if marks is None else marks[kept]), rows.faults


def group_names(batch: Records, layout: Layout) -> tuple[NDArray[np.uint64], BoolArray]:
    """The hash of the name of each row's group, and which rows name none."""
    column = without_codes(batch.data.column(len(layout.columns) + (layout.label is not None)))
    encoded = column.dictionary_encode()
    names = [None if is_missing(name) else text_of(name) for name in [*encoded.dictionary.to_pylist(), None]]
    codes = plain_array(encoded.indices.fill_null(len(names) - 1))
    return name_hashes(name or "" for name in names)[codes], np.array([name is None for name in names])[codes]


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """One row of each group.

    ``places`` numbers the rows in the order in which the table is read, ``names`` are the hashes of their groups,
    and ``n_by_period`` counts the usable rows in all, under 0 where there are no periods. ``digest``
    is that of all usable rows, in whatever periods. ``faults`` are those of the pass that chose, ``faults_of`` and
    ``rows_of`` the same and all rows by file.
    """

    places: IntArray
    names: NDArray[np.uint64]
    n_by_period: dict[int, int]
    digest: str
    faults: Faults = field(default_factory=Faults)
    faults_of: dict[str, Faults] = field(default_factory=dict)
    rows_of: dict[str, int] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Usable rows in all."""
        return sum(self.n_by_period.values())

    @classmethod
    def of(cls, parts: Sequence[BatchKeys], role: Role, labels_per: LabelsPer | None = None) -> "Choice":
        """The choice among the rows of all batches, in their order."""
        digests: dict[int, NDArray[np.uint64]] = {}
        for part in parts:
            for period, digest in part.digests.items():
                digests[period] = digests.get(period, np.uint64(0)) + digest
        usable = np.flatnonzero(np.concatenate([part.kept for part in parts]))
        rows = np.concatenate([part.rows for part in parts])
        coins = np.concatenate([part.coins(digests, role) for part in parts])
        marks = [part.marks for part in parts if part.marks is not None]
        if marks:
            chosen = choose_labelled(coins, rows, np.concatenate(marks), labels_per)
        else:
            chosen = choose_rows(coins, rows)
        names = np.concatenate([part.names for part in parts])[chosen]
        n_by_period = {period: int(digest[0]) for period, digest in digests.items()}
        in_all = np.sum(list(digests.values()), axis=0, dtype="<u8")
        return cls(usable[chosen], names, n_by_period, in_all.tobytes().hex())

    def only(self, batches: Iterable[Records], layout: Layout) -> Iterator[Records]:
        """The chosen rows of every batch. A table that gives its rows in another order this time is refused."""
        first = 0
        for batch in batches:
            batch.require_sound()
            start, stop = np.searchsorted(self.places, [first, first + batch.data.num_rows])
            part = Records(_taken(batch.data, self.places[start:stop] - first), batch.file, batch.first_row)
            if not np.array_equal(group_names(part, layout)[0], self.names[start:stop]):
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
