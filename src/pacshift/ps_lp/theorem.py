"""The theorem, all together: the shares of δ, the kinds of sets, the choice of the smallest, and the curve.

Sections "Theorem", "Above 200 classes", "All together" and "By-products" of the proof
(docs/methods/ps-lp-proof.md). The class ``PSLP`` in ``pacshift.methods.ps_lp`` calls this module and makes the
certificate's contents out of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from pacshift.arrays import BoolArray, FloatArray, IntArray
from pacshift.bounds import Interval
from pacshift.mix.programs import MixProgram
from pacshift.mix.region import PrevalenceRegion
from pacshift.progress import Steps
from pacshift.ps_lp.betting import BettingTest
from pacshift.ps_lp.equal_miss_rate import (
    equal_miss_ranks,
    known_box,
    ranks_for_any_mix,
    thresholds_at_ranks,
)
from pacshift.ps_lp.prediction_powered import (
    CorrectionPlan,
    CorrectionShares,
    corrected_thresholds,
    correction_plan,
)
from pacshift.ps_lp.tuned import PATH_STEPS, Tuning, certified_on_path, expected_size, per_class, tune
from pacshift.tally import Tally
from pacshift.tally.grid import expected_tests, largest_threshold, mean_size_range

MAX_LP_CLASSES = 200
"""Above this many classes there are no linear programs: 100 classes (CIFAR-100) take 6 to 17 s already."""

MAX_BETTING_CLASSES = 50
"""Up to this many classes there are bets. With up to 20 classes they were sharper than the bound for many classes;
with 100 the bound was sharper in 4 of 6 cases. In between (eight draws from parts of CIFAR-100 and made-up scores
for each number of classes) the bound's sets are, at 22, 26, 30, 34, 38, 42, 46, 50 classes, larger by 5, -2, -1,
-6, -5, -4, -3, -1 % with 20,000 rows on each side and by 3, 3, 1, 3, 1, 0, 0, -3 % with 60,000; it takes a third
longer."""

ONE_THRESHOLD, TUNED, RESCALED, EQUAL_MISS_RATE = "one threshold", "tuned", "rescaled", "equal miss rate"
"""The kinds of sets. Up to 50 classes one of the first two is tested by bets; rescaled ones need many classes."""

MANY_ROWS_PER_CLASS, USUAL_EPSILON = 400, 0.1
"""Rows of a typical class above which bets are worth most of δ; more rows for an ε below the usual one.

A limit of 100, 200, 800: small +4.1, +2.2, -0.1 %, middle 0, 0, +0.5 %.
"""

Answer = TypeVar("Answer")

SizeCounter = Callable[[Sequence[FloatArray]], list[float]]
"""Mean set sizes on the target for each vector of thresholds, counted on the rows themselves."""


@dataclass(frozen=True)
class Shares:
    """How δ is spent, as shares of it that add up to 1 ("Shares of δ" of the proof page)."""

    equal_miss_rate: float
    """Thresholds of equal miss rate err too much."""
    wealth: float
    """The wealth is large although the error is above ε at the critical threshold."""
    region: float = 0.11
    """The true label mix lies outside the region."""
    priors: float = 0.01
    """A source prior is outside its interval; only the weights on the certificate need this."""
    miss_rates: float = 0.01
    """A miss rate is above its bound at the critical threshold."""
    caution: float = 0.0
    """By how much classes with few rows get lower rates than others under equal miss rate; not a share."""


MANY_ROWS = Shares(equal_miss_rate=0.20, wealth=0.67)
FEW_ROWS = Shares(equal_miss_rate=0.79, wealth=0.08, caution=0.5)
"""Bets need many rows per class; equal miss rate does well with few. The region's share is the same in both.

Many rows: half or twice a share changes large by up to 0.1 %, middle by up to 0.2 %. Few rows: 0.60 or 0.40 for
equal miss rate make small +3.0 or +6.6 %, twice or half the region's share +0.8 or -0.1 %, a caution of 0 or 1
+0.7 or -0.2 % (but +13 % in the worst draw).
"""


CORRECTED_BESIDE_REGION = CorrectionShares(box=0.14, one_threshold=0.14, rescaled=0.40)
"""Where the bound for many classes replaces bets, it gets their shares of ``MANY_ROWS``."""

CORRECTED = CorrectionShares(box=0.50, one_threshold=0.10, rescaled=0.35)
"""Shares of δ above 200 classes. The box gets most, for a class whose share is hard to bound. ImageNet scores,
50,000 rows on each side: with 0.15, 0.15 and 0.40 sets are 3 to 23 % larger, 55 % where one such class decides;
with 0.60, 0.10 and 0.25, or 0.35, 0.10 and 0.50, they change by -1 to +1 %, and there by -3 and +13 %."""
ANY_MIX = 0.05
"""The rest of δ, for ranks that hold for any mix, if the bound is tried; else they get all of it. They are kept
only where the bound fails: in no draw that was measured."""


@dataclass(frozen=True, eq=False)
class Plan:
    """What is fixed before any score is looked at: the level, its shares, and what tests the first kinds.

    Bets, or the bound for many classes where there is a ``correction``.
    """

    epsilon: float
    delta: float
    shares: Shares
    correction: CorrectionPlan | None = None


def plan_for(tally: Tally, *, epsilon: float, delta: float, contamination: float = 0.0) -> Plan:
    """Up to 50 classes there are bets; beyond, where rows are many, a bound ("Between 50 and 200 classes").

    The plan depends on the type of the score and the numbers of rows alone. The bound takes the target's
    predictions as they are, so it is not used where part of the target may be anything. It has the shares of bets
    with many rows.
    """
    if tally.n_classes > MAX_BETTING_CLASSES and tally.score == "probability" and not contamination:
        shares = CORRECTED_BESIDE_REGION
        correction = correction_plan(
            tally.class_counts, tally.n_target, epsilon=epsilon, delta=delta, shares=shares
        )
        if correction is not None:
            return Plan(epsilon, delta, MANY_ROWS, correction)
    return Plan(epsilon, delta, shares_for(tally.class_counts, epsilon=epsilon))


def shares_for(class_counts: IntArray, *, epsilon: float) -> Shares:
    """The shares of δ where bets are tested, fixed by the numbers of rows and ε alone ("Shares of δ").

    >>> shares_for(np.array([100, 100]), epsilon=0.1) is FEW_ROWS
    True
    """
    seen = class_counts[class_counts > 0]
    typical = np.exp(np.log(seen).mean()) * min(epsilon / USUAL_EPSILON, 1.0) if len(seen) else 0.0
    return MANY_ROWS if typical > MANY_ROWS_PER_CLASS else FEW_ROWS


def may_tune(tally: Tally) -> bool:
    """Whether scores are plain and the target's lie between 0 and 1, else it has no bins ("Tuned thresholds")."""
    return tally.bins is not None and tally.score == "probability"


def betting_test(
    tally: Tally, region: PrevalenceRegion, plan: Plan, *, included: BoolArray, held: IntArray | None = None
) -> BettingTest:
    """The test of one family of thresholds at its shares of δ, on the rows that are not ``held`` out."""
    counts = tally.class_counts
    return BettingTest(
        region,
        counts if held is None else counts - per_class(tally, held),
        tally.target,
        epsilon=plan.epsilon,
        delta=plan.shares.wealth * plan.delta,
        miss_delta=plan.shares.miss_rates * plan.delta,
        included=included,
    )


def certified_thresholds(
    tally: Tally,
    region: PrevalenceRegion,
    plan: Plan,
    *,
    included: BoolArray,
    tuning: Tuning | None = None,
    steps: Steps | None = None,
) -> dict[str, FloatArray]:
    """Thresholds of both kinds, one per class; they are valid at once with probability at least 1 - δ.

    "Theorem" and "All together" of the proof page. ``included`` marks classes that the kind tested by bets puts
    into every set; ``tuning`` is the path of that kind, made from counts if it is not given. Without plain scores
    one threshold for all classes is tested instead.
    """
    steps = steps or Steps()
    ranks = equal_miss_ranks(
        MixProgram(region.rows, region.limits),
        region.prevalence,
        tally.class_counts,
        epsilon=plan.epsilon,
        delta=plan.shares.equal_miss_rate * plan.delta,
        caution=plan.shares.caution,
    )
    equal = {EQUAL_MISS_RATE: thresholds_at_ranks(tally, ranks)}
    if plan.correction is not None:
        one_threshold, rescaled, _ = corrected_thresholds(
            tally, plan.correction, region.prevalence.upper, steps=steps
        )
        return equal | {ONE_THRESHOLD: one_threshold, RESCALED: rescaled}
    if tuning is None and may_tune(tally):
        tuning = tune(tally, epsilon=plan.epsilon)
    held = None if tuning is None else tuning.held
    test = betting_test(tally, region, plan, included=included, held=held)

    def with_steps(ask: Callable[[IntArray], Answer]) -> Callable[[IntArray], Answer]:
        def answer(misses: IntArray) -> Answer:
            steps()
            return ask(misses)

        return answer

    if tuning is None:
        steps.expect(expected_tests(tally))
        return {
            ONE_THRESHOLD: np.where(included, -np.inf, largest_threshold(tally, with_steps(test.passes)))
        } | equal
    steps.expect(PATH_STEPS.bit_length())
    tuned = certified_on_path(tally, tuning.held, tuning.path, with_steps(test.first_margin), test.passes)
    return {TUNED: np.where(included, -np.inf, tuned)} | equal


def certify_many_classes(
    tally: Tally,
    *,
    epsilon: float,
    delta: float,
    known: Interval | None = None,
    contamination: float = 0.0,
    steps: Steps | None = None,
) -> tuple[dict[str, FloatArray], Interval | None]:
    """All kinds without linear programs, valid together with probability at least 1 - δ ("Above 200 classes").

    Thresholds by kind, and the bounds of the target's label shares if they were used. Whether the bound is tried
    depends on the numbers of rows alone. It takes the target's predictions as they are, so it is not tried where
    part of the target may be anything. ``known`` bounds the target's label mix.
    """
    counts, plan = tally.class_counts, None
    if not contamination:
        plan = correction_plan(counts, tally.n_target, epsilon=epsilon, delta=delta, shares=CORRECTED)
    box = None if known is None else known_box(known, contamination)
    ranks = ranks_for_any_mix(counts, epsilon=epsilon, delta=delta if plan is None else ANY_MIX * delta, box=box)
    certified = {EQUAL_MISS_RATE: thresholds_at_ranks(tally, ranks)}
    if plan is None:
        return certified, None
    within = Interval(np.zeros(tally.n_classes), np.ones(tally.n_classes)) if box is None else box
    one_threshold, rescaled, largest = corrected_thresholds(tally, plan, within.upper, steps=steps or Steps())
    certified |= {ONE_THRESHOLD: one_threshold, RESCALED: rescaled}
    return certified, Interval(np.minimum(within.lower, largest), largest)


def smallest_kind(tally: Tally, certified: dict[str, FloatArray], count_labels: SizeCounter | None = None) -> str:
    """The kind with the smallest sets on the target ("All together"). All are valid, so any rule may choose.

    The target's bins tell the sizes up to the bins that hold the thresholds. Where that does not settle it, the
    rows are counted if they are at hand. Without bins and rows: one threshold, unless none passes.
    """
    kinds, bins = list(certified), tally.bins if may_tune(tally) else None
    if bins is not None:
        ranges = {kind: mean_size_range(bins, certified[kind]) for kind in kinds}
        least_of_largest = min(largest for _, largest in ranges.values())
        kinds = [kind for kind in kinds if ranges[kind][0] <= least_of_largest]
    if count_labels is not None and len(kinds) > 1:
        sizes = count_labels([certified[kind] for kind in kinds])
        return kinds[int(np.argmin(sizes))]
    if bins is not None:
        return min(kinds, key=lambda kind: expected_size(tally, bins, certified[kind]))
    return ONE_THRESHOLD if (certified[ONE_THRESHOLD] > -np.inf).any() else EQUAL_MISS_RATE
