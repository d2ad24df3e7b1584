"""Rows of tables that PS-T works on: labelled target rows, and samples of others to plan with."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import IntArray
from pacshift.paths.labelled import SOURCE_ROWS, TARGET_ROWS, RowsToPlan, planning_rows
from pacshift.progress import Progress
from pacshift.rows.arrow.records import NULL, batch_labels, score_rows
from pacshift.rows.arrow.source import Records
from pacshift.rows.faults import Faults
from pacshift.tables.reader import TableReader

ScoreRows = NDArray[np.floating[Any]]


def labelled_rows(reader: TableReader, progress: Progress | None = None) -> tuple[ScoreRows, IntArray, ScoreRows]:
    """Scores and label columns of the rows that have a label, and a sample of the scores of those without.

    Rows without a label are why rows are dropped here; other faults were found when the target was counted.
    """

    def work(batch: Records) -> tuple[tuple[ScoreRows, IntArray, ScoreRows] | None, Faults]:
        rows = score_rows(batch, reader.layout, softmax=reader.softmax)
        every = score_rows(batch, reader.layout.without_label(), softmax=reader.softmax)
        labels = batch_labels(batch, reader.layout)
        assert rows.index is not None  # the reader was given a label
        assert labels is not None
        empty = (labels if every.kept is None else labels[every.kept]) == NULL
        unlabelled = planning_sample(reader.probabilities(every.scores[empty]))
        return (reader.probabilities(rows.scores), rows.index, unlabelled), rows.faults

    parts = list(reader.map_batches(work, drop_invalid=True, progress=progress))
    scores, labels, unlabelled = (np.concatenate(part) for part in zip(*parts, strict=True))
    return scores, labels, unlabelled


def rows_to_plan(source: TableReader, unlabelled: ScoreRows, progress: Progress | None = None) -> RowsToPlan:
    """A sample of the source with its labels, beside unlabelled target rows."""
    found = list(_source_samples(source, progress))
    scores, labels = (np.concatenate(part) for part in zip(*found, strict=True))
    return RowsToPlan.of(scores, labels, unlabelled)


def _source_samples(source: TableReader, progress: Progress | None) -> Iterator[tuple[ScoreRows, IntArray]]:
    def work(rows: Any, _batch: Records) -> tuple[ScoreRows, IntArray]:
        scores = source.probabilities(rows.scores)
        chosen = planning_rows(scores, rows.index, SOURCE_ROWS)
        return scores[chosen], rows.index[chosen]

    return source.map_rows(work, drop_invalid=True, progress=progress)


def target_sample(target: TableReader) -> ScoreRows:
    """A sample of all target rows."""
    layout = target.layout.without_label()

    def work(batch: Records) -> tuple[ScoreRows, Faults]:
        rows = score_rows(batch, layout, softmax=target.softmax)
        return planning_sample(target.probabilities(rows.scores)), Faults()

    return np.concatenate(list(target.map_batches(work, drop_invalid=True)))


def planning_sample(scores: ScoreRows) -> ScoreRows:
    """A batch's share of a sample of the target: what is chosen from all batches is chosen from each."""
    return scores[planning_rows(scores, None, TARGET_ROWS)]
