"""Equal miss rate: thresholds of equal rank in every class, so that the label mix hardly matters.

A threshold at the k-th smallest of m scores misses a share of its class that is, whatever the law of the scores,
at most a Beta(k, m + 1 - k) variable. With ranks in proportion to the m_j all classes are missed about equally
often, and the target error, a mixture of such variables, is nearly the same for every mix. Section "Equal miss
rate" of the proof (docs/methods/ps-lp-proof.md); its test by convolution is in ``convolution``.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from pacshift.arrays import FloatArray, IntArray
from pacshift.bounds import Interval
from pacshift.mix.programs import MixProgram, largest_in_box
from pacshift.ps_lp.convolution import best_shift, upper_quantile
from pacshift.tally import Tally
from pacshift.tally.threshold import class_threshold

CHERNOFF_TILTS = np.linspace(0.9, 3.0, 22)
"""Values of θ tried, in units of log(1/δ) over the distance to ε; each is valid, the best in the box is taken.

With 6 instead of 22 values sizes do not change.
"""

MOMENT_HALVINGS = 16
"""Halvings of the interval of rates in the search by moments, which are quick. With 10: small +0.05 %."""

CONVOLUTION_STEPS = 5
"""Steps of the search by convolution, which starts where the moments end. With 2 or 12: small +0.6 or -0.1 %."""

CAUTIOUS_END = 3.0
"""With caution, rates up to this multiple of ε are tried. With 2 or 5 sizes do not change."""

LEAST_ERROR_BOUND = 1e-9
"""``error_bound`` does not search below this: far below any ε that data can show."""


def equal_miss_ranks(
    mixes: MixProgram,
    prevalence: Interval,
    class_counts: IntArray,
    *,
    epsilon: float,
    delta: float,
    caution: float = 0.0,
) -> IntArray:
    """Section "Equal miss rate": ranks k_j at which the target error exceeds ε with probability at most δ.

    For every mix of ``mixes``, whose box is ``prevalence``. Rank 0 stands for no threshold: never missed.
    ``caution`` is that of ``ranks_of``.

    >>> anything = MixProgram(np.empty((0, 2)), np.empty(0))
    >>> box = Interval(np.zeros(2), np.ones(2))
    >>> equal_miss_ranks(anything, box, np.array([10_000, 1_000]), epsilon=0.1, delta=0.01).tolist()
    [787, 78]
    """
    ranks = partial(ranks_of, class_counts=class_counts, caution=caution)
    end = epsilon if caution == 0 else min(CAUTIOUS_END * epsilon, 1.0)
    rate = _largest_rate(
        ranks,
        lambda k: passes_by_moments(mixes, prevalence, class_counts, k, epsilon=epsilon, delta=delta),
        end=end,
    )
    shift, first = best_shift(class_counts, ranks(rate), prevalence, delta=delta)
    quantile = partial(upper_quantile, class_counts, box=prevalence, delta=delta, shift=shift)
    return ranks(_climb(rate, first, lambda tried: quantile(ranks(tried)), epsilon=epsilon, end=end))


def _largest_rate(ranks: Callable[[float], IntArray], passes: Callable[[IntArray], bool], *, end: float) -> float:
    """A rate up to ``end`` whose ranks pass, as large as bisection finds it; 0 passes always."""
    start = 0.0
    for _ in range(MOMENT_HALVINGS):
        if np.array_equal(ranks(start), ranks(end)):
            break
        middle = (start + end) / 2
        start, end = (middle, end) if passes(ranks(middle)) else (start, middle)
    return start


def _climb(
    rate: float, quantile: float, quantile_at: Callable[[float], float], *, epsilon: float, end: float
) -> float:
    """A rate, not below the first, at which the quantile is at most ε; the first where its quantile is larger.

    The quantile grows about as fast as the rate, so that the distance to ε is a good step.
    """
    for _ in range(CONVOLUTION_STEPS if quantile <= epsilon else 0):
        tried = min(rate + epsilon - quantile, (rate + end) / 2)
        reached = quantile_at(tried)
        if reached <= epsilon:
            rate, quantile = tried, reached
        else:
            end = tried
    return rate


def ranks_of(rate: float, class_counts: IntArray, caution: float = 0.0) -> IntArray:
    """The ranks of "Equal miss rate": k_j = floor((m_j + 1) (u - z sqrt(u (1 - u) / m_j))), u the ``rate``.

    With ``caution`` z = 0 all classes are missed equally often. A larger z gives lower rates to classes with few
    rows, whose misses are known least. The ranks do not fall as the rate grows.

    >>> ranks_of(0.1, np.array([1000, 100])), ranks_of(0.1, np.array([1000, 100]), caution=0.5)
    (array([100,  10]), array([95,  8]))
    """
    lowered = rate - caution * np.sqrt(rate * (1 - rate) / np.maximum(class_counts, 1))
    return np.asarray(np.floor(np.maximum(lowered, 0.0) * (class_counts + 1)), np.int64)


def thresholds_at_ranks(tally: Tally, ranks: IntArray) -> FloatArray:
    """Lemma 5: the k_j-th smallest score of each class; -inf for rank 0."""
    return np.array([class_threshold(tally, label, rank - 1) for label, rank in enumerate(ranks.tolist())])


def error_bound(
    mixes: MixProgram, prevalence: Interval, class_counts: IntArray, ranks: IntArray, *, delta: float
) -> float:
    """An upper bound of the target error with thresholds at these ranks: nearly the smallest ε that passes."""
    if not ranks.any():
        return 0.0
    low, high = 0.0, best_shift(class_counts, ranks, prevalence, delta=delta)[1]
    while high - low > max(5e-3 * high, LEAST_ERROR_BOUND):
        middle = (low + high) / 2
        if passes_by_moments(mixes, prevalence, class_counts, ranks, epsilon=middle, delta=delta):
            high = middle
        else:
            low = middle
    return high


def passes_by_moments(
    mixes: MixProgram,
    prevalence: Interval,
    class_counts: IntArray,
    ranks: IntArray,
    *,
    epsilon: float,
    delta: float,
) -> bool:
    """Lemmas 6 and 7, "The test by moments": whether P(sum_j t_j B_j > ε) < δ for all mixes t.

    The B_j are Beta(k_j, m_j + 1 - k_j). Chernoff's bound, sharpened by what log-concave tails must weigh between
    the mean and ε.
    """
    law = _Betas(class_counts, ranks)
    low, high = prevalence.lower, prevalence.upper
    least_mean = float(low @ law.mean + max(1 - low.sum(), 0.0) * law.mean.min())
    room = epsilon - least_mean
    if room <= 0:
        return False
    tilts = CHERNOFF_TILTS * max(-np.log(delta), 1.0) / room
    tilts = tilts[np.isfinite(law.log_moment(tilts[:, None] * high)).all(axis=1)]
    if not len(tilts):
        return False
    allowed = log_rho(tilts, room, delta) + tilts * epsilon
    at_low, at_high = (law.log_moment(tilts[:, None] * end) for end in (low, high))
    # Convex in each t_j: nowhere above the chord between the ends of its interval.
    slopes = np.divide(at_high - at_low, high - low, out=np.zeros_like(at_low), where=high > low)
    over_box = at_low.sum(axis=1) + largest_in_box(slopes, high - low, 1 - float(low.sum()))
    best = int(np.argmin(over_box - allowed))
    if over_box[best] < allowed[best]:  # the box alone is quick to ask, and often enough
        return True
    constant = float((at_low[best] - slopes[best] * low).sum())
    return bool(constant + mixes.largest(slopes[best]) < allowed[best])


def log_rho(tilts: FloatArray, room: float, delta: float) -> FloatArray:
    """Lemma 7: log ρ(δ) for each θ of ``tilts``, with L = ``room`` the distance from the mean to ε.

    ρ is ∫ θ exp(-θ s) δ (1 / (e δ))^(s / L) ds over [0, L] plus exp(-θ L) / e.
    """
    gap = tilts - (-np.log(delta) - 1) / room
    inside = np.where(np.abs(gap * room) < 1e-9, room, -np.expm1(-gap * room) / np.where(gap == 0, 1.0, gap))
    return np.asarray(np.log(tilts * delta * inside + np.exp(-tilts * room - 1)))


class _Betas:
    """The variables of Lemma 5: independent Beta(k_j, m_j + 1 - k_j); rank 0 is the constant 0."""

    def __init__(self, class_counts: IntArray, ranks: IntArray) -> None:
        self.mean = ranks / (class_counts + 1)
        self.variance = self.mean * (1 - self.mean) / (class_counts + 2)
        self.skew = np.maximum(1 - 2 * self.mean, 0.0) / (class_counts + 3)

    def log_moment(self, x: FloatArray) -> FloatArray:
        """Lemma 6: upper bound of log E exp(x B) for x >= 0, convex in x; infinite where there is none."""
        y = self.skew * x
        beyond = (y >= 1) & (self.variance > 0)
        x, y = np.where(y >= 1, 0.0, x), np.where(y >= 1, 0.0, y)
        small = y < 1e-4
        safe = np.where(small, 0.5, y)
        growth = np.where(small, 0.5 + y / 3 + y**2, (-np.log1p(-safe) - safe) / safe**2)
        return np.where(beyond, np.inf, self.mean * x + self.variance * x**2 * growth)
