"""Labelled target rows in memory: which are the pilot, which the test, and what to plan with."""

from dataclasses import dataclass, replace

import numpy as np

from pacshift.arrays import IntArray
from pacshift.certification.request import Request
from pacshift.ps_t.looks import test_rows
from pacshift.ps_t.rows import (
    SOURCE_ROWS,
    TARGET_ROWS,
    LabelledTarget,
    Planning,
    ScoreRows,
    choose_pilot,
    planning_rows,
)
from pacshift.scores.check import ScoreMatrix
from pacshift.scores.transforms import Transform
from pacshift.tally import Tally

MIN_UNLABELLED = 200
"""With fewer unlabelled target rows, source rows stand in for them. A round number; not measured."""


@dataclass(frozen=True, slots=True, eq=False)
class RowsToPlan:
    """What a path is planned with beside the pilot: labelled source rows, and unlabelled target rows."""

    source: ScoreRows
    source_labels: IntArray
    target: ScoreRows

    @classmethod
    def of(cls, source: ScoreRows, labels: IntArray, unlabelled: ScoreRows) -> "RowsToPlan":
        """Not too many of either; source rows stand in where hardly any target row is unlabelled."""
        chosen = planning_rows(source, labels, SOURCE_ROWS)
        seen = unlabelled if len(unlabelled) >= MIN_UNLABELLED else source
        return cls(source[chosen], labels[chosen], seen[planning_rows(seen, None, TARGET_ROWS)])

    def with_pilot(self, scores: ScoreRows, labels: IntArray, transform: Transform) -> Planning:
        """All that a path is planned with."""
        return Planning(self.source, self.source_labels, self.target, scores, labels, transform)


def split_at_random(
    rows: ScoreMatrix, labels: IntArray, request: Request, to_plan: RowsToPlan, transform: Transform
) -> LabelledTarget:
    """Labelled rows with a pilot chosen by coins, and one look at the others."""
    n_test = test_rows(len(labels), epsilon=request.epsilon, delta=request.delta)
    is_pilot = np.zeros(len(labels), bool)
    is_pilot[choose_pilot(rows.values, labels, len(labels) - n_test, request.seed)] = True
    planning = to_plan.with_pilot(rows.values[is_pilot], labels[is_pilot], transform)
    return LabelledTarget(
        count(rows, labels, transform),
        count(replace(rows, values=rows.values[~is_pilot]), labels[~is_pilot], transform),
        looks=(n_test,),
        planning=planning,
    )


def count(rows: ScoreMatrix, labels: IntArray, transform: Transform) -> Tally:
    """The counts of labelled rows, whose labels are columns."""
    names = [rows.classes[column] for column in labels.tolist()]
    return Tally.from_scores(rows, names, score=transform, soft=False)
