"""What a certificate says beside its guarantee: how often each class is missed, what if part of the target is not
label-shifted, and how often a set with one label is wrong.

Proofs: docs/methods/trust-proofs.md. The thresholds were chosen on the rows at hand, so bounds for fixed
thresholds would not do: those of the misses hold for all thresholds of all classes together (Lemma 1), and sets
with one label are counted at thresholds of a net that the source alone fixes, just below the chosen (Lemma 6).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pacshift.arrays import FloatArray, IntArray
from pacshift.bounds import Interval, Sensitivity, binomial_lower, binomial_upper
from pacshift.certificate import Certificate
from pacshift.certificate.certificate import ONE_LABEL_SHARE
from pacshift.certification.request import Request
from pacshift.errors import AssumptionError
from pacshift.methods import Method
from pacshift.mix.programs import MixProgram
from pacshift.mix.region import prevalence_region
from pacshift.paths.labelled import EQUAL_STEPS, equal_miss_thresholds
from pacshift.tally import Tally
from pacshift.tally.grid import fits_single, largest_threshold, single_cuts, to_grid

RANK_STEP = 0.5
"""Distance of two ranks of the band, in square roots of the rank: half of a standard deviation of small ranks.

Mean width of the bounds at 2 to 30 % missed, two classes: 0.00800 at 100,000 rows a class (0.00803 with 0.25,
0.00820 with 1.0, 0.0104 with ranks 3 % apart), 0.114 at 300 rows (0.117, 0.116, 0.114).
"""


def class_miss(
    tally: Tally, thresholds: FloatArray, *, delta: float, never_empty: bool = False, n_unknown: int = 0
) -> Interval:
    """Bounds of P(f(X, j) < τ_j given Y = j) for every class j, all right with probability at least ``1 - delta``.

    Lemma 1 of docs/methods/trust-proofs.md, Lemma 2 of docs/methods/monitor.md. The thresholds may depend on the
    counted rows in any way. Filling empty sets with the top label can only lower a miss rate, so with
    ``never_empty`` the lower bounds are 0. Each of ``n_unknown`` more rows may be of any class, missed or not.

    >>> tally = Tally.from_scores([[0.9, 0.1], [0.2, 0.8]] * 500, [0, 1] * 500)
    >>> class_miss(tally, np.array([0.5, 0.9]), delta=0.05).upper.round(3)
    array([0.018, 1.   ])
    """
    # A threshold between two grid points counts too many misses; one on the grid or an exact tally does not.
    on_grid = np.where(np.isfinite(thresholds), to_grid(np.nan_to_num(thresholds)), thresholds)
    missed, rows = tally.misses(thresholds), tally.class_counts
    surely = tally.misses(on_grid) if tally.grid else missed
    n_events = 2 * sum(len(band_ranks(total)) for total in (rows + n_unknown).tolist())
    level = delta / max(n_events, 1)
    # A class has some number of the unknown rows: the widest bounds are right whatever it is.
    tried = [rate_bounds(surely, missed + more, rows + more, level=level) for more in range(n_unknown + 1)]
    found = Interval(
        np.min([each.lower for each in tried], axis=0), np.max([each.upper for each in tried], axis=0)
    )
    never, always = np.isneginf(thresholds), np.isposinf(thresholds)
    lower = np.where(always, 1.0, np.where(never, 0.0, found.lower))
    return Interval(np.where(never_empty, 0.0, lower), np.where(always, 1.0, np.where(never, 0.0, found.upper)))


def rate_bounds(least: IntArray, most: IntArray, totals: IntArray, *, level: float) -> Interval:
    """Bounds of the miss rate at thresholds that ``least`` to ``most`` of ``totals`` scores lie below.

    Each end of each rank of the band may be wrong with probability ``level``. The lower bound is that of the
    largest rank not above ``least``, the upper bound that of the smallest rank above ``most``.
    """
    below, above = np.zeros(len(totals), np.int64), np.zeros(len(totals), np.int64)
    for place, total in enumerate(totals.tolist()):
        ranks = np.concatenate([[0], band_ranks(total), [total + 1]])
        below[place] = ranks[np.searchsorted(ranks, least[place], side="right") - 1]
        above[place] = ranks[np.searchsorted(ranks, most[place], side="right")]
    # Rank 0 gives the bound 0 and rank total + 1 the bound 1, which need no event.
    return Interval(binomial_lower(below, totals, delta=level), binomial_upper(above - 1, totals, delta=level))


@lru_cache(maxsize=4096)
def band_ranks(total: int) -> IntArray:
    """The ranks of Lemma 1 for a class with ``total`` source rows: 1, 2, 3, ..., then further and further apart.

    >>> band_ranks(30).tolist()
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 26, 28, 30]
    """
    ranks, rank = [], 1
    while rank < total:
        ranks.append(rank)
        rank += max(1, int(RANK_STEP * rank**0.5))
    return np.array([*ranks, total] if total else [], np.int64)


SHARES_OF_EPSILON = (0.0, 0.25, 0.5, 1.0, 2.0)
"""The shares η at which the bound is computed, in units of epsilon. Round numbers; not measured."""

LARGEST_SHARE = 0.9
"""Beyond, hardly anything of the target is left to promise something about."""

MAX_REGION_CLASSES = 20
"""Beyond, every label mix is allowed for: a region for each η would take seconds."""


def sensitivity(tally: Tally, thresholds: FloatArray, request: Request, *, looks_at_target: bool) -> Sensitivity:
    """What if part of the target is not label-shifted: a bound of the error for every such share η (Lemma 5).

    ``request.epsilon`` is promised if at most a share ``request.contamination`` is not label-shifted.
    ``looks_at_target`` says whether the method used target counts, which contamination distorts.
    """
    epsilon, promised_at = request.epsilon, request.contamination
    shares = np.unique([*(min(share * epsilon, LARGEST_SHARE) for share in SHARES_OF_EPSILON), promised_at])
    # Upper bounds of the miss rates for half of delta; the other half is for the mixes.
    rates = class_miss(tally, thresholds, delta=request.delta / 2).upper
    bounds = []
    for share in shares.tolist():
        if share <= promised_at:
            bounds.append(epsilon)
            continue
        clean = clean_epsilon(epsilon, promised_at)
        if looks_at_target:
            clean = largest_clean_error(tally, rates, share, delta=request.delta / 2, known=request.known)
        bounds.append(share + (1 - share) * clean)
    return Sensitivity(shares, np.maximum.accumulate(np.array(bounds)))


def largest_clean_error(
    tally: Tally, rates: FloatArray, share: float, *, delta: float, known: Interval | None
) -> float:
    """The largest Σ t_j e_j over the mixes that fit the counts if ``share`` of the target may be anything."""
    worst = float(rates.max())
    if tally.n_classes > MAX_REGION_CLASSES:
        return worst
    try:
        region = prevalence_region(tally.confusion, tally.target, delta=delta, known=known, contamination=share)
    except AssumptionError:  # no mix fits at this level: allow for all of them
        return worst
    return min(MixProgram(region.rows, region.limits).largest(rates), worst)


def clean_epsilon(epsilon: float, contamination: float) -> float:
    """The error allowed on the label-shifted part, so that the whole target errs by ``epsilon`` at most (Lemma 3).

    >>> clean_epsilon(0.1, 0.0), round(clean_epsilon(0.1, 0.02), 4)
    (0.1, 0.0816)
    """
    return (epsilon - contamination) / (1 - contamination) if contamination else epsilon


NET_MISSES = (*np.arange(0.05, 1.21, 0.05).round(2).tolist(), 1.35, 1.5, 1.75, 2.0, 2.5, 3.0)
"""Shares of a class that thresholds of the third family miss on the source, as multiples of ε; and none at all.

With 15 instead of these 30 the bounds of 14 draws were up to 32 % larger, with 59 from 8 % smaller to 2 % larger.
"""


@dataclass(frozen=True, slots=True, eq=False)
class NetPoint:
    """Thresholds at or below the chosen ones, one of ``n_points`` that might have been counted at.

    ``level``: the chance at which each of two bounds at them may be wrong.
    """

    thresholds: FloatArray
    level: float
    n_points: float = 1


def points_below(certificate: Certificate, tally: Tally, method: Method) -> list[NetPoint]:
    """Where sets must be counted for the bound; nowhere if there can be none."""
    delta, chosen = certificate.delta, certificate.thresholds
    is_promised = certificate.guarantee == "pac-target" and delta * (1 + ONE_LABEL_SHARE) < 1
    if not is_promised or certificate.trivial or not tally.n_target:
        return []
    if method.needs_target or certificate.n_target_labels:
        return net_below(tally, chosen, certificate.epsilon, ONE_LABEL_SHARE * delta)
    return [NetPoint(chosen, ONE_LABEL_SHARE * delta / 2)]  # the source alone fixed the thresholds


def one_label_error(points: Sequence[NetPoint], sizes: Sequence[IntArray], *, epsilon: float) -> float | None:
    """Lemma 7: at most (ε - a) / (b - a) of the sets with one label are wrong; None where b is not above ε.

    a and b are lower bounds of how many sets hold no label, and at most one (Lemma 6).

    >>> point = NetPoint(np.array([0.5, 0.5]), 0.001)
    >>> round(one_label_error([point], [np.array([0, 800, 200])], epsilon=0.1), 4)
    0.1318
    """
    if not points:
        return None
    none, few = (
        max(
            float(binomial_lower(counts[: most + 1].sum(), counts.sum(), delta=point.level))
            for point, counts in zip(points, sizes, strict=True)
        )
        for most in (0, 1)
    )
    # More than ε of the sets are empty: the guarantee is broken, and bounds nothing.
    return (epsilon - none) / (few - none) if none < epsilon < few else None


def net_below(tally: Tally, chosen: FloatArray, epsilon: float, level: float) -> list[NetPoint]:
    """The points of the net at or below the chosen thresholds: one of each of three families (Lemma 6).

    The net's thresholds of plain scores are ``single_cuts`` of scores, as the chosen ones are. So a score may be
    taken if it is at most the largest that has the cut ``chosen``.
    """
    is_plain, n_classes = tally.score == "probability", tally.n_classes
    most = np.where(is_plain & fits_single(chosen), -single_cuts(-chosen), chosen)
    # One threshold for all classes, at every thousandth of the source's true-label scores.
    ranks = np.arange(EQUAL_STEPS) * tally.n_source // EQUAL_STEPS
    n_reached = tally.misses(np.nextafter(most.min(), np.inf)).sum()  # scores at most the least chosen
    place = int(np.searchsorted(ranks, n_reached))
    rank = ranks[place - 1] if place else -1
    single = largest_threshold(tally, lambda below: below.sum() <= rank) if place else -np.inf
    # Thresholds that miss the same share of every class of the source, by thousandths.
    steps = equal_miss_thresholds(tally, np.arange(EQUAL_STEPS + 1) / EQUAL_STEPS)  # the first is -inf
    equal = steps[np.flatnonzero((steps <= most).all(axis=1))[-1]]
    # Every class at its own of a few levels: the points are as many as levels to the power of the classes.
    levels = equal_miss_thresholds(tally, np.minimum(np.array(NET_MISSES) * epsilon, 1.0))
    each = np.where(levels <= most, levels, -np.inf).max(axis=0)
    with np.errstate(over="ignore"):  # infinitely many points get no level: the bound is 0, which is true
        n_each = float(np.float64(len(NET_MISSES) + 1) ** n_classes)
    families = ((np.full(n_classes, single), EQUAL_STEPS), (equal, EQUAL_STEPS), (each, n_each))
    return [
        NetPoint(single_cuts(cuts) if is_plain else cuts, level / (2 * len(families) * n_points), n_points)
        for cuts, n_points in families
    ]
