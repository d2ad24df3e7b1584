"""Certified thresholds: one threshold or rescaled ones, by the bound of this folder.

Sections "Theorem", "From one threshold to all", "Rescaled thresholds", "Options" and "The search" of the page
(docs/methods/many-classes.md). Options and classes in every set are fixed by the numbers of rows alone. Rescaled
thresholds are lower for classes that the target seems to have more of; their factors depend on the target and on
the label counts alone, so that for the source's scores they are fixed numbers. The search for a good correction is
a heuristic: any correction is valid.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from pacshift.arrays import BoolArray, FloatArray, IntArray
from pacshift.bounds import ROUNDING
from pacshift.errors import AssumptionError
from pacshift.progress import Steps
from pacshift.ps_lp.prediction_powered.bound import (
    CROSS_SHARE,
    LARGEST_BET,
    N_DETECTORS,
    OWN_WEIGHT,
    ErrorBound,
    Evidence,
    Option,
    critical_level,
    detected_shares,
    largest_ratio,
    sign_cost,
)
from pacshift.tally import Tally
from pacshift.tally.grid import expected_tests, largest_threshold, mean_binned_size, to_grid
from pacshift.words.numbers import digits_apart, up

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
    equal = np.full(n_classes, n_target // n_classes)
    evidence = Evidence(
        class_counts=class_counts,
        predictions=scipy.sparse.diags_array(recall, format="csr"),
        recall=recall,
        target_shares=np.full(n_classes, 1 / n_classes),
        n_target=n_target,
        largest_shares=largest_ratio(hits, class_counts, equal, n_target, level=level),
        in_every_set=sparse,
    )
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
    found = []
    for stake in (min(part * best, LARGEST_BET / 2 * n_target) for part in STAKES):
        spreads = (min((part * epsilon * reach / stake) ** 0.5, LARGEST_SPREAD) for part in VARIATIONS)
        found += [Option(stake, spread) for spread in spreads]
    return tuple(found)


def best_tilt(
    bound: ErrorBound,
    misses: IntArray,
    start: FloatArray,
    *,
    rounds: Sequence[tuple[float, int]] = ROUNDS,
    enough: float = -np.inf,
) -> FloatArray:
    """A tilt of the signs with a small bound, by L-BFGS on a smooth version of it ("The search").

    The worst mix Σ_j t_j v_j over t <= top is min over ν of ν + Σ_j top_j max(v_j - ν, 0); the maxima are rounded.
    The search ends as soon as the bound itself is ``enough``.
    """
    problem, evidence, lowest = _Smooth(bound, misses, enough), bound.evidence, -LARGEST_TILT
    if float(problem.shares @ (1 - problem.part)) > LARGE_PART:
        lowest = max(lowest, -DEEPEST_CORRECTION * bound.epsilon / bound.option.spread)
    tilt = np.maximum(start, lowest)
    # ν is at first the coefficient of the class that fills up the worst mix.
    values = bound.coefficients(bound.option.spread * tilt, evidence.miss_rates(misses))
    order = np.argsort(-values)
    place = int(np.searchsorted(np.cumsum(problem.shares[order]), 1.0))
    point = np.append(tilt, values[order[min(place, len(order) - 1)]])
    free = np.full(len(start), lowest), np.full(len(start), LARGEST_TILT)
    limits = scipy.optimize.Bounds(np.append(free[0], -np.inf), np.append(free[1], np.inf))
    for problem.width, steps in rounds:
        try:
            point = scipy.optimize.minimize(
                problem,
                point,
                jac=True,
                method="L-BFGS-B",
                bounds=limits,
                options={"maxiter": steps, "maxcor": 15},
            ).x
        except _Enough as found:
            return found.tilt
    return np.asarray(point[:-1])


class _Enough(Exception):
    """Thrown out of the minimiser at the first tilt that is good enough."""

    def __init__(self, tilt: FloatArray) -> None:
        super().__init__()
        self.tilt = tilt


class _Smooth:
    """The smooth bound and its gradient, as functions of tilts and ν ("The search")."""

    width = ROUNDS[0][0]

    def __init__(self, bound: ErrorBound, misses: IntArray, enough: float = -np.inf) -> None:
        self.bound, evidence = bound, bound.evidence
        self.misses, self.enough = misses, enough
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
        if bound.constant + value <= self.enough and bound.value(tilt, self.misses) <= self.enough:
            raise _Enough(tilt.copy())
        mix = self.shares * scipy.special.expit(above)
        # Derivative by the correction of Σ_j mix_j part_j (slope_j moving_j - mean_j).
        betted_mix, a = mix * self.part, OWN_WEIGHT
        weight, crossed = betted_mix * bound.slopes, 2 * a * (1 / CROSS_SHARE + 1)
        squares = 2 * correction * (self.columns @ weight) / CROSS_SHARE
        own = weight * (correction * (2 * a**2 / CROSS_SHARE + 4 * a * self.recall) - crossed * mean)
        by_correction = target + (squares + own - self.columns @ (betted_mix + crossed * weight * correction))
        by_tilt = option.spread * by_correction + np.arctanh(tilt) / option.stake
        return value, np.append(by_tilt, 1 - mix.sum())


def rescaling_factors(tally: Tally) -> FloatArray:
    """The factors φ_j of "Rescaled thresholds": (predicted target share / source label share) ** EXPONENT."""
    size = tally.n_classes
    target = (tally.target + 1) / (tally.n_target + size)
    source = (tally.class_counts + 1) / (tally.n_source + size)
    return np.asarray((target / source) ** EXPONENT)


def rescaled(tally: Tally, factors: FloatArray) -> Tally:
    """The tally of the scores multiplied by their class's factor ("Rescaled thresholds")."""
    return replace(tally, values=tally.values * np.repeat(factors, np.diff(tally.starts)))


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


@dataclass(frozen=True, eq=False)
class Corrected:
    """Certified thresholds, one per class and kind, and the bounds of the target's label shares behind them."""

    one_threshold: FloatArray
    rescaled: FloatArray
    largest_shares: FloatArray


def corrected_thresholds(tally: Tally, plan: CorrectionPlan, within: FloatArray, *, steps: Steps) -> Corrected:
    """Both kinds, valid at once with probability at least 1 - δ times the sum of the plan's shares ("Theorem").

    PS-LP uses them for many classes ("Above 200 classes"). ``within`` are upper bounds of the label shares that
    are known already (1 if nothing is known); their chance to be wrong is not counted here. Label shift is refuted
    where the label shares cannot add up to 1 ("The box").
    """
    shares, delta = plan.shares, plan.delta
    largest = np.minimum(within, detected_shares(tally, delta=shares.box * delta))
    largest = np.minimum(largest + ROUNDING, 1.0)
    most = float(largest.sum())
    if most < 1:
        raise AssumptionError(
            "label shift is refuted: label shares add up to 100 %, but by the target's scores those of all "
            f"classes together cannot exceed {up(most, digits_apart(most, 1.0))}, beyond sampling error. Either "
            "P(x given y) differs between source and target, or rows depend on each other, or bounds of the label "
            "mix that were given are wrong. No method for label shift may be used."
        )
    evidence = Evidence.of_tally(tally, largest, plan.sparse)
    steps.expect(2 * (len(plan.options) + expected_tests(tally)))
    one = largest_corrected(tally, evidence, plan, delta=shares.one_threshold * delta, steps=steps)
    scaled = rescaled_thresholds(tally, evidence, plan, delta=shares.rescaled * delta, steps=steps)
    return Corrected(np.where(plan.sparse, -np.inf, one), scaled, largest)


def rescaled_thresholds(
    tally: Tally, evidence: Evidence, plan: CorrectionPlan, *, delta: float, steps: Steps
) -> FloatArray:
    """Rescaled thresholds ("Rescaled thresholds"), with either choice of classes in every set ("Options").

    Both choices are fixed beforehand, and where they differ each gets δ/2, so that the smaller sets may be kept:
    by the target's bins, or by the number of classes in every set if there are none.
    """
    factors = rescaling_factors(tally)
    choices = [plan.sparse] if np.array_equal(plan.sparse, plan.sparsest) else [plan.sparse, plan.sparsest]
    found = []
    for sparse in choices:
        cut = largest_corrected(
            rescaled(tally, factors),
            replace(evidence, in_every_set=sparse),
            plan,
            delta=delta / len(choices),
            steps=steps,
        )
        found.append(np.where(sparse, -np.inf, undo_rescaling(cut, factors, tally)))
    if tally.bins is None or tally.score != "probability":
        return min(found, key=lambda thresholds: (thresholds == -np.inf).sum())
    bins = tally.bins
    return min(found, key=lambda thresholds: mean_binned_size(bins, thresholds))


def largest_corrected(
    tally: Tally, evidence: Evidence, plan: CorrectionPlan, *, delta: float, steps: Steps
) -> float:
    """The largest τ that passes with the option that looks best ("From one threshold to all").

    All options are paid for, so that any of them may be chosen by looking at the data: the one with the smallest
    bound at the misses of a trial ("The search"). Where thresholds end up far below the one at which options were
    compared, they are compared again there.
    """
    log_cost = float(np.log(len(plan.options) / delta))
    bounds = [ErrorBound(evidence, option, plan.epsilon, log_cost) for option in plan.options]

    def seeming_error(misses: IntArray) -> float:  # if the target's labels were mixed as its predictions are
        return float(evidence.target_shares @ evidence.miss_rates(misses))

    def found_from(trial: IntArray) -> float:
        tilts = []
        for bound in bounds:
            tilts.append(best_tilt(bound, trial, np.zeros(len(trial)), rounds=ROUNDS[:1]))
            steps()
        best = int(np.argmin([bound.value(tilt, trial) for bound, tilt in zip(bounds, tilts, strict=True)]))
        test = CorrectedTest(bounds[best], tilts[best])

        def passes(misses: IntArray) -> bool:
            steps()
            return test.passes(misses)

        return largest_threshold(tally, passes)

    trial = tally.misses(largest_threshold(tally, lambda m: seeming_error(m) <= TRIAL_ERROR * plan.epsilon))
    found = found_from(trial)
    ended = tally.misses(found)
    if seeming_error(ended) > FAR_BELOW * seeming_error(trial):
        return found
    return max(found, found_from(ended))


@dataclass(eq=False)
class CorrectedTest:
    """The test of one option ("Theorem"). It remembers its last correction, where the next search starts."""

    bound: ErrorBound
    tilt: FloatArray

    def passes(self, misses: IntArray) -> bool:
        """Whether some correction shows an error of at most ε; the last one is asked first."""
        limit = self.bound.epsilon - SUM_ROUNDING
        if self.bound.value(self.tilt, misses) <= limit:
            return True
        self.tilt = best_tilt(self.bound, misses, self.tilt, rounds=ROUNDS[1:], enough=limit)
        return self.bound.value(self.tilt, misses) <= limit
