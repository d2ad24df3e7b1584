"""PS-C, the paper's conservative baseline: PS at ε divided by the largest weight."""

from dataclasses import dataclass

import numpy as np

from pacshift.methods.base import Method, Solution, Task, one_threshold
from pacshift.methods.ps import pac_threshold, too_few
from pacshift.tally import Tally
from pacshift.weights.box import Intervals, check_intervals, lacking, split_delta, weight_box
from pacshift.weights.elimination import NoBox


@dataclass(frozen=True)
class PSC(Method):
    """PS at ε / b: the target error is at most b times the source error, b the largest upper weight.

    The bound b is read off the data, and the promise is proven all the same (docs page "PS-C"): where the box
    holds, b is at least the largest true weight w, so that the threshold is not above the one of PS at the fixed
    level ε / w. Source: the paper, appendix "Conservative Baseline".

    Parameters
    ----------
    intervals : {"elimination", "strict", "hull"}
        How the box around the importance weights is computed, as in ``PSW``.

    Raises
    ------
    InputError
        If ``intervals`` has another value.

    Examples
    --------
    >>> PSC(intervals="hull")
    PSC(intervals='hull')
    """

    intervals: Intervals = "elimination"

    name = "PS-C"
    idea = "bounds the importance weights, then divides epsilon by the largest"
    guarantee = "pac-target"
    tests_assumption = True
    needs_target = True

    def __post_init__(self) -> None:
        check_intervals(self.intervals)

    def solve(self, tally: Tally, task: Task) -> Solution:
        """Find one threshold for all classes."""
        delta = split_delta(task.delta, tally.n_classes)
        try:
            weights = weight_box(tally, delta=delta, intervals=self.intervals, contamination=task.contamination)
        except NoBox as failure:
            return Solution(one_threshold(tally, -np.inf), reasons=(lacking(failure, tally, delta=delta),))
        epsilon = task.epsilon / float(weights.upper.max())
        threshold = pac_threshold(tally, tally.counts, epsilon=epsilon, delta=delta)
        return Solution(
            one_threshold(tally, threshold),
            weights=weights,
            reasons=too_few(tally.n_source, epsilon=epsilon, delta=delta),
        )
