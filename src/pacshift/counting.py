"""The one pass: a checked score matrix becomes predicted labels, true-label scores and exact sums."""

from itertools import pairwise
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from pacshift.arrays import FloatArray, IntArray
from pacshift.scores import Scores, require_finite

SOFT_UNIT = 2.0**-28  # sums of probabilities are kept as integers in this unit, so that addition is exact
_FEW_CLASSES = 32  # up to here comparing columns beats NumPy's argmax of short rows


def scan(scores: Scores, name: str, index: IntArray | None) -> tuple[NDArray[Any], FloatArray | None]:
    """The one pass: every score checked, the predicted label, and with ``index`` each row's own score."""
    predicted = np.empty(len(scores), np.uint8 if len(scores.classes) <= _FEW_CLASSES else np.int64)
    picked = None if index is None else np.empty(len(scores))
    for rows in scores.blocks():
        block = scores.values[rows]
        require_finite(block, scores, name)
        predicted[rows] = top_label(block)
        if picked is not None and index is not None:
            picked[rows] = block[np.arange(len(block)), index[rows]]
    return predicted, picked


def top_label(block: NDArray[np.floating[Any]]) -> NDArray[Any]:
    """argmax of each row, the first on ties."""
    if block.shape[1] > _FEW_CLASSES:
        return np.asarray(block.argmax(axis=1))
    columns = np.ascontiguousarray(block.T)
    best, winner = columns[0].copy(), np.zeros(len(block), np.uint8)
    above = np.empty(len(block), np.bool_)
    candidate = above.view(np.uint8)
    for label in range(1, len(columns)):
        np.greater(columns[label], best, out=above)
        np.multiply(
            candidate, np.uint8(label), out=candidate
        )  # labels grow: the last to beat `best` is the largest
        np.maximum(winner, candidate, out=winner)
        np.maximum(best, columns[label], out=best)
    return winner


def distinct(picked: FloatArray, index: IntArray, n_classes: int) -> tuple[FloatArray, IntArray, IntArray]:
    """Sorted distinct scores class after class, their counts, and where each class starts."""
    small = index.astype(np.int16) if n_classes < 2**15 else index  # 16 bits: NumPy sorts by radix
    grouped = picked[np.argsort(small, kind="stable")] + 0.0  # + 0.0 makes -0.0 and 0.0 one value
    starts = np.concatenate([[0], np.cumsum(np.bincount(index, minlength=n_classes))])
    for start, end in pairwise(starts):
        grouped[start:end].sort()
    return run_lengths(grouped, np.ones(len(grouped), np.int64), starts)


def run_lengths(values: FloatArray, counts: IntArray, starts: IntArray) -> tuple[FloatArray, IntArray, IntArray]:
    """Join equal neighbours of one class into one value with the sum of their counts."""
    first = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    first[starts[:-1][starts[:-1] < len(values)]] = True  # equal scores of two classes stay two entries
    if first.all():
        return values, counts, starts
    heads = np.flatnonzero(first)
    return values[heads], np.add.reduceat(counts, heads), np.searchsorted(heads, starts)


def soft_sums(scores: Scores, index: IntArray | None) -> tuple[IntArray, IntArray] | None:
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
