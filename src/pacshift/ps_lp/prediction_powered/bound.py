"""The bound of the target error at one threshold vector, for every correction at once.

Sections "One row", "All corrections at once" and "The unknown mix" of the page (docs/methods/many-classes.md).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pacshift.arrays import FloatArray, IntArray
from pacshift.bounds import Interval
from pacshift.mix.programs import largest_means
from pacshift.ps_lp.prediction_powered.evidence import Evidence

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
