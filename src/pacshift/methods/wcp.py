"""WCP: weighted conformal prediction for label shift (Podkopaev and Ramdas, UAI 2021)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pacshift.arrays import FloatArray, IntArray
from pacshift.methods.base import Guarantee, Solution, Task
from pacshift.methods.estimated import soft_weights
from pacshift.tally import Tally
from pacshift.threshold import largest_threshold


@dataclass(frozen=True)
class WCP:
    """For label y: the largest τ_y whose missed weight is at most ε(Σ_i w_i + w_y) - w_y.

    The test point itself enters with weight w_y at the far end of the weighted quantile. Coverage is marginal
    (on average over calibration draws), and only if the weights are the true ones.
    """

    name: ClassVar[str] = "WCP"
    guarantee: ClassVar[Guarantee] = "marginal"
    needs_target: ClassVar[bool] = True
    needs_soft: ClassVar[bool] = True

    def solve(self, tally: Tally, task: Task) -> Solution:
        weights = soft_weights(tally)
        total = float(weights @ tally.class_counts)
        allowed = task.epsilon * (total + weights) - weights
        return Solution(np.array([_weighted_quantile(tally, weights, limit) for limit in allowed]))


def _weighted_quantile(tally: Tally, weights: FloatArray, allowed: float) -> float:
    def passes(misses: IntArray) -> bool:
        return bool(weights @ misses <= allowed)

    return largest_threshold(tally, passes)
