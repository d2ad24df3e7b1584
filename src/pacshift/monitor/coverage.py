"""What a certificate that is in use achieves in a period: Lemmas 1 to 3 of docs/methods/monitor.md."""

import numpy as np

from pacshift.arrays import FloatArray, IntArray
from pacshift.bounds import Interval, binomial_lower, binomial_upper
from pacshift.certificate import Certificate
from pacshift.tally import Tally
from pacshift.tally.grid import to_grid

GRID_STEP = 0.5
"""Distance of two ranks of the grid, in square roots of the rank: half of a standard deviation of small ranks."""


def lies_below(in_use: Certificate, fresh: Certificate) -> bool:
    """Whether every threshold in use is at most the fresh one, so that its error is at most as large (Lemma 1)."""
    return bool((in_use.thresholds <= fresh.thresholds).all())


def rank_grid(count: int) -> IntArray:
    """The ranks of Lemma 2 for a class with ``count`` source rows. They depend on nothing else.

    >>> rank_grid(30).tolist()
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 26, 28, 30]
    """
    ranks, rank = [], 1
    while rank < count:
        ranks.append(rank)
        rank += max(1, int(GRID_STEP * rank**0.5))
    return np.array([*ranks, count] if count else [], np.int64)


def miss_rate_band(source: Tally, thresholds: FloatArray, *, delta: float) -> Interval:
    """Bounds of every class's miss rate, right for all thresholds at once with probability 1 - δ (Lemma 2).

    As they hold at once, the thresholds may have been chosen by looking at the same rows.
    """
    counts, misses = source.class_counts, source.misses(thresholds)
    # Scores on the grid are rounded down, so a threshold between two grid points counts too many misses.
    surely_missed = source.misses(to_grid(thresholds)) if source.grid else misses
    grids = [rank_grid(int(count)) for count in counts]
    share = delta / max(2 * sum(map(len, grids)), 1)
    lower, upper = np.zeros(len(counts)), np.ones(len(counts))
    for label, grid in enumerate(grids):
        below = grid[grid <= surely_missed[label]]
        above = grid[grid > misses[label]]
        if len(below):
            lower[label] = float(binomial_lower(below[-1], counts[label], delta=share))
        if len(above):
            upper[label] = float(binomial_upper(above[0] - 1, counts[label], delta=share))
    upper[np.isneginf(thresholds)] = 0.0  # such a class is in every set
    return Interval(lower, upper)


def error_bounds(
    miss_rates: Interval, prevalence: Interval | None, contamination: float = 0.0
) -> tuple[float, float]:
    """Smallest and largest Σ t_j e_j over the mixes and miss rates that the bounds allow (Lemma 3).

    Without bounds of the mix every mix is allowed. Contaminated rows may all be missed, or none of them.

    >>> error_bounds(Interval(np.array([0.1, 0.3]), np.array([0.2, 0.5])), None)
    (0.1, 0.5)
    """
    size = len(miss_rates.lower)
    box = prevalence if prevalence is not None else Interval(np.zeros(size), np.ones(size))
    lower, upper = -_largest_mean(-miss_rates.lower, box), _largest_mean(miss_rates.upper, box)
    clean = 1 - contamination
    return max(clean * lower, 0.0), min(clean * upper + contamination, 1.0)


def _largest_mean(values: FloatArray, box: Interval) -> float:
    """The largest Σ t_j v_j with t in the box and Σ t_j = 1: the largest values are filled first."""
    shares, left = box.lower.copy(), 1 - box.lower.sum()
    for label in np.argsort(-values):
        step = min(max(left, 0.0), box.upper[label] - shares[label])
        shares[label] += step
        left -= step
    return float((shares * values).sum())
