"""Rows in memory that come in groups: one random row of each is left, before anything is counted."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pacshift.arrays import IntArray, Label, LabelsLike, ScoresLike
from pacshift.certification.few_labels import split_labels
from pacshift.certification.label_sheet import LabelSheet
from pacshift.certification.request import Request
from pacshift.certification.rows import Rows
from pacshift.errors import InputError
from pacshift.files.writing import PathLike
from pacshift.paths.labelled import LabelledTarget
from pacshift.scores.check import ScoreMatrix, check_labels, check_scores
from pacshift.scores.frames import require_same_index
from pacshift.scores.transforms import Transform
from pacshift.tally import Tally
from pacshift.tally.groups import Grouped, GroupIds, LabelsPer, check_groups, one_row_per_group


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """Source and target rows, one of each group where groups were given, and what tallies say about that."""

    source_scores: ScoresLike | ScoreMatrix
    source_labels: LabelsLike
    target_scores: ScoresLike | ScoreMatrix | None
    target_labels: LabelsLike | None = None
    source: Grouped | None = None
    target: Grouped | None = None
    target_places: IntArray | None = None
    """Which target rows are left; None where all are."""

    def check(self, *, classes: Sequence[Label] | None, softmax: bool) -> Rows:
        """The rows with their scores checked."""
        return Rows.check(
            self.source_scores, self.source_labels, self.target_scores, classes=classes, softmax=softmax
        )

    def labelled_target(
        self, rows: Rows, sheet: LabelSheet | PathLike | None, transform: Transform, request: Request, tally: Tally
    ) -> LabelledTarget | None:
        """The target rows whose labels were given, or are on a sheet."""
        found = rows.labelled_target(self.target_labels, transform, request, tally)
        if sheet is None:
            return found
        return rows.sheet_target(sheet, transform, request, tally, self.target_places)

    def marked(self, tally: Tally) -> Tally:
        """The counts of these rows, which know that they hold one row per group."""
        return replace(tally, source_grouped=self.source, target_grouped=self.target)


def sample_groups(
    source_scores: ScoresLike | ScoreMatrix,
    source_labels: LabelsLike,
    target_scores: ScoresLike | ScoreMatrix | None,
    *,
    groups: LabelsLike | None,
    target_groups: LabelsLike | None,
    classes: Sequence[Label] | None = None,
    target_labels: LabelsLike | None = None,
    labels_per: LabelsPer | None = None,
    softmax: bool = False,
) -> Sampled:
    """One random row of each group (docs/methods/groups.md); the rows as they are where there are no groups."""
    all_rows = Sampled(source_scores, source_labels, target_scores, target_labels)
    if groups is None and target_groups is None:
        return all_rows
    source = check_scores(source_scores, name="source", classes=classes)
    found, own = replace(all_rows, source_scores=source), None
    if groups is not None:
        own = check_groups(groups, n_rows=len(source), name="groups", index=source.index)
        found = _sampled_source(found, source, own, softmax=softmax)
    if target_groups is None:
        return found
    if target_scores is None:
        raise InputError(
            "target_groups name the groups of target rows, but target_scores is None. Pass the scores."
        )
    target = check_scores(target_scores, name="target", classes=source.classes)
    others = check_groups(target_groups, n_rows=len(target), name="target_groups", index=target.index)
    n_shared = 0 if own is None else len(set(own.names) & set(others.names))
    grouped = Grouped(len(target), shared=n_shared, labels_per=labels_per)
    return _sampled_target(found, target, others, grouped, softmax=softmax)


def _sampled_source(rows: Sampled, source: ScoreMatrix, groups: GroupIds, *, softmax: bool) -> Sampled:
    index = check_labels(rows.source_labels, source.classes, n_rows=len(source), name="source", index=source.index)
    places = one_row_per_group(groups, source, index, name="source", softmax=softmax)
    labels = [source.classes[label] for label in index[places].tolist()]
    return replace(rows, source_scores=source.take(places), source_labels=labels, source=Grouped(len(source)))


def _sampled_target(
    rows: Sampled, target: ScoreMatrix, groups: GroupIds, grouped: Grouped, *, softmax: bool
) -> Sampled:
    labels, marks = rows.target_labels, None
    if labels is not None:
        require_same_index(target.index, labels, "target_labels")
        marks = _label_columns(labels, target)
    how: dict[str, Any] = {"marks": marks, "labels_per": grouped.labels_per, "softmax": softmax}
    places = one_row_per_group(groups, target, name="target", **how)
    if marks is not None:
        labels = [None if mark < 0 else target.classes[mark] for mark in marks[places].tolist()]
    return replace(
        rows, target_scores=target.take(places), target_labels=labels, target=grouped, target_places=places
    )


def _label_columns(labels: LabelsLike, target: ScoreMatrix) -> IntArray:
    """The column of each target row's label; -1 where there is none."""
    places, known = split_labels(labels, target.classes, len(target))
    columns = np.full(len(target), -1)
    columns[places] = check_labels(known, target.classes, n_rows=len(known), name="target_labels")
    return columns


def require_both_grouped(tally: Tally, labelled: Tally | None) -> None:
    """Refuse labelled target rows that are draws of another kind than the target they belong to."""
    if labelled is not None and (labelled.source_grouped is None) != (tally.target_grouped is None):
        raise InputError(
            "target_labels: the labelled rows and the target must both be counted with groups=, or both without."
        )
