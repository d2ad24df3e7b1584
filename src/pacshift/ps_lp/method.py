"""All together: the shares of δ, the three kinds of sets, and the choice of the smallest.

Sections "Theorem" and "All together" of the proof page (docs/methods/ps-lp.md). The class ``PSLP`` in
``pacshift.methods.ps_lp`` calls this module and makes the certificate's contents out of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pacshift.arrays import BoolArray, FloatArray
from pacshift.ps_lp.betting import BettingTest
from pacshift.ps_lp.equal_miss_rate import equal_miss_ranks, thresholds_at_ranks
from pacshift.ps_lp.prediction_powered.options import CorrectionShares, Plan, plan_for
from pacshift.ps_lp.prediction_powered.thresholds import corrected_thresholds
from pacshift.ps_lp.programs import MixProgram
from pacshift.ps_lp.region import PrevalenceRegion
from pacshift.ps_lp.rescale import rescaled, rescaling_factors, undo_rescaling
from pacshift.tally import Tally
from pacshift.tally.histogram import mean_size, mean_size_range
from pacshift.tally.threshold import largest_threshold

MAX_LP_CLASSES = 200
"""Above this many classes the linear programs would not end in reasonable time."""

MAX_BETTING_CLASSES = 50
"""Up to this many classes bets are sharper than the bound for many classes."""

ONE_THRESHOLD, RESCALED, EQUAL_MISS_RATE = "one threshold", "rescaled", "equal miss rate"
"""The three kinds of sets."""

SizeCounter = Callable[[Sequence[FloatArray]], list[float]]
"""Mean set sizes on the target for each vector of thresholds, counted on the rows themselves."""


@dataclass(frozen=True)
class Shares:
    """How δ is spent, as shares of it that add up to 1 ("Shares of δ" of the proof page).

    The defaults are for three kinds of sets. ``miss_rates`` and ``wealth`` are spent once per kind that is tested
    by bets: on one threshold and on rescaled ones.
    """

    region: float = 0.11
    """The true label mix lies outside the region."""
    priors: float = 0.01
    """A source prior is outside its interval; only the weights on the certificate need this."""
    equal_miss_rate: float = 0.20
    """Thresholds of equal miss rate err too much."""
    miss_rates: float = 0.01
    """A miss rate is above its bound at the critical threshold of a kind."""
    wealth: float = 0.33
    """The wealth is large although the error is above ε at the critical threshold of a kind."""
    kinds_tested_by_bets: int = 2

    @property
    def total(self) -> float:
        """All shares together."""
        bets = self.kinds_tested_by_bets * (self.miss_rates + self.wealth)
        return self.region + self.priors + self.equal_miss_rate + bets


THREE_KINDS = Shares()
TWO_KINDS = Shares(equal_miss_rate=0.37, wealth=0.50, kinds_tested_by_bets=1)
"""Without rescaling, its share is split between the other kinds. The region's share is the same in both."""


CORRECTED_BESIDE_REGION = CorrectionShares(box=0.14, one_threshold=0.14, rescaled=0.40)
"""Where the bound for many classes replaces bets, it gets the shares of both kinds of ``THREE_KINDS``."""


def shares_for(tally: Tally) -> Shares:
    """The shares of δ, fixed by the type of the score and the target sample alone.

    Section "Shares of δ" of the page: the events of the kinds have their probabilities given the target, so their
    shares may depend on it; the region's share may not.
    """
    return THREE_KINDS if rescaling_is_tried(tally) else TWO_KINDS


def rescaling_is_tried(tally: Tally) -> bool:
    """Whether scores are plain and the target's lie between 0 and 1, else it has no bins ("Shares of δ")."""
    return tally.bins is not None and tally.score == "probability"


def correction_plan(tally: Tally, *, epsilon: float, delta: float, contamination: float = 0.0) -> Plan | None:
    """The plan of the bound that replaces bets, where classes and rows are many ("Between 50 and 200 classes").

    It depends on the type of the score and the numbers of rows alone. The bound takes the target's predictions as
    they are, so it is not used where part of the target may be anything.
    """
    if tally.n_classes <= MAX_BETTING_CLASSES or tally.score != "probability" or contamination:
        return None
    return plan_for(
        tally.class_counts, tally.n_target, epsilon=epsilon, delta=delta, shares=CORRECTED_BESIDE_REGION
    )


def betting_test(
    tally: Tally, region: PrevalenceRegion, *, epsilon: float, delta: float, included: BoolArray
) -> BettingTest:
    """The test of one family of thresholds, at its shares of δ."""
    shares = shares_for(tally)
    return BettingTest(
        region,
        tally.class_counts,
        tally.target,
        epsilon=epsilon,
        delta=shares.wealth * delta,
        miss_delta=shares.miss_rates * delta,
        included=included,
    )


def certified_thresholds(
    tally: Tally,
    region: PrevalenceRegion,
    *,
    epsilon: float,
    delta: float,
    included: BoolArray,
    contamination: float = 0.0,
) -> dict[str, FloatArray]:
    """Thresholds of each kind, one per class; all kinds are valid at once with probability at least 1 - δ.

    "Theorem" and "All together" of the proof page. ``included`` marks classes that one threshold and rescaled
    ones put into every set.
    """
    plan = correction_plan(tally, epsilon=epsilon, delta=delta, contamination=contamination)
    mixes = MixProgram(region.rows, region.limits)
    share = (shares_for(tally) if plan is None else THREE_KINDS).equal_miss_rate * delta
    ranks = equal_miss_ranks(mixes, region.prevalence, tally.class_counts, epsilon=epsilon, delta=share)
    found = {EQUAL_MISS_RATE: thresholds_at_ranks(tally, ranks)}
    if plan is not None:
        corrected = corrected_thresholds(
            tally, plan, region.prevalence.upper, epsilon=epsilon, delta=delta, shares=CORRECTED_BESIDE_REGION
        )
        return found | {ONE_THRESHOLD: corrected.one_threshold, RESCALED: corrected.rescaled}
    test = betting_test(tally, region, epsilon=epsilon, delta=delta, included=included)
    found[ONE_THRESHOLD] = np.where(included, -np.inf, largest_threshold(tally, test.passes))
    if rescaling_is_tried(tally):
        factors = rescaling_factors(tally)
        cut = largest_threshold(rescaled(tally, factors), test.passes)
        found[RESCALED] = np.where(included, -np.inf, undo_rescaling(cut, factors, tally))
    return found


def smallest_kind(tally: Tally, certified: dict[str, FloatArray], count_labels: SizeCounter | None = None) -> str:
    """The kind with the smallest sets on the target ("All together"). All are valid, so any rule may choose.

    The target's bins tell the sizes up to the bins that hold the thresholds. Where that does not settle it, the
    rows are counted if they are at hand. Without bins and rows: one threshold, unless none passes.
    """
    kinds, bins = list(certified), tally.bins if rescaling_is_tried(tally) else None
    if bins is not None:
        ranges = {kind: mean_size_range(bins, certified[kind]) for kind in kinds}
        least_of_largest = min(largest for _, largest in ranges.values())
        kinds = [kind for kind in kinds if ranges[kind][0] <= least_of_largest]
    if count_labels is not None and len(kinds) > 1:
        sizes = count_labels([certified[kind] for kind in kinds])
        return kinds[int(np.argmin(sizes))]
    if bins is not None:
        return min(kinds, key=lambda kind: mean_size(bins, certified[kind]))
    return ONE_THRESHOLD if (certified[ONE_THRESHOLD] > -np.inf).any() else EQUAL_MISS_RATE
