"""Many classes: thresholds without linear programs.

Section "Above 200 classes" of the proof page (docs/methods/ps-lp.md). The bound that uses the target is proven on
a page of its own (docs/methods/many-classes.md).
"""

from dataclasses import dataclass

import numpy as np

from pacshift.arrays import FloatArray, IntArray
from pacshift.bounds import Interval, binomial_cut
from pacshift.errors import AssumptionError
from pacshift.ps_lp.equal_miss_rate import equal_miss_ranks, thresholds_at_ranks
from pacshift.ps_lp.method import EQUAL_MISS_RATE, ONE_THRESHOLD, RESCALED
from pacshift.ps_lp.prediction_powered.bound import Option
from pacshift.ps_lp.prediction_powered.box import largest_shares
from pacshift.ps_lp.prediction_powered.evidence import Evidence
from pacshift.ps_lp.prediction_powered.options import is_promising, options_for, sparse_classes
from pacshift.ps_lp.prediction_powered.thresholds import corrected_threshold
from pacshift.ps_lp.programs import MixProgram
from pacshift.ps_lp.rescale import rescaled, rescaling_factors, undo_rescaling
from pacshift.tally import Tally


@dataclass(frozen=True)
class ManyShares:
    """How δ is spent where the bound is tried, as shares that add up to 1 ("Above 200 classes")."""

    box: float = 0.15
    one_threshold: float = 0.20
    rescaled: float = 0.55
    any_mix: float = 0.10


SHARES = ManyShares()


@dataclass(frozen=True, eq=False)
class ManyClasses:
    """What was certified: thresholds by kind, and the bounds of the target's label shares if they were used."""

    certified: dict[str, FloatArray]
    largest_shares: FloatArray | None = None


def certify_many_classes(tally: Tally, *, epsilon: float, delta: float) -> ManyClasses:
    """All kinds that are valid together with probability at least 1 - δ ("Above 200 classes").

    Whether the bound is tried depends on the numbers of rows alone. If not, δ goes to the ranks for any mix.
    """
    counts, n_target = tally.class_counts, tally.n_target
    options = options_for(counts, n_target, epsilon=epsilon, delta=SHARES.rescaled * delta) if n_target else []
    if not is_promising(options, counts, n_target, epsilon=epsilon, delta=SHARES.box * delta):
        ranks = ranks_for_any_mix(counts, epsilon=epsilon, delta=delta)
        return ManyClasses({EQUAL_MISS_RATE: thresholds_at_ranks(tally, ranks)})
    shares = largest_shares(tally, delta=SHARES.box * delta)
    _require_a_mix(shares)
    ranks = ranks_for_any_mix(counts, epsilon=epsilon, delta=SHARES.any_mix * delta)
    evidence = Evidence.of_tally(tally, shares, sparse_classes(counts, delta=SHARES.box * delta))
    found = corrected_thresholds(tally, evidence, options, epsilon=epsilon, delta=delta)
    return ManyClasses(found | {EQUAL_MISS_RATE: thresholds_at_ranks(tally, ranks)}, shares)


def _require_a_mix(largest: FloatArray) -> None:
    """Label shift is refuted where the label shares cannot add up to 1 ("The box")."""
    if largest.sum() < 1:
        raise AssumptionError(
            "label shift is refuted: label shares add up to 1, but by the target's scores those of all classes "
            f"together cannot exceed {largest.sum():.3g}, chance allowed for. Either P(x given y) differs between "
            "source and target, or rows depend on each other. No method for label shift may be used."
        )


def corrected_thresholds(
    tally: Tally, evidence: Evidence, options: list[Option], *, epsilon: float, delta: float
) -> dict[str, FloatArray]:
    """One threshold and rescaled ones, each at its share of δ; classes with few rows are in every set."""
    factors = rescaling_factors(tally)
    one = corrected_threshold(tally, evidence, options, epsilon=epsilon, delta=SHARES.one_threshold * delta)
    cut = corrected_threshold(
        rescaled(tally, factors), evidence, options, epsilon=epsilon, delta=SHARES.rescaled * delta
    )
    found = {ONE_THRESHOLD: np.full(tally.n_classes, one), RESCALED: undo_rescaling(cut, factors, tally)}
    return {kind: np.where(evidence.in_every_set, -np.inf, thresholds) for kind, thresholds in found.items()}


def ranks_for_any_mix(class_counts: IntArray, *, epsilon: float, delta: float) -> IntArray:
    """The better of two rules for the ranks k_j, both valid at the whole δ for every mix ("Above 200 classes").

    Equal miss rate promises an error of at most ε for the one mix that the target has, and suffers where one class
    has few examples. PS-LW promises it for each class by itself, at δ/K. Both depend on the m_j alone, and so does
    the choice: the larger expected miss rate, averaged over classes, gives the smaller sets. Rank 0: no threshold.

    >>> ranks_for_any_mix(np.array([2000] * 245 + [60] * 5), epsilon=0.1, delta=0.05).tolist()[::245]
    [154, 0]
    """
    n_classes = len(class_counts)
    every_mix = MixProgram(np.empty((0, n_classes)), np.empty(0))
    simplex = Interval(np.zeros(n_classes), np.ones(n_classes))
    equal = equal_miss_ranks(every_mix, simplex, class_counts, epsilon=epsilon, delta=delta)
    by_class = _class_wise_ranks(class_counts, epsilon=epsilon, delta=delta)
    return max(equal, by_class, key=lambda ranks: float((ranks / (class_counts + 1)).mean()))


def _class_wise_ranks(class_counts: IntArray, *, epsilon: float, delta: float) -> IntArray:
    """PS-LW's ranks: one more than the misses that the exact binomial test allows at (ε, δ/K)."""
    distinct, place = np.unique(class_counts, return_inverse=True)
    share = delta / len(class_counts)
    cuts = np.array([binomial_cut(int(total), epsilon=epsilon, delta=share) for total in distinct])
    return np.asarray(cuts[place] + 1, np.int64)
