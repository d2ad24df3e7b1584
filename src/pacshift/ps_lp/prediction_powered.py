"""Many classes: the target's predictions correct the source's misses, without linear programs.

The proof is on a page of its own (docs/methods/many-classes.md), which this module follows;
docs/methods/ps-lp-proof.md says when it is used. First the counts, the box and the bound of the target error at
one threshold vector, for every correction at once; then options, the search, and certified thresholds: one
threshold or rescaled ones. Options and classes in every set are fixed by the numbers of rows alone. Rescaled
thresholds are lower for classes that the target seems to have more of; their factors depend on the target and on
the label counts alone, so that for the source's scores they are fixed numbers. The search for a good correction is
a heuristic: any correction is valid.

Constants say what they are worth: the change of the mean set size if this one alone has another value, over four
draws of CIFAR-100 scores (two nets, 20,000 and 50,000 rows on each side); where it is said, ImageNet scores with
100,000 and 50,000 rows too. Differences below 0.5 % are noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from pacshift.arrays import BoolArray, FloatArray, IntArray, scipy
from pacshift.bounds import ROUNDING, Interval, binomial_lower, binomial_upper
from pacshift.errors import AssumptionError
from pacshift.mix.programs import largest_means
from pacshift.progress import Steps
from pacshift.tally import Tally
from pacshift.tally.grid import count_at_least, largest_threshold, mean_binned_size, to_grid
from pacshift.tally.stores import Distinct
from pacshift.words.numbers import digits_apart, up

Sparse: TypeAlias = "scipy.sparse.csr_array[Any, tuple[int, int]]"


@dataclass(frozen=True, eq=False)
class Evidence:
    """What does not depend on the thresholds ("Setting"); sparse, so that K × K numbers are never stored.

    ``predictions[j, k]`` is the share of the source rows of class j that are predicted k (Ĝ), ``recall`` its
    diagonal, ``target_shares`` the shares of the target's predictions (q̂). ``largest_shares`` bound the target's
    label shares from above. Classes ``in_every_set`` are never missed.
    """

    class_counts: IntArray
    predictions: Sparse
    recall: FloatArray
    target_shares: FloatArray
    n_target: int
    largest_shares: FloatArray
    in_every_set: BoolArray

    def miss_rates(self, misses: IntArray) -> FloatArray:
        """ê_j, which is 0 for classes in every set."""
        return np.where(self.in_every_set, 0.0, misses / np.maximum(self.class_counts, 1))

    @classmethod
    def of_tally(cls, tally: Tally, largest_shares: FloatArray, in_every_set: BoolArray) -> "Evidence":
        """Read the counts off a tally."""
        cells, size, counts = tally.source_cells, tally.n_classes, tally.class_counts
        per_row = cells.counts / counts[cells.labels]
        predictions = scipy.sparse.csr_array((per_row, (cells.labels, cells.predicted)), shape=(size, size))
        shares = tally.target / tally.n_target
        return cls(
            counts, predictions, predictions.diagonal(), shares, tally.n_target, largest_shares, in_every_set
        )


LEVELS = (1 / 4, 1 / 16, 1 / 64)
"""Detectors: the class's own score is at least this. Powers of two are edges of the target's bins. One level of
1/4: ImageNet with 50,000 rows needs 5.5 times as many labels; six levels from 1/2 to 1/64: -0.3 %."""

N_DETECTORS = 1 + len(LEVELS)
"""The union is over as many per class, whether the target has bins or not: numbers of rows fix the level."""

SPLITS = 24
"""Parts into which the statistic of Lemma 2 is cut: more give smaller ratios. With 8 or 64: +0.3 or -0.1 %."""


def detected_shares(tally: Tally, *, delta: float) -> FloatArray:
    """Upper bounds of all label shares of the target at once, with probability at least 1 - δ ("The box").

    The smallest over the detectors of a class; 1 for classes without source examples.
    """
    source, target = detector_counts(tally)
    level = critical_level(delta / (tally.n_classes * N_DETECTORS))
    ratios = largest_ratio(source, tally.class_counts, target, tally.n_target, level=level)
    return np.asarray(ratios.min(axis=0))


def detector_counts(tally: Tally) -> tuple[IntArray, IntArray]:
    """Hits of each detector ("The box"): ``[s, j]`` among the source rows of class j, and among the target rows.

    The first detector is "predicted j". Those by the own score need plain scores and the target's bins.
    """
    cells = tally.source_cells
    is_right = cells.predicted == cells.labels
    predicted = np.bincount(cells.labels[is_right], weights=cells.counts[is_right], minlength=tally.n_classes)
    source, target = [predicted.astype(np.int64)], [tally.target]
    if tally.bins is not None and tally.score == "probability":
        source += [tally.class_counts - tally.misses(level) for level in LEVELS]
        target += [count_at_least(tally.bins, level) for level in LEVELS]
    return np.array(source), np.array(target)


def critical_level(delta: float) -> float:
    """The x of Lemma 2 with (1 + x) exp(-x) = δ, rounded up.

    >>> x = critical_level(0.001)
    >>> round(float((1 + x) * np.exp(-x)), 9)
    0.001
    """
    low, high = 0.0, 2000.0
    for _ in range(70):  # halvings; the ends then agree to rounding
        middle = (low + high) / 2
        low, high = (middle, high) if np.log1p(middle) - middle > np.log(delta) else (low, middle)
    return high


def largest_ratio(
    source: IntArray, class_counts: IntArray, target: IntArray, n_target: int, *, level: float
) -> FloatArray:
    """The largest q/A at which the statistic of Lemma 2 stays below ``level``, and at most 1.

    The statistic is cut into a part for A and the rest for q, and each cut is rounded to the safe side, so that
    every pair (A, q) is covered by one of them. Each part is a one-sided Clopper-Pearson bound (Lemma 1).
    """
    worst = np.zeros(source.shape)
    distinct, place = np.unique(target, return_inverse=True)
    for small, large in pairwise(np.linspace(0.0, level, SPLITS + 1).tolist()):
        lowest = binomial_lower(source, class_counts, delta=np.exp(-large))
        highest = binomial_upper(distinct, n_target, delta=np.exp(small - level))[place].reshape(source.shape)
        worst = np.maximum(worst, np.divide(highest, lowest, out=np.ones_like(worst), where=lowest > 0))
    return np.minimum(worst, 1.0)


OWN_WEIGHT = 0.7
"""a: how much of the correction at the class itself is taken as its centre; about a classifier's recall. With 0.5
or 0.9: 0 or +0.4 %, ImageNet -0.2 or +3.1 %."""
CROSS_SHARE = 0.25
"""α of the inequality 2xy <= αx² + y²/α between misses and corrections. With 0.1 or 0.5: +0.4 or +0.5 %, ImageNet
+3.6 or -0.3 %."""
LARGEST_BET = 0.9
"""Bets times the largest value must stay below 1 ("One row"). With 0.7 or 0.97 nothing changes, ImageNet
included."""


@dataclass(frozen=True, slots=True)
class Option:
    """How to bet ("Options"): the ``stake`` λ, and the ``spread`` H, the size of corrections before the data."""

    stake: float
    spread: float


def excess(bet: FloatArray | float) -> FloatArray:
    """ψ(x) = -log(1 - x) - x of Lemma 3, for 0 <= x < 1."""
    return np.asarray(-np.log1p(-np.asarray(bet)) - bet)


def sign_cost(tilt: FloatArray) -> float:
    """Lemma 4: divergence of signs with means ``tilt`` from fair signs ("All corrections at once").

    >>> sign_cost(np.zeros(3)), round(sign_cost(np.array([0.5])), 4)
    (0.0, 0.1308)
    """
    return float(0.5 * ((1 + tilt) * np.log1p(tilt) + (1 - tilt) * np.log1p(-tilt)).sum())


class ErrorBound:
    """The right-hand side of the theorem for one option, at the level exp(-``log_cost``).

    Attributes
    ----------
    largest_value : float
        B of "One row": no miss minus correction exceeds its centre by more.
    betted_part : ndarray of float
        s_j of "The unknown mix": the part of the largest share up to which bets are placed. None are placed on
        classes in every set: their miss rate is known.
    slopes : ndarray of float
        The factor of the squares in "The unknown mix": the chord of Lemma 3's ψ up to the largest bet.
    constant : float
        What neither misses nor corrections change: the level, and the squares of the target ("Theorem").
    """

    def __init__(self, evidence: Evidence, option: Option, epsilon: float, log_cost: float) -> None:
        self.evidence, self.option, self.epsilon, self.log_cost = evidence, option, epsilon, log_cost
        counts, shares, n_target = evidence.class_counts, evidence.largest_shares, evidence.n_target
        self.largest_value = 1 - epsilon + (1 + OWN_WEIGHT) * option.spread
        limit = LARGEST_BET * counts / (option.stake * self.largest_value)
        part = np.minimum(1.0, limit / np.maximum(shares, 1e-300))
        self.betted_part = np.where(evidence.in_every_set, 0.0, part)
        scale = option.stake * self.largest_value * shares * self.betted_part
        bets = np.divide(scale, counts, out=np.zeros(len(counts)), where=counts > 0)
        chord = np.divide(excess(bets), bets, out=np.zeros(len(counts)), where=bets > 0)
        self.slopes = np.asarray(chord / self.largest_value)
        target = n_target * float(excess(option.stake * option.spread / n_target))
        self.constant = (log_cost + target) / option.stake

    def fixed_squares(self, miss_rates: FloatArray) -> FloatArray:
        """The part of "Squares" that corrections do not change: misses, and signs before the data."""
        misses = miss_rates * (1 - 2 * self.epsilon) + self.epsilon**2
        signs = self.option.spread**2 * (1 + OWN_WEIGHT**2 - 2 * OWN_WEIGHT * self.evidence.recall)
        return np.asarray((1 + CROSS_SHARE) * misses + signs)

    def moving_squares(self, correction: FloatArray, mean: FloatArray, mean_square: FloatArray) -> FloatArray:
        """The part of "Squares" that depends on the correction; its means are over each class's predictions."""
        weighted = OWN_WEIGHT * correction
        centred = mean_square - 2 * weighted * mean + weighted**2
        return np.asarray(centred / CROSS_SHARE - 2 * weighted * (mean - self.evidence.recall * correction))

    def coefficients(self, correction: FloatArray, miss_rates: FloatArray) -> FloatArray:
        """What a unit of each class's share adds to the bound ("The unknown mix")."""
        predictions = self.evidence.predictions
        mean, mean_square = predictions @ correction, predictions @ correction**2
        squares = self.fixed_squares(miss_rates) + self.moving_squares(correction, mean, mean_square)
        betted = miss_rates - mean + self.slopes * squares
        worst = np.where(self.evidence.in_every_set, 0.0, 1.0) - correction.min()
        part = self.betted_part
        return np.asarray(np.maximum(betted, part * betted + (1 - part) * worst))

    def value(self, tilt: FloatArray, misses: IntArray) -> float:
        """The upper bound of the target error ("Theorem"), valid for every ``tilt`` of the signs at once."""
        correction = self.option.spread * tilt
        most = self.evidence.largest_shares
        costs = self.coefficients(correction, self.evidence.miss_rates(misses))
        (worst_mix,) = largest_means(costs[None], Interval(np.zeros_like(most), most))
        corrected = float(correction @ self.evidence.target_shares + worst_mix)
        return self.constant + sign_cost(tilt) / self.option.stake + corrected


STAKES = (0.25, 0.45, 0.7)
"""Stakes tried, in units of the best one if the mix were known. Only 0.45: +1.1 %; without 0.45: -0.2 %; five
stakes: +0.4 %, because each option costs level."""
VARIATIONS = (0.05, 0.5)
"""Guesses of how much miss rates differ between classes, in units of ε: they set the spread of corrections. Only
0.05: +17 %; only 0.5: -0.4 %. The small one is for scores that differ less; there it was not measured."""
CONCENTRATION = 3.0
"""Guess of K Σ t_j²: what a Dirichlet(1/2) mix has. With 1.5 or 6: -0.1 or +2.1 %."""
SOURCE_NOISE = 0.44
"""Guess of 1 minus the squared recall: how much of the predictions of a class is noise. With 0.2 or 0.8: -0.1 or
+0.5 %."""
LEAST_RECALL, BOLD_LEAST_RECALL = 0.5, 0.4
"""A class whose rows could not show this recall, were they all predicted right, is in every set. Where the second
leaves fewer classes, rescaled thresholds are tried with both. ImageNet scores with 5 to 500 rows per class, three
draws: 0.5 gives 340 labels, 0.4 gives 278; 0.3 gives 226 and 317, but nothing passes in the third draw."""
IMAGINED_RECALL = 0.75
LARGEST_SPREAD = 2.0
"""Limits of what is imagined: recall of a usual classifier, and a spread beyond which no correction is wanted.
With 0.6 or 0.9, and with 1 or 4, nothing changes."""
PROMISING = 0.2
"""Largest bound, in units of ε, of an imagined classifier that misses nothing, if the bound is to be tried. With
0.1 it would not be tried with 20,000 rows of 100 classes; with 0.4 nothing changes."""
LARGEST_TILT = 0.95
"""Tilts stay below 1, where their cost is infinite in slope. With 0.8 or 0.99: +0.3 or 0 %."""
ROUNDS = ((0.01, 40), (0.002, 80))
"""Width over which kinks are rounded off, in units of the error, and steps: first roughly, then closely. Without
the rough round +8 %; with half or twice the steps nothing changes."""


DEEPEST_CORRECTION = 0.5
"""The most negative correction, in units of ε, if classes that are not bet on may be a large part of the mix.

Such classes add as much to the bound as the most negative correction. For long tails; on CIFAR-100 nothing
changes.
"""
LARGE_PART = 0.3
"""What is a large part. A round number; not measured on long tails."""
EXPONENT = 0.5
"""Power of the estimated weights: predicted shares are not label shares, and scores are often not calibrated. With
0, 0.25, 0.75, 1: +14, +6, -2, -2 %; 1 makes sets larger in one of the four draws."""

TINY = 1e-280
"""Below this size products and quotients lose digits, so that relative rounding bounds do not hold."""
SUM_ROUNDING = 1e-12
"""Room for the rounding of sums, on the side of a larger error."""
REFINEMENTS, LEAST_GAIN = 6, 1.001
"""How often at most a correction is sought for the threshold that the last one gave, and the factor by which
misses must grow, or the search ends. With 8 and 1.0003 nothing changes. Halving the thresholds with a new
correction for each takes twice as long, for sets that are 0.06 % smaller (16 draws, 60 to 100 classes)."""
TRIAL_ERROR = 0.6
"""Options are compared where the predicted mix errs by this part of ε: about where thresholds end up. With 0.4 or
0.8 nothing changes."""
FAR_BELOW = 0.5
"""Options are compared again where thresholds end up with less than this part of the error of the trial."""


@dataclass(frozen=True, slots=True)
class CorrectionShares:
    """What the bound gets of δ ("Theorem"): the box, and the bound for each kind of thresholds."""

    box: float
    one_threshold: float
    rescaled: float


@dataclass(frozen=True, eq=False)
class CorrectionPlan:
    """What is fixed before the data: level, options, and the classes with too few source rows ("Options").

    ``sparse`` classes are in every set. Rescaled thresholds are also tried with the ``sparsest`` only.
    """

    epsilon: float
    delta: float
    shares: CorrectionShares
    options: tuple[Option, ...]
    sparse: BoolArray
    sparsest: BoolArray


def correction_plan(
    class_counts: IntArray, n_target: int, *, epsilon: float, delta: float, shares: CorrectionShares
) -> CorrectionPlan | None:
    """The plan, or None where the numbers of rows do not promise success ("Options").

    They do if the bound is small for an imagined classifier, where nothing is missed and nothing corrected, all
    classes being equally frequent.
    """
    for_box, n_classes = shares.box * delta, len(class_counts)
    sparse = sparse_classes(class_counts, delta=for_box)
    if sparse.all() or n_target == 0 or epsilon >= 0.5:
        return None
    sparsest = sparse_classes(class_counts, delta=for_box, least_recall=BOLD_LEAST_RECALL)
    options = options_for(class_counts, sparse, n_target, epsilon=epsilon, delta=delta)
    hits = np.round(IMAGINED_RECALL * class_counts).astype(np.int64)
    level = critical_level(for_box / (n_classes * N_DETECTORS))
    recall, nothing = np.full(n_classes, IMAGINED_RECALL), np.zeros(n_classes, np.int64)
    largest = largest_ratio(hits, class_counts, np.full(n_classes, n_target // n_classes), n_target, level=level)
    predictions, equal = scipy.sparse.diags_array(recall, format="csr"), np.full(n_classes, 1 / n_classes)
    evidence = Evidence(class_counts, predictions, recall, equal, n_target, largest, sparse)
    log_cost = float(np.log(len(options) / for_box))
    bounds = [ErrorBound(evidence, option, epsilon, log_cost) for option in options]
    if min(bound.value(nothing.astype(float), nothing) for bound in bounds) > PROMISING * epsilon:
        return None
    return CorrectionPlan(epsilon, delta, shares, options, sparse, sparsest)


def sparse_classes(class_counts: IntArray, *, delta: float, least_recall: float = LEAST_RECALL) -> BoolArray:
    """Classes with too few source rows for a useful bound of their share ("Options"): they go into every set.

    ``delta`` is what the box gets. Were all rows of the class hits, the rate would still be bounded by
    exp(-x / m_j) only (Lemma 1).
    """
    level = critical_level(delta / (len(class_counts) * N_DETECTORS))
    return np.asarray(class_counts < level / -np.log(least_recall))


def options_for(
    class_counts: IntArray, sparse: BoolArray, n_target: int, *, epsilon: float, delta: float
) -> tuple[Option, ...]:
    """Stakes and spreads ("Options")."""
    n_classes = len(class_counts)
    log_cost = np.log(len(STAKES) * len(VARIATIONS) / delta)
    noise = CONCENTRATION / n_classes * float((1 / class_counts[~sparse]).mean())
    best = float(np.sqrt(2 * log_cost / (epsilon * noise)))
    reach = float(np.sqrt(n_classes / (1 / n_target + SOURCE_NOISE * noise)))
    options = []
    for stake in (min(part * best, LARGEST_BET / 2 * n_target) for part in STAKES):
        spreads = (min((part * epsilon * reach / stake) ** 0.5, LARGEST_SPREAD) for part in VARIATIONS)
        options += [Option(stake, spread) for spread in spreads]
    return tuple(options)


def best_tilt(
    bound: ErrorBound,
    misses: IntArray,
    start: FloatArray,
    *,
    rounds: Sequence[tuple[float, int]] = ROUNDS,
) -> FloatArray:
    """A tilt of the signs with a small bound, by L-BFGS on a smooth version of it ("The search").

    The worst mix Σ_j t_j v_j over t <= top is min over ν of ν + Σ_j top_j max(v_j - ν, 0); the maxima are rounded.
    """
    problem, evidence, lowest = _Smooth(bound, misses), bound.evidence, -LARGEST_TILT
    if float(problem.shares @ (1 - problem.part)) > LARGE_PART:
        lowest = max(lowest, -DEEPEST_CORRECTION * bound.epsilon / bound.option.spread)
    tilt = np.maximum(start, lowest)
    # ν is at first the coefficient of the class that fills up the worst mix.
    values = bound.coefficients(bound.option.spread * tilt, evidence.miss_rates(misses))
    order = np.argsort(-values)
    place = int(np.searchsorted(np.cumsum(problem.shares[order]), 1.0))
    point = np.append(tilt, values[order[min(place, len(order) - 1)]])
    lower, upper = np.full(len(point), lowest), np.full(len(point), LARGEST_TILT)
    lower[-1], upper[-1] = -np.inf, np.inf  # ν is free
    for problem.width, steps in rounds:
        how: Any = {"method": "L-BFGS-B", "options": {"maxiter": steps, "maxcor": 15}}
        limits = scipy.optimize.Bounds(lower, upper)
        point = scipy.optimize.minimize(problem, point, jac=True, bounds=limits, **how).x
    return np.asarray(point[:-1])


class _Smooth:
    """The smooth bound and its gradient, as functions of tilts and ν ("The search")."""

    width = ROUNDS[0][0]

    def __init__(self, bound: ErrorBound, misses: IntArray) -> None:
        self.bound, evidence = bound, bound.evidence
        self.rows, self.columns = evidence.predictions, evidence.predictions.T.tocsr()
        self.recall, self.shares, self.part = evidence.recall, evidence.largest_shares, bound.betted_part
        miss_rates = evidence.miss_rates(misses)
        self.fixed = miss_rates + bound.slopes * bound.fixed_squares(miss_rates)
        self.worst = np.where(evidence.in_every_set, 0.0, 1.0)

    def __call__(self, point: FloatArray) -> tuple[float, FloatArray]:
        tilt, level = point[:-1], point[-1]
        bound, option = self.bound, self.bound.option
        correction = option.spread * tilt
        mean, mean_square = self.rows @ correction, self.rows @ correction**2
        moving = bound.moving_squares(correction, mean, mean_square)
        betted = self.fixed - mean + bound.slopes * moving
        values = self.part * betted + (1 - self.part) * self.worst
        above = (values - level) / self.width
        target = bound.evidence.target_shares
        worst_mix = level + float(self.shares @ (self.width * np.logaddexp(0.0, above)))
        value = float(correction @ target) + sign_cost(tilt) / option.stake + worst_mix
        mix = self.shares * scipy.special.expit(above)
        # Derivative by the correction of Σ_j mix_j part_j (slope_j moving_j - mean_j).
        betted_mix, a = mix * self.part, OWN_WEIGHT
        weight, crossed = betted_mix * bound.slopes, 2 * a * (1 / CROSS_SHARE + 1)
        squares = 2 * correction * (self.columns @ weight) / CROSS_SHARE
        own_part = weight * (correction * (2 * a**2 / CROSS_SHARE + 4 * a * self.recall) - crossed * mean)
        by_correction = target + (squares + own_part - self.columns @ (betted_mix + crossed * weight * correction))
        by_tilt = option.spread * by_correction + np.arctanh(tilt) / option.stake
        return value, np.append(by_tilt, 1 - mix.sum())


def rescaling_factors(tally: Tally) -> FloatArray:
    """The factors φ_j of "Rescaled thresholds": (predicted target share / source label share) ** EXPONENT."""
    size = tally.n_classes
    target = (tally.target + 1) / (tally.n_target + size)
    source = (tally.class_counts + 1) / (tally.n_source + size)
    return np.asarray((target / source) ** EXPONENT)


def rescale(tally: Tally, factors: FloatArray) -> Tally:
    """The tally of the scores multiplied by their class's factor ("Rescaled thresholds")."""
    values = tally.values * np.repeat(factors, np.diff(tally.starts))
    return replace(tally, scores=Distinct(values, tally.counts, tally.starts))


def undo_rescaling(threshold: float, factors: FloatArray, tally: Tally) -> FloatArray:
    """The thresholds τ / φ_j of the scores themselves, rounded down ("Rescaled thresholds").

    A score whose product reaches τ reaches its own threshold.
    """
    if not np.isfinite(threshold):
        return np.full(len(factors), threshold)
    with np.errstate(over="ignore", under="ignore"):
        cuts = threshold / factors
    rounding = np.abs(cuts) * 1e-15  # of products and quotients; far less than the steps of the grid
    with np.errstate(invalid="ignore"):
        lowered = to_grid(cuts + rounding) if tally.grid else cuts - rounding
    lowered = np.where(np.abs(cuts) < TINY, to_grid(-2 * TINY), lowered)
    return np.where(np.isfinite(cuts), lowered, -np.inf)  # beyond the range of floats: in every set, always valid


def corrected_thresholds(
    tally: Tally, plan: CorrectionPlan, within: FloatArray, *, steps: Steps
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """One threshold and rescaled ones, one per class, and the bounds of the label shares behind both ("Theorem").

    Valid at once with probability at least 1 - δ times the sum of the plan's shares. PS-LP uses them for many
    classes ("Above 200 classes"). ``within`` are upper bounds of the label shares that are known already (1 if
    nothing is known); their chance to be wrong is not counted here. Label shift is rejected where the label shares
    cannot add up to 1 ("The box").
    """
    shares, delta = plan.shares, plan.delta
    largest = np.minimum(within, detected_shares(tally, delta=shares.box * delta))
    largest = np.minimum(largest + ROUNDING, 1.0)
    most = float(largest.sum())
    if most < 1:
        raise AssumptionError(
            "label shift is rejected: label shares add up to 100 %, but by the target's scores those of all "
            f"classes together cannot exceed {up(most, digits_apart(most, 1.0))}, beyond sampling error. Either "
            "P(x given y) differs between source and target, or rows depend on each other, or bounds of the label "
            "mix that were given are wrong. No method for label shift may be used."
        )
    evidence = Evidence.of_tally(tally, largest, plan.sparse)
    steps.expect(2 * (len(plan.options) + REFINEMENTS))
    one_threshold = find_largest_threshold(tally, evidence, plan, delta=shares.one_threshold * delta, steps=steps)
    scaled = rescaled_thresholds(tally, evidence, plan, delta=shares.rescaled * delta, steps=steps)
    return np.where(plan.sparse, -np.inf, one_threshold), scaled, largest


def rescaled_thresholds(
    tally: Tally, evidence: Evidence, plan: CorrectionPlan, *, delta: float, steps: Steps
) -> FloatArray:
    """Rescaled thresholds ("Rescaled thresholds"), with either choice of classes in every set ("Options").

    Both choices are fixed beforehand, and where they differ each gets δ/2, so that the smaller sets may be kept:
    by the target's bins, or by the number of classes in every set if there are none.
    """
    factors = rescaling_factors(tally)
    choices = [plan.sparse] if np.array_equal(plan.sparse, plan.sparsest) else [plan.sparse, plan.sparsest]
    candidates = []
    for sparse in choices:
        with_choice = replace(evidence, in_every_set=sparse)
        cut = find_largest_threshold(
            rescale(tally, factors), with_choice, plan, delta=delta / len(choices), steps=steps
        )
        candidates.append(np.where(sparse, -np.inf, undo_rescaling(cut, factors, tally)))
    if tally.bins is None or tally.score != "probability":
        return min(candidates, key=lambda thresholds: (thresholds == -np.inf).sum())
    bins = tally.bins
    return min(candidates, key=lambda thresholds: mean_binned_size(bins, thresholds))


def find_largest_threshold(
    tally: Tally, evidence: Evidence, plan: CorrectionPlan, *, delta: float, steps: Steps
) -> float:
    """The largest τ that passes with the option that looks best ("From one threshold to all").

    All options are paid for, so that any of them may be chosen by looking at the data: the one with the smallest
    bound at the misses of a trial ("The search"). Where thresholds end up far below the one at which options were
    compared, they are compared again there.
    """
    log_cost, limit = float(np.log(len(plan.options) / delta)), plan.epsilon - SUM_ROUNDING
    bounds = [ErrorBound(evidence, option, plan.epsilon, log_cost) for option in plan.options]

    def seeming_error(misses: IntArray) -> float:  # if the target's labels were mixed as its predictions are
        return float(evidence.target_shares @ evidence.miss_rates(misses))

    def search_from(trial: IntArray) -> float:
        tilts = []
        for bound in bounds:
            tilts.append(best_tilt(bound, trial, np.zeros(len(trial)), rounds=ROUNDS[:1]))
            steps()
        best = int(np.argmin([bound.value(tilt, trial) for bound, tilt in zip(bounds, tilts, strict=True)]))
        bound, tilt = bounds[best], tilts[best]

        def largest(tilt: FloatArray) -> float:
            """The largest τ at which this correction shows an error of at most ε: the bound grows with misses."""
            return largest_threshold(tally, lambda misses: bound.value(tilt, misses) <= limit)

        # The best τ for a correction, the best correction for this τ, and so on: as Newton's method, from below.
        threshold = largest(tilt)
        for _ in range(REFINEMENTS):
            misses = tally.misses(threshold)
            tilt = best_tilt(bound, misses, tilt, rounds=ROUNDS[1:])
            steps()
            before, threshold = threshold, max(threshold, largest(tilt))
            if threshold == before or tally.misses(threshold).sum() <= LEAST_GAIN * misses.sum():
                break
        return threshold

    trial = tally.misses(largest_threshold(tally, lambda m: seeming_error(m) <= TRIAL_ERROR * plan.epsilon))
    highest = search_from(trial)
    ended = tally.misses(highest)
    if seeming_error(ended) > FAR_BELOW * seeming_error(trial):
        return highest
    return max(highest, search_from(ended))
