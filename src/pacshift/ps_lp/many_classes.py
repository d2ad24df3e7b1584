"""Many classes: thresholds without linear programs.

Section "Above 200 classes" of the proof (docs/methods/ps-lp-proof.md). The bound that uses the target is proven on
a page of its own (docs/methods/many-classes.md).
"""

from dataclasses import dataclass

import numpy as np

from pacshift.arrays import FloatArray, IntArray
from pacshift.bounds import ROUNDING, Interval, binomial_cut, clean_shares
from pacshift.mix.programs import MixProgram
from pacshift.progress import Steps
from pacshift.ps_lp.equal_miss_rate import equal_miss_ranks, thresholds_at_ranks
from pacshift.ps_lp.kinds import EQUAL_MISS_RATE, ONE_THRESHOLD, RESCALED
from pacshift.ps_lp.prediction_powered.options import CorrectionShares, plan_for
from pacshift.ps_lp.prediction_powered.thresholds import corrected_thresholds
from pacshift.tally import Tally

CORRECTED = CorrectionShares(box=0.50, one_threshold=0.10, rescaled=0.35)
"""Shares of δ. The box gets most, for a class whose share is hard to bound. ImageNet scores, 50,000 rows on each
side: with 0.15, 0.15 and 0.40 sets are 3 to 23 % larger, 55 % where one such class decides; with 0.60, 0.10 and
0.25, or 0.35, 0.10 and 0.50, they change by -1 to +1 %, and there by -3 and +13 %."""
ANY_MIX = 0.05
"""The rest of δ, for ranks that hold for any mix, if the bound is tried; else they get all of it. They are kept
only where the bound fails: in no draw that was measured."""


@dataclass(frozen=True, eq=False)
class ManyClasses:
    """What was certified: thresholds by kind, and the bounds of the target's label shares if they were used."""

    certified: dict[str, FloatArray]
    prevalence: Interval | None = None


def certify_many_classes(
    tally: Tally,
    *,
    epsilon: float,
    delta: float,
    known: Interval | None = None,
    contamination: float = 0.0,
    steps: Steps | None = None,
) -> ManyClasses:
    """All kinds that are valid together with probability at least 1 - δ ("Above 200 classes").

    Whether the bound is tried depends on the numbers of rows alone. It takes the target's predictions as they are,
    so it is not tried where part of the target may be anything. ``known`` bounds the target's label mix.
    """
    counts = tally.class_counts
    plan = plan_for(counts, tally.n_target, epsilon=epsilon, delta=delta, shares=CORRECTED)
    plan = None if contamination else plan
    box = None if known is None else known_box(known, contamination)
    ranks = ranks_for_any_mix(counts, epsilon=epsilon, delta=delta if plan is None else ANY_MIX * delta, box=box)
    certified = {EQUAL_MISS_RATE: thresholds_at_ranks(tally, ranks)}
    if plan is None:
        return ManyClasses(certified)
    within = Interval(np.zeros(tally.n_classes), np.ones(tally.n_classes)) if box is None else box
    found = corrected_thresholds(
        tally, plan, within.upper, epsilon=epsilon, delta=delta, shares=CORRECTED, steps=steps
    )
    certified |= {ONE_THRESHOLD: found.one_threshold, RESCALED: found.rescaled}
    return ManyClasses(certified, Interval(np.minimum(within.lower, found.largest_shares), found.largest_shares))


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
