"""Rows by cell (predicted class, confidence bin), and their random split into folds.

Only the counts are needed: to put every row into a random fold, independently of everything else, is to split the
count of every cell by a multinomial draw ("Folds" of docs/methods/assumption.md).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy  # its parts load when first used

from pacshift.arrays import FloatArray, IntArray
from pacshift.tally import Tally
from pacshift.tally.cells import N_CONFIDENCE
from pacshift.tally.coins import coins

FEW_CLASSES = 60
"""Up to this many classes counts are dense and every class's share is bounded; beyond, sparse and simpler."""

N_FOLDS, N_FOLDS_MANY = 8, 4
"""Every fold but the first is tested with directions learned on the folds before it; fewer with many classes."""

N_SPLITS, N_SPLITS_MANY = 3, 1
"""How many random splits into folds are averaged over (few, many classes): less depends on the luck of one."""


@dataclass(frozen=True, eq=False)
class CellCounts:
    """Source rows ``source[cell, label]`` and target rows ``target[cell]``.

    ``predicted`` and ``confidence`` say which cells these are; ``source`` is sparse where classes are many.
    """

    source: Any
    target: FloatArray
    predicted: IntArray
    confidence: IntArray

    @cached_property
    def class_counts(self) -> FloatArray:
        """Source rows of each label."""
        return np.asarray(self.source.sum(axis=0), float).ravel()

    @cached_property
    def n_target(self) -> float:
        """Target rows."""
        return float(self.target.sum())

    @cached_property
    def rates(self) -> Any:
        """Observed share of each cell among the source rows of each label; 0 for a label without rows."""
        scale = 1 / np.maximum(self.class_counts, 1.0)
        return self.source * scale if isinstance(self.source, np.ndarray) else self.source.multiply(scale).tocsc()

    @cached_property
    def shares(self) -> FloatArray:
        """Observed share of each cell in the target."""
        return self.target / max(self.n_target, 1.0)

    @property
    def n_classes(self) -> int:
        """Number of classes, K."""
        return int(self.source.shape[1])

    def means(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean of a function of the cell for each label, shape (..., K), and on the target."""
        return np.asarray((self.rates.T @ values).T), np.asarray(self.shares @ values)


def count_cells(tally: Tally) -> CellCounts:
    """All cells, also empty ones: a list of the filled cells would tell early folds about later ones.

    There is one bin per predicted class where either side has no confidence bins.
    """
    source, target = tally.source_cells, tally.target_cells
    n_bins = N_CONFIDENCE
    if not (source.has_confidence and target.has_confidence):
        source, target, n_bins = source.without_confidence(), target.without_confidence(), 1
    cell = np.arange(tally.n_classes * n_bins)
    places = source.predicted * n_bins + source.confidence, source.labels
    counts = scipy.sparse.csc_matrix((source.counts.astype(float), places), (len(cell), tally.n_classes))
    target_counts = np.zeros(len(cell))
    np.add.at(target_counts, target.predicted * n_bins + target.confidence, target.counts)
    return CellCounts(_stored(counts), target_counts, cell // n_bins, cell % n_bins)


def n_folds(n_classes: int) -> int:
    """Number of folds, fixed by the number of classes."""
    return N_FOLDS if n_classes <= FEW_CLASSES else N_FOLDS_MANY


def n_splits(n_classes: int) -> int:
    """Number of splits, fixed by the number of classes."""
    return N_SPLITS if n_classes <= FEW_CLASSES else N_SPLITS_MANY


def split(counts: CellCounts, number: int = 0) -> list[CellCounts]:
    """Every row goes to a fold drawn at random, independently of all else ("Folds" of the page).

    ``number`` tells the splits of the same counts apart.
    """
    parts = n_folds(counts.n_classes)
    even = np.full(parts, 1 / parts)
    source = scipy.sparse.csc_matrix(counts.source)
    rng = coins("folds", number, source.data, source.indices, source.indptr, counts.target)
    source_folds = rng.multinomial(source.data.astype(np.int64), even).T.astype(float)
    target_folds = rng.multinomial(counts.target.astype(np.int64), even).T.astype(float)
    return [
        CellCounts(
            _stored(scipy.sparse.csc_matrix((data, source.indices, source.indptr), source.shape)),
            target,
            counts.predicted,
            counts.confidence,
        )
        for data, target in zip(source_folds, target_folds, strict=True)
    ]


def joined(folds: list[CellCounts]) -> CellCounts:
    """All rows of several folds."""
    first = folds[0]
    source, target = sum(fold.source for fold in folds[1:]), sum(fold.target for fold in folds[1:])
    return CellCounts(first.source + source, first.target + target, first.predicted, first.confidence)


def _stored(counts: Any) -> Any:
    return counts.toarray() if counts.shape[1] <= FEW_CLASSES else counts
