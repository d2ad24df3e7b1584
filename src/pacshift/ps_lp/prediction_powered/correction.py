"""The search for a good correction. Any result is valid ("All corrections at once"), so nothing here is proven.

Section "The search" of the page (docs/methods/many-classes.md).
"""

from collections.abc import Sequence

import numpy as np
import scipy

from pacshift.arrays import FloatArray, IntArray
from pacshift.ps_lp.prediction_powered.bound import CROSS_SHARE, OWN_WEIGHT, ErrorBound, sign_cost

LARGEST_TILT = 0.95
"""Tilts stay below 1, where their cost is infinite in slope. With 0.8 or 0.99: +0.3 or 0 %."""
ROUNDS = ((0.01, 40), (0.002, 80))
"""Width over which kinks are rounded off, in units of the error, and steps: first roughly, then closely. Without
the rough round +8 %; with half or twice the steps nothing changes."""


DEEPEST_CORRECTION = 0.5
"""The most negative correction, in units of ε, if classes that are not bet on may be a large part of the mix.

Such classes add as much to the bound as the most negative correction. For long tails; on CIFAR-100 nothing
changes.
"""
LARGE_PART = 0.3
"""What is a large part. A round number; not measured on long tails."""


def best_tilt(
    bound: ErrorBound,
    misses: IntArray,
    start: FloatArray,
    *,
    rounds: Sequence[tuple[float, int]] = ROUNDS,
    enough: float = -np.inf,
) -> FloatArray:
    """A tilt of the signs with a small bound, by L-BFGS on a smooth version of it ("The search").

    The worst mix Σ_j t_j v_j over t <= top is min over ν of ν + Σ_j top_j max(v_j - ν, 0); the maxima are rounded.
    The search ends as soon as the bound itself is ``enough``.
    """
    problem = _Smooth(bound, misses, enough)
    lowest = -LARGEST_TILT
    if float(problem.shares @ (1 - problem.part)) > LARGE_PART:
        lowest = max(lowest, -DEEPEST_CORRECTION * bound.epsilon / bound.option.spread)
    tilt = np.maximum(start, lowest)
    point = np.append(tilt, problem.level(tilt))
    free = np.full(len(start), lowest), np.full(len(start), LARGEST_TILT)
    limits = scipy.optimize.Bounds(np.append(free[0], -np.inf), np.append(free[1], np.inf))
    for problem.width, steps in rounds:
        try:
            point = scipy.optimize.minimize(
                problem,
                point,
                jac=True,
                method="L-BFGS-B",
                bounds=limits,
                options={"maxiter": steps, "maxcor": 15},
            ).x
        except _Enough as found:
            return found.tilt
    return np.asarray(point[:-1])


class _Enough(Exception):
    """Thrown out of the minimiser at the first tilt that is good enough."""

    def __init__(self, tilt: FloatArray) -> None:
        super().__init__()
        self.tilt = tilt


class _Smooth:
    """The smooth bound and its gradient, as functions of tilts and ν ("The search")."""

    width = ROUNDS[0][0]

    def __init__(self, bound: ErrorBound, misses: IntArray, enough: float = -np.inf) -> None:
        self.bound, evidence = bound, bound.evidence
        self.misses, self.enough = misses, enough
        self.rows, self.columns = evidence.predictions, evidence.predictions.T.tocsr()
        self.recall, self.shares, self.part = evidence.recall, evidence.largest_shares, bound.betted_part
        miss_rates = evidence.miss_rates(misses)
        self.fixed = miss_rates + bound.slopes * bound.fixed_squares(miss_rates)
        self.worst = np.where(evidence.in_every_set, 0.0, 1.0)

    def __call__(self, point: FloatArray) -> tuple[float, FloatArray]:
        tilt, level = point[:-1], point[-1]
        bound, option = self.bound, self.bound.option
        correction = option.spread * tilt
        mean, mean_square = self.rows @ correction, self.rows @ correction**2
        moving = bound.moving_squares(correction, mean, mean_square)
        betted = self.fixed - mean + bound.slopes * moving
        values = self.part * betted + (1 - self.part) * self.worst
        above = (values - level) / self.width
        target = bound.evidence.target_shares
        worst_mix = level + float(self.shares @ (self.width * np.logaddexp(0.0, above)))
        value = float(correction @ target) + sign_cost(tilt) / option.stake + worst_mix
        if bound.constant + value <= self.enough and bound.value(tilt, self.misses) <= self.enough:
            raise _Enough(tilt.copy())
        mix = self.shares * scipy.special.expit(above)
        by_correction = target + self._gradient(correction, mean, mix * self.part)
        by_tilt = option.spread * by_correction + np.arctanh(tilt) / option.stake
        return value, np.append(by_tilt, 1 - mix.sum())

    def level(self, tilt: FloatArray) -> float:
        """The ν of "The search" at this tilt: the coefficient of the class that fills up the worst mix."""
        rates = self.bound.evidence.miss_rates(self.misses)
        values = self.bound.coefficients(self.bound.option.spread * tilt, rates)
        order = np.argsort(-values)
        place = int(np.searchsorted(np.cumsum(self.shares[order]), 1.0))
        return float(values[order[min(place, len(order) - 1)]])

    def _gradient(self, correction: FloatArray, mean: FloatArray, mix: FloatArray) -> FloatArray:
        """Derivative by the correction of Σ_j mix_j (slope_j moving_j - mean_j)."""
        weight, a = mix * self.bound.slopes, OWN_WEIGHT
        crossed = 2 * a * (1 / CROSS_SHARE + 1)
        squares = 2 * correction * (self.columns @ weight) / CROSS_SHARE
        own = weight * (correction * (2 * a**2 / CROSS_SHARE + 4 * a * self.recall) - crossed * mean)
        return np.asarray(squares + own - self.columns @ (mix + crossed * weight * correction))
