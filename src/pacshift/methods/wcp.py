"""WCP: weighted conformal prediction for label shift (Podkopaev and Ramdas, UAI 2021)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pacshift.arrays import FloatArray
from pacshift.methods.base import Guarantee, Solution, Task
from pacshift.tally import Tally
from pacshift.weights.estimate import soft_weights


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
    needs_bins: ClassVar[bool] = False

    def solve(self, tally: Tally, task: Task) -> Solution:
        weights = soft_weights(tally)
        total = float(weights @ tally.class_counts)
        allowed = task.epsilon * (total + weights) - weights
        return Solution(_weighted_quantiles(tally, weights, allowed))


def _weighted_quantiles(tally: Tally, weights: FloatArray, allowed: FloatArray) -> FloatArray:
    """For each limit the largest score below which at most that weight lies: one sort for all of them."""
    label = np.repeat(np.arange(tally.n_classes), np.diff(tally.starts))
    order = np.argsort(tally.values, kind="stable")
    missed = np.cumsum((weights[label] * tally.counts)[order])  # just above each score
    scores = np.append(tally.values[order], np.inf)
    return np.where(allowed < 0, -np.inf, scores[np.searchsorted(missed, allowed, side="right")])
