"""Equal miss rate: thresholds of equal rank in every class, so that the label mix hardly matters.

A threshold at the k-th smallest of m scores misses a share of its class that is, whatever the law of the scores,
at most a Beta(k, m + 1 - k) variable. With ranks in proportion to the m_j all classes are missed about equally
often, and the target error, a mixture of such variables, is nearly the same for every mix. Section "Equal miss
rate" of the proof (docs/methods/ps-lp-proof.md).

"The test by convolution": for weights t of sum 1 in [low, high] and any centre c,

    sum_j t_j B_j = c + sum_j t_j (B_j - c) <= c + sum_j V_j,   V_j = (high_j if B_j > c else low_j) (B_j - c),

a sum of independent variables, the same for all weights. Each V_j is rounded up to a lattice, values above its
table count as if they were infinite, and the tables are convolved. So rounding errs on the safe side.
"""

import numpy as np

from pacshift.arrays import FloatArray, IntArray, scipy
from pacshift.bounds import ROUNDING, Interval, binomial_cut, clean_shares
from pacshift.mix.programs import MixProgram, largest_in_box
from pacshift.tally import Tally
from pacshift.tally.grid import class_threshold

CHERNOFF_TILTS = np.linspace(0.9, 3.0, 22)
"""Values of θ tried, in units of log(1/δ) over the distance to ε; each is valid, the best in the box is taken.

With 6 instead of 22 values sizes do not change.
"""

MOMENT_HALVINGS = 16
"""Halvings of the interval of rates in the search by moments, which are quick. With 10: small +0.05 %."""

CONVOLUTION_STEPS = 5
"""Steps of the search by convolution, which starts where the moments end. With 2 or 12: small +0.6 or -0.1 %."""

NEAR_ENOUGH = 1e-3
"""The search ends where what is proven is this near to ε, in units of ε: two or three steps with many rows. A step
takes 1 ms with 10 classes, and could raise miss rates by a thousandth at most."""

CAUTIOUS_END = 3.0
"""With caution, rates up to this multiple of ε are tried. With 2 or 5 sizes do not change."""

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

ODD_LENGTHS: tuple[int, ...] = tuple(3**threes * 5**fives for threes in range(11) for fives in range(8))
"""Odd parts of lengths for the Fourier transform."""

CENTRE_SHIFTS = (0.0, 1.0, 2.0)
"""Centres c that are tried: so many standard deviations of the B_j, on average, above their largest mean.

Only 0: small +3.7 %. Six centres from 0 to 3: small -0.2 %, at twice the time.
"""


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

    >>> every_mix = MixProgram(np.empty((0, 2)), np.empty(0))
    >>> box = Interval(np.zeros(2), np.ones(2))
    >>> equal_miss_ranks(every_mix, box, np.array([10_000, 1_000]), epsilon=0.1, delta=0.01).tolist()
    [787, 78]
    """

    def ranks(rate: float) -> IntArray:
        return ranks_of(rate, class_counts, caution)

    # By moments, which are quick: bisection between rate 0, which passes always, and the end.
    rate, end = 0.0, epsilon if caution == 0 else min(CAUTIOUS_END * epsilon, 1.0)
    fails = end
    for _ in range(MOMENT_HALVINGS):
        if np.array_equal(ranks(rate), ranks(fails)):
            break
        tried = (rate + fails) / 2
        if passes_by_moments(mixes, prevalence, class_counts, ranks(tried), epsilon=epsilon, delta=delta):
            rate = tried
        else:
            fails = tried
    # By convolution, from there. The quantile grows about as fast as the rate: the distance to ε is a good step.
    shift, quantile = best_shift(class_counts, ranks(rate), prevalence, delta=delta)
    for _ in range(CONVOLUTION_STEPS if quantile <= epsilon else 0):
        if epsilon - quantile <= NEAR_ENOUGH * epsilon:
            break
        tried = min(rate + epsilon - quantile, (rate + end) / 2)
        reached = upper_quantile(class_counts, ranks(tried), prevalence, delta=delta, shift=shift)
        if reached <= epsilon:
            rate, quantile = tried, reached
        else:
            end = tried
    return ranks(rate)


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


def best_shift(class_counts: IntArray, ranks: IntArray, box: Interval, *, delta: float) -> tuple[float, float]:
    """The centre of "The test by convolution" with the smallest quantile, and that; every centre is valid."""
    quantiles = [upper_quantile(class_counts, ranks, box, delta=delta, shift=shift) for shift in CENTRE_SHIFTS]
    return CENTRE_SHIFTS[int(np.argmin(quantiles))], min(quantiles)


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
    each = zip(ranks.tolist(), class_counts.tolist(), box.lower, box.upper, least, most, strict=True)
    tables = [_table(*law, centre=centre, step=step) for law in each]
    # The chances of the sum of the lattice variables, by the Fourier transform.
    size = sum(len(chances) - 1 for _, chances, _ in tables) + 1
    length = fast_length(size)
    product = np.ones(length // 2 + 1, complex)
    for _, chances, _ in tables:
        product *= np.fft.rfft(chances, length)
    total = np.maximum(np.fft.irfft(product, length)[:size], 0.0)
    lost = sum(beyond for _, _, beyond in tables)
    above = lost + CONVOLUTION_ERROR + np.append(np.cumsum(total[::-1])[::-1][1:], 0.0)
    enough = np.flatnonzero(above <= delta)
    first = sum(start for start, _, _ in tables)
    return centre + (first + int(enough[0])) * step if len(enough) else 1.0


def fast_length(size: int) -> int:
    """The least number from ``size`` on, up to 100,000, without a prime factor above 5.

    There the Fourier transform is quick. SciPy's own takes 20 ms to load.

    >>> [fast_length(size) for size in (1, 7, 1001)]
    [1, 8, 1024]
    """
    return min(each << max(-(-size // each) - 1, 0).bit_length() for each in ODD_LENGTHS)


def _table(
    rank: int, total: int, low: float, high: float, bottom: float, top: float, *, centre: float, step: float
) -> tuple[int, FloatArray, float]:
    """V_j rounded up to multiples of ``step``: the first multiple, the chances, and the chance of lying beyond."""
    ends = [(end - centre) * (high if end > centre else low) / step for end in (bottom, top)]
    start = int(np.floor(ends[0]))
    places = np.asarray(np.arange(start, int(np.ceil(ends[1])) + 1) * step, np.float64)
    # The largest B - c whose weighted value is at most each place; a weight of 0 makes everything 0.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        down = np.where(places < 0, places / low, 0.0) if low > 0 else np.where(places < 0, -np.inf, 0.0)
        up = places / high if high > 0 else np.full(len(places), np.inf)
    values = centre + np.where(places >= 0, up, down)
    if rank == 0:  # the constant 0
        below = (values >= 0).astype(float)
    else:
        below = scipy.special.betainc(rank, total + 1 - rank, np.clip(values, 0.0, 1.0))
    return start, np.diff(below, prepend=0.0), float(1 - below[-1])  # everything lower is moved up to the start


def known_box(known: Interval, contamination: float) -> Interval:
    """Known bounds as a box of the mix t of the label-shifted part ("Above 200 classes").

    What the other classes have at least is no longer there for a class: t_j <= 1 - the other lower ends.

    >>> known_box(Interval(np.array([0.2, 0.3, 0.0]), np.array([1.0, 1.0, 0.6])), 0.0).upper.round(3)
    array([0.7, 0.8, 0.5])
    """
    clean = clean_shares(known, contamination)
    left = 1 - (clean.lower.sum() - clean.lower)
    upper = np.minimum(np.minimum(clean.upper, left) + ROUNDING, 1.0)
    return Interval(np.maximum(clean.lower - ROUNDING, 0.0), upper)


def ranks_for_any_mix(
    class_counts: IntArray, *, epsilon: float, delta: float, box: Interval | None = None
) -> IntArray:
    """The better of two rules for the ranks k_j, both valid at the whole δ for every mix ("Above 200 classes").

    Equal miss rate promises an error of at most ε for the one mix that the target has, and suffers where one class
    has few examples. PS-LW promises it for each class by itself, at δ/K. Both depend on the m_j alone, and so does
    the choice: the larger expected miss rate, averaged over classes, gives the smaller sets. Rank 0: no threshold.

    With a ``box``, equal miss rate is for the mixes in it. The box may come from labels of the target, and the
    choice must not depend on data: where the m_j alone choose equal miss rate it is used, else both rules get δ/2.

    >>> ranks_for_any_mix(np.array([2000] * 245 + [60] * 5), epsilon=0.1, delta=0.05).tolist()[::245]
    [154, 0]
    """

    def mean_rate(ranks: IntArray) -> float:
        return float((ranks / (class_counts + 1)).mean())

    equal = _equal_miss_ranks(class_counts, None, epsilon=epsilon, delta=delta)
    by_class = _class_wise_ranks(class_counts, epsilon=epsilon, delta=delta)
    if box is None:
        return max(equal, by_class, key=mean_rate)
    if mean_rate(equal) >= mean_rate(by_class):
        return _equal_miss_ranks(class_counts, box, epsilon=epsilon, delta=delta)
    equal = _equal_miss_ranks(class_counts, box, epsilon=epsilon, delta=delta / 2)
    by_class = _class_wise_ranks(class_counts, epsilon=epsilon, delta=delta / 2)
    return max(equal, by_class, key=mean_rate)


def _equal_miss_ranks(class_counts: IntArray, box: Interval | None, *, epsilon: float, delta: float) -> IntArray:
    """Ranks of equal miss rate for every mix in the box, or for every mix."""
    n_classes = len(class_counts)
    every_mix = MixProgram(np.empty((0, n_classes)), np.empty(0))  # the box alone is quick to ask
    mixes = Interval(np.zeros(n_classes), np.ones(n_classes)) if box is None else box
    return equal_miss_ranks(every_mix, mixes, class_counts, epsilon=epsilon, delta=delta)


def _class_wise_ranks(class_counts: IntArray, *, epsilon: float, delta: float) -> IntArray:
    """PS-LW's ranks: one more than the misses that the exact binomial test allows at (ε, δ/K)."""
    distinct, place = np.unique(class_counts, return_inverse=True)
    share = delta / len(class_counts)
    cuts = np.array([binomial_cut(int(total), epsilon=epsilon, delta=share) for total in distinct])
    return np.asarray(cuts[place] + 1, np.int64)
