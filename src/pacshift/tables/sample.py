"""Samples of a table's rows to tune thresholds with, in a second pass."""

import numpy as np

from pacshift.arrays import FloatArray, IntArray
from pacshift.paths.sample import RowSample, places_below, source_share, target_share
from pacshift.progress import Progress
from pacshift.rows.arrow.records import ScoreRows, score_rows
from pacshift.rows.arrow.source import Records
from pacshift.rows.faults import Faults
from pacshift.tables.reader import TableReader
from pacshift.tally import Tally

MAX_ROWS_READ_TWICE = 1_000_000
"""Tables with more rows, source and target together, are not read again: thresholds are then tuned on counts.
About as many rows as are read in a second."""


def row_sample(
    source: TableReader, target: TableReader, tally: Tally, progress: Progress | None = None
) -> RowSample:
    """The sample of the rows that ``tally`` counts. Rows that cannot be used were found when they were counted."""
    own, others = source_share(tally.n_source, tally.n_classes), target_share(tally.n_target, tally.n_classes)
    unlabelled = target.layout.without_label()

    def of_source(rows: ScoreRows, _batch: Records) -> tuple[FloatArray, IntArray]:
        scores, labels = source.probabilities(rows.scores), rows.index
        assert labels is not None  # the source has labels
        places = places_below(scores, own)
        return np.asarray(scores[places], float), labels[places]

    def of_target(batch: Records) -> tuple[FloatArray, Faults]:
        rows = score_rows(batch, unlabelled, softmax=target.softmax)
        scores = target.probabilities(rows.scores)
        return np.asarray(scores[places_below(scores, others)], float), Faults()

    parts = list(source.map_rows(of_source, drop_invalid=True, progress=progress))
    scores, labels = (np.concatenate(each) for each in zip(*parts, strict=True))
    return RowSample(scores, labels, np.concatenate(list(target.map_batches(of_target, drop_invalid=True))))
