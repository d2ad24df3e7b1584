"""Rows by cell (predicted class and bin of confidence or top score), and their random split into folds.

"Cells" and "Folds" of docs/methods/assumption.md. Only the counts are needed: to put every row into a random fold,
independently of everything else, is to split the count of every cell by a multinomial draw.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pacshift.arrays import FloatArray, IntArray, Label, cached_property, scipy
from pacshift.tally import Tally
from pacshift.tally.cells import N_CONFIDENCE, Cells, least_top
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

PILOT_ROWS, PILOT_SHARE = 500, 0.1
"""About so many source rows choose the edges of top-score bins, at most such a share of them: 500 rows place 12
quantiles to within 2 % of the rows, and a tenth of the source is little to lose. Other values were not
measured."""


@dataclass(frozen=True, eq=False)
class CellCounts:
    """Source rows ``source[cell, label]`` and target rows ``target[cell]``.

    ``predicted`` and ``confidence`` say which cells these are; ``source`` is sparse where classes are many.
    ``top_edges`` are the top scores at which bins begin, where these are not bins of confidence; empty where there
    is one bin. ``classes`` are the names of predicted classes, for words.
    """

    source: Any
    target: FloatArray
    predicted: IntArray
    confidence: IntArray
    top_edges: tuple[float, ...] | None = None
    classes: tuple[Label, ...] = ()

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


def count_cells(tally: Tally) -> CellCounts:
    """All cells, also empty ones: a list of the filled cells would tell early folds about later ones.

    Top scores that are not probabilities get bins from a few source rows, which are not counted here ("Cells" of
    the page). There is one bin per predicted class where the two sides do not have the same bins.
    """
    source, target, n_bins = tally.source_cells, tally.target_cells, N_CONFIDENCE
    top_edges: tuple[float, ...] | None = None
    bins = [source.bin, target.bin]
    if source.bins == target.bins == "top scores":
        edges, source = choose_bins(source)
        bins = [np.searchsorted(edges, side.bin, side="right") for side in (source, target)]
        top_edges = tuple(least_top(edges).tolist())
    elif not source.bins == target.bins == "confidence":
        source, target, top_edges = source.without_bins(), target.without_bins(), ()
        bins = [source.bin, target.bin]
    if top_edges == ():
        n_bins = 1
    cell = np.arange(tally.n_classes * n_bins)
    places = source.predicted * n_bins + bins[0], source.labels
    shape, target_counts = (len(cell), tally.n_classes), np.zeros(len(cell))
    if tally.n_classes <= FEW_CLASSES:  # without scipy.sparse, which takes 0.1 s to load
        counts: Any = np.zeros(shape, order="F")
        np.add.at(counts, places, source.counts)
    else:
        counts = scipy.sparse.csc_matrix((source.counts.astype(float), places), shape)
    np.add.at(target_counts, target.predicted * n_bins + bins[1], target.counts)
    return CellCounts(counts, target_counts, cell // n_bins, cell % n_bins, top_edges, tally.classes)


def choose_bins(source: Cells) -> tuple[IntArray, Cells]:
    """Edges of bins of top scores, numbered as in ``tally.cells.top_bin``, and the source rows to be tested.

    Each source row goes into a pilot with the same small chance. Its quantiles are the edges, and its rows are not
    tested ("Cells" of the page). Probabilities need none of this: their bins are fixed beforehand.
    """
    share = min(PILOT_SHARE, PILOT_ROWS / source.n_rows)
    drawn = coins("confidence bins", 0, source.codes, source.counts).binomial(source.counts, share)
    order = np.argsort(source.bin, kind="stable")
    reached = np.cumsum(drawn[order])
    wanted = np.arange(1, N_CONFIDENCE) * (reached[-1] / N_CONFIDENCE)
    edges: IntArray = np.empty(0, np.int64)
    if reached[-1]:
        edges = np.unique(source.bin[order][np.searchsorted(reached, wanted)])
    left = source.counts - drawn
    return edges, replace(source, codes=source.codes[left > 0], counts=left[left > 0])


def even_folds(counts: CellCounts) -> tuple[FloatArray, FloatArray]:
    """Folds with equally many rows of each label; which rows, is drawn at random ("Folds" of the page).

    Rows of all folds of all splits: ``source[split, fold, cell, label]`` and ``target[split, fold, cell]``.
    """
    splits = max(1, min(MAX_SPLITS, MAX_SPLIT_CLASSES // counts.n_classes))
    columns = np.column_stack([counts.source, counts.target]).astype(np.int64)
    rng = coins("even folds", 0, columns)
    parts: FloatArray = np.zeros((splits, N_FOLDS, *columns.shape))
    for label, column in enumerate(columns.T):
        filled, total = np.flatnonzero(column), int(column.sum())
        if total > MAX_PERMUTED:
            drawn = rng.multinomial(column[filled], np.full(N_FOLDS, 1 / N_FOLDS), size=(splits, len(filled)))
            parts[:, :, filled, label] = np.swapaxes(drawn, 1, 2)
            continue
        rows = rng.permuted(np.tile(np.repeat(filled, column[filled]), (splits, 1)), axis=1)
        # Which folds get the rows left over is drawn, too.
        fold = (np.arange(total) * N_FOLDS // max(total, 1) + rng.integers(N_FOLDS)) % N_FOLDS
        place = (np.arange(splits)[:, None] * N_FOLDS + fold) * len(column) + rows
        counted = np.bincount(place.ravel(), minlength=splits * N_FOLDS * len(column))
        parts[..., label] = counted.reshape(splits, N_FOLDS, -1)
    return parts[..., :-1], parts[..., -1]


def split(counts: CellCounts) -> list[CellCounts]:
    """Where classes are many: every row goes to a fold drawn at random, independently of all else."""
    even = np.full(N_FOLDS_MANY, 1 / N_FOLDS_MANY)
    source = scipy.sparse.csc_matrix(counts.source)
    rng = coins("folds", 0, source.data, source.indices, source.indptr, counts.target)
    source_folds = rng.multinomial(source.data.astype(np.int64), even).T.astype(float)
    target_folds = rng.multinomial(counts.target.astype(np.int64), even).T.astype(float)
    folds = []
    for data, target in zip(source_folds, target_folds, strict=True):
        fold = scipy.sparse.csc_matrix((data, source.indices, source.indptr), source.shape, copy=True)
        fold.eliminate_zeros()  # it lists no cell that only other folds fill: the list would tell it of them
        folds.append(CellCounts(dense_if_few(fold), target, counts.predicted, counts.confidence))
    return folds


def join_folds(folds: list[CellCounts]) -> CellCounts:
    """All rows of several folds."""
    source, target = sum(fold.source for fold in folds[1:]), sum(fold.target for fold in folds[1:])
    return replace(folds[0], source=folds[0].source + source, target=folds[0].target + target)


def dense_if_few(counts: Any) -> Any:
    """Sparse counts [cell, label] as they are kept: as an array where classes are few."""
    return counts.toarray() if counts.shape[1] <= FEW_CLASSES else counts
