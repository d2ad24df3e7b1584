"""PS-LP, the default: the target error bounded over all label mixes that the counts leave open.

Three kinds of sets are certified: one threshold for all classes, thresholds that lean with the mix, and one miss
rate for all classes. The kind with the smallest sets on the target is taken.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from pacshift.arrays import BoolArray, FloatArray, IntArray
from pacshift.bounds import BoundCurve, Interval, clopper_pearson
from pacshift.errors import InputError
from pacshift.methods.base import Method, Solution, Task
from pacshift.ps_lp.betting import Wealth
from pacshift.ps_lp.curve import curve_of_bets, curve_of_ranks
from pacshift.ps_lp.equal_miss_rate import balanced_ranks
from pacshift.ps_lp.programs import MixProgram
from pacshift.ps_lp.region import PrevalenceRegion, prevalence_region
from pacshift.ps_lp.rescale import factors, leaned, straightened
from pacshift.tally import Tally
from pacshift.tally.histogram import SIZED_CLASSES, mean_size
from pacshift.tally.threshold import class_threshold, largest_threshold

MOST_CLASSES = SIZED_CLASSES
"""Above this many classes every mix is taken as possible: no program of this size would end in reasonable time."""


@dataclass(frozen=True)
class Shares:
    """How δ is spent, as shares; those of the bets count twice, for two families of thresholds.

    All together are 1. None of them looks at the data.
    """

    region: float = 0.11
    """The true label mix lies outside the region."""
    priors: float = 0.01
    """A source prior is outside its interval; for the weights on the certificate alone."""
    balanced: float = 0.20
    """Thresholds of one miss rate err too much."""
    misses: float = 0.01
    """A miss rate is above its bound at a family's critical threshold."""
    wealth: float = 0.33
    """The bets win too much at a family's critical threshold."""


SHARES = Shares()


@dataclass(frozen=True)
class PSLP(Method):
    """One threshold for all classes, or one that leans with the mix, or one miss rate: the smallest proven sets.

    ``unseen`` says what becomes of classes without source examples: with ``"all"`` a threshold may miss them
    always, with ``"include"`` they are in every set and never missed; under one miss rate they always are.
    Deterministic; the proof is the docs page "PS-LP".
    """

    unseen: Literal["all", "include"] = "all"

    name = "PS-LP"
    idea = "builds three kinds of sets, each with the guarantee, and keeps the smallest; the default"
    guarantee = "pac-target"
    tests_assumption = True
    needs_target = True
    needs_bins = True

    def __post_init__(self) -> None:
        if self.unseen not in ("all", "include"):
            raise InputError(f"unseen must be 'all' or 'include', got {self.unseen!r}.")

    def solve(self, tally: Tally, task: Task) -> Solution:
        if tally.n_classes > MOST_CLASSES:
            return _for_any_mix(tally, task)
        region = prevalence_region(
            tally.confusion, tally.target, delta=SHARES.region * task.delta, classes=tally.classes
        )
        included = (tally.class_counts == 0) & (self.unseen == "include")
        wealth = bets(tally, region, task, included)
        proven = candidates(tally, region, wealth, task)
        chosen = smallest(tally, proven)
        thresholds = proven[chosen]
        return Solution(
            thresholds,
            weights=weight_intervals(region.prevalence, tally.class_counts, delta=SHARES.priors * task.delta),
            prevalence=region.prevalence,
            accuracy=region.accuracy,
            reasons=_reasons(tally, task, region, thresholds),
            curve=_curve(tally, task, region, wealth, chosen, thresholds),
        )


ONE_THRESHOLD, LEANING, ONE_MISS_RATE = "one threshold", "leaning", "one miss rate"


def candidates(tally: Tally, region: PrevalenceRegion, wealth: Wealth, task: Task) -> dict[str, FloatArray]:
    """Thresholds of three kinds. Whether a kind is tried may depend on the data: its share of δ is set aside."""
    single = np.where(wealth.included, -np.inf, largest_threshold(tally, wealth.passes))
    balanced = one_miss_rate(
        tally, wealth.mixes, region.prevalence, epsilon=task.epsilon, delta=SHARES.balanced * task.delta
    )
    found = {ONE_THRESHOLD: single, ONE_MISS_RATE: balanced}
    if _can_compare(tally):
        by = factors(tally)
        cuts = straightened(largest_threshold(leaned(tally, by), wealth.passes), by, tally)
        found[LEANING] = np.where(wealth.included, -np.inf, cuts)
    return found


def smallest(tally: Tally, proven: dict[str, FloatArray]) -> str:
    """The kind with the smallest sets on the target, as far as the tally can tell; the first on ties."""
    bins = tally.bins
    if bins is None or not _can_compare(tally):
        return ONE_THRESHOLD if (proven[ONE_THRESHOLD] > -np.inf).any() else ONE_MISS_RATE
    return min(proven, key=lambda kind: mean_size(bins, proven[kind]))


def _curve(
    tally: Tally, task: Task, region: PrevalenceRegion, wealth: Wealth, kind: str, thresholds: FloatArray
) -> BoundCurve | None:
    """The bound along the family that the thresholds are of."""
    if not (thresholds > -np.inf).any():
        return None
    if kind == ONE_MISS_RATE:
        return curve_of_ranks(
            tally,
            thresholds,
            wealth.mixes,
            region.prevalence,
            epsilon=task.epsilon,
            delta=SHARES.balanced * task.delta,
        )
    if kind == ONE_THRESHOLD:
        return curve_of_bets(tally, wealth, float(thresholds.max()))
    by = factors(tally)
    return curve_of_bets(leaned(tally, by), wealth, float((thresholds * by).max()))


def _can_compare(tally: Tally) -> bool:
    """Bins are of plain scores: of other transforms they say nothing."""
    return tally.bins is not None and tally.score == "probability"


def weight_intervals(prevalence: Interval, class_counts: IntArray, *, delta: float) -> Interval:
    """Intervals for w_j = t_j / p_j from those of t_j and exact ones of p_j; infinite where p_j may be 0."""
    priors = clopper_pearson(class_counts, class_counts.sum(), delta=delta / len(class_counts))
    with np.errstate(divide="ignore"):
        return Interval(prevalence.lower / priors.upper, np.divide(prevalence.upper, priors.lower))


def bets(tally: Tally, region: PrevalenceRegion, task: Task, included: BoolArray) -> Wealth:
    """The test of one family of thresholds, at its shares of δ."""
    return Wealth(
        region,
        tally.class_counts,
        tally.target,
        epsilon=task.epsilon,
        delta=SHARES.wealth * task.delta,
        miss_delta=SHARES.misses * task.delta,
        included=included,
    )


def one_miss_rate(
    tally: Tally, mixes: MixProgram, prevalence: Interval, *, epsilon: float, delta: float
) -> FloatArray:
    """The thresholds that :func:`balanced_ranks` picks."""
    ranks = balanced_ranks(mixes, prevalence, tally.class_counts, epsilon=epsilon, delta=delta)
    return np.array([class_threshold(tally, label, rank - 1) for label, rank in enumerate(ranks.tolist())])


def _for_any_mix(tally: Tally, task: Task) -> Solution:
    """One miss rate at the whole δ, every mix taken as possible; which rule is used depends on K alone."""
    size = tally.n_classes
    anything = MixProgram(np.empty((0, size)), np.empty(0))
    box = Interval(np.zeros(size), np.ones(size))
    thresholds = one_miss_rate(tally, anything, box, epsilon=task.epsilon, delta=task.delta)
    reason = (
        f"{size} classes are more than the {MOST_CLASSES} for which PS-LP solves linear programs: each class got "
        "a threshold of its own, whatever the target's label mix. The target was not used."
    )
    return Solution(thresholds, reasons=(reason, *_always(tally, thresholds)))


def _always(tally: Tally, thresholds: FloatArray) -> tuple[str, ...]:
    counts = tally.class_counts
    return tuple(
        f"class {tally.classes[label]!r} is in every set: "
        + ("it has no source example." if counts[label] == 0 else f"{counts[label]} source examples are too few.")
        for label in np.flatnonzero(thresholds == -np.inf).tolist()
    )


def _reasons(tally: Tally, task: Task, region: PrevalenceRegion, thresholds: FloatArray) -> tuple[str, ...]:
    """Why classes are in every set; where all of them are, what stood in the way."""
    if (thresholds > -np.inf).any():
        return _always(tally, thresholds)
    label = int(np.argmax(region.prevalence.upper / np.sqrt(tally.class_counts + 1)))
    return (
        f"no thresholds pass: class {tally.classes[label]!r} may be up to {region.prevalence.upper[label]:.2g} of "
        f"the target, and its {tally.class_counts[label]} source examples cannot rule out that errors exceed "
        f"epsilon={task.epsilon:g} at delta={task.delta:g}. Add source examples of this class, or target rows.",
    )
