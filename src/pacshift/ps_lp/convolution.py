"""The test by convolution: the tail of a mixture of Beta variables whose weights lie in a box.

Step "The test by convolution" of the proof (docs/methods/ps-lp-proof.md). For weights t of sum 1 in [low, high]
and any centre c,

    sum_j t_j B_j = c + sum_j t_j (B_j - c) <= c + sum_j V_j,   V_j = (high_j if B_j > c else low_j) (B_j - c),

a sum of independent variables, the same for all weights. Each V_j is rounded up to a lattice, values above its
table count as if they were infinite, and the tables are convolved. So rounding errs on the safe side.
"""

import numpy as np
import scipy  # its parts load when first used

from pacshift.arrays import FloatArray, IntArray
from pacshift.bounds import Interval

MAX_CONVOLVED_CLASSES = 32
"""Beyond this many classes the lattice would have to be too fine: its step shrinks as 1/K. Not measured."""

MIN_CONVOLVED_DELTA = 1e-9
"""Below this δ the rounding would matter: ``CONVOLUTION_ERROR`` would be more than 0.1 % of it."""

CONVOLUTION_ERROR = 1e-12
"""Added to every tail for the rounding of the convolution, which is about 1e-15 for sums up to 1."""

LATTICE_STEP = 0.02
"""The lattice's step as a share of the standard deviation; shorter where many classes round up.

With 0.005 or 0.08: small -0.2 or +0.4 %, large 0 %.
"""

CENTRE_SHIFTS = (0.0, 1.0, 2.0)
"""Centres c that are tried: so many standard deviations of the B_j, on average, above their largest mean.

Only 0: small +3.7 %. Six centres from 0 to 3: small -0.2 %, at twice the time.
"""


def best_shift(class_counts: IntArray, ranks: IntArray, box: Interval, *, delta: float) -> tuple[float, float]:
    """The centre of "The test by convolution" with the smallest quantile, and that; every centre is valid."""
    found = [upper_quantile(class_counts, ranks, box, delta=delta, shift=shift) for shift in CENTRE_SHIFTS]
    return CENTRE_SHIFTS[int(np.argmin(found))], min(found)


def upper_quantile(
    class_counts: IntArray, ranks: IntArray, box: Interval, *, delta: float, shift: float = 0.0
) -> float:
    """A number that no mixture of independent Beta(k_j, m_j + 1 - k_j) exceeds with a chance above ``delta``.

    Step "The test by convolution": ranks pass if it is at most ε. 1, which is always right, where classes are too
    many or ``delta`` is too small for tables.

    >>> box = Interval(np.array([1.0, 0.0]), np.array([1.0, 0.0]))
    >>> round(upper_quantile(np.array([1000, 1000]), np.array([80, 80]), box, delta=0.01), 4)  # exactly 0.1011
    0.1012
    """
    if len(ranks) > MAX_CONVOLVED_CLASSES or delta < MIN_CONVOLVED_DELTA:
        return 1.0
    mean = ranks / (class_counts + 1)
    deviation = np.sqrt(mean * (1 - mean) / (class_counts + 2))
    centre = float(mean.max() + shift * (box.upper @ deviation) / box.upper.sum())
    spread = float(np.sqrt(((box.upper * deviation) ** 2).sum()))
    if spread == 0:  # every variable that counts is the constant 0
        return 0.0
    step = spread * min(LATTICE_STEP, 10 * LATTICE_STEP / len(ranks))
    level = -np.log(delta) + np.log(len(ranks)) + 7  # tables reach so far that what they leave out hardly counts
    least = np.maximum(mean - np.sqrt(2 * level) * deviation, 0.0)
    most = np.minimum((ranks + np.sqrt(2 * ranks * level) + level) / (class_counts + 1), 1.0)
    most = np.where(ranks == 0, 0.0, most)  # the constant 0
    tables = [
        _table(int(k), int(m), low, high, (bottom, top), centre=centre, step=step)
        for k, m, low, high, bottom, top in zip(
            ranks, class_counts, box.lower, box.upper, least, most, strict=True
        )
    ]
    total = _convolve([chances for _, chances, _ in tables])
    lost = sum(beyond for _, _, beyond in tables)
    above = lost + CONVOLUTION_ERROR + np.append(np.cumsum(total[::-1])[::-1][1:], 0.0)
    enough = np.flatnonzero(above <= delta)
    first = sum(start for start, _, _ in tables)
    return centre + (first + int(enough[0])) * step if len(enough) else 1.0


def _table(
    rank: int, total: int, low: float, high: float, ends: tuple[float, float], *, centre: float, step: float
) -> tuple[int, FloatArray, float]:
    """V_j rounded up to multiples of ``step``: the first multiple, the chances, and the chance of lying beyond."""
    start = int(np.floor(_weighted(ends[0] - centre, low, high) / step))
    end = int(np.ceil(_weighted(ends[1] - centre, low, high) / step))
    places = np.asarray(np.arange(start, end + 1) * step, np.float64)
    below = _below(centre + _unweighted(places, low, high), rank, total)
    return start, np.diff(below, prepend=0.0), float(1 - below[-1])  # everything lower is moved up to the start


def _weighted(values: float, low: float, high: float) -> float:
    return values * (high if values > 0 else low)


def _unweighted(places: FloatArray, low: float, high: float) -> FloatArray:
    """The largest B - c whose weighted value is at most each place; a weight of 0 makes everything 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
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
