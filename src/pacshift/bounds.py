"""Counts to intervals: Clopper-Pearson and the binomial cut, exact at every sample size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pacshift.arrays import BoolArray, FloatArray, scipy
from pacshift.words.display import short_repr

INVERSE_TOLERANCE = 1e-6
"""Relative error in delta above which an inverse is redone by bisection.

SciPy 1.17 (Boost) inverts the beta function wrongly where its first parameter is exactly 1000 and the
second is 1e7 or more: a *lower* bound of 1.9e-6 for 1000 hits in 1e9. The function itself is right there.
"""

ROUNDING = 1e-9
"""Room for rounding: a set of label mixes or weights is called empty only if it is empty by more than this.

Limits are raised by it and never lowered, and {t: A t <= b} is part of {t: A t <= b + ROUNDING}: a true mix that
was inside stays inside, so every bound over the larger set is valid, and a refusal is at most as likely. Rounding
is far smaller: sums of a few hundred products of shares are off by 1e-14 at most, decimal shares such as .34 and
.66 by 6e-17, which "refuted" every second known mix that was exactly true. Sampling errors are far larger: 1e-5
with 1e10 rows.
"""


@dataclass(frozen=True, slots=True, eq=False)  # eq=False: `==` on array fields would raise
class Interval:
    """Elementwise bounds; the true values lie in ``[lower, upper]``.

    Parameters
    ----------
    lower, upper : ndarray of float
        The two ends, of the same shape.

    Examples
    --------
    >>> Interval(np.array([0.1, 0.5]), np.array([0.3, 0.6])).contains([0.2, 0.7])
    array([ True, False])
    """

    lower: FloatArray
    upper: FloatArray

    __repr__ = short_repr

    def contains(self, value: ArrayLike) -> BoolArray:
        """Which entries of ``value`` lie inside.

        Parameters
        ----------
        value : array_like
            As many entries as the interval has, or one for all.

        Returns
        -------
        bool array
            True where the entry lies between the bounds.
        """
        return np.asarray((self.lower <= np.asarray(value)) & (np.asarray(value) <= self.upper))


def clopper_pearson(count: ArrayLike, total: ArrayLike, *, delta: float) -> Interval:
    r"""Exact binomial interval, right with probability at least ``1 - delta``, elementwise.

    .. math:: [\,B^{-1}(\delta/2;\ k,\ n-k+1),\ \ B^{-1}(1-\delta/2;\ k+1,\ n-k)\,]

    CP of the paper, section "Elementwise Confidence Intervals"; Clopper and Pearson, Biometrika 26 (1934).

    Parameters
    ----------
    count : array_like of int
        Successes.
    total : array_like of int
        Trials; 0 (no data) gives ``[0, 1]``.
    delta : float
        Allowed probability of an interval that misses the rate, half of it on each side.

    Returns
    -------
    Interval
        Bounds of the rate.

    Examples
    --------
    >>> clopper_pearson([0, 5], 10, delta=0.05).upper.round(3)
    array([0.308, 0.813])
    """
    return Interval(binomial_lower(count, total, delta=delta / 2), binomial_upper(count, total, delta=delta / 2))


def binomial_lower(count: ArrayLike, total: ArrayLike, *, delta: float) -> FloatArray:
    """One-sided Clopper-Pearson: the rate is at least this with probability at least ``1 - delta``.

    Parameters
    ----------
    count, total : array_like of int
        Successes and trials.
    delta : float
        Allowed probability that the rate is lower.

    Returns
    -------
    ndarray of float
        Lower bounds, elementwise.

    Examples
    --------
    >>> binomial_lower([0, 5], 10, delta=0.05).round(3)
    array([0.   , 0.222])
    """
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
    """One-sided Clopper-Pearson: the rate is at most this with probability at least ``1 - delta``.

    Parameters
    ----------
    count, total : array_like of int
        Successes and trials.
    delta : float
        Allowed probability that the rate is higher.

    Returns
    -------
    ndarray of float
        Upper bounds, elementwise.

    Examples
    --------
    >>> binomial_upper([0, 5], 10, delta=0.05).round(3)
    array([0.259, 0.778])
    """
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
    """P(Binomial(total, rate) <= count), accurate far down the tail."""
    count, total = np.asarray(count, float), np.asarray(total, float)
    inside = scipy.special.betaincc(
        np.maximum(count, -0.5) + 1, np.maximum(total - count, 0.5), np.asarray(rate, float)
    )
    return np.where(count < 0, 0.0, np.where(count >= total, 1.0, inside))


def binomial_cut(total: int, *, epsilon: float, delta: float) -> int:
    """Largest error count k with P(Binomial(total, epsilon) <= k) <= delta, or -1 where even 0 is too many.

    k(m, ε, δ) of the paper, Appendix "Background on PAC Prediction Sets".

    Parameters
    ----------
    total : int
        Number of examples.
    epsilon : float
        Error rate to be excluded.
    delta : float
        Allowed probability of so few errors at that rate.

    Returns
    -------
    int
        The number of errors, or -1.

    Examples
    --------
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


def clean_epsilon(epsilon: float, contamination: float) -> float:
    """The error allowed on the label-shifted part, so that the whole target errs by ``epsilon`` at most.

    Lemma 3 of docs/methods/trust-proofs.md.

    Parameters
    ----------
    epsilon : float
        Allowed error of the whole target.
    contamination : float
        Largest share of the target that need not be label-shifted.

    Returns
    -------
    float

    Examples
    --------
    >>> clean_epsilon(0.1, 0.0), round(clean_epsilon(0.1, 0.02), 4)
    (0.1, 0.0816)
    """
    return (epsilon - contamination) / (1 - contamination) if contamination else epsilon


def clean_shares(shares: Interval, contamination: float) -> Interval:
    """Bounds of q⁰ where q = (1 - η) q⁰ + η h, from bounds of q and nothing known about h.

    Lemma 4 of docs/methods/trust-proofs.md: q⁰ lies between (q - η) / (1 - η) and q / (1 - η). It holds for shares
    of predictions and for shares of classes.

    Parameters
    ----------
    shares : Interval
        Bounds of shares of the whole target.
    contamination : float
        Largest share η of the target that need not be label-shifted.

    Returns
    -------
    Interval
        Bounds of the same shares of the label-shifted part.

    Examples
    --------
    >>> clean_shares(Interval(np.array([0.05, 0.4]), np.array([0.1, 0.95])), 0.1).upper.round(3)
    array([0.111, 1.   ])
    """
    if not contamination:
        return shares
    lower, upper = (shares.lower - contamination) / (1 - contamination), shares.upper / (1 - contamination)
    return Interval(np.maximum(lower, 0.0), np.minimum(upper, 1.0))
