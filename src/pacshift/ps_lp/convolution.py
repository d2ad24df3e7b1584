"""The tail of a mixture of Beta variables whose weights are only known to lie in a box, by exact convolution.

For weights t of sum 1 in [low, high] and any centre c,

    sum_j t_j B_j = c + sum_j t_j (B_j - c) <= c + sum_j V_j,   V_j = (high_j if B_j > c else low_j) (B_j - c),

a sum of independent variables, the same for all weights. Each V_j is rounded up to a lattice, what lies above its
table counts as if it were infinite, and the tables are convolved. So rounding errs on the safe side.
"""

import numpy as np
import scipy  # its parts load when first used

from pacshift.arrays import FloatArray, IntArray
from pacshift.bounds import Interval

MOST_CLASSES = 32
"""Beyond, the lattice would have to be too fine."""

LEAST_DELTA = 1e-9
"""Below, the rounding of the convolution could be seen."""

STEP = 0.02
"""The lattice's step as a share of the standard deviation; shorter where many classes round up."""


def upper_quantile(class_counts: IntArray, ranks: IntArray, box: Interval, *, delta: float) -> float:
    """A number that no mixture of independent Beta(k_j, m_j + 1 - k_j) exceeds with a chance above ``delta``.

    1, which is always right, where classes are too many or ``delta`` is too small for tables.

    >>> box = Interval(np.array([1.0, 0.0]), np.array([1.0, 0.0]))
    >>> round(upper_quantile(np.array([1000, 1000]), np.array([80, 80]), box, delta=0.01), 4)  # exactly 0.1011
    0.1012
    """
    if len(ranks) > MOST_CLASSES or delta < LEAST_DELTA:
        return 1.0
    mean = ranks / (class_counts + 1)
    deviation = np.sqrt(mean * (1 - mean) / (class_counts + 2))
    centre = float(mean.max())
    spread = float(np.sqrt(((box.upper * deviation) ** 2).sum()))
    if spread == 0:  # every variable that counts is the constant 0
        return 0.0
    step = spread * min(STEP, 10 * STEP / len(ranks))
    level = -np.log(delta) + np.log(len(ranks)) + 7  # how far tables reach: what they leave out hardly counts
    least = np.maximum(mean - np.sqrt(2 * level) * deviation, 0.0)
    most = np.minimum((ranks + np.sqrt(2 * ranks * level) + level) / (class_counts + 1), 1.0)
    tables, first, lost = [], 0, 0.0
    for k, m, low, high, bottom, top in zip(ranks, class_counts, box.lower, box.upper, least, most, strict=True):
        start = int(np.floor(_weighted(bottom - centre, low, high) / step))
        end = int(np.ceil(_weighted(top - centre, low, high) / step))
        places = np.asarray(np.arange(start, end + 1) * step, np.float64)
        below = _below(centre + _unweighted(places, low, high), k, m)
        tables.append(np.diff(below, prepend=0.0))  # all that lies lower is moved up to the start
        lost += 1 - below[-1]
        first += start
    total = _convolve(tables)
    above = lost + 1e-12 + np.append(np.cumsum(total[::-1])[::-1][1:], 0.0)
    enough = np.flatnonzero(above <= delta)
    return centre + (first + int(enough[0])) * step if len(enough) else 1.0


def _weighted(values: float, low: float, high: float) -> float:
    return values * (high if values > 0 else low)


def _unweighted(places: FloatArray, low: float, high: float) -> FloatArray:
    """The largest B - c whose weighted value is at most each place; a weight of 0 makes everything 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        down = np.where(places < 0, places / low, 0.0) if low > 0 else np.where(places < 0, -np.inf, 0.0)
        up = places / high if high > 0 else np.full(len(places), np.inf)
    return np.where(places >= 0, up, down)


def _below(values: FloatArray, rank: int, total: int) -> FloatArray:
    """P(B <= values); rank 0 is the constant 0."""
    if rank == 0:
        return np.asarray((values >= 0).astype(float))
    return np.asarray(scipy.special.betainc(rank, total + 1 - rank, np.clip(values, 0.0, 1.0)))


def _convolve(tables: list[FloatArray]) -> FloatArray:
    size = sum(len(table) - 1 for table in tables) + 1
    length = scipy.fft.next_fast_len(size, real=True)
    product = np.ones(length // 2 + 1, complex)
    for table in tables:
        product *= scipy.fft.rfft(table, length)
    return np.maximum(scipy.fft.irfft(product, length)[:size], 0.0)
