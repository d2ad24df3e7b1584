"""The bound of the target error at one threshold vector, for every correction at once.

Sections "Setting", "The box", "One row", "All corrections at once" and "The unknown mix" of the page
(docs/methods/many-classes.md): the counts that the bound works on, how frequent a class can be on the target, and
the bound itself.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import scipy

from pacshift.arrays import BoolArray, FloatArray, IntArray
from pacshift.bounds import Interval, binomial_lower, binomial_upper
from pacshift.mix.programs import largest_means
from pacshift.tally import Tally
from pacshift.tally.grid import count_at_least

Sparse: TypeAlias = "scipy.sparse.csr_array[Any, tuple[int, int]]"


@dataclass(frozen=True, eq=False)
class Evidence:
    """What does not depend on the thresholds ("Setting"); sparse, so that K × K numbers are never stored.

    ``predictions[j, k]`` is the share of the source rows of class j that are predicted k (Ĝ), ``recall`` its
    diagonal, ``target_shares`` the shares of the target's predictions (q̂). ``largest_shares`` bound the target's
    label shares from above. Classes ``in_every_set`` are never missed.
    """

    class_counts: IntArray
    predictions: Sparse
    recall: FloatArray
    target_shares: FloatArray
    n_target: int
    largest_shares: FloatArray
    in_every_set: BoolArray

    def miss_rates(self, misses: IntArray) -> FloatArray:
        """ê_j, which is 0 for classes in every set."""
        return np.where(self.in_every_set, 0.0, misses / np.maximum(self.class_counts, 1))

    @classmethod
    def of_tally(cls, tally: Tally, largest_shares: FloatArray, in_every_set: BoolArray) -> "Evidence":
        """Read the counts off a tally."""
        cells, size = tally.source_cells, tally.n_classes
        per_row = cells.counts / tally.class_counts[cells.labels]
        predictions = scipy.sparse.csr_array((per_row, (cells.labels, cells.predicted)), shape=(size, size))
        return cls(
            class_counts=tally.class_counts,
            predictions=predictions,
            recall=predictions.diagonal(),
            target_shares=tally.target / tally.n_target,
            n_target=tally.n_target,
            largest_shares=largest_shares,
            in_every_set=in_every_set,
        )


LEVELS = (1 / 4, 1 / 16, 1 / 64)
"""Detectors: the class's own score is at least this. Powers of two are edges of the target's bins. One level of
1/4: ImageNet with 50,000 rows needs 5.5 times as many labels; six levels from 1/2 to 1/64: -0.3 %."""

N_DETECTORS = 1 + len(LEVELS)
"""The union is over as many per class, whether the target has bins or not: numbers of rows fix the level."""

SPLITS = 24
"""Parts into which the statistic of Lemma 2 is cut: more give smaller ratios. With 8 or 64: +0.3 or -0.1 %."""


def detected_shares(tally: Tally, *, delta: float) -> FloatArray:
    """Upper bounds of all label shares of the target at once, with probability at least 1 - δ ("The box").

    The smallest over the detectors of a class; 1 for classes without source examples.
    """
    source, target = detector_counts(tally)
    level = critical_level(delta / (tally.n_classes * N_DETECTORS))
    ratios = largest_ratio(source, tally.class_counts, target, tally.n_target, level=level)
    return np.asarray(ratios.min(axis=0))


def detector_counts(tally: Tally) -> tuple[IntArray, IntArray]:
    """Hits of each detector ("The box"): ``[s, j]`` among the source rows of class j, and among the target rows.

    The first detector is "predicted j". Those by the own score need plain scores and the target's bins.
    """
    cells = tally.source_cells
    own = cells.predicted == cells.labels
    predicted = np.bincount(cells.labels[own], weights=cells.counts[own], minlength=tally.n_classes)
    source, target = [predicted.astype(np.int64)], [tally.target]
    if tally.bins is not None and tally.score == "probability":
        source += [tally.class_counts - tally.misses(level) for level in LEVELS]
        target += [count_at_least(tally.bins, level) for level in LEVELS]
    return np.array(source), np.array(target)


def critical_level(delta: float) -> float:
    """The x of Lemma 2 with (1 + x) exp(-x) = δ, rounded up.

    >>> x = critical_level(0.001)
    >>> round(float((1 + x) * np.exp(-x)), 9)
    0.001
    """
    low, high = 0.0, 2000.0
    for _ in range(70):  # halvings; the ends then agree to rounding
        middle = (low + high) / 2
        low, high = (middle, high) if np.log1p(middle) - middle > np.log(delta) else (low, middle)
    return high


def largest_ratio(
    source: IntArray, class_counts: IntArray, target: IntArray, n_target: int, *, level: float
) -> FloatArray:
    """The largest q/A at which the statistic of Lemma 2 stays below ``level``, and at most 1.

    The statistic is cut into a part for A and the rest for q, and each cut is rounded to the safe side, so that
    every pair (A, q) is covered by one of them. Each part is a one-sided Clopper-Pearson bound (Lemma 1).
    """
    worst = np.zeros(source.shape)
    distinct, place = np.unique(target, return_inverse=True)
    for small, large in pairwise(np.linspace(0.0, level, SPLITS + 1).tolist()):
        lowest = binomial_lower(source, class_counts, delta=np.exp(-large))
        highest = binomial_upper(distinct, n_target, delta=np.exp(small - level))[place].reshape(source.shape)
        worst = np.maximum(worst, np.divide(highest, lowest, out=np.ones_like(worst), where=lowest > 0))
    return np.minimum(worst, 1.0)


OWN_WEIGHT = 0.7
"""a: how much of the correction at the class itself is taken as its centre; about a classifier's recall. With 0.5
or 0.9: 0 or +0.4 %, ImageNet -0.2 or +3.1 %."""
CROSS_SHARE = 0.25
"""α of the inequality 2xy <= αx² + y²/α between misses and corrections. With 0.1 or 0.5: +0.4 or +0.5 %, ImageNet
+3.6 or -0.3 %."""
LARGEST_BET = 0.9
"""Bets times the largest value must stay below 1 ("One row"). With 0.7 or 0.97 nothing changes, ImageNet
included."""


@dataclass(frozen=True, slots=True)
class Option:
    """How to bet ("Options"): the ``stake`` λ, and the ``spread`` H, the size of corrections before the data."""

    stake: float
    spread: float


def excess(bet: FloatArray | float) -> FloatArray:
    """ψ(x) = -log(1 - x) - x of Lemma 3, for 0 <= x < 1."""
    return np.asarray(-np.log1p(-np.asarray(bet)) - bet)


def sign_cost(tilt: FloatArray) -> float:
    """Lemma 4: divergence of signs with means ``tilt`` from fair signs ("All corrections at once").

    >>> sign_cost(np.zeros(3)), round(sign_cost(np.array([0.5])), 4)
    (0.0, 0.1308)
    """
    return float(0.5 * ((1 + tilt) * np.log1p(tilt) + (1 - tilt) * np.log1p(-tilt)).sum())


@dataclass(frozen=True, eq=False)
class ErrorBound:
    """The right-hand side of the theorem for one option, at the level exp(-``log_cost``)."""

    evidence: Evidence
    option: Option
    epsilon: float
    log_cost: float

    @cached_property
    def largest_value(self) -> float:
        """B of "One row": no miss minus correction exceeds its centre by more."""
        return 1 - self.epsilon + (1 + OWN_WEIGHT) * self.option.spread

    @cached_property
    def betted_part(self) -> FloatArray:
        """s_j of "The unknown mix": the part of the largest share up to which bets are placed.

        None are placed on classes in every set: their miss rate is known.
        """
        counts, shares = self.evidence.class_counts, self.evidence.largest_shares
        limit = LARGEST_BET * counts / (self.option.stake * self.largest_value)
        part = np.minimum(1.0, limit / np.maximum(shares, 1e-300))
        return np.where(self.evidence.in_every_set, 0.0, part)

    @cached_property
    def slopes(self) -> FloatArray:
        """The factor of the squares in "The unknown mix": the chord of Lemma 3's ψ up to the largest bet."""
        counts, shares = self.evidence.class_counts, self.evidence.largest_shares
        scale = self.option.stake * self.largest_value * shares * self.betted_part
        bets = np.divide(scale, counts, out=np.zeros(len(counts)), where=counts > 0)
        chord = np.divide(excess(bets), bets, out=np.zeros(len(counts)), where=bets > 0)
        return np.asarray(chord / self.largest_value)

    @cached_property
    def constant(self) -> float:
        """What neither misses nor corrections change: the level, and the squares of the target ("Theorem")."""
        stake, n_target = self.option.stake, self.evidence.n_target
        target = n_target * float(excess(stake * self.option.spread / n_target))
        return (self.log_cost + target) / stake

    def fixed_squares(self, miss_rates: FloatArray) -> FloatArray:
        """The part of "Squares" that corrections do not change: misses, and signs before the data."""
        misses = miss_rates * (1 - 2 * self.epsilon) + self.epsilon**2
        signs = self.option.spread**2 * (1 + OWN_WEIGHT**2 - 2 * OWN_WEIGHT * self.evidence.recall)
        return np.asarray((1 + CROSS_SHARE) * misses + signs)

    def moving_squares(self, correction: FloatArray, mean: FloatArray, mean_square: FloatArray) -> FloatArray:
        """The part of "Squares" that depends on the correction; its means are over each class's predictions."""
        own = OWN_WEIGHT * correction
        centred = mean_square - 2 * own * mean + own**2
        return np.asarray(centred / CROSS_SHARE - 2 * own * (mean - self.evidence.recall * correction))

    def coefficients(self, correction: FloatArray, miss_rates: FloatArray) -> FloatArray:
        """What a unit of each class's share adds to the bound ("The unknown mix")."""
        predictions = self.evidence.predictions
        mean, mean_square = predictions @ correction, predictions @ correction**2
        squares = self.fixed_squares(miss_rates) + self.moving_squares(correction, mean, mean_square)
        betted = miss_rates - mean + self.slopes * squares
        worst = np.where(self.evidence.in_every_set, 0.0, 1.0) - correction.min()
        part = self.betted_part
        return np.asarray(np.maximum(betted, part * betted + (1 - part) * worst))

    def value(self, tilt: FloatArray, misses: IntArray) -> float:
        """The upper bound of the target error ("Theorem"), valid for every ``tilt`` of the signs at once."""
        correction = self.option.spread * tilt
        most = self.evidence.largest_shares
        costs = self.coefficients(correction, self.evidence.miss_rates(misses))
        (worst_mix,) = largest_means(costs[None], Interval(np.zeros_like(most), most))
        corrected = float(correction @ self.evidence.target_shares + worst_mix)
        return self.constant + sign_cost(tilt) / self.option.stake + corrected
