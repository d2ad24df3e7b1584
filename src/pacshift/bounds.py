"""Counts to intervals: Clopper-Pearson and the binomial cut, exact at every sample size."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy  # its parts load when first used: `pacshift --help` need not wait for them
from numpy.typing import ArrayLike

from pacshift.arrays import BoolArray, FloatArray

INVERSE_TOLERANCE = 1e-6
"""Relative error in delta above which an inverse is redone by bisection.

SciPy 1.17 (Boost) inverts the beta function wrongly where its first parameter is exactly 1000 and the
second is 1e7 or more: a *lower* bound of 1.9e-6 for 1000 hits in 1e9. The function itself is right there.
"""


@dataclass(frozen=True, slots=True, eq=False)  # eq=False: `==` on array fields would raise
class Interval:
    """Elementwise bounds; the true values lie in ``[lower, upper]``."""

    lower: FloatArray
    upper: FloatArray

    def contains(self, value: ArrayLike) -> BoolArray:
        """Which entries of ``value`` lie inside."""
        return np.asarray((self.lower <= np.asarray(value)) & (np.asarray(value) <= self.upper))


@dataclass(frozen=True, slots=True, eq=False)
class BoundCurve:
    """Upper bounds of the target error along a family of thresholds, for pictures.

    Where ``source_errors[i]`` of the source is missed, the target error is at most ``bounds[i]``; the thresholds
    taken miss ``chosen`` of the source.
    """

    source_errors: FloatArray
    bounds: FloatArray
    chosen: float


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
    first, second = np.maximum(count, 1), total - count + 1
    rate = np.asarray(scipy.special.betaincinv(first, second, delta))
    off = np.abs(scipy.special.betainc(first, second, rate) - delta) > INVERSE_TOLERANCE * delta
    if off.any():
        rate[off], _ = _bisect(
            lambda x: scipy.special.betainc(first[off], second[off], x) <= delta, int(off.sum())
        )
    return np.where(count == 0, 0.0, rate)


def binomial_upper(count: ArrayLike, total: ArrayLike, *, delta: float) -> FloatArray:
    """One-sided Clopper-Pearson: the rate is at most this with probability at least ``1 - delta``."""
    count, total = np.broadcast_arrays(np.asarray(count, float), np.asarray(total, float))
    first, second = count + 1, np.maximum(total - count, 1)
    # The complemented inverse keeps its digits where 1 - delta would round to 1.
    rate = np.asarray(scipy.special.betainccinv(first, second, delta))
    off = np.abs(scipy.special.betaincc(first, second, rate) - delta) > INVERSE_TOLERANCE * delta
    if off.any():
        _, rate[off] = _bisect(
            lambda x: scipy.special.betaincc(first[off], second[off], x) > delta, int(off.sum())
        )
    return np.where(count == total, 1.0, rate)


def _bisect(below: Callable[[FloatArray], BoolArray], size: int) -> tuple[FloatArray, FloatArray]:
    """Brackets ``[low, high]`` around where ``below`` turns from true to false on [0, 1]."""
    low, high = np.zeros(size), np.ones(size)
    for _ in range(120):  # 2**-120 is below every rate that counts up to 1e9 and delta 1e-12 can give
        middle = (low + high) / 2
        under = below(middle)
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    return low, high


def binomial_cdf(count: ArrayLike, total: ArrayLike, rate: ArrayLike) -> FloatArray:
    """P(Binomial(total, rate) <= count), with its digits kept far down the tail."""
    count, total = np.asarray(count, float), np.asarray(total, float)
    inside = scipy.special.betaincc(
        np.maximum(count, -0.5) + 1, np.maximum(total - count, 0.5), np.asarray(rate, float)
    )
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
