"""One random row of each group, of any kind of rows: a first pass chooses, later passes give only these.

The first pass keeps two numbers of 64 bits for every row and a digest of all, and no row itself
(``pacshift.rows.choice`` has the proof). Labels of a source are part of a row; those of a target only tell equal
rows apart, so that the choice is that of unlabelled rows.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import BoolArray, IntArray, KeyArray
from pacshift.errors import InputError
from pacshift.progress import Progress
from pacshift.rows.base import NO_GROUP, Batch, CheckedRows, ScanReport, require_few
from pacshift.rows.choice import choose_rows, choose_rows_with_labels, row_keys
from pacshift.tally.coins import group_coins, rows_digest
from pacshift.tally.inputs import Grouped, Input, Role
from pacshift.words.numbers import have

Periods = Callable[[Batch], IntArray]
"""The period of each row of a batch, where there is one row per group and period."""

_BLOCK_VALUES = 1 << 16  # keys are made of few scores at a time: four times as many take twice as long
_TAKEN_VALUES = 1 << 16
"""Of rows in memory, those chosen are copied few at a time, .5 MB: all of them would be another matrix."""
_LEAST_TAKEN = 1 << 10  # rows: each batch costs some calls


@dataclass(frozen=True, slots=True, eq=False)
class GroupKeys:
    """What the choice needs of a batch: its usable rows, and of each the hash of its group and its own number.

    ``digests`` are those of each period's rows, under 0 where there are no ``periods``. ``lost`` are the groups of
    rows that cannot be used, in the same way. ``marks`` are the labels of target rows, where some are known.
    """

    kept: BoolArray
    names: KeyArray
    rows: KeyArray
    digests: dict[int, KeyArray]
    lost: dict[int, KeyArray]
    periods: IntArray | None = None
    marks: IntArray | None = None

    def coins(self, digests: Mapping[int, KeyArray], role: Role) -> KeyArray:
        """The coin of each row's group, thrown over all rows of its period, in whatever batch they are."""
        if self.periods is None:
            return group_coins(self.names, digests[0], role)
        coins = np.empty_like(self.names)
        for period in self.digests:
            is_in_period = self.periods == period
            coins[is_in_period] = group_coins(self.names[is_in_period], digests[period], role)
        return coins


def keys_of(batch: Batch, role: Role, within: Periods | None = None) -> GroupKeys:
    """The keys of the usable rows; rows that name no group are left out. Executors of Spark call it too."""
    names, missing = batch.group_names()
    usable = np.ones(batch.n_rows, bool) if batch.kept is None else batch.kept
    kept = usable
    if missing is not None and (bad := usable & missing).any():
        batch.leave_out(bad, NO_GROUP)
        kept = usable & ~missing
    unusable = ~usable if missing is None else ~usable & ~missing
    lost = names[unusable]
    is_usable: Any = slice(None) if kept is usable else kept[usable]
    scores, labels, names = batch.raw_scores[is_usable], batch.labels, names if kept.all() else names[kept]
    labels = None if labels is None else labels[is_usable]
    rows, digest = np.empty(len(scores), np.uint64), np.zeros(3, np.uint64)
    step = max(1, _BLOCK_VALUES // scores.shape[1])
    for first in range(0, len(rows), step):
        part = slice(first, first + step)
        rows[part] = row_keys(scores[part], labels[part] if labels is not None and role == "source" else None)
        digest += rows_digest(names[part], rows[part])
    marks = labels if role == "target" else None
    if within is None:
        return GroupKeys(kept, names, rows, {0: digest}, {0: np.unique(lost)}, None, marks)
    periods, lost_in = within(batch)[kept], within(batch)[unusable]
    each_lost = {period: np.unique(lost[lost_in == period]) for period in np.unique(lost_in).tolist()}
    each = ((period, periods == period) for period in np.unique(periods).tolist())
    digests = {period: rows_digest(names[of_it], rows[of_it]) for period, of_it in each}
    return GroupKeys(kept, names, rows, digests, each_lost, periods, marks)


@dataclass(frozen=True, slots=True, eq=False)
class ChosenRows:
    """One row of each group.

    ``places`` numbers the rows in the order in which the table is read, ``names`` are the hashes of their groups,
    and ``n_by_period`` counts the usable rows in all, under 0 where there are no periods. So does ``n_lost`` the
    groups without a usable row. ``digest`` is that of all usable rows, in whatever periods. ``scan`` is what the
    pass that chose has found.
    """

    places: IntArray
    names: KeyArray
    n_by_period: dict[int, int]
    n_lost: dict[int, int]
    digest: str
    scan: ScanReport


def require_few_groups(n_lost: int, n_chosen: int, at_most: float, where: str) -> None:
    """Refuse to leave out more than a share of the groups, of which each counts as one row."""
    what = f"{where}: {have(n_lost, 'group')} no row that can be used"
    require_few(n_lost, n_lost + n_chosen, at_most, what, "groups")


def _join(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """One array of all; rows in memory are one part, which is not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


@dataclass(eq=False)
class GroupSampler:
    """Chooses in a pass of its own, once. Views of the same rows share it."""

    rows: CheckedRows
    within: Periods | None = None
    choice: ChosenRows | None = None

    def choose(self, keep: Sequence[str] = (), progress: Progress | None = None) -> ChosenRows:
        if self.choice is not None:
            return self.choice
        rows = self.rows
        parts = list(rows.map(lambda batch: keys_of(batch, rows.role, self.within), keep=keep, progress=progress))
        digests: dict[int, KeyArray] = {}
        for part in parts:
            for period, digest in part.digests.items():
                digests[period] = digests.get(period, np.uint64(0)) + digest
        numbers = _join([part.rows for part in parts])
        coins = _join([part.coins(digests, rows.role) for part in parts])
        names = _join([part.names for part in parts])
        groups = names if self.within is None else coins
        marks = [part.marks for part in parts if part.marks is not None]
        if marks:
            chosen = choose_rows_with_labels(groups, coins, numbers, np.concatenate(marks))
        else:
            chosen = choose_rows(groups, coins, numbers)
        kept = _join([part.kept for part in parts])
        places = chosen if kept.all() else np.flatnonzero(kept)[chosen]
        periods = [part.periods for part in parts if part.periods is not None]
        chosen_in: Any = _join(periods)[chosen] if periods else 0
        n_lost = {}
        for period in sorted({period for part in parts for period in part.lost}):
            lost = np.concatenate([part.lost[period] for part in parts if period in part.lost])
            n_lost[period] = len(np.setdiff1d(lost, names[chosen[chosen_in == period]]))
        if self.within is None:
            require_few_groups(n_lost[0], len(chosen), rows.drop_invalid, rows.described)
        n_by_period = {period: int(digest[0]) for period, digest in digests.items()}
        in_all = np.sum(list(digests.values()), axis=0, dtype="<u8")
        self.choice = ChosenRows(
            places, names[chosen], n_by_period, n_lost, in_all.tobytes().hex(), deepcopy(rows.last_scan)
        )
        return self.choice


def as_target(rows: CheckedRows) -> CheckedRows:
    """The same rows as an unlabelled target, of whose groups other rows may be chosen."""
    if isinstance(rows, OnePerGroup):
        return OnePerGroup.of(replace(rows.rows.without_labels(), role="target"))
    return rows.without_labels()


@dataclass(eq=False, kw_only=True, repr=False)
class OnePerGroup(CheckedRows):
    """One row of each group of the ``rows``; of each group and period, where there are periods."""

    rows: CheckedRows
    sampler: GroupSampler = field(repr=False)

    @classmethod
    def of(cls, rows: CheckedRows, *, within: Periods | None = None) -> "OnePerGroup":
        """One row of each group, or of each group and period."""
        # A target row without a label can be chosen, even where it cannot be used afterwards.
        all_usable = replace(rows, labels="some") if rows.role == "target" and rows.labels == "all" else rows
        known = {one.name: getattr(rows, one.name) for one in fields(CheckedRows)}
        return cls(**known, rows=rows, sampler=GroupSampler(all_usable, within))

    @property
    def choice(self) -> ChosenRows:
        """The rows that are given."""
        return self.sampler.choose()

    @property
    def grouped(self) -> Grouped:
        return Grouped(sum(self.choice.n_by_period.values()))

    @property
    def every(self) -> CheckedRows:
        return self.rows.every

    @property
    def numbers(self) -> IntArray:
        return self.choice.places

    @property
    def column_names(self) -> Sequence[str]:
        return self.rows.column_names

    def count_rows(self) -> int | None:
        return self.rows.count_rows()

    def begin(self, keep: Sequence[str], progress: Progress | None) -> ScanReport:
        scan = deepcopy(self.sampler.choose(keep, progress).scan)
        for rows_of_file in scan.files.values():
            rows_of_file.n_given = 0
        return scan

    def batches(self, keep: Sequence[str] = ()) -> Iterator[Batch]:
        """The chosen rows of every batch. A table that gives its rows in another order this time is refused."""
        choice = self.sampler.choose(keep)
        for batch in self.rows.batches(keep):
            start, stop = np.searchsorted(choice.places, [batch.first, batch.first + batch.n_rows])
            if self.rows.is_one_batch:  # in memory, where rows cannot change
                step = max(_LEAST_TAKEN, _TAKEN_VALUES // len(self.classes))
                parts = np.array_split(choice.places, range(step, stop, step))
                yield from (batch.take(places) for places in parts)
                return
            part = batch.take(choice.places[start:stop] - batch.first)
            if not np.array_equal(part.group_names()[0], choice.names[start:stop]):
                raise InputError(
                    f"{batch.file}: the rows came in another order when they were read again, so that one row of "
                    "each group cannot be told. Sort the table, or save it as a file first."
                )
            yield part

    def without_labels(self) -> "OnePerGroup":
        return replace(self, labels="none", rows=self.rows.without_labels())

    def requiring_labels(self) -> "OnePerGroup":
        return replace(self, labels="all", rows=self.rows.requiring_labels())

    def count_shared_groups(self, other: CheckedRows) -> int:
        """How many groups are in both, which have no periods: names differ within each."""
        if not isinstance(other, OnePerGroup):
            return 0
        return len(np.intersect1d(self.choice.names, other.choice.names, assume_unique=True))

    def require_plausible(self, class_counts: IntArray) -> None:
        self.rows.require_plausible(class_counts)

    def hashes(self) -> "AbstractContextManager[Mapping[str, Any]]":
        return self.rows.hashes()

    def inputs(self, scan: ScanReport, digests: Mapping[str, str]) -> tuple[Input, ...]:
        return self.rows.inputs(scan, digests)
