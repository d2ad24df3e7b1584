"""Where counts are kept while they grow: integer keys, scores on the grid, exact scores, sums of probabilities.

Any thread may add. Probabilities, for the soft BBSE estimate of PS-R and WCP, are rounded to whole units of
2**-28, so that their sums are integers: the same in any order.
"""

import math
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import FloatArray, IntArray, KeyArray, running_sum, scipy, scratch, scratch_like
from pacshift.parallel import cores, run_all
from pacshift.scores.transforms import mix_bits
from pacshift.tally.grid import CODE_BITS, code_to_float, float_to_code

Keys = NDArray[np.integer[Any]]

MAX_SMALL_KEYS = 1 << 12
"""Up to so many possible keys each has its own counter: 32 kB, near the processor."""
PAGE_BITS = 12
"""Keys that differ in these last bits only share a page of a table: scores of one class and one octave."""
PAGE_SIZE = 1 << PAGE_BITS
MIN_PAGES, MAX_PAGES = 1 << 8, 1 << 10
"""Pages that a table may have at first (8 MB) and when there are many keys (32 MB)."""
MAX_KNOWN_PAGES = 1 << 20
"""Where so many pages begin is known: 8 MB."""
MAX_PENDING_KEYS = 1 << 20
"""Keys that wait to be sorted, 8 MB: sorting few at a time would cost more merges. Not measured."""
MAX_SCORE_RANGES = 8
"""Exact scores of a class are sorted in ranges: short sorts are quicker, and all cores have work even if one class
has most rows. 1M rows of 10 classes take 48, 39 and 37 ms of processor time with 1, 8 and 16 ranges where NumPy
sorts with AVX-512 on an AMD Zen; 16, 17 and 18 with AVX2; 77, 70 and 67 with neither."""
ROWS_PER_RANGE = 256
"""Fewest rows of a class and range in the first block: fewer are sorted at once. A round number; not measured."""
MAX_RANGED_CLASSES = 32
"""With more classes the groups are short already, and more groups only cost more calls."""
ROWS_PER_SLICE = 64
"""Exact scores are grouped once there are so many rows per group: with fewer there would be too many slices. Not
measured."""
ROWS_PER_JOB = 1 << 14
"""Exact scores that are worth sorting in a thread. A round number; not measured."""
SAMPLED = 1 << 12
"""Scores by which ``select`` finds where to look: about an eighth of all are then looked at. Not measured."""


def count_edges(values: NDArray[np.floating[Any]], edges: NDArray[np.float32]) -> NDArray[np.uint8]:
    """How many of the edges each value reaches, compared in single precision.

    Twice as fast as in double precision, and much faster than a search, whose branches the CPU predicts badly.

    >>> count_edges(np.array([0.1, 0.5, 0.9]), np.array([0.25, 0.5], np.float32)).tolist()
    [0, 2, 2]
    """
    with np.errstate(over="ignore"):
        single = values.astype(np.float32, copy=False)
    reached = scratch("reached", (len(edges), len(values)), np.bool_)
    np.greater_equal(single, edges[:, None], out=reached)
    return np.asarray(reached.view(np.uint8).sum(axis=0, dtype=np.uint8))


@dataclass(frozen=True, slots=True, eq=False)
class Distinct:
    """Sorted distinct scores class after class, their counts, and where each class starts.

    Nothing can be written to them. Views, because arrays may be large.
    """

    values: FloatArray
    counts: IntArray
    starts: IntArray

    def __post_init__(self) -> None:
        for name in ("values", "counts", "starts"):
            view = getattr(self, name).view()
            view.flags.writeable = False
            object.__setattr__(self, name, view)


class KeyCounts:
    """How often each integer key from 0 to ``limit - 1`` was added.

    Keys are counted in a table, which has pages only for keys that occur. That is many times faster than sorting
    them. Keys that are spread too wide for a table are sorted instead.
    """

    def __init__(self, limit: int) -> None:
        self._lock = Lock()
        self._small = np.zeros(limit, np.int64) if limit <= MAX_SMALL_KEYS else None
        self._table = PagedTable(limit) if MAX_SMALL_KEYS < limit <= MAX_KNOWN_PAGES << PAGE_BITS else None
        self._pending: list[Keys] = []
        self._n_pending = 0
        self._keys, self._counts = np.empty(0, np.int64), np.empty(0, np.int64)

    def add(self, keys: Keys) -> None:
        """Add one key per row; the order does not matter."""
        if self._small is not None:
            counts = np.bincount(keys, minlength=len(self._small))
            with self._lock:
                self._small += counts
            return
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
        keys, counts = np.unique(np.concatenate([*self._pending, np.empty(0, np.uint16)]), return_counts=True)
        self._pending, self._n_pending = [], 0
        all_keys = np.concatenate([self._keys, keys.astype(np.int64)])
        self._keys, self._counts = sum_by_key(all_keys, np.concatenate([self._counts, counts]))

    def result(self) -> tuple[IntArray, IntArray]:
        """Ascending keys and their counts."""
        with self._lock:
            if self._small is not None:
                filled = np.flatnonzero(self._small)
                return filled, self._small[filled]
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
            self._start[fresh] = (self._n_pages + np.arange(len(fresh))) << PAGE_BITS
            self._n_pages += len(fresh)
            if self._n_pages << PAGE_BITS > len(self._counters):
                grown = np.zeros(2 * self._n_pages << PAGE_BITS, np.int64)
                grown[: len(self._counters)] = self._counters
                self._counters = grown
            start = self._start.take(pages)
        np.add.at(self._counters, start + (keys & (PAGE_SIZE - 1)), 1)
        return True

    def result(self) -> tuple[IntArray, IntArray]:
        """Ascending keys and their counts."""
        pages = np.flatnonzero(self._start >= 0)
        opened = self._counters[: self._n_pages << PAGE_BITS].reshape(-1, PAGE_SIZE)
        table = opened[self._start[pages] >> PAGE_BITS].ravel()  # pages in their order
        filled = np.flatnonzero(table)
        return (pages[filled >> PAGE_BITS] << PAGE_BITS) + (filled & (PAGE_SIZE - 1)), table[filled]


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
        """Add one score per row."""
        keys = float_to_code(scores)
        keys += labels << CODE_BITS
        self._keys.add(keys.astype(self._type))

    def distinct(self) -> Distinct:
        """All of them, counted."""
        keys, counts = self._keys.result()
        starts = np.searchsorted(keys, np.arange(self._n_classes + 1) << CODE_BITS)
        return Distinct(code_to_float(keys & ((1 << CODE_BITS) - 1)), counts, starts)


class ExactScores:
    """Every score as it is: memory grows with the rows.

    Rows are put into groups, one per class and range of scores, and every group is sorted by itself: short arrays
    sort faster, and on all cores. The ranges come from the first scores seen; any ranges give the same result.
    """

    def __init__(self, n_classes: int) -> None:
        self._lock = Lock()
        self._n_classes, self._n_ranges, self._n_groups = n_classes, 1, n_classes
        self._edges: NDArray[np.float32] | None = None
        self._pending: list[tuple[IntArray, NDArray[np.floating[Any]]]] = []
        self._n_pending = 0
        # Scores group after group, and where each group starts.
        self._pieces: list[tuple[NDArray[np.floating[Any]], IntArray]] = []

    def add(self, labels: IntArray, scores: NDArray[np.floating[Any]]) -> None:
        """Add one score per row, of single or double precision."""
        with self._lock:
            if self._edges is None:  # of ranges that hold about equally many of the first scores
                most = MAX_SCORE_RANGES if self._n_classes <= MAX_RANGED_CLASSES else 1
                self._n_ranges = max(1, min(most, len(scores) // (ROWS_PER_RANGE * self._n_classes)))
                self._n_groups = self._n_classes * self._n_ranges
                some = np.sort(scores[:ROWS_PER_JOB])
                places = np.arange(1, self._n_ranges) * len(some) // self._n_ranges
                with np.errstate(over="ignore"):  # infinite edges are as good as any
                    self._edges = some[places].astype(np.float32)
            self._pending.append((labels, scores))
            self._n_pending += len(scores)
            full = self._n_pending >= ROWS_PER_SLICE * self._n_groups
        if full:
            self._group_pending()

    def _group_pending(self) -> None:
        with self._lock:
            pending, self._pending, self._n_pending = self._pending, [], 0
        if not pending or self._edges is None:
            return
        parts = zip(*pending, strict=True)
        labels, scores = (part[0] if len(part) == 1 else np.concatenate(part) for part in parts)
        smallest = np.min_scalar_type(self._n_groups - 1)
        groups: Keys = labels.astype(smallest if smallest.itemsize <= 2 else np.int64)  # 16 bits sort by radix
        groups *= self._n_ranges
        groups += count_edges(scores, self._edges)
        starts = running_sum(np.bincount(groups, minlength=self._n_groups))
        self._pieces.append((scores[np.argsort(groups, kind="stable")], starts))

    def distinct(self) -> Distinct:
        """All of them, counted."""
        self._group_pending()
        starts = sum((begin for _, begin in self._pieces), np.zeros(self._n_groups + 1, np.int64))
        ordered = np.empty(starts[-1])
        is_single = all(scores.dtype == np.float32 for scores, _ in self._pieces)  # sorts in half of the time

        def sort(groups: range) -> None:
            """Put the scores of some groups into their places, in order."""
            for group in groups:
                if starts[group] < starts[group + 1]:
                    ordered_group = ordered[starts[group] : starts[group + 1]]
                    parts = [scores[begin[group] : begin[group + 1]] for scores, begin in self._pieces]
                    room = np.empty(ordered_group.shape, np.float32) if is_single else ordered_group
                    np.concatenate(parts, out=room)
                    room += 0.0  # makes -0.0 and 0.0 one value
                    room.sort()
                    if is_single:
                        ordered_group[:] = room

        # Each job sorts groups that hold about equally many scores.
        n_jobs = min(8 * cores(), len(ordered) // ROWS_PER_JOB + 1)
        wanted = np.arange(1, n_jobs) * (starts[-1] / n_jobs)
        ends = [0, *np.searchsorted(starts[1:-1], wanted).tolist(), len(starts) - 1]
        run_all([partial(sort, range(first, last)) for first, last in pairwise(ends) if first < last])
        self._pieces = []
        return run_lengths(ordered, None, starts[:: self._n_ranges])


def select(scores: NDArray[np.floating[Any]], rank: int) -> float:
    """The score that would stand at place ``rank`` if they were sorted.

    Of many scores only those between two of a sample are looked at closely (Floyd and Rivest): a third of the time
    of ``np.partition``. Any two give the same answer.

    >>> select(np.array([0.3, 0.1, 0.2]), 1)
    0.2
    """
    if len(scores) >= 16 * SAMPLED:
        sample = np.sort(scores[:: len(scores) // SAMPLED])
        place, slack = rank * len(sample) // len(scores), 2 * math.isqrt(SAMPLED)
        low, high = sample[max(place - slack, 0)], sample[min(place + slack, len(sample) - 1)]
        n_below, inside = int(np.count_nonzero(scores < low)), (scores >= low) & (scores <= high)
        if n_below <= rank < n_below + np.count_nonzero(inside):
            scores, rank = scores[inside], rank - n_below
    return float(np.partition(scores, rank)[rank])


_SPREAD, _LABEL_BITS = 0x9E3779B97F4A7C15, 24
"""An odd number that spreads the bits of scores, and the bits of a label in a key."""
ROWS_PER_LOOK = 1 << 16
"""Scores that are looked at together: near the processor."""


def pick_scores(scores: NDArray[np.floating[Any]], most: int) -> IntArray:
    """Places of about ``most`` scores, all of them where there are no more.

    A number made of the score says whether it is one of them: so equal scores are, or are not, together.
    """
    kind: Any = np.uint32 if scores.dtype == np.float32 else np.uint64
    largest = int(np.iinfo(kind).max)
    spread, limit = kind(_SPREAD & largest), kind(largest * min(most, len(scores)) // max(len(scores), 1))
    starts = range(0, len(scores), ROWS_PER_LOOK)
    numbers = (scores[start : start + ROWS_PER_LOOK].view(kind) * spread for start in starts)
    chosen = [np.flatnonzero(each <= limit) + start for start, each in zip(starts, numbers, strict=True)]
    return chosen[0] if len(chosen) == 1 else np.concatenate([np.empty(0, np.int64), *chosen])


class RawScores:
    """Every score as it came, for methods that need single ranks of them: sorted only if somebody asks.

    Of a million, the one of a rank is selected in a tenth of the time of sorting them.
    """

    def __init__(self, n_classes: int) -> None:
        self._n_classes, self._lock = n_classes, Lock()
        self._parts: list[tuple[Keys, NDArray[np.floating[Any]]]] = []
        self._distinct: Distinct | None = None

    def add(self, labels: IntArray, scores: NDArray[np.floating[Any]]) -> None:
        """Add one score per row, of single or double precision."""
        copied = labels.astype(np.min_scalar_type(self._n_classes - 1))  # the user's own may change
        with self._lock:
            self._parts.append((copied, scores))

    def _join(self) -> tuple[Keys, NDArray[np.floating[Any]]]:
        """All labels and scores, in any order."""
        with self._lock:
            if len(self._parts) > 1:
                labels, scores = zip(*self._parts, strict=True)
                self._parts = [(np.concatenate(labels), np.concatenate(scores))]
            return self._parts[0] if self._parts else (np.empty(0, np.uint8), np.empty(0))

    def at_rank(self, rank: int, label: int | None = None) -> float:
        """The score with ``rank`` others below it, of all or of one class; the largest where there are fewer."""
        labels, scores = self._join()
        of_label = scores if label is None else scores[labels == label]
        return select(of_label, min(rank, len(of_label) - 1)) + 0.0  # makes -0.0 and 0.0 one value

    def misses(self, cuts: FloatArray) -> IntArray:
        """For each class how many of its scores lie below its cut."""
        labels, scores = self._join()
        below = scores < (cuts[labels] if (cuts != cuts[0]).any() else cuts[0])
        return np.bincount(labels[below], minlength=self._n_classes)

    def digest(self) -> KeyArray:
        """Two sums over labels and scores: the same in any order."""
        labels, scores = self._join()
        sums, of_label = np.zeros(2, np.uint64), mix_bits(np.arange(self._n_classes, dtype=np.uint64))
        for start in range(0, len(labels), ROWS_PER_JOB):
            rows = slice(start, start + ROWS_PER_JOB)
            keys = mix_bits((scores[rows].astype(np.float64) + 0.0).view(np.uint64) + of_label[labels[rows]])
            sums += np.array([keys.sum(dtype=np.uint64), mix_bits(keys).sum(dtype=np.uint64)])
        return sums

    def pick_kinds(self, most: int) -> tuple[IntArray, IntArray]:
        """Label and number of rows of some pairs of label and score, which have about ``most`` rows.

        A number made of the score says whether a pair is one of them: so each is counted in full.
        """
        labels, scores = self._join()
        places = pick_scores(scores, most)
        keys = scores[places].astype(np.float64).view(np.uint64) * np.uint64(_SPREAD)
        keys >>= np.uint64(_LABEL_BITS)
        keys |= labels[places].astype(np.uint64) << np.uint64(64 - _LABEL_BITS)
        keys, counts = np.unique(keys, return_counts=True)
        return (keys >> np.uint64(64 - _LABEL_BITS)).astype(np.int64), counts

    def distinct(self) -> Distinct:
        """All of them, sorted and counted."""
        labels, scores = self._join()
        with self._lock:
            if self._distinct is None:
                store = ExactScores(self._n_classes)
                store.add(labels.astype(np.int64), scores)
                self._distinct = store.distinct()
            return self._distinct


def run_lengths(values: FloatArray, counts: IntArray | None, starts: IntArray) -> Distinct:
    """Join equal neighbours of one class into one value with the sum of their counts, by default 1 each."""
    first = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    first[starts[:-1][starts[:-1] < len(values)]] = True  # equal scores of two classes stay two entries
    if first.all():
        return Distinct(values, np.ones(len(values), np.int64) if counts is None else counts, starts)
    heads = np.flatnonzero(first)
    sums = np.diff(heads, append=len(values)) if counts is None else np.add.reduceat(counts, heads)
    return Distinct(values[heads], sums, np.searchsorted(heads, starts))


SOFT_UNIT = 2.0**-28
"""Probabilities are rounded to this, by at most 2e-9; the sums of ``MAX_ROWS`` still fit into 62 bits."""
MAX_ROWS = 2**34
"""Rows of a source or a target in a file: with more, bounds of the miss rates would take minutes."""
LARGEST_PROBABILITY = 1.001
"""What models give as a probability may be rounded to a little more than 1."""

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
    return in_units[0] >= 0 and in_units[1] <= LARGEST_PROBABILITY / SOFT_UNIT


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
    if few:
        sums = _sums_of_few(block, labels)[present]
    else:  # only of the labels that occur, at a cost of rows × K instead of K × K
        order = np.argsort(labels, kind="stable")
        member = (np.ones(len(labels)), order, running_sum(counts[present]))
        sums = np.asarray(scipy.sparse.csr_matrix(member, shape=(len(present), len(labels))) @ _units(block))
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
