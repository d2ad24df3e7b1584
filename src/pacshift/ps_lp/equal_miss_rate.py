"""One miss rate for all classes: thresholds of equal rank, so that the label mix hardly matters.

A threshold at the k-th smallest of m scores misses a share of its class that is, whatever the law of the scores,
at most a Beta(k, m + 1 - k) variable. With ranks in proportion to the m_j all classes are missed about equally
often, and the target error, a mixture of such variables, is nearly the same for every mix. The docs page "PS-LP"
has the proofs.
"""

from collections.abc import Callable

import numpy as np

from pacshift.arrays import FloatArray, IntArray
from pacshift.bounds import Interval
from pacshift.ps_lp.convolution import upper_quantile
from pacshift.ps_lp.programs import MixProgram

TILTS = np.linspace(0.9, 3.0, 22)
"""Tilts tried, in units of log(1/δ) over the distance to ε; each is valid, the best over the box is taken."""

FEW_STEPS = 8
"""Halvings of what moments leave to be gained."""


def balanced_ranks(
    mixes: MixProgram, prevalence: Interval, class_counts: IntArray, *, epsilon: float, delta: float
) -> IntArray:
    """Ranks k_j, about the same share of every class: thresholds there err by more than ε with chance <= δ.

    For every mix of ``mixes``, whose box is ``prevalence``. Rank 0 stands for no threshold, never missed.

    >>> anything = MixProgram(np.empty((0, 2)), np.empty(0))
    >>> box = Interval(np.zeros(2), np.ones(2))
    >>> balanced_ranks(anything, box, np.array([10_000, 1_000]), epsilon=0.1, delta=0.01).tolist()
    [778, 77]
    """
    by_moments = _largest_rate(
        class_counts,
        epsilon,
        lambda k: small_moments(mixes, prevalence, class_counts, k, epsilon=epsilon, delta=delta),
    )
    # Convolution takes longer: it only has to look for more.
    by_tables = _largest_rate(
        class_counts,
        epsilon,
        lambda k: upper_quantile(class_counts, k, prevalence, delta=delta) <= epsilon,
        start=by_moments,
        steps=FEW_STEPS,
    )
    return ranks_of(by_tables, class_counts)


def _largest_rate(
    class_counts: IntArray,
    epsilon: float,
    passes: Callable[[IntArray], bool],
    *,
    start: float = 0.0,
    steps: int = 30,
) -> float:
    """A rate from ``start`` on whose ranks pass, as large as bisection finds it."""
    low, high = start, epsilon
    for _ in range(steps):
        middle = (low + high) / 2
        if np.array_equal(ranks_of(low, class_counts), ranks_of(high, class_counts)):
            break
        low, high = (middle, high) if passes(ranks_of(middle, class_counts)) else (low, middle)
    return low


def ranks_of(rate: float, class_counts: IntArray) -> IntArray:
    """The largest ranks whose expected miss rates k / (m + 1) are at most ``rate``."""
    return np.asarray(np.floor(rate * (class_counts + 1)), np.int64)


def error_bound(
    mixes: MixProgram, prevalence: Interval, class_counts: IntArray, ranks: IntArray, *, delta: float
) -> float:
    """An upper bound of the target error with thresholds at these ranks: the smallest ε that passes, nearly."""
    low, high = 0.0, upper_quantile(class_counts, ranks, prevalence, delta=delta)
    while high - low > 5e-3 * high:
        middle = (low + high) / 2
        if small_moments(mixes, prevalence, class_counts, ranks, epsilon=middle, delta=delta):
            high = middle
        else:
            low = middle
    return high


def small_moments(
    mixes: MixProgram,
    prevalence: Interval,
    class_counts: IntArray,
    ranks: IntArray,
    *,
    epsilon: float,
    delta: float,
) -> bool:
    r"""Whether moments show :math:`P(\sum_j t_j B_j > ε) < δ` for all mixes t, the B_j Beta(k_j, m_j + 1 - k_j).

    Chernoff's bound, sharpened by what log-concave tails must weigh between the mean and ε.
    """
    law = _Betas(class_counts, ranks)
    low, high = prevalence.lower, prevalence.upper
    least_mean = float(low @ law.mean + max(1 - low.sum(), 0.0) * law.mean.min())
    room = epsilon - least_mean
    if room <= 0:
        return False
    tilts = TILTS * max(-np.log(delta), 1.0) / room
    needed = _needed(tilts, room, delta) + tilts * epsilon
    usable = np.isfinite(law.log_moment(tilts[:, None] * high)).all(axis=1)
    if not usable.any():
        return False
    tilts, needed = tilts[usable], needed[usable]
    at_low, at_high = (law.log_moment(tilts[:, None] * end) for end in (low, high))
    # Convex in each t_j: nowhere above the chord between the ends of its interval.
    slopes = np.divide(at_high - at_low, high - low, out=np.zeros_like(at_low), where=high > low)
    lacking = at_low.sum(axis=1) + _largest_in_box(slopes, high - low, 1 - float(low.sum())) - needed
    best = int(np.argmin(lacking))
    # The box alone is quick to ask, and often enough.
    constant = float((at_low[best] - slopes[best] * low).sum())
    return bool(lacking[best] < 0 or constant + mixes.largest(slopes[best]) < needed[best])


def _largest_in_box(slopes: FloatArray, widths: FloatArray, total: float) -> FloatArray:
    """For each row the largest ``slopes · x`` over 0 <= x <= widths, x of sum ``total``: steepest first."""
    order = np.argsort(-slopes, axis=1)
    open_widths = widths[order]
    before = np.cumsum(open_widths, axis=1) - open_widths
    taken = np.clip(total - before, 0.0, open_widths)
    return np.asarray((np.take_along_axis(slopes, order, axis=1) * taken).sum(axis=1))


def _needed(tilts: FloatArray, room: float, delta: float) -> FloatArray:
    """log of ∫ θ exp(-θ s) δ (1 / (e δ))^(s / room) ds over [0, room] plus exp(-θ room) / e."""
    gap = tilts - (-np.log(delta) - 1) / room
    inside = np.where(np.abs(gap * room) < 1e-9, room, -np.expm1(-gap * room) / np.where(gap == 0, 1.0, gap))
    return np.asarray(np.log(tilts * delta * inside + np.exp(-tilts * room - 1)))


class _Betas:
    """Independent Beta(k_j, m_j + 1 - k_j); rank 0 is the constant 0."""

    def __init__(self, class_counts: IntArray, ranks: IntArray) -> None:
        self.mean = ranks / (class_counts + 1)
        self.variance = self.mean * (1 - self.mean) / (class_counts + 2)
        self.skew = np.maximum(1 - 2 * self.mean, 0.0) / (class_counts + 3)

    def log_moment(self, x: FloatArray) -> FloatArray:
        """Upper bound of log E exp(x B) for x >= 0, convex in x; infinite where there is none."""
        y = self.skew * x
        beyond = (y >= 1) & (self.variance > 0)
        x, y = np.where(y >= 1, 0.0, x), np.where(y >= 1, 0.0, y)
        small = y < 1e-4
        safe = np.where(small, 0.5, y)
        growth = np.where(small, 0.5 + y / 3 + y**2, (-np.log1p(-safe) - safe) / safe**2)
        return np.where(beyond, np.inf, self.mean * x + self.variance * x**2 * growth)
