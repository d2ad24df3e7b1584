"""Counts that grow in place, batch after batch: the same numbers as a tally on the grid, at scanning speed.

A true-label score on the grid is 24 bits; with its class above them it is one integer, so that sorting integers
does what :mod:`pacshift.counting` does with floats. The tests hold both to the same result, bit for bit.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import FloatArray, IntArray, Label
from pacshift.counting import SOFT_UNIT, top_label
from pacshift.grid import DROPPED_BITS, float_to_order, order_to_float
from pacshift.scores import Scores
from pacshift.tally import SoftSums, Tally
from pacshift.transforms import Transform

_CODE_BITS = 64 - DROPPED_BITS
_MOST_PENDING = 1 << 21  # keys kept unsorted: 16 MB
_FEW_CLASSES = 64  # up to here K × K numbers are cheaper than the bookkeeping to avoid them


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """What one batch adds. ``cells`` and ``keys`` have an entry a row, ``soft[i]`` belongs to ``soft_rows[i]``."""

    cells: IntArray
    keys: IntArray
    soft_rows: IntArray
    soft: IntArray | None


def count(
    scores: NDArray[np.floating[Any]],
    index: IntArray | None,
    *,
    transform: Transform,
    soft: bool,
    rng: np.random.Generator,
) -> Part:
    """Predicted label, true-label score and soft sums of finite scores; ``index`` None: an unlabelled target."""
    n_classes = scores.shape[1]
    checked = Scores(scores, tuple(range(n_classes)))
    predicted, picked = np.empty(len(scores), np.int64), np.empty(len(scores))
    for rows in checked.blocks():
        block = scores[rows]
        predicted[rows] = top_label(block if n_classes < _FEW_CLASSES else np.ascontiguousarray(block))
        if index is not None and transform.function is None:
            picked[rows] = block[np.arange(len(block)), index[rows]]
    soft_rows, sums = _soft(checked, index) if soft else (np.empty(0, np.int64), None)
    if index is None:
        return Part(predicted, np.empty(0, np.int64), soft_rows, sums)
    if transform.function is not None:
        picked = transform.true_label(checked, index, rng)
    return Part(predicted * n_classes + index, _keys(picked, index), soft_rows, sums)


def _keys(picked: FloatArray, index: IntArray) -> IntArray:
    """Class and score as one integer, in the order of (class, score)."""
    codes = (float_to_order(picked) >> DROPPED_BITS) + (1 << (_CODE_BITS - 1))  # now all >= 0
    return codes + (index.astype(np.int64) << _CODE_BITS)


def _scores_of(keys: IntArray) -> FloatArray:
    codes = (keys & ((1 << _CODE_BITS) - 1)) - (1 << (_CODE_BITS - 1))
    return order_to_float(codes << DROPPED_BITS)


def _soft(scores: Scores, index: IntArray | None) -> tuple[IntArray, IntArray | None]:
    """The labels that occur and for each the sums of scores in ``SOFT_UNIT``; None where not probabilities."""
    n_classes = len(scores.classes)
    if n_classes > _FEW_CLASSES:
        return _soft_of_many(scores, index)
    labels = np.arange(n_classes if index is not None else 1, dtype=np.uint8)
    total = np.zeros((len(labels), n_classes), np.int64)
    for rows in scores.blocks():
        units = _units(scores.values[rows])
        if units is None:
            return labels.astype(np.int64), None
        # Integers below 2**53 add exactly in floats, in any order: BLAS may do it.
        member = np.ones((1, len(units))) if index is None else labels[:, None] == index[rows].astype(np.uint8)
        total += (member.astype(np.float64) @ units).astype(np.int64)
    return labels.astype(np.int64), total


def _soft_of_many(scores: Scores, index: IntArray | None) -> tuple[IntArray, IntArray | None]:
    """As :func:`_soft`, at a cost of rows × K instead of K × K a block."""
    index = np.zeros(len(scores), np.int64) if index is None else index
    order = np.argsort(index, kind="stable")
    labels, starts = np.unique(index[order], return_index=True)
    units = _units(scores.values[order])
    return labels, None if units is None else np.add.reduceat(units, starts, axis=0).astype(np.int64)


def _units(block: NDArray[np.floating[Any]]) -> FloatArray | None:
    units = block.astype(np.float64)
    with np.errstate(over="ignore"):  # scores that large are no probabilities: None
        np.multiply(units, 1 / SOFT_UNIT, out=units)
    np.rint(units, out=units)
    return None if units.min() < 0 or units.max() > 1.001 / SOFT_UNIT else units


class Counts:
    """The sum of many parts."""

    def __init__(self, classes: tuple[Label, ...], *, labelled: bool, soft: bool) -> None:
        n_classes = len(classes)
        self._classes, self._labelled = classes, labelled
        self._cells = np.zeros(n_classes * (n_classes if labelled else 1), np.int64)
        self._soft = np.zeros((n_classes if labelled else 1, n_classes), np.int64) if soft else None
        self._keys, self._counts = np.empty(0, np.int64), np.empty(0, np.int64)
        self._pending: list[IntArray] = []

    def add(self, part: Part) -> None:
        """Add one part; the order does not matter."""
        np.add.at(self._cells, part.cells, 1)
        if self._soft is not None and part.soft is not None:
            self._soft[part.soft_rows] += part.soft
        else:
            self._soft = None
        self._pending.append(part.keys)
        if sum(map(len, self._pending)) > _MOST_PENDING:
            self._compress()

    def _compress(self) -> None:
        fresh, counts = _run_lengths(np.sort(np.concatenate([np.empty(0, np.int64), *self._pending])))
        self._pending = []
        keys, counts = np.concatenate([self._keys, fresh]), np.concatenate([self._counts, counts])
        order = np.argsort(keys, kind="stable")  # two sorted runs: stable sorting merges them in one pass
        self._keys, self._counts = _run_lengths(keys[order], counts[order])

    def tally(self, score: str) -> Tally:
        """The counts as a tally on the grid."""
        self._compress()
        n_classes = len(self._classes)
        square, line = np.zeros((n_classes, n_classes), np.int64), np.zeros(n_classes, np.int64)
        soft = None if self._soft is None else SoftSums(square, self._soft[0])
        if self._labelled and self._soft is not None:
            soft = SoftSums(np.ascontiguousarray(self._soft.T), line)
        return Tally(
            classes=self._classes,
            score=score if self._labelled else "probability",
            grid=self._labelled,
            confusion=self._cells.reshape(n_classes, n_classes) if self._labelled else square,
            target=line if self._labelled else self._cells,
            values=_scores_of(self._keys),
            counts=self._counts,
            starts=np.searchsorted(self._keys, np.arange(n_classes + 1) << _CODE_BITS),
            soft=soft,
        )


def _run_lengths(keys: IntArray, counts: IntArray | None = None) -> tuple[IntArray, IntArray]:
    """Equal neighbours joined, with the sum of their counts."""
    first = np.ones(len(keys), np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    heads = np.flatnonzero(first)
    if counts is None:
        return keys[heads], np.diff(heads, append=len(keys))
    return keys[heads], np.add.reduceat(counts, heads) if len(heads) else counts
