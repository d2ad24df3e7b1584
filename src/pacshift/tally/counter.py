"""The one pass: a checked score matrix becomes predicted labels, true-label scores and exact sums."""

from itertools import pairwise
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from pacshift.arrays import FloatArray, IntArray
from pacshift.scores.check import BLOCK_VALUES, ScoreMatrix, require_finite
from pacshift.tally.histogram import BINS, SIZED_CLASSES, count_bins

SOFT_UNIT = 2.0**-28  # sums of probabilities are kept as integers in this unit, so that addition is exact
_FEW_CLASSES = 32  # up to here comparing columns beats NumPy's argmax of short rows


def scan(scores: ScoreMatrix, name: str, index: IntArray | None) -> tuple[NDArray[Any], FloatArray | None]:
    """The one pass: every score checked, the predicted label, and with ``index`` each row's own score."""
    predicted = np.empty(len(scores), np.uint8 if len(scores.classes) <= _FEW_CLASSES else np.int64)
    picked = None if index is None else np.empty(len(scores))
    places = np.arange(0, BLOCK_VALUES, len(scores.classes))  # where the rows of a block start
    for rows in scores.blocks():
        block = scores.values[rows]
        require_finite(block, scores, name)
        predicted[rows] = top_label(block)
        if picked is not None and index is not None:
            picked[rows] = block.ravel().take(index[rows] + places[: len(block)])
    return predicted, picked


def top_label(block: NDArray[np.floating[Any]]) -> NDArray[Any]:
    """argmax of each row, the first on ties."""
    if block.shape[1] > _FEW_CLASSES:
        return np.asarray(block.argmax(axis=1))
    columns = np.ascontiguousarray(block.T)  # whole columns at a time: short rows are slow in NumPy
    is_best = (columns == columns.max(axis=0)).view(np.uint8)
    rank = np.arange(len(columns), 0, -1, dtype=np.uint8)[:, None]  # the first column ranks highest
    np.multiply(is_best, rank, out=is_best)
    return np.asarray(len(columns) - is_best.max(axis=0))


def distinct(picked: FloatArray, index: IntArray, n_classes: int) -> tuple[FloatArray, IntArray, IntArray]:
    """Sorted distinct scores class after class, their counts, and where each class starts."""
    small = index.astype(np.uint8 if n_classes <= 2**8 else np.uint16 if n_classes <= 2**16 else np.int64)
    grouped = picked[np.argsort(small, kind="stable")]  # up to 16 bits NumPy sorts by radix
    grouped += 0.0  # makes -0.0 and 0.0 one value
    starts = running_sum(np.bincount(index, minlength=n_classes))
    for start, end in pairwise(starts):
        grouped[start:end].sort()
    return run_lengths(grouped, np.ones(len(grouped), np.int64), starts)


def running_sum(counts: IntArray) -> IntArray:
    """0, then the sums of the first 1, 2, ... counts."""
    sums = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=sums[1:])
    return sums


def run_lengths(values: FloatArray, counts: IntArray, starts: IntArray) -> tuple[FloatArray, IntArray, IntArray]:
    """Join equal neighbours of one class into one value with the sum of their counts."""
    first = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    first[starts[:-1][starts[:-1] < len(values)]] = True  # equal scores of two classes stay two entries
    if first.all():
        return values, counts, starts
    heads = np.flatnonzero(first)
    return values[heads], np.add.reduceat(counts, heads), np.searchsorted(heads, starts)


def target_bins(scores: ScoreMatrix) -> IntArray | None:
    """Scores of each class in bins, or None where they are not in [0, 1] or the classes are too many."""
    if len(scores.classes) > SIZED_CLASSES:
        return None
    total = np.zeros((len(scores.classes), BINS), np.int64)
    for rows in scores.blocks():
        part = count_bins(np.asarray(scores.values[rows].T, np.float64))
        if part is None:
            return None
        total += part
    return total


def soft_sums(scores: ScoreMatrix, index: IntArray | None) -> tuple[IntArray, IntArray] | None:
    """Exact sums of probabilities, or None where scores are not in [0, 1] and soft sums mean nothing."""
    n_classes = len(scores.classes)
    source, target = np.zeros((n_classes, n_classes), np.int64), np.zeros(n_classes, np.int64)
    for rows in scores.blocks():
        with np.errstate(over="ignore"):
            block = np.rint(np.asarray(scores.values[rows], np.float64) / SOFT_UNIT)
        if block.min() < 0 or block.max() > 1.001 / SOFT_UNIT:
            return None
        # Integers below 2**53 add exactly in floats: a block is far too short to get there.
        if index is None:
            target += block.sum(axis=0).astype(np.int64)
        else:
            member = (np.ones(len(block)), (index[rows], np.arange(len(block))))
            sums = scipy.sparse.csr_matrix(member, shape=(n_classes, len(block))) @ block
            source += sums.T.astype(np.int64)
    return source, target
