"""The one counter: a cache-sized block of scores becomes counts, for memory, Arrow and Spark alike.

Blocks are counted on all cores and added to one ``Counter``. All counts are integers, so the result does not
depend on how the rows are cut into blocks, nor on their order.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import FloatArray, IntArray
from pacshift.parallel import run_all
from pacshift.scores.check import ScoreMatrix, not_finite_error
from pacshift.scores.transforms import TRANSFORMS, Transform
from pacshift.tally.cells import Cells, cell_codes
from pacshift.tally.histogram import BINS, MAX_BINNED_CLASSES, count_bins
from pacshift.tally.soft import SoftCounter, SoftSums, are_probabilities, block_sums
from pacshift.tally.stores import Distinct, ExactScores, GridScores, KeyCounts, ScoreStore

Matrix: TypeAlias = NDArray[np.floating[Any]]
"""Scores: one row per example, one column per class."""

BLOCK_VALUES = 1 << 17
"""Scores of one block: few calls per score, and still inside the second-level cache."""
CHUNK_VALUES = 1 << 20
"""Scores of one job: enough to be worth a thread."""
FEW_CLASSES = 12
"""Up to so many classes, blocks lie class after class: NumPy is slow on short rows."""


@dataclass(frozen=True, slots=True)
class CountOptions:
    """What to count: ``soft`` sums, the target's ``bins``, true-label scores on the ``grid`` or exact."""

    transform: Transform = TRANSFORMS["probability"]
    grid: bool = False
    soft: bool = True
    bins: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class BlockCounts:
    """What one block adds.

    ``cells`` and, of labelled rows, ``labels`` and true-label ``scores`` have one entry per row. ``soft[r]`` are
    the sums of the label ``soft_labels[r]``. ``soft`` and ``bins`` are None where they are not asked for or the
    scores are not probabilities; of such scores all rows are in one confidence bin.
    """

    cells: NDArray[np.integer[Any]]
    has_confidence: bool
    labels: IntArray | None
    scores: FloatArray | None
    soft_labels: IntArray | None
    soft: IntArray | None
    bins: IntArray | None


def read_blocks(scores: Matrix | Sequence[NDArray[Any]]) -> Iterator[tuple[slice, Matrix]]:
    """Row ranges and their scores, from a matrix or from columns as they lie in a file.

    Few classes lie column after column, many row after row. The memory of a block is used again for the next one.
    """
    columns = scores.T if isinstance(scores, np.ndarray) else scores
    n_classes, n_rows = len(columns), len(columns[0])
    few, step = n_classes <= FEW_CLASSES, max(1, BLOCK_VALUES // n_classes)
    as_it_is = isinstance(scores, np.ndarray) and scores.flags.c_contiguous and not few
    kind = np.result_type(*columns) if not isinstance(scores, np.ndarray) else scores.dtype
    buffer = np.empty(0 if as_it_is else n_classes * min(step, n_rows), kind)
    for start in range(0, n_rows, step):
        rows = slice(start, min(start + step, n_rows))
        if as_it_is:
            yield rows, scores[rows]  # type: ignore[misc]
            continue
        size = rows.stop - start
        flat = buffer[: n_classes * size]
        block = flat.reshape(n_classes, size) if few else flat.reshape(size, n_classes).T
        if isinstance(columns, np.ndarray):
            block[:] = columns[:, rows]
        else:
            for place, column in zip(block, columns, strict=True):
                place[:] = column[rows]
        yield rows, block.T


def count_block(
    block: Matrix, labels: IntArray | None, options: CountOptions, uniform: FloatArray | None = None
) -> BlockCounts | None:
    """Count a block of scores; None where a score is NaN or infinite.

    ``labels`` are column indices, None for an unlabelled target. ``uniform`` has one number per row, for
    randomised transforms.
    """
    n_classes = block.shape[1]
    predicted, top = top_scores(block)
    least, most = float(block.min()), float(top.max())
    if not (math.isfinite(least) and math.isfinite(most)):
        return None
    probabilities = are_probabilities(least, most)
    soft_labels, soft = None, None
    if options.soft and probabilities:
        soft_labels, soft = block_sums(block, labels, few=n_classes <= FEW_CLASSES)
    with_bins = options.bins and labels is None and n_classes <= MAX_BINNED_CLASSES
    return BlockCounts(
        cells=cell_codes(predicted, top if probabilities else None, labels, n_classes),
        has_confidence=probabilities,
        labels=labels,
        scores=None if labels is None else _true_label_scores(block, labels, options.transform, uniform),
        soft_labels=soft_labels,
        soft=soft,
        bins=count_bins(block.T) if with_bins else None,
    )


def top_scores(block: Matrix) -> tuple[NDArray[np.integer[Any]], Matrix]:
    """Column and score of the largest entry of each row, the first on ties."""
    n_classes = block.shape[1]
    if n_classes > FEW_CLASSES:
        predicted = block.argmax(axis=1)
        return predicted, pick(block, predicted)
    columns = np.ascontiguousarray(block.T)
    top = columns.max(axis=0)
    is_top = (columns == top).view(np.uint8)
    is_top *= np.arange(n_classes, 0, -1, dtype=np.uint8)[:, None]  # the first column ranks highest
    return n_classes - is_top.max(axis=0), top


def pick(block: Matrix, index: NDArray[np.integer[Any]]) -> Matrix:
    """Entry ``index[r]`` of each row r."""
    size, n_classes = block.shape
    if block.flags.c_contiguous:
        flat, places = block.ravel(), index + np.arange(0, size * n_classes, n_classes)
    else:
        flat, places = block.T.ravel(), index * size + np.arange(size)
    return np.asarray(flat.take(places))


def _true_label_scores(
    block: Matrix, labels: IntArray, transform: Transform, uniform: FloatArray | None
) -> FloatArray:
    if transform.function is not None:
        block = transform.apply(block, uniform)
    return pick(block, labels).astype(np.float64, copy=False)


def count_rows(
    scores: Matrix | Sequence[NDArray[Any]],
    labels: IntArray | None,
    options: CountOptions,
    uniform: FloatArray | None = None,
) -> list[BlockCounts] | None:
    """All blocks of some rows; None where a score is NaN or infinite."""
    counted = []
    for rows, block in read_blocks(scores):
        own = None if labels is None else labels[rows]
        part = count_block(block, own, options, None if uniform is None else uniform[rows])
        if part is None:
            return None
        counted.append(part)
    return counted


class Counter:
    """The sum of any number of blocks; any thread may add."""

    def __init__(self, n_classes: int, options: CountOptions, *, labelled: bool) -> None:
        self.n_classes, self.options, self.labelled = n_classes, options, labelled
        self._lock, self._cells, self._has_confidence = Lock(), KeyCounts(), True
        self._scores: ScoreStore = GridScores(n_classes) if options.grid else ExactScores(n_classes)
        self._soft = SoftCounter(n_classes) if options.soft else None
        with_bins = options.bins and not labelled and n_classes <= MAX_BINNED_CLASSES
        self._bins = np.zeros((n_classes, BINS), np.int64) if with_bins else None

    def add(self, part: BlockCounts) -> None:
        """Add one block; the order does not matter."""
        self._cells.add(part.cells)
        if part.labels is not None and part.scores is not None:
            self._scores.add(part.labels, part.scores)
        soft = self._soft
        if soft is not None and part.soft is not None:
            soft.add(part.soft_labels, part.soft)
        with self._lock:  # one block of scores that are not probabilities takes these away for all
            self._has_confidence &= part.has_confidence
            self._soft = None if part.soft is None else self._soft
            self._bins = None if self._bins is None or part.bins is None else self._bins + part.bins

    @property
    def cells(self) -> Cells:
        """Rows by predicted label, confidence bin and true label."""
        found = Cells(*self._cells.result(), self.n_classes if self.labelled else 1)
        return found if self._has_confidence else found.without_confidence()

    @property
    def scores(self) -> Distinct:
        """True-label scores, counted class after class."""
        return self._scores.distinct()

    @property
    def soft(self) -> SoftSums | None:
        """Sums of probabilities, if kept."""
        return None if self._soft is None else self._soft.result()

    @property
    def bins(self) -> IntArray | None:
        """Target scores of each class in bins, if kept."""
        return self._bins


def count_matrix(
    scores: ScoreMatrix,
    labels: IntArray | None,
    options: CountOptions,
    *,
    name: str,
    rng: np.random.Generator,
) -> Counter:
    """One pass over a matrix in memory, on all cores."""
    counter = Counter(len(scores.classes), options, labelled=labels is not None)
    uniform = options.transform.draw(len(scores), rng) if labels is not None else None
    step = max(1, CHUNK_VALUES // len(scores.classes))

    def job(rows: slice) -> None:
        own = None if labels is None else labels[rows]
        counted = count_rows(scores.values[rows], own, options, None if uniform is None else uniform[rows])
        if counted is None:
            raise not_finite_error(scores, name)
        for part in counted:
            counter.add(part)

    run_all([partial(job, slice(start, start + step)) for start in range(0, len(scores), step)])
    return counter
