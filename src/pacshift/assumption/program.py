"""The test itself: no mix keeps all the inequalities that the true one keeps with probability 1 - level.

"The test" of docs/methods/assumption.md.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from math import log

import numpy as np

from pacshift.arrays import FloatArray
from pacshift.assumption.bets import Bets, as_rows
from pacshift.assumption.boxes import MAX_BOX_CLASSES, box_rows
from pacshift.assumption.few_classes import Stages, difference_bets, share_bets
from pacshift.assumption.folds import FEW_CLASSES, CellCounts, even_folds, joined, split
from pacshift.assumption.many_classes import many_bets, many_hurdle
from pacshift.assumption.mixture import Cuts, Mixture, cut
from pacshift.assumption.tops import largest_shares, shares_by_sets, suggested_sets
from pacshift.bounds import ROUNDING, Interval, clean_shares
from pacshift.mix.programs import MixProgram, largest_means
from pacshift.mix.region import quick_box


@dataclass(frozen=True)
class LevelShares:
    """How the level of the test is spent; the shares add up to 1."""

    tops: float = 0.05
    """A class is more frequent in the target than its largest share says."""
    boxes: float = 0.05
    """A rate is outside its bound."""
    class_shares: float = 0.1
    """A bet on a class's share wins too much."""
    differences: float = 0.8
    """The bets on a difference win too much."""


FEW_SHARES = LevelShares()
"""Up to 30 classes. Chosen on heart, CIFAR-10 and Entity-13; other shares refuse about as many."""
WITHOUT_BOXES = LevelShares(boxes=0.0, differences=0.85)
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

    ``rows t <= limits``; ``box``: the largest shares of Lemma 5 and the bounds that are known, or sharper ones
    that follow from the rows; the ``mixture`` of the bets on a difference. Where classes are many there is no
    mixture: the rows look for a difference.
    """

    rows: FloatArray
    limits: FloatArray
    box: Interval
    mixture: Mixture | None = None

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
        return self._cuts.refuted

    def largest(self, cost: FloatArray) -> float:
        """The largest ``cost · t`` over the mixes that are left (of the box alone where classes are many)."""
        if len(cost) > FEW_CLASSES:
            return float(largest_means(cost[None], self.box)[0])
        return self._program.largest(cost)

    @cached_property
    def _program(self) -> MixProgram:
        rows, limits = self._stacked
        return MixProgram(np.vstack([rows, self._cuts.rows]), np.append(limits, self._cuts.limits))

    @cached_property
    def _cuts(self) -> Cuts:
        return cut(*self._stacked, self.mixture)

    @property
    def _stacked(self) -> tuple[FloatArray, FloatArray]:
        """Rows and box as rows with entries >= 0: t_j >= l says that the other classes together have 1 - l."""
        eye = np.eye(len(self.box.upper))
        rows = np.vstack([self.rows, eye, 1 - eye])
        return rows, np.concatenate([self.limits, self.box.upper, 1 - self.box.lower])

    @property
    def only_box(self) -> "MixRows":
        """The mixes up to the largest shares of the classes, known bounds included."""
        return replace(self, rows=self.rows[:0], limits=self.limits[:0], mixture=None)

    @property
    def without_differences(self) -> "MixRows":
        """The mixes that the classes' shares leave, whatever else differs."""
        return self.only_box if len(self.box.upper) > FEW_CLASSES else replace(self, mixture=None)


@dataclass(frozen=True, eq=False)
class Placed:
    """All bets and bounds of one tally, before anything known of the mix: ``top`` are the largest shares.

    ``boxes`` are rows and limits. Bets on classes' shares are there where classes are few.
    """

    top: FloatArray
    boxes: tuple[FloatArray, FloatArray]
    differences: Bets
    shares: Bets | None
    mix: FloatArray
    level: float

    def rows(self, known: Interval | None = None) -> MixRows:
        """All inequalities of the test, with known bounds of the mix ("The test" of the page)."""
        shares = level_shares(len(self.top))
        box = _known_box(self.top, known, self.differences.contamination)
        if self.shares is None:
            lines = self.differences.lines(box.lower, box.upper)
            return MixRows(*as_rows(*lines, many_hurdle(shares.differences * self.level)), box)
        hurdle = share_hurdle(len(self.top), self.level)
        # Smaller largest shares make sharper rows; the same events pay for both rounds.
        low, top = box.lower, box.upper
        for _ in range(2):
            rows, limits = as_rows(*self.shares.lines(low, top), hurdle)
            rows, limits = np.vstack([rows, self.boxes[0]]), np.append(limits, self.boxes[1])
            sharper = quick_box(rows, limits)
            low, top = np.maximum(box.lower, sharper.lower), np.minimum(box.upper, sharper.upper)
        mixture = Mixture(
            *self.differences.lines(low, top), difference_hurdle(len(self.top), self.level), self.mix
        )
        return MixRows(rows, limits, Interval(low, top), mixture)


def place(counts: CellCounts, *, level: float, contamination: float) -> Placed:
    """Bet on every fold and bound every rate ("The test" of the page)."""
    shares = level_shares(counts.n_classes)
    boxes: tuple[FloatArray, FloatArray] = np.empty((0, counts.n_classes)), np.empty(0)
    if shares.boxes:
        boxes = box_rows(counts, delta=shares.boxes * level, contamination=contamination)
    if counts.n_classes > FEW_CLASSES:
        folds = split(counts)
        bets = many_bets(folds, many_hurdle(shares.differences * level), contamination)
        return Placed(_many_tops(counts, folds, level, contamination), boxes, bets, None, np.empty(0), level)
    stages = Stages.of(counts, even_folds(counts))
    return Placed(
        largest_shares(counts, delta=shares.tops * level, contamination=contamination),
        boxes,
        difference_bets(stages, difference_hurdle(counts.n_classes, level), contamination),
        share_bets(stages, share_hurdle(counts.n_classes, level), contamination),
        stages.mix,
        level,
    )


def _known_box(top: FloatArray, known: Interval | None, contamination: float) -> Interval:
    """Bounds of the mix t of the label-shifted part ("Known mix" of the page)."""
    if known is None:
        return Interval(np.zeros_like(top), top)
    clean = clean_shares(known, contamination)
    return Interval(np.maximum(clean.lower - ROUNDING, 0.0), np.minimum(top, clean.upper + ROUNDING))


def _many_tops(counts: CellCounts, folds: list[CellCounts], level: float, contamination: float) -> FloatArray:
    """Largest shares of the classes, also from sets that the first fold suggests (Lemma 5)."""
    delta = level_shares(counts.n_classes).tops * level / 2
    own = largest_shares(counts, delta=delta, contamination=contamination)
    sets = suggested_sets(folds[0])
    return np.minimum(own, shares_by_sets(sets, joined(folds[1:]), delta=delta, contamination=contamination))


def difference_hurdle(n_classes: int, level: float) -> float:
    """The log of the mean wealth that bets on a difference reach by chance with their share of the level."""
    return log(1 / (level_shares(n_classes).differences * level))


def share_hurdle(n_classes: int, level: float) -> float:
    """The log-wealth that a bet on a class's share reaches by chance with its part of the level."""
    return log(2 * n_classes / (level_shares(n_classes).class_shares * level))
