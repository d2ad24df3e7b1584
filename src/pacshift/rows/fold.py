"""What is asked of rows: each a function of a batch and a sum, written once for every kind of rows.

Counts are integers, so batches do not matter. Samples are made of each batch and then of all: a row belongs to one
by a number made of its own scores, so the parts choose what the whole would.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import groupby
from operator import add
from typing import Any

import numpy as np

from pacshift.acceptance.tops import TopScoreTable
from pacshift.arrays import BoolArray, FloatArray, IntArray
from pacshift.errors import InputError, param
from pacshift.evaluation import EvaluationCounts
from pacshift.paths.labelled import SOURCE_ROWS, TARGET_ROWS, RowsToPlan, planning_rows
from pacshift.paths.sample import RowSample, places_below, source_share, target_share
from pacshift.rows.base import NO_LABEL, Batch, CheckedRows, Doing, Matrix
from pacshift.rows.groups import OnePerGroup
from pacshift.rows.rule import Rule
from pacshift.rows.sets import labels_at, make_sets, set_sizes
from pacshift.scores.check import ScoreMatrix
from pacshift.scores.transforms import TRANSFORMS, Transform
from pacshift.tally import Tally


def both(
    source: CheckedRows,
    target: CheckedRows | None,
    transform: Transform = TRANSFORMS["probability"],
    *,
    soft: bool,
    bins: bool,
    grid: bool | None = None,
    predicted: bool = True,
    sha256: bool = False,
) -> Tally:
    """Counts of a source and, if there is one, of a target."""
    counts = source.tally(transform, soft=soft, grid=grid, predicted=predicted, sha256=sha256)
    if target is None:
        return counts
    return counts + target_beside(source, target, soft=soft, bins=bins, predicted=predicted, sha256=sha256)


def target_beside(
    source: CheckedRows,
    target: CheckedRows,
    *,
    soft: bool,
    bins: bool,
    predicted: bool = True,
    sha256: bool = False,
) -> Tally:
    """Counts of a target, with how many of its groups are in the source too."""
    counts = target.tally(soft=soft, bins=bins, predicted=predicted, sha256=sha256)
    if counts.target_grouped is None or not isinstance(target, OnePerGroup):
        return counts
    return replace(
        counts, target_grouped=replace(counts.target_grouped, shared=target.count_shared_groups(source))
    )


@dataclass(frozen=True, slots=True, eq=False)
class SetMaker:
    """What makes sets of scores."""

    rule: Rule
    transform: Transform

    def sets(self, batch: Batch) -> BoolArray:
        """The sets of a batch. Scores of another kind are not refused: they were when they were counted."""
        return make_sets(ScoreMatrix(batch.scores, tuple(range(batch.scores.shape[1]))), self.rule, self.transform)


def sizes(rows: CheckedRows, makers: Sequence[SetMaker]) -> list[IntArray]:
    """How many sets hold 0, 1, ..., K labels with each of the makers, in one pass."""

    def of_batch(batch: Batch) -> IntArray:
        matrix = ScoreMatrix(batch.scores, rows.classes)
        alike = groupby(makers, lambda maker: maker.transform)
        return np.vstack([set_sizes(matrix, [maker.rule for maker in group], same) for same, group in alike])

    return list(reduce(add, rows.without_labels().fold(of_batch, "measuring the sets")))


def mean_sizes(rows: CheckedRows, cuts: Sequence[FloatArray]) -> list[float]:
    """Mean set sizes for several vectors of thresholds, of scores as they are, in one pass."""

    def of_batch(batch: Batch) -> IntArray:
        return np.array([*labels_at(ScoreMatrix(batch.scores, rows.classes), cuts), len(batch.scores)])

    *totals, n_rows = reduce(add, rows.without_labels().fold(of_batch, "measuring the sets")).tolist()
    return [total / n_rows for total in totals]


def misses(
    rows: CheckedRows, makers: Sequence[Callable[[Batch], BoolArray]], doing: Doing = "checking"
) -> list[EvaluationCounts]:
    """Rows, misses and sizes by true label, of the sets that each of the ``makers`` makes."""

    def of_batch(batch: Batch) -> list[EvaluationCounts]:
        assert batch.labels is not None  # rows with labels
        return [EvaluationCounts.of(make(batch), batch.labels) for make in makers]

    return [reduce(add, one) for one in zip(*rows.fold(of_batch, doing), strict=True)]


def sample(source: CheckedRows, target: CheckedRows, counts: Tally) -> RowSample:
    """Samples of the rows that ``counts`` were made of, to tune thresholds with."""
    source_limit = source_share(counts.n_source, counts.n_classes)
    target_limit = target_share(counts.n_target, counts.n_classes)

    def of_source(batch: Batch) -> tuple[FloatArray, IntArray]:
        places = places_below(batch.scores, source_limit)
        assert batch.labels is not None  # the source has labels
        return np.asarray(batch.scores[places], float), batch.labels[places]

    def of_target(batch: Batch) -> FloatArray:
        return np.asarray(batch.scores[places_below(batch.scores, target_limit)], float)

    scores, labels = _together(source.fold(of_source, "reading rows to tune thresholds with"))
    seen = target.without_labels().fold(of_target, "reading rows to tune thresholds with")
    return RowSample(scores, labels, np.concatenate(list(seen)))


def tops(source: CheckedRows, target: CheckedRows) -> tuple[TopScoreTable, TopScoreTable]:
    """Rows of both sides by predicted label and top score, those of the source by true label too."""
    doing: Doing = "reading top scores"
    of_source = list(source.fold(lambda batch: TopScoreTable.of_rows(batch.scores, batch.labels), doing))
    of_target = list(target.without_labels().fold(lambda batch: TopScoreTable.of_rows(batch.scores), doing))
    return TopScoreTable.sum(of_source), TopScoreTable.sum(of_target)


def to_plan(source: CheckedRows, unlabelled: Matrix, doing: Doing = "reading rows to plan with") -> RowsToPlan:
    """A sample of the source with its labels, beside unlabelled target rows."""

    def of_batch(batch: Batch) -> tuple[Matrix, IntArray]:
        assert batch.labels is not None  # the source has labels
        chosen = planning_rows(batch.scores, batch.labels, SOURCE_ROWS)
        return batch.scores[chosen], batch.labels[chosen]

    scores, labels = _together(source.fold(of_batch, doing))
    return RowsToPlan.of(scores, labels, unlabelled)


def plan_after_refusal(source: CheckedRows, target: CheckedRows) -> RowsToPlan:
    """Samples of source and target, to say after a refusal what labels would bring."""
    doing: Doing = "estimating what labels would bring"
    seen = target.without_labels().fold(lambda batch: _sample_to_plan(batch.scores), doing)
    return to_plan(source, np.concatenate(list(seen)), doing)


def read_labelled_rows(target: CheckedRows) -> tuple[Matrix, IntArray, Matrix]:
    """Scores and labels of the rows that have a label, and a sample of the scores of the others."""

    def of_batch(batch: Batch) -> tuple[Matrix, IntArray, Matrix]:
        assert batch.labels is not None  # some rows have one
        known = batch.labels != NO_LABEL
        return batch.scores[known], batch.labels[known], _sample_to_plan(batch.scores[~known])

    scores, labels, others = _together(target.fold(of_batch, "reading the labelled target"))
    if not len(labels):
        raise InputError(f"{param('target_labels')}: no row has a label. Label some random rows, or leave it out.")
    return scores, labels, others


def pick(target: CheckedRows, numbers: IntArray, see: Callable[[Batch], None]) -> tuple[Matrix, Matrix]:
    """The scores of rows by their numbers in the whole table, in this order, and a sample of the others.

    ``see`` is shown every batch, in order.
    """
    wanted = numbers if target.numbers is None else np.searchsorted(target.numbers, numbers)
    parts, others, first = list[tuple[IntArray, Matrix]](), list[Matrix](), 0

    def read(batch: Batch) -> Batch:
        _ = batch.scores  # on all cores; what follows is one batch after the other
        return batch

    for batch in target.without_labels().fold(read, "reading the labelled target", every=True):
        see(batch)
        here = np.flatnonzero((wanted >= first) & (wanted < first + batch.n_rows))
        places = wanted[here] - first
        if batch.kept is not None:  # scores are those of usable rows
            here, places = here[batch.kept[places]], places[batch.kept[places]]
            places = np.cumsum(batch.kept)[places] - 1
        parts.append((here, batch.scores[places]))
        is_other = np.ones(len(batch.scores), bool)
        is_other[places] = False  # rows of the test must not be planned with
        others.append(_sample_to_plan(batch.scores[is_other]))
        first += batch.n_rows
    scores_in_order = np.full(
        (len(numbers), len(target.classes)), np.nan, np.result_type(*(part for _, part in parts))
    )
    for here, scores in parts:
        scores_in_order[here] = scores
    return scores_in_order, np.concatenate(others)


def _sample_to_plan(scores: Matrix) -> Matrix:
    """A batch's share of a sample of the target: what is chosen from all batches is chosen from each."""
    return scores[planning_rows(scores, None, TARGET_ROWS)]


def _together(parts: Iterable[tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))
