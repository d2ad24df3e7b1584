"""Rows by cell (predicted class and bin of confidence or top score), and their random split into folds.

Only the counts are needed: to put every row into a random fold, independently of everything else, is to split the
count of every cell by a multinomial draw ("Folds" of docs/methods/assumption.md).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy  # its parts load when first used

from pacshift.arrays import FloatArray, IntArray
from pacshift.assumption.bins import choose_bins
from pacshift.tally import Tally
from pacshift.tally.cells import N_CONFIDENCE, Cells
from pacshift.tally.coins import coins

FEW_CLASSES = 60
"""Up to this many classes counts are dense and every class's share is bounded; beyond, sparse and simpler, which
sees less. With 60 classes the dense form takes about 0.1 s."""

N_FOLDS, N_FOLDS_MANY = 6, 4
"""Every fold but the first is tested with directions learned on the folds before it; fewer with many classes. With
8 nothing was gained."""

MAX_SPLITS, MAX_SPLIT_CLASSES = 5, 60
"""There are up to 5 random splits into folds: less depends on the luck of one. A single split would lose 0.44 of
log-wealth on difficult draws of heart, CIFAR-10 and Entity-13. Splits times classes are at most 60, for the
time."""

MAX_PERMUTED = 4_000
"""Up to so many rows of a label its folds are even; beyond, sizes that vary by chance lose nothing."""


@dataclass(frozen=True, eq=False)
class CellCounts:
    """Source rows ``source[cell, label]`` and target rows ``target[cell]``.

    ``predicted`` and ``confidence`` say which cells these are; ``source`` is sparse where classes are many.
    ``top_edges`` are the top scores at which bins begin, where these are not bins of confidence; empty where there
    is one bin.
    """

    source: Any
    target: FloatArray
    predicted: IntArray
    confidence: IntArray
    top_edges: tuple[float, ...] | None = None

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
    def n_bins(self) -> int:
        """Bins of each predicted class that can hold rows; 1 where predicted classes alone are looked at."""
        return int(self.confidence.max()) + 1 if self.top_edges is None else len(self.top_edges) + 1

    @property
    def n_classes(self) -> int:
        """Number of classes, K."""
        return int(self.source.shape[1])

    def means(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean of a function of the cell for each label, shape (..., K), and on the target."""
        return np.asarray((self.rates.T @ values).T), np.asarray(self.shares @ values)


def count_cells(tally: Tally) -> CellCounts:
    """All cells, also empty ones: a list of the filled cells would tell early folds about later ones.

    Top scores that are not probabilities get bins from a few source rows, which are not counted here ("Cells" of
    the page). There is one bin per predicted class where the two sides do not have the same bins.
    """
    source, target = tally.source_cells, tally.target_cells
    if source.bins == target.bins == "confidence":
        return _counted(tally.n_classes, source, source.bin, target, target.bin)
    if source.bins == target.bins == "top scores":
        chosen = choose_bins(source)
        places = chosen.place(chosen.source), chosen.place(target)
        return _counted(tally.n_classes, chosen.source, places[0], target, places[1], chosen.top_scores)
    source, target = source.without_bins(), target.without_bins()
    return _counted(tally.n_classes, source, source.bin, target, target.bin, ())


def _counted(
    n_classes: int,
    source: Cells,
    source_bin: IntArray,
    target: Cells,
    target_bin: IntArray,
    top_edges: tuple[float, ...] | None = None,
) -> CellCounts:
    """Rows by predicted class and the bin of each of ``source.codes`` and ``target.codes``."""
    n_bins = 1 if top_edges == () else N_CONFIDENCE
    cell = np.arange(n_classes * n_bins)
    places = source.predicted * n_bins + source_bin, source.labels
    counts = scipy.sparse.csc_matrix((source.counts.astype(float), places), (len(cell), n_classes))
    target_counts = np.zeros(len(cell))
    np.add.at(target_counts, target.predicted * n_bins + target_bin, target.counts)
    return CellCounts(_stored(counts), target_counts, cell // n_bins, cell % n_bins, top_edges)


def n_folds(n_classes: int) -> int:
    """Number of folds, fixed by the number of classes."""
    return N_FOLDS if n_classes <= FEW_CLASSES else N_FOLDS_MANY


def n_splits(n_classes: int) -> int:
    """Number of splits, fixed by the number of classes."""
    return max(1, min(MAX_SPLITS, MAX_SPLIT_CLASSES // n_classes))


@dataclass(frozen=True, eq=False)
class Folds:
    """Rows of all folds of all splits: ``source[split, fold, cell, label]``, ``target[split, fold, cell]``."""

    source: FloatArray
    target: FloatArray


def even_folds(counts: CellCounts) -> Folds:
    """Folds with equally many rows of each label; which rows, is drawn at random ("Folds" of the page)."""
    splits, folds = n_splits(counts.n_classes), n_folds(counts.n_classes)
    columns = np.column_stack([counts.source, counts.target]).astype(np.int64)
    rng = coins("even folds", 0, columns)
    parts = np.stack([_drawn_apart(column, splits, folds, rng) for column in columns.T], axis=-1)
    return Folds(parts[..., :-1], parts[..., -1])


def _drawn_apart(column: IntArray, splits: int, folds: int, rng: np.random.Generator) -> FloatArray:
    """The rows of one label by split, fold and cell."""
    filled, total = np.flatnonzero(column), int(column.sum())
    if total > MAX_PERMUTED:
        parts = np.zeros((splits, folds, len(column)))
        drawn = rng.multinomial(column[filled], np.full(folds, 1 / folds), size=(splits, len(filled)))
        parts[..., filled] = np.swapaxes(drawn, 1, 2)
        return parts
    rows = np.tile(np.repeat(filled, column[filled]), (splits, 1))
    order = rng.permuted(rows, axis=1)
    # Which folds get the rows left over is drawn, too.
    fold = (np.arange(total) * folds // max(total, 1) + rng.integers(folds)) % folds
    place = (np.arange(splits)[:, None] * folds + fold) * len(column) + order
    size = splits * folds * len(column)
    return np.bincount(place.ravel(), minlength=size).reshape(splits, folds, -1).astype(float)


def split(counts: CellCounts) -> list[CellCounts]:
    """Where classes are many: every row goes to a fold drawn at random, independently of all else."""
    parts = n_folds(counts.n_classes)
    even = np.full(parts, 1 / parts)
    source = scipy.sparse.csc_matrix(counts.source)
    rng = coins("folds", 0, source.data, source.indices, source.indptr, counts.target)
    source_folds = rng.multinomial(source.data.astype(np.int64), even).T.astype(float)
    target_folds = rng.multinomial(counts.target.astype(np.int64), even).T.astype(float)
    return [
        CellCounts(
            _fold(data, source),
            target,
            counts.predicted,
            counts.confidence,
        )
        for data, target in zip(source_folds, target_folds, strict=True)
    ]


def _fold(data: FloatArray, like: Any) -> Any:
    """Counts of one fold. It lists no cell that only other folds fill: the list would tell it of them."""
    fold = scipy.sparse.csc_matrix((data, like.indices, like.indptr), like.shape, copy=True)
    fold.eliminate_zeros()
    return _stored(fold)


def joined(folds: list[CellCounts]) -> CellCounts:
    """All rows of several folds."""
    first = folds[0]
    source, target = sum(fold.source for fold in folds[1:]), sum(fold.target for fold in folds[1:])
    return CellCounts(first.source + source, first.target + target, first.predicted, first.confidence)


def _stored(counts: Any) -> Any:
    return counts.toarray() if counts.shape[1] <= FEW_CLASSES else counts
