"""Many classes: thresholds that hold for every label mix, without linear programs.

Section "Above 200 classes" of the proof page (docs/methods/ps-lp.md).
"""

import numpy as np

from pacshift.arrays import IntArray
from pacshift.bounds import Interval, binomial_cut
from pacshift.ps_lp.equal_miss_rate import equal_miss_ranks
from pacshift.ps_lp.programs import MixProgram


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
