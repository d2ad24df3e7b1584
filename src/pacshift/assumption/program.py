"""The test itself: no mix keeps all the inequalities that the true one keeps with probability 1 - level.

"The test" of docs/methods/assumption.md.
"""

from dataclasses import dataclass, replace
from math import log

import numpy as np

from pacshift.arrays import FloatArray
from pacshift.assumption.bets import Bets, place_bets
from pacshift.assumption.boxes import MAX_BOX_CLASSES, box_rows
from pacshift.assumption.directions import MAX_BOUNDED_CLASSES, directions, fold_pairs, n_directions
from pacshift.assumption.folds import CellCounts, joined, split
from pacshift.assumption.tops import largest_shares, likely_tops, shares_by_sets, suggested_sets
from pacshift.bounds import Interval
from pacshift.ps_lp.programs import least_violation
from pacshift.ps_lp.region import known_rows, rough_box


@dataclass(frozen=True)
class LevelShares:
    """How the level of the test is spent; the shares add up to 1."""

    tops: float = 0.05
    """A class is more frequent in the target than its largest share says."""
    boxes: float = 0.15
    """A rate is outside its bound."""
    class_shares: float = 0.2
    """A bet on a class's share wins too much."""
    differences: float = 0.6
    """A bet on a difference wins too much."""


SHARES = LevelShares()

MAX_FIRST_ROWS = 2000
"""Rows that are part of the program from the start: all but in odd cases."""


@dataclass(frozen=True, eq=False)
class MixRows:
    """Inequalities ``rows t <= limits`` that the true mix keeps with probability at least ``1 - level``.

    The first ``n_differences`` look for differences. ``top`` holds the largest shares of Lemma 5, ``known`` the
    rows that the user knows.
    """

    rows: FloatArray
    limits: FloatArray
    top: FloatArray
    known: tuple[FloatArray, FloatArray]
    n_differences: int

    @property
    def violation(self) -> float:
        """By how much every mix violates some inequality at least; not above 0 where some mix keeps them all."""
        return least_violation(self.rows, self.limits, min(MAX_FIRST_ROWS, len(self.rows)))[0]

    @property
    def only_tops(self) -> "MixRows":
        """The mixes up to the largest shares of the classes, known bounds included."""
        rows, limits = np.vstack([np.eye(len(self.top)), self.known[0]]), np.append(self.top, self.known[1])
        return replace(self, rows=rows, limits=limits, n_differences=0)

    @property
    def without_differences(self) -> "MixRows":
        """The mixes that the classes' shares leave, whatever else differs."""
        start = self.n_differences
        return replace(self, rows=self.rows[start:], limits=self.limits[start:], n_differences=0)


def mix_rows(counts: CellCounts, *, level: float, known: Interval | None, contamination: float) -> MixRows:
    """All inequalities of the test ("The test" of the page)."""
    folds = split(counts)
    bets = _all_bets(folds, level, contamination)
    top = _tops(counts, folds, level, contamination)
    given, given_limits = known_rows(known, contamination, n_classes=counts.n_classes)
    if known is not None:
        top = np.minimum(top, given_limits[: counts.n_classes])
    boxes, box_limits = np.empty((0, counts.n_classes)), np.empty(0)
    if counts.n_classes <= MAX_BOX_CLASSES:
        boxes, box_limits = box_rows(counts, delta=SHARES.boxes * level, contamination=contamination)
    # Smaller largest shares make sharper rows; the same events pay for both rounds.
    first = bets.rows(top)
    sharper = np.minimum(top, rough_box(np.vstack([first[0], boxes]), np.append(first[1], box_limits)).upper)
    rows, limits = bets.rows(sharper)
    rows = np.vstack([rows, np.eye(counts.n_classes), given, boxes])
    limits = np.concatenate([limits, sharper, given_limits, box_limits])
    return MixRows(rows, limits, top, (given, given_limits), n_directions(counts.n_classes)[0])


def _tops(counts: CellCounts, folds: list[CellCounts], level: float, contamination: float) -> FloatArray:
    """Largest shares of the classes; with many classes also from sets that the first fold suggests (Lemma 5)."""
    delta = SHARES.tops * level
    if counts.n_classes <= MAX_BOUNDED_CLASSES:
        return largest_shares(counts, delta=delta, contamination=contamination)
    own = largest_shares(counts, delta=delta / 2, contamination=contamination)
    sets = suggested_sets(folds[0])
    return np.minimum(own, shares_by_sets(sets, joined(folds[1:]), delta=delta / 2, contamination=contamination))


def _all_bets(folds: list[CellCounts], level: float, contamination: float) -> Bets:
    n_classes, placed = folds[0].n_classes, []
    n_differences, n_shares = n_directions(n_classes)
    hurdles = np.full(n_differences + n_shares, log(max(n_shares, 1) / (SHARES.class_shares * level)))
    hurdles[:n_differences] = difference_hurdle(n_classes, level)
    for earlier, fold in fold_pairs(folds):
        past = joined(earlier)
        values, mix = directions(past)
        # Only stakes depend on these guesses. Where no directions bound the shares, stakes guard against all mixes.
        guard = n_shares == 0
        top = _likely_tops_of_many(folds[0], past, level) if guard else likely_tops(past, mix)
        placed.append(place_bets(values, mix, top, past, fold, hurdles / (len(folds) - 1), guard=guard))
    return Bets(tuple(placed), hurdles, contamination)


def _likely_tops_of_many(first: CellCounts, past: CellCounts, level: float) -> FloatArray:
    own = largest_shares(past, delta=SHARES.tops * level)
    return np.minimum(own, 2 * shares_by_sets(suggested_sets(first), past, delta=SHARES.tops * level))


def difference_hurdle(n_classes: int, level: float) -> float:
    """The log-wealth that a bet on a difference reaches by chance with its share of the level."""
    n_differences, n_shares = n_directions(n_classes)
    share = SHARES.differences + (0.0 if n_shares else SHARES.class_shares)
    share += 0.0 if n_classes <= MAX_BOX_CLASSES else SHARES.boxes
    return log(n_differences / (share * level))
