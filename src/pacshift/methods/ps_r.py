"""PS-R: rejection sampling with estimated weights, their uncertainty ignored."""

from dataclasses import dataclass
from typing import ClassVar

from pacshift.methods.base import Guarantee, Solution, Task
from pacshift.methods.oracle import rejection_solution
from pacshift.tally import Tally
from pacshift.weights.estimate import soft_weights


@dataclass(frozen=True)
class PSR:
    """ORACLE's rule with soft BBSE weights; the estimate may be off, so nothing is guaranteed."""

    name: ClassVar[str] = "PS-R"
    guarantee: ClassVar[Guarantee] = "none"
    needs_target: ClassVar[bool] = True
    needs_soft: ClassVar[bool] = True
    needs_bins: ClassVar[bool] = False

    def solve(self, tally: Tally, task: Task) -> Solution:
        return rejection_solution(tally, task, soft_weights(tally))
