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

PAGE_BITS = 12
"""Keys that differ in these last bits only share a page of a table: scores of one class and one octave."""
PAGE_SIZE = 1 << PAGE_BITS
MIN_PAGES, MAX_PAGES = 1 << 8, 1 << 10
"""Pages that a table may have at first (8 MB) and when there are many keys (32 MB)."""
MAX_KNOWN_PAGES = 1 << 20
"""Where so many pages begin is known: 8 MB."""
MAX_PENDING_KEYS = 1 << 20
"""Keys that wait to be sorted."""
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
    """How often each integer key from 0 to ``limit - 1`` was added.

    Keys are counted in a table, which has pages only for keys that occur. That is many times faster than sorting
    them. Keys that are spread too wide for a table are sorted instead.
    """

    def __init__(self, limit: int) -> None:
        self._lock = Lock()
        self._table = PagedTable(limit) if limit >> PAGE_BITS <= MAX_KNOWN_PAGES else None
        self._pending: list[Keys] = []
        self._n_pending = 0
        self._keys, self._counts = np.empty(0, np.int64), np.empty(0, np.int64)

    def add(self, keys: Keys) -> None:
        """Add one key per row; the order does not matter."""
        with self._lock:
            if self._table is not None:
                if self._table.add(keys):
                    return
                self._keys, self._counts = self._table.result()
                self._table = None
            self._pending.append(keys)
            self._n_pending += len(keys)
            if self._n_pending > MAX_PENDING_KEYS:
                self._sort_pending()

    def _sort_pending(self) -> None:
        ordered = np.sort(np.concatenate([*self._pending, np.empty(0, np.uint16)])).astype(np.int64)
        self._pending, self._n_pending = [], 0
        keys, counts = np.concatenate([self._keys, ordered]), np.ones(len(self._keys) + len(ordered), np.int64)
        counts[: len(self._keys)] = self._counts
        self._keys, self._counts = sum_by_key(keys, counts)

    def result(self) -> tuple[IntArray, IntArray]:
        """Ascending keys and their counts."""
        with self._lock:
            if self._table is not None:
                return self._table.result()
            self._sort_pending()
            return self._keys, self._counts


class PagedTable:
    """Counters of integer keys, in pages of neighbouring keys that are opened when the first of them occurs."""

    def __init__(self, limit: int) -> None:
        self._start = np.full((limit >> PAGE_BITS) + 1, -1, np.int64)  # where a page begins in the table
        self._counters = np.zeros(PAGE_SIZE, np.int64)
        self._n_pages, self._n_keys = 0, 0

    def add(self, keys: Keys) -> bool:
        """Count one key per row; nothing is counted and the answer is False where pages would be too many."""
        pages = (keys >> PAGE_BITS).astype(np.intp)
        start = self._start.take(pages)
        self._n_keys += len(keys)
        if len(start) and start.min() < 0:
            is_fresh = np.zeros(len(self._start), np.bool_)
            is_fresh[pages[start < 0]] = True
            fresh = np.flatnonzero(is_fresh)
            if self._n_pages + len(fresh) > min(MIN_PAGES + 4 * self._n_keys // PAGE_SIZE, MAX_PAGES):
                return False
            self._open(fresh)
            start = self._start.take(pages)
        np.add.at(self._counters, start + (keys & (PAGE_SIZE - 1)), 1)
        return True

    def _open(self, pages: IntArray) -> None:
        self._start[pages] = (self._n_pages + np.arange(len(pages))) << PAGE_BITS
        self._n_pages += len(pages)
        if self._n_pages << PAGE_BITS > len(self._counters):
            grown = np.zeros(2 * self._n_pages << PAGE_BITS, np.int64)
            grown[: len(self._counters)] = self._counters
            self._counters = grown

    def result(self) -> tuple[IntArray, IntArray]:
        """Ascending keys and their counts."""
        pages = np.flatnonzero(self._start >= 0)
        opened = self._counters[: self._n_pages << PAGE_BITS].reshape(-1, PAGE_SIZE)
        table = opened[self._start[pages] >> PAGE_BITS].ravel()  # pages in their order
        found = np.flatnonzero(table)
        return (pages[found >> PAGE_BITS] << PAGE_BITS) + (found & (PAGE_SIZE - 1)), table[found]


def sum_by_key(keys: IntArray, counts: IntArray) -> tuple[IntArray, IntArray]:
    """Ascending distinct keys and the sum of the counts of each.

    >>> sum_by_key(np.array([7, 3, 7]), np.array([1, 1, 4]))
    (array([3, 7]), array([1, 5]))
    """
    order = np.argsort(keys, kind="stable")  # of sorted runs one after another: merged in one pass
    keys, counts = keys[order], counts[order]
    heads = np.flatnonzero(np.diff(keys, prepend=-1))
    return keys[heads], np.add.reduceat(counts, heads) if len(heads) else counts


class GridScores:
    """Scores rounded down to the grid: class and score make one key."""

    def __init__(self, n_classes: int) -> None:
        self._n_classes, self._keys = n_classes, KeyCounts(n_classes << CODE_BITS)
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
            parts = zip(*pending, strict=True)
            labels, scores = (part[0] if len(part) == 1 else np.concatenate(part) for part in parts)
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
