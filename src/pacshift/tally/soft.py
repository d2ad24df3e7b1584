"""Exact sums of probabilities, for the soft BBSE estimate of PS-R and WCP.

Probabilities are rounded to whole units of 2**-28, so that sums are integers: the same in any order.
"""

from collections import defaultdict
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from pacshift.arrays import FloatArray, IntArray
from pacshift.tally.scratch import scratch, scratch_like
from pacshift.tally.stores import running_sum

SOFT_UNIT = 2.0**-28
"""Probabilities are rounded to this, by at most 2e-9; the sums of 2**34 rows still fit into 62 bits."""
LARGEST_PROBABILITY = 1.001
"""What models give as a probability may be rounded to a little more than 1."""
_LARGEST_UNITS = LARGEST_PROBABILITY / SOFT_UNIT

MAX_BLAS_PRODUCTS = 1 << 19
"""Products of one matrix multiplication. For more, BLAS starts threads of its own, which would fight ours: with
2**23, counting 10 classes took three times as long."""


@dataclass(frozen=True, slots=True, eq=False)
class SoftSums:
    """Sums of probabilities in units of ``SOFT_UNIT``.

    ``sums[r, i]`` is the sum of class i's probability over the source rows labelled ``labels[r]``; only labels
    that occur have a row. ``target[i]`` is the sum over the target.
    """

    labels: IntArray
    sums: IntArray
    target: IntArray

    @property
    def source(self) -> IntArray:
        """Dense: ``source[i, j]`` sums class i's probability over the rows labelled j."""
        dense = np.zeros((len(self.target), len(self.target)), np.int64)
        dense[:, self.labels] = self.sums.T
        return dense

    def __add__(self, other: "SoftSums") -> "SoftSums":
        if not len(other.labels) or not len(self.labels):
            longer = self if len(self.labels) else other
            return SoftSums(longer.labels, longer.sums, self.target + other.target)
        labels = np.union1d(self.labels, other.labels)
        sums = np.zeros((len(labels), len(self.target)), np.int64)
        for part in (self, other):
            sums[np.searchsorted(labels, part.labels)] += part.sums
        return SoftSums(labels, sums, self.target + other.target)


class SoftCounter:
    """Soft sums that grow block after block; any thread may add."""

    def __init__(self, n_classes: int) -> None:
        self._n_classes, self._lock = n_classes, Lock()
        self._rows: defaultdict[int, IntArray] = defaultdict(lambda: np.zeros(n_classes, np.int64))
        self._target = np.zeros(n_classes, np.int64)

    def add(self, labels: IntArray | None, sums: IntArray) -> None:
        """Add ``sums[r]`` to those of ``labels[r]``; without labels it is one row of the target's."""
        with self._lock:
            if labels is None:
                self._target += sums[0]
                return
            for label, row in zip(labels.tolist(), sums, strict=True):
                self._rows[label] += row

    def result(self) -> SoftSums:
        """The sums so far."""
        labels = np.array(sorted(self._rows), np.int64)
        sums = np.empty((len(labels), self._n_classes), np.int64)
        for row, label in zip(sums, labels.tolist(), strict=True):
            row[:] = self._rows.pop(label)  # given back at once: the rows may be the largest thing in memory
        return SoftSums(labels, sums, self._target)


def are_probabilities(least: float, most: float) -> bool:
    """Whether scores between ``least`` and ``most`` can be probabilities, but for rounding."""
    in_units = [round(min(max(end, -1.0), 2.0) / SOFT_UNIT) for end in (least, most)]  # huge scores would overflow
    return in_units[0] >= 0 and in_units[1] <= _LARGEST_UNITS


def block_sums(
    block: NDArray[np.floating[Any]], labels: IntArray | None, *, few: bool
) -> tuple[IntArray | None, IntArray]:
    """Labels and the sums of their rows; without ``labels`` one sum of all rows. A label may occur twice."""
    # Whole numbers below 2**53 add exactly in floats, in any order: a block is far too short to get there.
    if labels is None:
        return None, _units(block).sum(axis=0)[None, :].astype(np.int64)
    if len(block) < block.shape[1]:  # more classes than rows: hardly anything to add up here
        whole = scratch_like("whole units", block, np.int64)
        np.copyto(whole, _units(block), casting="unsafe")
        return labels, whole
    counts = np.bincount(labels, minlength=block.shape[1])
    present = np.flatnonzero(counts)
    sums = _sums_of_few(block, labels)[present] if few else _sums_of_many(block, labels, counts[present])
    return present, sums.astype(np.int64)


def _units(block: NDArray[np.floating[Any]]) -> FloatArray:
    """Probabilities in whole units."""
    units: FloatArray = scratch_like("units", block, np.float64)
    np.multiply(block, 1 / SOFT_UNIT, out=units)
    np.rint(units, out=units)
    return units


def _sums_of_few(block: NDArray[np.floating[Any]], labels: IntArray) -> FloatArray:
    """Sums by label as a product with a table that has 1 where a row has the label, else 0."""
    n_classes = block.shape[1]
    step = max(1, MAX_BLAS_PRODUCTS // n_classes**2)
    names, small = np.arange(n_classes, dtype=np.uint8)[:, None], labels.astype(np.uint8)
    total = np.zeros((n_classes, n_classes))
    for start in range(0, len(block), step):
        rows = slice(start, start + step)
        is_label = np.equal(small[rows], names, out=scratch("is label", (n_classes, len(small[rows])), np.bool_))
        table = scratch("table", is_label.shape, np.float64)
        np.copyto(table, is_label)
        total += np.dot(table, _units(block[rows]))  # unlike `@`, dot lets other threads run
    return total


def _sums_of_many(block: NDArray[np.floating[Any]], labels: IntArray, counts: IntArray) -> FloatArray:
    """Sums of the labels that occur, at a cost of rows × K instead of K × K."""
    order = np.argsort(labels, kind="stable")
    member = (np.ones(len(labels)), order, running_sum(counts))
    return np.asarray(scipy.sparse.csr_matrix(member, shape=(len(counts), len(labels))) @ _units(block))
