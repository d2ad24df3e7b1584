"""WCP: weighted conformal prediction for label shift (Podkopaev and Ramdas, UAI 2021)."""

from dataclasses import dataclass

import numpy as np

from pacshift.arrays import FloatArray
from pacshift.methods.base import Solution, Task
from pacshift.methods.estimated import EstimatedWeights
from pacshift.tally import Tally


@dataclass(frozen=True)
class WCP(EstimatedWeights):
    """For label y, the largest τ_y whose missed weight is at most ε(Σ_i w_i + w_y) - w_y.

    The test point itself has weight w_y and lies at the far end of the weighted quantile. The error is at most ε
    only on average over calibrations, and only if the weights are the true ones.

    Parameters
    ----------
    estimate : {"bbse-soft", "bbse", "mlls"}
        How the importance weights are estimated; see ``PSR``.

    Examples
    --------
    >>> WCP().guarantee, WCP().extra_assumption
    ('marginal', 'The estimated importance weights are used as if they were the true ones.')
    """

    name = "WCP"
    idea = "weighted conformal prediction with estimated importance weights"
    guarantee = "marginal"

    def solve(self, tally: Tally, task: Task) -> Solution:
        """Find one threshold per class."""
        weights = self.weights(tally)
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
