"""Where counts are kept while they grow: integer keys, scores on the grid, exact scores. Any thread may add."""

from functools import partial
from itertools import pairwise
from threading import Lock
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import FloatArray, IntArray
from pacshift.parallel import cores, run_all
from pacshift.tally.grid import CODE_BITS, code_to_float, float_to_code

Keys = NDArray[np.integer[Any]]
Distinct = tuple[FloatArray, IntArray, IntArray]
"""Sorted distinct scores class after class, their counts, and where each class starts."""

MAX_PENDING_KEYS = 1 << 20
"""Keys kept uncounted: a few megabytes."""
TABLE_CELLS_PER_KEY = 4
"""Keys are counted in a table of at most so many cells per key; beyond that sorting is cheaper."""
PAGE_BITS = 12
"""Keys that differ in their last bits only share a page of a table: scores of one class and one octave."""
ROWS_PER_SLICE = 64
"""Exact scores are grouped by class once there are so many rows per class: else slices would be too many."""
ROWS_PER_JOB = 1 << 14
"""Exact scores that are worth sorting in a thread."""


class ScoreStore(Protocol):
    """True-label scores of any number of rows."""

    def add(self, labels: IntArray, scores: FloatArray) -> None:
        """Add one score per row."""

    def distinct(self) -> Distinct:
        """All of them, counted."""


class KeyCounts:
    """How often each integer key was added."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._pending: list[Keys] = []
        self._n_pending = 0
        self._keys, self._counts = np.empty(0, np.int64), np.empty(0, np.int64)

    def add(self, keys: Keys) -> None:
        """Add one key per row; the order does not matter."""
        with self._lock:
            self._pending.append(keys)
            self._n_pending += len(keys)
            full = self._n_pending > MAX_PENDING_KEYS
        if full:
            self._count_pending()

    def _count_pending(self) -> None:
        with self._lock:
            pending, self._pending, self._n_pending = self._pending, [], 0
        if not pending:
            return
        keys, counts = count_keys(np.concatenate(pending))  # the long part, outside the lock
        with self._lock:
            both = np.concatenate([self._keys, keys]), np.concatenate([self._counts, counts])
            self._keys, self._counts = sum_by_key(*both)

    def result(self) -> tuple[IntArray, IntArray]:
        """Ascending keys and their counts."""
        self._count_pending()
        return self._keys, self._counts


def count_keys(keys: Keys) -> tuple[IntArray, IntArray]:
    """Ascending distinct keys, which are at least 0, and how often each occurs.

    Tables of counters are several times faster than sorting; they are used where they stay small.

    >>> count_keys(np.array([7, 3, 7]))
    (array([3, 7]), array([1, 2]))
    """
    limit, room = int(keys.max(initial=0)) + 1, TABLE_CELLS_PER_KEY * len(keys)
    if limit <= room:
        return _filled(np.bincount(keys, minlength=limit))
    pages = keys >> PAGE_BITS
    if limit >> PAGE_BITS < room:
        is_used = np.zeros((limit >> PAGE_BITS) + 1, np.bool_)
        is_used[pages] = True
        used = np.flatnonzero(is_used)
        if len(used) << PAGE_BITS <= room:
            within = (1 << PAGE_BITS) - 1
            place = ((np.cumsum(is_used) - 1) << PAGE_BITS)[pages] + (keys & within)
            found, counts = _filled(np.bincount(place, minlength=len(used) << PAGE_BITS))
            return (used[found >> PAGE_BITS] << PAGE_BITS) + (found & within), counts
    ordered = np.sort(keys).astype(np.int64, copy=False)
    heads = np.flatnonzero(np.diff(ordered, prepend=-1))
    return ordered[heads], np.diff(heads, append=len(ordered))


def _filled(table: IntArray) -> tuple[IntArray, IntArray]:
    found = np.flatnonzero(table)
    return found, table[found]


def sum_by_key(keys: IntArray, counts: IntArray) -> tuple[IntArray, IntArray]:
    """Ascending distinct keys and the sum of the counts of each."""
    order = np.argsort(keys, kind="stable")  # of sorted runs one after another: merged in one pass
    keys, counts = keys[order], counts[order]
    heads = np.flatnonzero(np.diff(keys, prepend=-1))
    return keys[heads], np.add.reduceat(counts, heads) if len(heads) else counts


class GridScores:
    """Scores rounded down to the grid: class and score make one key."""

    def __init__(self, n_classes: int) -> None:
        self._n_classes, self._keys = n_classes, KeyCounts()
        self._type = np.uint32 if n_classes << CODE_BITS <= 1 << 32 else np.int64

    def add(self, labels: IntArray, scores: FloatArray) -> None:
        keys = float_to_code(scores)
        keys += labels << CODE_BITS
        self._keys.add(keys.astype(self._type))

    def distinct(self) -> Distinct:
        keys, counts = self._keys.result()
        starts = np.searchsorted(keys, np.arange(self._n_classes + 1) << CODE_BITS)
        return code_to_float(keys & ((1 << CODE_BITS) - 1)), counts, starts


class ExactScores:
    """Every score as it is: memory grows with the rows."""

    def __init__(self, n_classes: int) -> None:
        self._n_classes, self._lock = n_classes, Lock()
        # NumPy sorts up to 16 bits by radix.
        self._type = np.uint8 if n_classes <= 1 << 8 else np.uint16 if n_classes <= 1 << 16 else np.int64
        self._pending: list[tuple[NDArray[Any], FloatArray]] = []
        self._n_pending = 0
        self._pieces: list[_Piece] = []

    def add(self, labels: IntArray, scores: FloatArray) -> None:
        small = labels.astype(self._type)
        with self._lock:
            self._pending.append((small, scores))
            self._n_pending += len(scores)
            full = self._n_pending >= ROWS_PER_SLICE * self._n_classes
        if full:
            self._group_pending()

    def _group_pending(self) -> None:
        with self._lock:
            pending, self._pending, self._n_pending = self._pending, [], 0
        if pending:
            labels, scores = (np.concatenate(part) for part in zip(*pending, strict=True))
            starts = running_sum(np.bincount(labels, minlength=self._n_classes))
            self._pieces.append((scores[np.argsort(labels, kind="stable")], starts))

    def distinct(self) -> Distinct:
        self._group_pending()
        starts = sum((begin for _, begin in self._pieces), np.zeros(self._n_classes + 1, np.int64))
        ordered = np.empty(starts[-1])
        ranges = pairwise(_even_ranges(starts, min(4 * cores(), len(ordered) // ROWS_PER_JOB + 1)))
        run_all([partial(_sort_classes, ordered, starts, self._pieces, range(*ends)) for ends in ranges])
        self._pieces = []
        return run_lengths(ordered, np.ones(len(ordered), np.int64), starts)


_Piece = tuple[FloatArray, IntArray]
"""Scores class after class, and where each class starts."""


def _even_ranges(starts: IntArray, n_ranges: int) -> list[int]:
    """Ends of ranges of classes that hold about equally many scores."""
    wanted = np.arange(1, n_ranges) * (starts[-1] / n_ranges)
    return [0, *np.searchsorted(starts[1:-1], wanted).tolist(), len(starts) - 1]


def _sort_classes(out: FloatArray, starts: IntArray, pieces: list[_Piece], classes: range) -> None:
    """Put the scores of some classes into their places, in order."""
    for label in classes:
        if starts[label] < starts[label + 1]:
            own = out[starts[label] : starts[label + 1]]
            np.concatenate([scores[begin[label] : begin[label + 1]] for scores, begin in pieces], out=own)
            own += 0.0  # makes -0.0 and 0.0 one value
            own.sort()


def running_sum(counts: IntArray) -> IntArray:
    """0, then the sums of the first 1, 2, ... counts."""
    sums = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=sums[1:])
    return sums


def run_lengths(values: FloatArray, counts: IntArray, starts: IntArray) -> Distinct:
    """Join equal neighbours of one class into one value with the sum of their counts."""
    first = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    first[starts[:-1][starts[:-1] < len(values)]] = True  # equal scores of two classes stay two entries
    if first.all():
        return values, counts, starts
    heads = np.flatnonzero(first)
    return values[heads], np.add.reduceat(counts, heads), np.searchsorted(heads, starts)
