"""The test itself: no mix keeps all the inequalities that the true one keeps with probability 1 - level.

"The test" of docs/methods/assumption.md.
"""

from dataclasses import dataclass, replace
from math import log

import numpy as np

from pacshift.arrays import FloatArray
from pacshift.assumption.bets import Bets, place_bets
from pacshift.assumption.directions import directions, fold_pairs, likely_tops, n_directions
from pacshift.assumption.folds import CellCounts, joined, split
from pacshift.assumption.tops import largest_shares
from pacshift.bounds import Interval
from pacshift.ps_lp.programs import least_violation
from pacshift.ps_lp.region import known_rows, rough_box


@dataclass(frozen=True)
class LevelShares:
    """How the level of the test is spent; the shares add up to 1."""

    tops: float = 0.1
    """A class is more frequent in the target than its largest share says."""
    class_shares: float = 0.2
    """A bet on a class's share wins too much."""
    differences: float = 0.7
    """A bet on a difference wins too much."""


SHARES = LevelShares()


@dataclass(frozen=True, eq=False)
class MixRows:
    """Inequalities ``rows t <= limits`` that the true mix keeps with probability at least ``1 - level``.

    The first ``n_differences`` look for differences; the last ones are the known bounds. ``top`` holds the largest
    shares of Lemma 5.
    """

    rows: FloatArray
    limits: FloatArray
    top: FloatArray
    known: tuple[FloatArray, FloatArray]
    n_differences: int

    @property
    def violation(self) -> float:
        """By how much every mix violates some inequality at least; not above 0 where some mix keeps them all."""
        return least_violation(self.rows, self.limits, len(self.rows))[0]

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
    bets = _all_bets(counts, level, contamination)
    top = largest_shares(counts, delta=SHARES.tops * level, contamination=contamination)
    given, given_limits = known_rows(known, contamination, n_classes=counts.n_classes)
    if known is not None:
        top = np.minimum(top, given_limits[: counts.n_classes])
    # Smaller largest shares make sharper rows; the same events pay for both rounds.
    sharper = np.minimum(top, rough_box(*bets.rows(top)).upper)
    rows, limits = bets.rows(sharper)
    rows = np.vstack([rows, np.eye(counts.n_classes), given])
    limits = np.concatenate([limits, sharper, given_limits])
    return MixRows(rows, limits, top, (given, given_limits), n_directions(counts.n_classes)[0])


def _all_bets(counts: CellCounts, level: float, contamination: float) -> Bets:
    n_differences, n_shares = n_directions(counts.n_classes)
    hurdles = np.full(n_differences + n_shares, log(max(n_shares, 1) / (SHARES.class_shares * level)))
    hurdles[:n_differences] = difference_hurdle(counts.n_classes, level)
    folds, placed = split(counts), []
    for earlier, fold in fold_pairs(folds):
        past = joined(earlier)
        values, mix = directions(past)
        top = likely_tops(past, mix)
        placed.append(place_bets(values, mix, top, past, fold, hurdles / (len(folds) - 1)))
    return Bets(tuple(placed), hurdles, contamination)


def difference_hurdle(n_classes: int, level: float) -> float:
    """The log-wealth that a bet on a difference reaches by chance with its share of the level."""
    n_differences, n_shares = n_directions(n_classes)
    share = SHARES.differences + (0.0 if n_shares else SHARES.class_shares)
    return log(n_differences / (share * level))
