"""Rows in memory: arrays and frames, checked once. They are one batch, and a row that cannot be used is an error.

One batch, because what works on rows is parallel inside, and because samples break ties among equal rows within
what they are given.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from pacshift.arrays import BoolArray, IntArray, KeyArray, Label, LabelsLike, ScoresLike, cached_property
from pacshift.errors import InputError
from pacshift.rows.base import NO_LABEL, Batch, CheckedRows, Faults, Labels, Matrix, RereadCost
from pacshift.rows.choice import check_groups
from pacshift.rows.groups import OnePerGroup
from pacshift.scores.check import (
    ScoreMatrix,
    check_labels,
    check_scores,
    is_finite,
    not_finite_error,
    require_plausible,
    unusable_rows,
)
from pacshift.scores.frames import as_array, require_same_index
from pacshift.scores.names import is_null
from pacshift.scores.transforms import to_probabilities
from pacshift.tally.counter import Counter
from pacshift.tally.inputs import Role

LABELS = "target labels"


def check_arrays(
    scores: ScoresLike | ScoreMatrix,
    labels: LabelsLike | None = None,
    groups: LabelsLike | None = None,
    *,
    name: str,
    role: Role,
    classes: Sequence[Label] | None = None,
    columns: Sequence[str] = (),
    softmax: bool = False,
) -> CheckedRows:
    """Check arrays or a frame, and bring columns into the order of ``classes``.

    In the labels of a target None and NaN mark rows without one.
    """
    matrix = check_scores(scores, name=name, classes=classes, columns=columns)
    ids: KeyArray | None = None
    if groups is not None:
        ids = check_groups(groups, n_rows=len(matrix), name=f"groups of the {name}", index=matrix.index)
    kind: Labels = "none" if labels is None else "some" if role == "target" else "all"
    index: IntArray | None = None
    if labels is not None and kind == "some":
        places, known = split_labels(labels, matrix.classes, len(matrix))
        require_same_index(matrix.index, labels, LABELS)
        index = np.full(len(matrix), NO_LABEL)
        index[places] = check_labels(known, matrix.classes, n_rows=len(known), name=LABELS)
    elif labels is not None:
        index = check_labels(labels, matrix.classes, n_rows=len(matrix), name=name, index=matrix.index)
    batch = MemoryBatch(matrix, index, name, softmax, ids)
    rows = MemoryRows(name=name, role=role, classes=matrix.classes, labels=kind, softmax=softmax, batch=batch)
    return rows if ids is None else OnePerGroup.of(rows)


@dataclass(eq=False, kw_only=True, repr=False)
class MemoryRows(CheckedRows):
    """A checked matrix and, where there are labels, their columns."""

    batch: "MemoryBatch"
    reread_cost: RereadCost = "cheap"
    is_one_batch: ClassVar[bool] = True

    def batches(self, keep: Sequence[str] = ()) -> Iterator[Batch]:
        yield self.batch

    def without_labels(self) -> "MemoryRows":
        return replace(self, labels="none")  # labels were checked, so that nobody need be kept from seeing them

    def requiring_labels(self) -> "MemoryRows":
        if self.batch.index is not None and (n_without := int((self.batch.index == NO_LABEL).sum())):
            raise InputError(
                f"{LABELS}: every row must have one here, but {n_without:,} have none. Leave these rows out."
            )
        return replace(self, labels="all")

    def require_plausible(self, class_counts: IntArray) -> None:
        if self.batch.matrix.named_by_frame:
            require_plausible(self.batch.matrix, class_counts)


@dataclass(frozen=True, eq=False)
class MemoryBatch(Batch):
    """All rows, or those that were taken of them."""

    matrix: ScoreMatrix
    index: IntArray | None
    name: str
    is_logits: bool
    groups: KeyArray | None
    first: int = 0
    file: str = ""
    faults: Faults = field(default_factory=Faults)

    @property
    def n_rows(self) -> int:
        return len(self.matrix)

    @property
    def raw_scores(self) -> Matrix:
        return self.matrix.values

    @property
    def labels(self) -> IntArray | None:
        return self.index

    @cached_property
    def ready(self) -> ScoreMatrix:
        """The scores as they are compared; an InputError where probabilities were called logits."""
        return to_probabilities(self.matrix, name=self.name) if self.is_logits else self.matrix

    @property
    def scores(self) -> Matrix:
        return self.ready.values

    def count(self, counter: Counter) -> None:
        labels = self.index if counter.labelled else None
        counter.count_matrix(self.ready, labels, name=self.name)

    def take(self, places: IntArray) -> "MemoryBatch":
        return replace(
            self,
            matrix=self.matrix.take(places),
            index=None if self.index is None else self.index[places],
            groups=None if self.groups is None else self.groups[places],
        )

    def group_names(self) -> tuple[KeyArray, BoolArray | None]:
        assert self.groups is not None  # only OnePerGroup asks
        for rows in self.matrix.blocks():
            block = self.raw_scores[rows]
            if not is_finite(block) and unusable_rows(block, softmax=self.is_logits).any():
                # Also rows that will not be chosen: nothing is left out silently.
                raise not_finite_error(self.ready, self.name)
        return self.groups, None


def split_labels(target_labels: Any, classes: Sequence[Label], n_rows: int) -> tuple[IntArray, list[Any]]:
    """The places of the labelled rows, and their labels. None, NaN and NA mark rows without a label.

    >>> split_labels(["cat", None, "dog", float("nan")], ("cat", "dog"), 4)
    (array([0, 2]), ['cat', 'dog'])
    """
    values = as_array(target_labels, LABELS, "labels")
    if values.ndim != 1 or len(values) != n_rows:
        raise InputError(
            f"{LABELS} must have one entry per target row ({n_rows:,}), None where there is no label; got "
            f"{f'{len(values):,}' if values.ndim == 1 else f'an array of {values.ndim} dimensions'}."
        )
    is_listed = isinstance(target_labels, (list, tuple))
    if values.dtype.kind == "f" and not is_listed:  # NaN is the only null, and no list of all rows is needed
        places = np.flatnonzero(~np.isnan(values))
        labels = values[places].tolist()
    else:
        listed = target_labels if is_listed else values.tolist()
        places = np.flatnonzero([not is_null(label) for label in listed])
        labels = [listed[place] for place in places.tolist()]
    if not len(places):
        raise InputError(f"{LABELS}: no row has one. Label some random rows, or leave them out.")
    if values.dtype.kind == "f" and all(isinstance(name, int) for name in classes):
        labels = [int(label) if float(label).is_integer() else label for label in labels]  # NaN made them floats
    return places, labels
