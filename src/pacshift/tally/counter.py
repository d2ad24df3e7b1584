"""The one counter: a block of scores becomes counts, for memory, Arrow and Spark alike.

Blocks are counted on all cores and added to one ``Counter``. All counts are integers, so the result does not
depend on how the rows are cut into blocks, nor on their order. There is one exception: where some blocks hold
probabilities and others do not, the cells have no bins.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import FloatArray, IntArray, scratch
from pacshift.parallel import run_all
from pacshift.scores.check import MAX_SCORE, ScoreMatrix, not_finite_error
from pacshift.scores.kind import PROBABILITIES, ScoreKind, in_unit, kind_of_all
from pacshift.scores.transforms import TRANSFORMS, Transform
from pacshift.tally.cells import Bins, Cells, cell_codes, n_codes
from pacshift.tally.grid import BINS, MAX_BINNED_CLASSES, count_bins
from pacshift.tally.stores import (
    ExactScores,
    GridScores,
    KeyCounts,
    RawScores,
    SoftCounter,
    SoftSums,
    are_probabilities,
    block_sums,
)

Matrix: TypeAlias = NDArray[np.floating[Any]]
"""Scores: one row per example, one column per class."""

Scores: TypeAlias = Matrix | Sequence[NDArray[Any]]
"""A matrix, or one array per class as columns lie in a file."""

BLOCK_VALUES = 1 << 20
"""Scores of one block, 8 MB: long enough for threads not to wait for each other. Other lengths were not
measured."""
PIECE_VALUES = 1 << 17
"""Scores of one piece of a block, 1 MB: near the processor, and few calls per score, because threads wait for each
other between calls. Pieces of 2**15 scores take 1.6 times as long on two cores, those of 2**18 as long."""
MAX_SMALL_PIECE_CLASSES = 200
"""Up to so many classes, pieces are small: the bins of one (257 per class) have fewer entries than the piece has
scores."""
MAX_COLUMN_CLASSES = 12
"""Up to so many classes, pieces lie class after class: NumPy is slow on short rows. Row after row, 10 classes take
half as long again; class after class, 100 classes take nearly twice as long."""

TOPS_LOOKED_AT = 64
"""Rows of a piece whose top scores are looked at where they are not asked for. A round number."""


@dataclass(frozen=True, slots=True)
class CountOptions:
    """What to count: ``soft`` sums, the target's ``bins``, true-label scores on the ``grid`` or exact.

    Without ``predicted`` only what a method needs that looks at true-label scores alone; soft sums and bins are
    then not counted either.
    """

    transform: Transform = TRANSFORMS["probability"]
    grid: bool = False
    soft: bool = True
    bins: bool = True
    predicted: bool = True


def _shape(scores: Scores) -> tuple[int, int, np.dtype[Any]]:
    if isinstance(scores, np.ndarray):
        return len(scores), scores.shape[1], scores.dtype
    return len(scores[0]), len(scores), np.result_type(*scores)


def read_blocks(scores: Scores, *, turned: bool = True) -> Iterator[tuple[slice, Matrix]]:
    """Row ranges and their scores, in pieces, from a matrix or from columns as they lie in a file.

    Few classes lie column after column, many row after row; if they are not to be ``turned``, as they came, in one
    of these ways. The memory of a piece is used again for the next one.
    """
    n_rows, n_classes, dtype = _shape(scores)
    few = (
        n_classes <= MAX_COLUMN_CLASSES
        if turned
        else not isinstance(scores, np.ndarray) or (scores.strides[0] < scores.strides[1])
    )
    step = max(1, (PIECE_VALUES if n_classes <= MAX_SMALL_PIECE_CLASSES else BLOCK_VALUES) // n_classes)
    for start in range(0, n_rows, step):
        rows = slice(start, min(start + step, n_rows))
        if isinstance(scores, np.ndarray):
            piece = scores[rows]
        else:
            piece = scratch("columns", (n_classes, rows.stop - start), dtype).T
            with np.errstate(invalid="ignore"):  # NaN of the signalling kind: refused later like any NaN
                for place, column in zip(piece.T, scores, strict=True):
                    place[:] = column[rows]
        wanted = piece.T if few else piece
        if not wanted.flags.c_contiguous:
            copy = scratch("piece", wanted.shape, dtype)
            copy[:] = wanted
            piece = copy.T if few else copy
        yield rows, piece


def top_scores(block: Matrix, predicted: NDArray[np.integer[Any]], top: Matrix) -> None:
    """Write column and score of the largest entry of each row, the first on ties.

    Ties are those of single precision, so that scores of float32 and float64 have the same predicted labels.
    """
    n_classes = block.shape[1]
    if n_classes > MAX_COLUMN_CLASSES:
        _single(block).argmax(axis=1, out=predicted)
        top[:] = pick(block, predicted)
    else:
        columns = np.ascontiguousarray(block.T)
        np.maximum.reduce(columns, axis=0, out=top)
        reached = scratch("is top", columns.shape, np.bool_)
        is_top = np.equal(_single(columns), _single(top), out=reached).view(np.uint8)
        is_top *= np.arange(n_classes, 0, -1, dtype=np.uint8)[:, None]  # the first column ranks highest
        np.maximum.reduce(is_top, axis=0, out=predicted)
        np.subtract(n_classes, predicted, out=predicted)


def _single(scores: Matrix) -> Matrix:
    with np.errstate(over="ignore", invalid="ignore"):  # scores beyond its range are refused afterwards
        return scores.astype(np.float32, copy=False)


def pick(block: Matrix, index: NDArray[np.integer[Any]]) -> Matrix:
    """Entry ``index[r]`` of each row r."""
    size, n_classes = block.shape
    if block.flags.c_contiguous:
        flat, places = block.ravel(), index + np.arange(0, size * n_classes, n_classes)
    else:
        flat, places = block.T.ravel(), index * size + np.arange(size)
    return np.asarray(flat.take(places))


def sum_rows(block: Matrix, out: FloatArray) -> None:
    """Write the sum of each row."""
    if block.flags.c_contiguous:  # short rows: a quarter of the time of the other way
        np.einsum("ij->i", block, dtype=np.float64, out=out)
    else:
        np.add.reduce(block, axis=1, dtype=np.float64, out=out)


class Counter:
    """The sum of any number of blocks; any thread may add.

    ``scores`` are the true-label scores; ``bins`` are the target's scores of each class in bins, if kept; ``kind``
    says what kind of numbers the scores are, None without rows.
    """

    def __init__(self, n_classes: int, options: CountOptions, *, labelled: bool) -> None:
        self.n_classes, self.options, self.labelled = n_classes, options, labelled
        self._n_labels = n_classes if labelled else 1
        self._lock = Lock()
        self._cells: dict[Bins, KeyCounts] = {}
        exact = ExactScores if options.predicted else RawScores
        self.scores = GridScores(n_classes) if options.grid else exact(n_classes)
        self._soft = SoftCounter(n_classes) if options.soft and options.predicted else None
        with_bins = options.bins and options.predicted and not labelled and n_classes <= MAX_BINNED_CLASSES
        self.bins: IntArray | None = np.zeros((n_classes, BINS), np.int64) if with_bins else None
        self.kind: ScoreKind | None = None

    def count(self, scores: Scores, labels: IntArray | None, *, with_top: bool | None = None) -> int:
        """Count a block of rows, piece after piece; returns how many stand before the first score not finite.

        The rest of the rows is not counted. The cut may come a little earlier than it needs to. ``labels`` are
        column indices, None for an unlabelled target. ``with_top``: look for top scores, also where predicted
        labels are not asked for.
        """
        n_rows, n_classes, dtype = _shape(scores)
        with_top = self.options.predicted if with_top is None else with_top
        few, soft, n_top = n_classes <= MAX_COLUMN_CLASSES, self._soft, n_rows if with_top else 0
        predicted: Any = np.empty(n_top, np.uint8 if few else np.int64)  # as top_scores writes
        top, least_top, high = np.empty(n_top, dtype), math.inf, -math.inf
        is_single = dtype == np.float32 and self.options.transform.function is None and not self.options.grid
        true_scores: Any = np.empty(0 if labels is None else n_rows, np.float32 if is_single else np.float64)
        n_counted, low, sums, probabilities = 0, math.inf, np.empty(n_rows), True
        wants_bins, bins = self.bins is not None, None
        for rows, piece in read_blocks(scores, turned=with_top):
            if with_top:
                top_scores(piece, predicted[rows], top[rows])
            tops = top[rows] if with_top else piece
            least, most = float(np.minimum.reduce(piece, axis=None)), float(np.maximum.reduce(tops, axis=None))
            if not (least >= -MAX_SCORE and most <= MAX_SCORE):
                break
            n_counted, low, high = rows.stop, min(low, least), max(high, most)
            some_tops = tops if with_top else piece[:TOPS_LOOKED_AT].max(axis=1)
            least_top = min(least_top, float(np.minimum.reduce(some_tops)))
            probabilities = probabilities and are_probabilities(least, most)
            if in_unit(least, most):
                sum_rows(piece, out=sums[rows])
            block_labels = None if labels is None else labels[rows]
            if block_labels is not None:
                true_scores[rows] = pick(self.options.transform.apply(piece), block_labels)
            if soft is not None and probabilities:  # at once: sums may be larger than the block
                soft.add(*block_sums(piece, block_labels, few=few))
            if wants_bins:
                piece_bins = count_bins(piece.T, (least, most))
                wants_bins = piece_bins is not None
                bins = piece_bins if bins is None or piece_bins is None else bins + piece_bins
        if not n_counted:
            return 0
        kind = ScoreKind.of(low, high, least_top, sums[:n_counted])
        if not with_top and (kind.name != PROBABILITIES or kind.is_constant):  # top scores tell more of these
            return self.count(scores, labels, with_top=True)
        labels = None if labels is None else labels[:n_counted]
        cell_bins: Bins = "not counted" if not with_top else "confidence" if probabilities else "top scores"
        with self._lock:
            if cell_bins not in self._cells:
                self._cells[cell_bins] = KeyCounts(n_codes(n_classes, self._n_labels, cell_bins))
        codes: Any = np.zeros(n_counted, np.uint8) if labels is None else labels
        if with_top:
            codes = cell_codes(predicted[:n_counted], top[:n_counted], labels, n_classes, cell_bins)
        self._cells[cell_bins].add(codes)
        if labels is not None:
            self.scores.add(labels, true_scores[:n_counted])
        with self._lock:  # one block of scores that are not probabilities takes these away for all
            self.kind = kind_of_all(known for known in (self.kind, kind) if known)
            self._soft = self._soft if probabilities else None
            self.bins = None if self.bins is None or bins is None else self.bins + bins
        return n_counted

    def count_matrix(self, scores: ScoreMatrix, labels: IntArray | None, *, name: str) -> None:
        """Count a matrix in memory, on all cores, or raise an InputError where a score is not finite."""
        step = max(1, BLOCK_VALUES // self.n_classes)

        def job(rows: slice) -> None:
            block, block_labels = scores.values[rows], None if labels is None else labels[rows]
            if self.count(block, block_labels) < len(block):
                raise not_finite_error(scores, name)

        run_all([partial(job, slice(start, start + step)) for start in range(0, len(scores), step)])

    @property
    def cells(self) -> Cells:
        """Rows by predicted label, bin and true label; without bins where blocks are of both kinds."""
        parts = [Cells(*store.result(), self._n_labels, bins) for bins, store in self._cells.items()]
        if "not counted" in self._cells:
            parts = [cells.forget_predictions() for cells in parts]
        return Cells.sum(parts or [Cells.empty(self._n_labels)])

    @property
    def soft(self) -> SoftSums | None:
        """Sums of probabilities, if kept."""
        return None if self._soft is None else self._soft.result()
