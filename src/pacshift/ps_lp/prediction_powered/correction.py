"""The search for a good correction. Any result is valid ("All corrections at once"), so nothing here is proven.

Section "The search" of the page (docs/methods/many-classes.md).
"""

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


def best_tilt(bound: ErrorBound, misses: IntArray, start: FloatArray) -> FloatArray:
    """A tilt of the signs with a small bound, by L-BFGS on a smooth version of it ("The search").

    The worst mix Σ_j t_j v_j over t <= top is min over ν of ν + Σ_j top_j max(v_j - ν, 0); the maxima are rounded.
    """
    problem = _Smooth(bound, bound.evidence.miss_rates(misses))
    lowest = -LARGEST_TILT
    if float(problem.shares @ (1 - problem.part)) > LARGE_PART:
        lowest = max(lowest, -DEEPEST_CORRECTION * bound.epsilon / bound.option.spread)
    limits = [(lowest, LARGEST_TILT)] * len(start) + [(None, None)]
    point = np.append(np.maximum(start, lowest), np.quantile(problem.fixed, 0.7))
    for problem.width, steps in ROUNDS if not start.any() else ROUNDS[1:]:
        point = scipy.optimize.minimize(
            problem, point, jac=True, method="L-BFGS-B", bounds=limits, options={"maxiter": steps, "maxcor": 15}
        ).x
    return np.asarray(point[:-1])


class _Smooth:
    """The smooth bound and its gradient, as functions of tilts and ν ("The search")."""

    width = ROUNDS[0][0]

    def __init__(self, bound: ErrorBound, miss_rates: FloatArray) -> None:
        self.bound, evidence = bound, bound.evidence
        self.rows, self.columns = evidence.predictions, evidence.predictions.T.tocsr()
        self.recall, self.shares, self.part = evidence.recall, evidence.largest_shares, bound.betted_part
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
        mix = self.shares * scipy.special.expit(above)
        by_correction = target + self._gradient(correction, mean, mix * self.part)
        by_tilt = option.spread * by_correction + np.arctanh(tilt) / option.stake
        return value, np.append(by_tilt, 1 - mix.sum())

    def _gradient(self, correction: FloatArray, mean: FloatArray, mix: FloatArray) -> FloatArray:
        """Derivative by the correction of Σ_j mix_j (slope_j moving_j - mean_j)."""
        weight, a = mix * self.bound.slopes, OWN_WEIGHT
        squares = 2 * correction * (self.columns @ weight) / CROSS_SHARE
        mixed = -2 * a * (1 / CROSS_SHARE + 1) * (weight * mean + self.columns @ (weight * correction))
        own = correction * weight * (2 * a**2 / CROSS_SHARE + 4 * a * self.recall)
        return np.asarray(squares + mixed + own - self.columns @ mix)
