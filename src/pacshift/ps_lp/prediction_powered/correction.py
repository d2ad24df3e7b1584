"""The search for a good correction. Any result is valid ("All corrections at once"), so nothing here is proven.

Section "The search" of the page (docs/methods/many-classes.md).
"""

import numpy as np
import scipy

from pacshift.arrays import FloatArray, IntArray
from pacshift.ps_lp.prediction_powered.bound import CROSS_SHARE, OWN_WEIGHT, ErrorBound, sign_cost

LARGEST_TILT = 0.95
SMOOTHING = 0.01
"""Width over which the kinks of the worst mix are rounded off, in units of the error."""
STEPS = 60
DEEPEST_CORRECTION = 0.5
"""The most negative correction, in units of ε, if there are classes on which bets are limited."""


def best_tilt(bound: ErrorBound, misses: IntArray, start: FloatArray) -> FloatArray:
    """A tilt of the signs with a small bound, by L-BFGS on a smooth version of it ("The search").

    The worst mix Σ_j t_j v_j over t <= top is min over ν of ν + Σ_j top_j max(v_j - ν, 0); the maxima are rounded.
    """
    problem = _Smooth(bound, bound.evidence.miss_rates(misses))
    level = float(np.quantile(problem.fixed, 0.7))
    lowest = -LARGEST_TILT
    if problem.part.min() < 1:  # such classes add as much as the most negative correction
        lowest = max(lowest, -DEEPEST_CORRECTION * bound.epsilon / bound.option.spread)
    limits = [(lowest, LARGEST_TILT)] * len(start) + [(None, None)]
    found = scipy.optimize.minimize(
        problem, np.append(np.maximum(start, lowest), level), jac=True, method="L-BFGS-B", bounds=limits,
        options={"maxiter": STEPS, "maxcor": 15},
    )  # fmt: skip
    return np.asarray(found.x[:-1])


class _Smooth:
    """The smooth bound and its gradient, as functions of tilts and ν ("The search")."""

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
        values = self.part * (self.fixed - mean + bound.slopes * moving) + (1 - self.part) * self.worst
        above = (values - level) / SMOOTHING
        target = bound.evidence.target_shares
        worst_mix = level + float(self.shares @ (SMOOTHING * np.logaddexp(0.0, above)))
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
