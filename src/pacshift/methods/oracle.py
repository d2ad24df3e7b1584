"""ORACLE: rejection sampling with the true weights; PAC on the target if they are true."""

from dataclasses import dataclass
from typing import ClassVar

from pacshift.arrays import FloatArray
from pacshift.errors import InputError
from pacshift.methods.base import Guarantee, Solution, Task, one_threshold
from pacshift.methods.ps import pac_threshold, too_few
from pacshift.tally import Tally
from pacshift.weights.rejection import thin


@dataclass(frozen=True)
class Oracle:
    """PS at (ε, δ) on the source examples kept with probability weight / largest weight."""

    name: ClassVar[str] = "ORACLE"
    guarantee: ClassVar[Guarantee] = "pac-target"
    needs_target: ClassVar[bool] = False
    needs_soft: ClassVar[bool] = False
    needs_bins: ClassVar[bool] = False

    def solve(self, tally: Tally, task: Task) -> Solution:
        if task.weights is None:
            raise InputError("method ORACLE needs the true importance weights q(y)/p(y): pass weights=[...].")
        return rejection_solution(tally, task, task.weights)


def rejection_solution(tally: Tally, task: Task, weights: FloatArray) -> Solution:
    """PS on a sample thinned by ``weights`` as if they were true."""
    kept = thin(tally.counts, tally, weights / weights.max(), task.rng)
    few = too_few(
        int(kept.sum()), epsilon=task.epsilon, delta=task.delta, what="examples kept by rejection sampling"
    )
    threshold = pac_threshold(tally, kept, epsilon=task.epsilon, delta=task.delta)
    return Solution(one_threshold(tally, threshold), reasons=few)
