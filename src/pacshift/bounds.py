"""Counts to intervals: Clopper-Pearson and the binomial cut, exact at every sample size."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from pacshift.arrays import BoolArray, FloatArray


@dataclass(frozen=True, slots=True, eq=False)  # eq=False: `==` on array fields would raise
class Interval:
    """Elementwise bounds; the true values lie in ``[lower, upper]``."""

    lower: FloatArray
    upper: FloatArray

    def contains(self, value: ArrayLike) -> BoolArray:
        """Which entries of ``value`` lie inside."""
        return np.asarray((self.lower <= np.asarray(value)) & (np.asarray(value) <= self.upper))


def clopper_pearson(count: ArrayLike, total: ArrayLike, *, delta: float) -> Interval:
    r"""Exact binomial interval, right with probability at least ``1 - delta``, elementwise.

    .. math:: [\,B^{-1}(\delta/2;\ k,\ n-k+1),\ \ B^{-1}(1-\delta/2;\ k+1,\ n-k)\,]

    ``total`` 0 (no data) gives ``[0, 1]``. CP of the paper, section "Elementwise Confidence Intervals";
    Clopper and Pearson, Biometrika 26 (1934).

    >>> clopper_pearson([0, 5], 10, delta=0.05).upper.round(3)
    array([0.308, 0.813])
    """
    return Interval(binomial_lower(count, total, delta=delta / 2), binomial_upper(count, total, delta=delta / 2))


def binomial_lower(count: ArrayLike, total: ArrayLike, *, delta: float) -> FloatArray:
    """One-sided Clopper-Pearson: the rate is at least this with probability at least ``1 - delta``."""
    count, total = np.broadcast_arrays(np.asarray(count, float), np.asarray(total, float))
    # Beta(0, .) is undefined: a count of 0 pins the lower end exactly.
    return np.where(count == 0, 0.0, special.betaincinv(np.maximum(count, 1), total - count + 1, delta))


def binomial_upper(count: ArrayLike, total: ArrayLike, *, delta: float) -> FloatArray:
    """One-sided Clopper-Pearson: the rate is at most this with probability at least ``1 - delta``."""
    count, total = np.broadcast_arrays(np.asarray(count, float), np.asarray(total, float))
    # The complemented inverse keeps its digits where 1 - delta would round to 1.
    return np.where(count == total, 1.0, special.betainccinv(count + 1, np.maximum(total - count, 1), delta))


def binomial_cdf(count: ArrayLike, total: ArrayLike, rate: ArrayLike) -> FloatArray:
    """P(Binomial(total, rate) <= count), with its digits kept far down the tail."""
    count, total = np.asarray(count, float), np.asarray(total, float)
    inside = special.betaincc(np.maximum(count, -0.5) + 1, np.maximum(total - count, 0.5), rate)
    return np.where(count < 0, 0.0, np.where(count >= total, 1.0, inside))


def binomial_cut(total: int, *, epsilon: float, delta: float) -> int:
    """Largest error count k with Binom(k; total, epsilon) <= delta, or -1 where even 0 is too many.

    k(m, ε, δ) of the paper, Appendix "Background on PAC Prediction Sets".

    >>> binomial_cut(1000, epsilon=0.1, delta=0.05)
    84
    >>> binomial_cut(28, epsilon=0.1, delta=0.05)
    -1
    """
    low, high = -1, total  # Binom(total) = 1 > delta: `high` never passes, `low` always does
    while high - low > 1:
        middle = (low + high) // 2
        if binomial_cdf(middle, total, epsilon) <= delta:
            low = middle
        else:
            high = middle
    return low
