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
    """The target error is at most b times the source error, b the largest upper weight (Appendix sec:addalg)."""

    intervals: Intervals = "elimination"

    name = "PS-C"
    idea = "bounds the importance weights, then divides epsilon by the largest"
    guarantee = "pac-target"
    tests_assumption = True
    needs_target = True

    def __post_init__(self) -> None:
        check_intervals(self.intervals)

    def solve(self, tally: Tally, task: Task) -> Solution:
        delta = split_delta(task.delta, tally.n_classes)
        try:
            weights = weight_box(tally, delta=delta, intervals=self.intervals)
        except NoBox as failure:
            return Solution(one_threshold(tally, -np.inf), reasons=(lacking(failure, tally, delta=delta),))
        epsilon = task.epsilon / float(weights.upper.max())
        threshold = pac_threshold(tally, tally.counts, epsilon=epsilon, delta=delta)
        return Solution(
            one_threshold(tally, threshold),
            weights=weights,
            reasons=too_few(tally.n_source, epsilon=epsilon, delta=delta),
        )
