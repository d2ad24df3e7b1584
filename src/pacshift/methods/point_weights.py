"""ORACLE, PS-R and WCP: methods that trust one importance weight per class, given or estimated.

WCP is weighted conformal prediction for label shift (Podkopaev and Ramdas, UAI 2021).
"""

from dataclasses import dataclass, replace
from typing import get_args

import numpy as np

from pacshift.arrays import FloatArray, IntArray
from pacshift.bounds import Interval
from pacshift.errors import InputError
from pacshift.methods.base import Method, Solution, Task, one_threshold
from pacshift.methods.estimate import Estimate, estimate_weights
from pacshift.methods.ps import pac_threshold, too_few
from pacshift.tally import Tally
from pacshift.tally.coins import score_coins


@dataclass(frozen=True)
class Oracle(Method):
    """PS at (ε, δ) on the source examples, each kept with probability weight / largest weight. It has no options.

    Pass the weights q(y)/p(y) as ``calibrate(..., weights=[...])``, one per class in the order of the classes.
    The guarantee holds if they are the true ones.

    Examples
    --------
    >>> Oracle().name, Oracle().needs_weights
    ('ORACLE', True)
    """

    name = "ORACLE"
    idea = "rejection sampling with the true importance weights, which you must know"
    guarantee = "pac-target"
    extra_assumption = "The importance weights given are the true ones."
    needs_weights = True

    def solve(self, tally: Tally, task: Task) -> Solution:
        """Find the one threshold."""
        if task.weights is None:
            raise InputError(
                "method ORACLE needs the true importance weights q(y)/p(y), one per class: pass them as weights=."
            )
        found = rejection_solution(tally, task, task.weights)
        return replace(found, weights=Interval(task.weights, task.weights))  # kept, so that it can be made again


def rejection_solution(tally: Tally, task: Task, weights: FloatArray) -> Solution:
    """PS on a sample thinned by ``weights`` as if they were true."""
    kept = thin(tally.counts, tally, weights / weights.max(), score_coins("rejection", tally, task.seed))
    few = too_few(
        int(kept.sum()), epsilon=task.epsilon, delta=task.delta, what="examples kept by rejection sampling"
    )
    threshold = pac_threshold(tally, kept, epsilon=task.epsilon, delta=task.delta)
    return Solution(one_threshold(tally, threshold), reasons=few)


def thin(counts: IntArray, tally: Tally, keep: FloatArray, rng: np.random.Generator) -> IntArray:
    """Rejection sampling on counts: the same law as one uniform V per example, kept where V ≤ ``keep[class]``.

    ``rng`` must be independent of the counts, as those of ``pacshift.tally.coins`` are.
    """
    kept, uniform = np.empty_like(counts), np.empty(np.diff(tally.starts).max(initial=0))
    for label, share in enumerate(keep):
        members = slice(tally.starts[label], tally.starts[label + 1])
        own = counts[members]
        if own.max(initial=0) <= 1:  # single examples: one uniform number each is far cheaper
            np.multiply(own, rng.random(out=uniform[: len(own)]) < share, out=kept[members])
        else:
            kept[members] = rng.binomial(own, share)
    return kept


@dataclass(frozen=True)
class EstimatedWeights(Method):
    """Base of PS-R and WCP, which estimate the weights from the tally and use them as if they were true."""

    estimate: Estimate = "bbse-soft"

    extra_assumption = "The estimated importance weights are used as if they were the true ones."
    needs_target = True
    needs_soft = True  # even where `estimate` does not use the sums: a fact of the class, and they cost little

    def __post_init__(self) -> None:
        if self.estimate not in get_args(Estimate):
            raise InputError(f"estimate must be one of {', '.join(get_args(Estimate))}, got {self.estimate!r}.")


@dataclass(frozen=True)
class PSR(EstimatedWeights):
    """ORACLE's rule with estimated weights. The estimate may be wrong, so nothing is guaranteed.

    Parameters
    ----------
    estimate : {"bbse-soft", "bbse", "mlls"}
        How the importance weights are estimated: from sums of probabilities with a ridge, as the authors of the
        paper do; from counts of predictions; or by maximum likelihood from the same counts.

    Examples
    --------
    >>> PSR().guarantee, PSR(estimate="mlls").estimate
    ('none', 'mlls')
    """

    name = "PS-R"
    idea = "rejection sampling with estimated importance weights"

    def solve(self, tally: Tally, task: Task) -> Solution:
        """Find the thresholds."""
        return rejection_solution(tally, task, estimate_weights(tally, self.estimate))


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
        weights = estimate_weights(tally, self.estimate)
        total = float(weights @ tally.class_counts)
        allowed = task.epsilon * (total + weights) - weights
        return Solution(weighted_quantiles(tally, weights, allowed))


def weighted_quantiles(tally: Tally, weights: FloatArray, allowed: FloatArray) -> FloatArray:
    """For each limit the largest score below which at most that weight lies: one sort for all of them."""
    label = np.repeat(np.arange(tally.n_classes), np.diff(tally.starts))
    order = np.argsort(tally.values, kind="stable")
    missed = np.cumsum((weights[label] * tally.counts)[order])  # just above each score
    scores = np.append(tally.values[order], np.inf)
    return np.where(allowed < 0, -np.inf, scores[np.searchsorted(missed, allowed, side="right")])
