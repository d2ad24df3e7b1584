"""Counts that grow in place, batch after batch: the same numbers as a tally on the grid, at scanning speed.

A true-label score on the grid is 24 bits; with its class above them it is one integer, so that sorting integers
does what :mod:`pacshift.tally.counter` does with floats. The tests hold both to the same result, bit for bit.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import FloatArray, IntArray, Label
from pacshift.scores.check import BLOCK_VALUES, ScoreMatrix
from pacshift.scores.transforms import Transform
from pacshift.tally import SoftSums, Tally
from pacshift.tally.counter import SOFT_UNIT, top_label
from pacshift.tally.grid import DROPPED_BITS, float_to_order, order_to_float
from pacshift.tally.histogram import BINS, SIZED_CLASSES, count_bins

_CODE_BITS = 64 - DROPPED_BITS
_MOST_PENDING = 1 << 21  # keys kept unsorted: 16 MB
FEW_CLASSES = 64  # up to here K × K numbers are cheaper than the bookkeeping to avoid them


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """What one batch adds. ``cells`` and ``keys`` have an entry a row, ``soft[i]`` belongs to ``soft_rows[i]``."""

    cells: IntArray
    keys: NDArray[np.integer[Any]]
    soft_rows: IntArray
    soft: IntArray | None
    bins: IntArray | None


def count(
    scores: NDArray[np.floating[Any]],
    index: IntArray | None,
    *,
    transform: Transform,
    soft: bool,
    bins: bool,
    rng: np.random.Generator,
) -> Part:
    """Predicted label, true-label score, sums and bins of finite scores; ``index`` None: an unlabelled target."""
    checked = ScoreMatrix(scores, tuple(range(scores.shape[1])))
    few = scores.shape[1] <= FEW_CLASSES
    seen = _look(list(scores.T), index, soft, bins) if few else _look_at_many(checked, index, soft, bins)
    if index is not None and transform.function is not None:
        seen = replace(seen, picked=transform.true_label(checked, index, rng))
    return _part(seen, index, scores.shape[1])


def count_columns(
    columns: Sequence[NDArray[Any]], index: IntArray | None, *, soft: bool, bins: bool
) -> Part | None:
    """As :func:`count` of few classes, from columns as they lie in a file; None where a score is not finite."""
    seen = _look(columns, index, soft, bins)
    return _part(seen, index, len(columns)) if seen.finite else None


def _part(seen: "_Seen", index: IntArray | None, n_classes: int) -> Part:
    if index is None:
        return Part(seen.predicted, np.empty(0, np.int64), seen.labels, seen.sums, seen.bins)
    keys = _keys(seen.picked, index, n_classes)
    return Part(seen.predicted * n_classes + index, keys, seen.labels, seen.sums, None)


@dataclass(frozen=True, slots=True, eq=False)
class _Seen:
    """Predicted labels, true-label scores, the labels that occur, and for each the sums of scores.

    The sums are in ``SOFT_UNIT``; they and the target's bins are None where they are not asked for or the scores
    are no probabilities.
    """

    predicted: IntArray
    picked: FloatArray
    labels: IntArray
    sums: IntArray | None
    bins: IntArray | None
    finite: bool = True


def _look(columns: Sequence[NDArray[Any]], index: IntArray | None, soft: bool, bins: bool) -> _Seen:
    """Blocks small enough for the cache, class after class."""
    n_classes, n_rows, step = len(columns), len(columns[0]), max(1, BLOCK_VALUES // len(columns))
    predicted, picked = np.empty(n_rows, np.int64), np.empty(n_rows)
    sums, member = np.zeros((1 if index is None else n_classes, n_classes)), np.zeros((step, n_classes))
    places, finite, binned = np.arange(step), True, _Bins(n_classes, wanted=bins and index is None)
    for start in range(0, n_rows, step):
        rows = slice(start, min(start + step, n_rows))
        size = rows.stop - start
        block = np.empty((n_classes, size))
        for label, column in enumerate(columns):
            block[label] = column[rows]
        predicted[rows] = top_label(block.T)
        if index is not None:
            picked[rows] = block.ravel().take(index[rows] * size + places[:size])
        binned.add(block)
        probabilities = soft and _to_units(block)
        finite = finite and (probabilities or _is_finite(block))
        if probabilities:
            sums += _sums(block, None if index is None else index[rows] + places[:size] * n_classes, member)
        soft = probabilities
    units = sums.astype(np.int64) if soft else None
    return _Seen(predicted, picked, np.arange(len(sums)), units, binned.total, finite)


class _Bins:
    """Bins of block after block; ``total`` is None where they are not wanted or mean nothing."""

    def __init__(self, n_classes: int, *, wanted: bool) -> None:
        self.total = np.zeros((n_classes, BINS), np.int64) if wanted and n_classes <= SIZED_CLASSES else None

    def add(self, block: FloatArray) -> None:
        part = None if self.total is None else count_bins(block)
        self.total = None if self.total is None or part is None else self.total + part


def _sums(block: FloatArray, cells: IntArray | None, member: FloatArray) -> FloatArray:
    """Sums of the block by label. Integers below 2**53 add exactly in floats, in any order: BLAS may do it."""
    if cells is None:
        return np.asarray(block.sum(axis=1)[None, :])
    flat = member.ravel()
    flat[cells] = 1  # one 1 a row, in the column of its label
    total = member[: block.shape[1]].T @ block.T
    flat[cells] = 0
    return np.asarray(total)


def _is_finite(block: FloatArray) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        return math.isfinite(block.sum()) or bool(np.isfinite(block).all())  # the sum alone may overflow


def _look_at_many(scores: ScoreMatrix, index: IntArray | None, soft: bool, bins: bool) -> _Seen:
    """As :func:`_look`, at a cost of rows × K instead of K × K a block: rows are taken label after label."""
    labels = np.zeros(len(scores), np.int64) if index is None else index
    order, present = np.argsort(labels, kind="stable"), np.unique(labels)
    predicted, picked = np.empty(len(scores), np.int64), np.empty(len(scores))
    sums = np.zeros((len(present) if soft else 0, len(scores.classes)))
    binned = _Bins(len(scores.classes), wanted=bins and index is None)
    for rows in scores.blocks():
        taken, own = order[rows], labels[order[rows]]
        block = scores.values[taken].astype(np.float64)
        predicted[taken] = top_label(block)
        picked[taken] = block[np.arange(len(block)), own]
        binned.add(block.T)
        soft = soft and _to_units(block)
        if soft:
            starts = np.flatnonzero(np.diff(own, prepend=-1))
            sums[np.searchsorted(present, own[starts])] += np.add.reduceat(block, starts, axis=0)
    return _Seen(predicted, picked, present, sums.astype(np.int64) if soft else None, binned.total)


def _to_units(scores: FloatArray) -> bool:
    """Scale and round in place; whether they are probabilities at all."""
    with np.errstate(over="ignore", invalid="ignore"):  # scores that large are none
        np.multiply(scores, 1 / SOFT_UNIT, out=scores)
        np.rint(scores, out=scores)
    return bool(scores.min() >= 0 and scores.max() <= 1.001 / SOFT_UNIT)


def _keys(picked: FloatArray, index: IntArray, n_classes: int) -> NDArray[np.integer[Any]]:
    """Class and score as one integer, in the order of (class, score); the shorter, the faster to sort."""
    kind = np.uint32 if n_classes << _CODE_BITS <= 1 << 32 else np.int64
    codes = (float_to_order(picked) >> DROPPED_BITS) + (1 << (_CODE_BITS - 1))  # now all >= 0
    codes += index << _CODE_BITS
    return codes.astype(kind)


def _scores_of(keys: NDArray[np.integer[Any]]) -> FloatArray:
    codes = (keys.astype(np.int64) & ((1 << _CODE_BITS) - 1)) - (1 << (_CODE_BITS - 1))
    return order_to_float(codes << DROPPED_BITS)


class Counts:
    """The sum of many parts."""

    def __init__(self, classes: tuple[Label, ...], *, labelled: bool, soft: bool, bins: bool) -> None:
        n_classes = len(classes)
        self._classes, self._labelled = classes, labelled
        self._cells = np.zeros(n_classes * (n_classes if labelled else 1), np.int64)
        self._soft = np.zeros((n_classes if labelled else 1, n_classes), np.int64) if soft else None
        self._bins = _Bins(n_classes, wanted=bins and not labelled).total
        self._keys: NDArray[np.integer[Any]] = np.empty(0, np.uint32)
        self._counts = np.empty(0, np.int64)
        self._pending: list[NDArray[np.integer[Any]]] = []

    def add(self, part: Part) -> None:
        """Add one part; the order does not matter."""
        np.add.at(self._cells, part.cells, 1)
        if self._soft is not None and part.soft is not None:
            self._soft[part.soft_rows] += part.soft
        else:
            self._soft = None
        self._bins = None if self._bins is None or part.bins is None else self._bins + part.bins
        self._pending.append(part.keys)
        if sum(map(len, self._pending)) > _MOST_PENDING:
            self._compress()

    def _compress(self) -> None:
        if not self._pending:
            return
        fresh, counts = _run_lengths(np.sort(np.concatenate(self._pending)))
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
            soft = SoftSums(self._soft.T, line)
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
            bins=self._bins,
        )


def _run_lengths(
    keys: NDArray[np.integer[Any]], counts: IntArray | None = None
) -> tuple[NDArray[np.integer[Any]], IntArray]:
    """Equal neighbours joined, with the sum of their counts."""
    first = np.ones(len(keys), np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=first[1:])
    heads = np.flatnonzero(first)
    if counts is None:
        return keys[heads], np.diff(heads, append=len(keys))
    return keys[heads], np.add.reduceat(counts, heads) if len(heads) else counts
