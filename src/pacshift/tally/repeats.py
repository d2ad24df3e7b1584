"""Rows that are there several times: how often scores occur says so (Lemma 3 of docs/methods/groups.md).

Real ties, of forests or of rounded scores, are independent draws that happen to be alike, and their counts vary as
those of independent draws do. Copies make counts more regular: all of them even, or many twos and hardly a three.
Both are bets that independent rows lose, whatever population they come from.
"""

import math
from dataclasses import dataclass

import numpy as np

from pacshift.arrays import FloatArray, IntArray
from pacshift.tally.cells import n_bins
from pacshift.tally.stores import pick_scores
from pacshift.tally.tally import Tally

NO_CHANCE, UNLIKELY = 40, 20
"""Powers of 1/2: independent rows are called copies with a smaller probability, all of them or some."""

MOST_ROWS, MOST_KINDS = 1 << 11, 1 << 16
"""About so many rows are looked at first where nobody has sorted the scores, and so many kinds of rows where
somebody has: more would take more than a few percent of the time."""

_DEPTH = 6
"""Counts from 1 to 5 are told apart by the bets on single counts."""


def _make_bets() -> FloatArray:
    """log2 of the stake's return by count: each bet is on one count, against the counts beside it (Lemma 3)."""
    rows = []
    for count in range(2, _DEPTH):
        for share in (1 / 64, 1 / 16, 1 / 4, 0.99):
            for stake in (0.5, 0.99):
                returned = np.ones(_DEPTH + 2)  # of kinds with 0, 1, ... rows; the last: more than _DEPTH
                returned[count - 1] -= stake * share
                returned[count] += 2 * stake * math.sqrt(share * count / (count + 1))
                returned[count + 1] -= stake
                rows.append(np.log2(returned))
    return np.array(rows).T


_BETS = _make_bets()
_LARGEST = _BETS.max()


@dataclass(frozen=True, slots=True)
class Repeats:
    """How rows repeat that are not independent.

    ``times``: every row looked at is there a multiple of so many times; 1 where only some are there several times.
    ``label`` is the place of the class whose rows these are, None for all classes. ``n_rows`` were looked at, and
    they are of ``n_kinds``: pairs of label and score, or what else was counted.
    """

    times: int
    label: int | None
    n_rows: int
    n_kinds: int


def find_source_repeats(tally: Tally) -> Repeats | None:
    """How source rows repeat, by label and true-label score."""
    if tally.raw is None:
        places = pick_scores(tally.values, MOST_KINDS)
        return find_repeats(np.searchsorted(tally.starts, places, side="right") - 1, tally.counts[places])
    repeats = None
    for most in (MOST_ROWS, max(tally.n_source // 8, MOST_ROWS), tally.n_source):
        labels, counts = tally.raw.pick_kinds(most)
        repeats = find_repeats(labels, counts, looks=3)
        if most >= tally.n_source or (repeats and repeats.times > 1) or not _may_be_multiples(labels, counts):
            break
    return repeats


def _may_be_multiples(labels: IntArray, counts: IntArray) -> bool:
    """Whether all counts of some class have a factor in common: then more of them should be looked at."""
    if not len(counts):
        return True
    is_single = np.zeros(labels.max() + 1, bool)
    is_single[labels[counts == 1]] = True
    others = labels[~is_single[labels]]
    return any(np.gcd.reduce(counts[labels == label]) > 1 for label in np.unique(others).tolist())


def find_target_repeats(tally: Tally) -> Repeats | None:
    """How target rows repeat: by predicted label and bin, and by the bins of each score, if all of them do."""
    cells, bins = tally.target_cells, () if tally.bins is None else tally.bins
    counted = [(cells.codes // n_bins(cells.bins), cells.counts)]  # as if so many rows of each label were wanted
    counted += [(np.zeros(np.count_nonzero(column), np.int64), column[column > 0]) for column in bins]
    for labels, counts in counted:
        repeats = None if (counts == 1).any() else find_repeats(labels, counts, looks=len(counted))
        if repeats is not None and repeats.times > 1 and repeats.label is None:
            return repeats
    return None


def find_repeats(labels: IntArray, counts: IntArray, *, looks: int = 1) -> Repeats | None:
    """How rows repeat, of whose kinds these are the labels and counts; None if they may well be independent.

    ``looks`` is at how many such counts of the same rows somebody looks.

    >>> find_repeats(np.zeros(100, int), np.full(100, 3))
    Repeats(times=3, label=None, n_rows=300, n_kinds=100)
    >>> find_repeats(np.zeros(100, int), np.ones(100, int)) is None
    True
    """
    if np.count_nonzero(counts > 1) * _LARGEST < UNLIKELY:
        return None
    n_labels, width = int(labels.max()) + 1, _DEPTH + 2
    places = labels * width + np.minimum(counts, _DEPTH + 1)
    table = np.bincount(places, minlength=n_labels * width).reshape(n_labels, width)
    table = np.concatenate([table, table.sum(axis=0, keepdims=True)])  # the last: all classes
    rows = np.bincount(labels, counts, n_labels)
    # What the bets must win: rows of a class are so many, not Poisson, and a group was chosen.
    price = np.where(rows > 0, np.log2(np.maximum(rows, 1)) / 2 + math.log2(math.e), 0)
    price = np.append(price, price.sum()) + math.log2(looks * (n_labels + 1))
    rows = np.append(rows, rows.sum())
    kinds = table.sum(axis=1)
    for group in np.flatnonzero((table[:, 1] == 0) & (kinds - price > NO_CHANCE))[::-1].tolist():
        times = int(np.gcd.reduce(counts if group == n_labels else counts[labels == group]))
        if times > 1 and kinds[group] - price[group] - math.log2(times * (times - 1)) >= NO_CHANCE:
            return Repeats(times, None if group == n_labels else group, int(rows[group]), int(kinds[group]))
    won = (table @ _BETS).max(axis=1) - math.log2(_BETS.shape[1]) - price
    group = n_labels if won[-1] >= UNLIKELY else int(won.argmax())
    if won[group] < UNLIKELY:
        return None
    return Repeats(1, None if group == n_labels else group, int(rows[group]), int(kinds[group]))
