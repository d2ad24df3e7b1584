"""The test itself: no mix keeps all the inequalities that the true one keeps with probability 1 - level.

"The test" of docs/methods/assumption.md.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import log

import numpy as np

from pacshift.arrays import FloatArray
from pacshift.assumption.bets import Bets, place_bets
from pacshift.assumption.boxes import MAX_BOX_CLASSES, box_rows
from pacshift.assumption.directions import MANY_STAKES, directions, n_directions
from pacshift.assumption.folds import FEW_CLASSES, CellCounts, joined, n_folds, n_splits, split
from pacshift.assumption.tops import largest_shares, likely_tops, shares_by_sets, suggested_sets
from pacshift.bounds import ROUNDING, Interval, clean_shares
from pacshift.mix.box import quick_box
from pacshift.mix.programs import MixProgram, largest_means, least_violation


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


FEW_SHARES = LevelShares()
"""Up to 30 classes. With 0.05 or 0.30 for boxes, 0.1 or 0.4 for class shares, 0.02 or 0.2 for tops, and what is
left for differences, 124 to 126 are refused."""
WITHOUT_BOXES = LevelShares(boxes=0.0, differences=0.75)
MANY_SHARES = LevelShares(tops=0.5, boxes=0.0, class_shares=0.0, differences=0.5)
"""With many classes the largest shares are all that bounds the mix. Chosen on draws of ImageNet scores."""


def level_shares(n_classes: int) -> LevelShares:
    """The shares of the level, fixed by the number of classes ("The test" of the page)."""
    if n_classes > FEW_CLASSES:
        return MANY_SHARES
    return FEW_SHARES if n_classes <= MAX_BOX_CLASSES else WITHOUT_BOXES


@dataclass(frozen=True, eq=False)
class MixRows:
    """Inequalities that the true mix keeps with probability at least ``1 - level``.

    ``rows t <= limits``, the first ``n_differences`` of which look for differences, and ``box``: the largest
    shares of Lemma 5 and the bounds that are known.
    """

    rows: FloatArray
    limits: FloatArray
    box: Interval
    n_differences: int

    @cached_property
    def refuted(self) -> bool:
        """Whether no mix keeps all inequalities. With many classes they are looked at one by one."""
        if self.box.upper.sum() < 1 - ROUNDING or self.box.lower.sum() > 1 + ROUNDING:
            return True
        if (self.box.lower > self.box.upper + ROUNDING).any():  # what is known contradicts a largest share
            return True
        if len(self.box.upper) > FEW_CLASSES:
            least = -largest_means(-self.rows, self.box)
            return bool((least > self.limits + ROUNDING).any())
        return least_violation(*self._stacked, len(self.limits) + 2 * len(self.box.upper))[0] > ROUNDING

    def largest(self, cost: FloatArray) -> float:
        """The largest ``cost · t`` over the mixes that are left (of the box alone where classes are many)."""
        if len(cost) > FEW_CLASSES:
            return float(largest_means(cost[None], self.box)[0])
        return self._program.largest(cost)

    @cached_property
    def _program(self) -> MixProgram:
        return MixProgram(*self._stacked)

    @property
    def _stacked(self) -> tuple[FloatArray, FloatArray]:
        """Rows and box as rows with entries >= 0: t_j >= l says that the other classes together have 1 - l."""
        eye = np.eye(len(self.box.upper))
        rows = np.vstack([self.rows, eye, 1 - eye])
        return rows, np.concatenate([self.limits, self.box.upper, 1 - self.box.lower])

    @property
    def only_box(self) -> "MixRows":
        """The mixes up to the largest shares of the classes, known bounds included."""
        return replace(self, rows=self.rows[:0], limits=self.limits[:0], n_differences=0)

    @property
    def without_differences(self) -> "MixRows":
        """The mixes that the classes' shares leave, whatever else differs."""
        start = self.n_differences
        return replace(self, rows=self.rows[start:], limits=self.limits[start:], n_differences=0)


def mix_rows(counts: CellCounts, *, level: float, known: Interval | None, contamination: float) -> MixRows:
    """All inequalities of the test ("The test" of the page)."""
    splits = [split(counts, number) for number in range(n_splits(counts.n_classes))]
    bets = _all_bets(splits, level, contamination)
    box = _known_box(_tops(counts, splits[0], level, contamination), known, contamination)
    boxes, box_limits = np.empty((0, counts.n_classes)), np.empty(0)
    if share := level_shares(counts.n_classes).boxes:
        boxes, box_limits = box_rows(counts, delta=share * level, contamination=contamination)
    # Smaller largest shares make sharper rows; the same events pay for both rounds.
    first = bets.rows(box.upper)
    sharper = quick_box(np.vstack([first[0], boxes]), np.append(first[1], box_limits)).upper
    rows, limits = bets.rows(np.minimum(box.upper, sharper))
    return MixRows(
        np.vstack([rows, boxes]),
        np.minimum(np.append(limits, box_limits), 1.0),  # entries are at most 1: a larger limit says no more
        box,
        n_directions(counts.n_classes)[0],
    )


def _known_box(top: FloatArray, known: Interval | None, contamination: float) -> Interval:
    """Bounds of the mix t of the label-shifted part ("Known mix" of the page)."""
    if known is None:
        return Interval(np.zeros_like(top), top)
    clean = clean_shares(known, contamination)
    return Interval(np.maximum(clean.lower - ROUNDING, 0.0), np.minimum(top, clean.upper + ROUNDING))


def _tops(counts: CellCounts, folds: list[CellCounts], level: float, contamination: float) -> FloatArray:
    """Largest shares of the classes; with many classes also from sets that the first fold suggests (Lemma 5)."""
    delta = level_shares(counts.n_classes).tops * level
    if counts.n_classes <= FEW_CLASSES:
        return largest_shares(counts, delta=delta, contamination=contamination)
    own = largest_shares(counts, delta=delta / 2, contamination=contamination)
    sets = suggested_sets(folds[0])
    return np.minimum(own, shares_by_sets(sets, joined(folds[1:]), delta=delta / 2, contamination=contamination))


def _all_bets(splits: list[list[CellCounts]], level: float, contamination: float) -> Bets:
    """The bets on every fold but the first of each split (Lemmas 2 to 4)."""
    n_classes, placed = splits[0][0].n_classes, []
    n_differences, n_shares = n_directions(n_classes)
    hurdles = np.full(n_differences + n_shares, difference_hurdle(n_classes, level))
    if n_shares:
        hurdles[n_differences:] = log(n_shares / (level_shares(n_classes).class_shares * level))
    factors = None if n_shares else np.array(MANY_STAKES)
    wanted = hurdles / (n_folds(n_classes) - 1)
    for folds, place in product(splits, range(1, n_folds(n_classes))):
        past, fold = joined(folds[:place]), folds[place]
        values, mix = directions(past)
        placed.append(place_bets(values, mix, likely_tops(past, mix), past, fold, wanted, factors=factors))
    return Bets(tuple(placed), len(splits), hurdles, contamination)


def difference_hurdle(n_classes: int, level: float) -> float:
    """The log-wealth that a bet on a difference reaches by chance with its share of the level."""
    return log(n_directions(n_classes)[0] / (level_shares(n_classes).differences * level))
