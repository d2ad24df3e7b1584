"""A guess of P(label given scores): recalibrated on labelled rows, moved towards a few rows of another population.

For planning alone: whatever it says, no guarantee rests on it.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import FloatArray, IntArray
from pacshift.scores.transforms import softmax

SLOPE_RIDGE = 40.0
"""How many rows the guess is worth that all classes have one slope. As for PS-LP's curves; not measured anew."""

MOVE_RIDGE = 0.5
"""What a move away from the first population costs, per squared unit of log-odds: about 1 log-odds is free with a
dozen rows. Chosen on survey populations of 2020 and five sets of scores; others are reported."""

MAX_STEPS = 30
"""Steps of L-BFGS. With 15 or 60 the log-likelihood of other rows changes by at most 1e-4 per row (six score sets
for development)."""

DECIMALS = 6
"""Slopes and offsets are rounded, so that another machine, whose last digits differ, gets the same ones."""

SMALLEST_SHARE = 1e-9
"""Scores of 0 count as this share of the largest score. A round number; not measured."""


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """softmax(slope × evidence + offset), with a slope and an offset per class."""

    slopes: FloatArray
    offsets: FloatArray

    def of(self, evidence: FloatArray) -> FloatArray:
        """The posterior of every class, row by row."""
        return np.asarray(softmax(evidence * self.slopes + self.offsets, single=False), float)


def log_evidence(scores: NDArray[np.floating[Any]]) -> FloatArray:
    """What the posterior is a function of: logarithms of scores, or scores that may be negative as they are.

    >>> log_evidence(np.array([[0.5, 0.5], [1.0, 0.0]])).round(1)
    array([[ -0.7,  -0.7],
           [  0. , -20.7]])
    """
    values = np.asarray(scores, float)
    if values.size == 0 or values.min() < 0:  # logits, or logarithms of probabilities
        return values
    return np.asarray(np.log(np.maximum(values, SMALLEST_SHARE * max(values.max(), SMALLEST_SHARE))))


def fit_posterior(evidence: FloatArray, labels: IntArray) -> Posterior:
    """Slopes and offsets of largest likelihood; slopes are drawn to their mean ("vector scaling").

    Guo, Pleiss, Sun, Weinberger, ICML 2017, section 4.2. Used by PS-T, and by PS-LP in "How the path is chosen" of
    docs/methods/ps-lp-proof.md.
    """
    n_classes, middle = evidence.shape[1], evidence.mean(axis=0)
    # Slopes and offsets then hardly depend on each other: a third of the steps. Class after class, which takes a
    # quarter of the time: NumPy is slow on short rows.
    centred = np.ascontiguousarray((evidence - middle).T)
    spread = float(centred.std()) or 1.0
    centred /= spread
    ridge = SLOPE_RIDGE / spread**2

    def loss(numbers: FloatArray) -> tuple[float, FloatArray]:
        slopes, offsets = numbers[:n_classes], numbers[n_classes:]
        apart, shift = slopes - slopes.mean(), offsets - offsets.mean()
        value, wrong = _misfit(centred * slopes[:, None] + offsets[:, None], labels)
        gradient = [(wrong * centred).sum(axis=1) + ridge * apart, wrong.sum(axis=1) + 0.02 * shift]
        return float(value + ridge / 2 * apart @ apart + 0.01 * shift @ shift), np.concatenate(gradient)

    found = _minimum(loss, np.concatenate([np.full(n_classes, spread), middle]))
    slopes = found[:n_classes] / spread
    return Posterior(slopes.round(DECIMALS), (found[n_classes:] - slopes * middle).round(DECIMALS))


def moved(posterior: Posterior, evidence: FloatArray, labels: IntArray) -> Posterior:
    """``posterior`` brought nearer to a few labelled rows of another population: one factor, and offsets."""
    if not len(labels):
        return posterior
    logits, offsets = (evidence * posterior.slopes).T, posterior.offsets[:, None]

    def loss(numbers: FloatArray) -> tuple[float, FloatArray]:
        factor = np.exp(numbers[0])
        value, wrong = _misfit(factor * logits + offsets + numbers[1:, None], labels)
        gradient = np.concatenate([[(wrong * logits).sum() * factor], wrong.sum(axis=1)])
        return float(value + MOVE_RIDGE / 2 * numbers @ numbers), gradient + MOVE_RIDGE * numbers

    n_classes = evidence.shape[1]
    found = _minimum(loss, np.zeros(n_classes + 1), bounds=[(-2.0, 2.0), *[(-6.0, 6.0)] * n_classes])
    return replace(posterior, slopes=posterior.slopes * np.exp(found[0]), offsets=posterior.offsets + found[1:])


def _misfit(logits: FloatArray, labels: IntArray) -> tuple[float, FloatArray]:
    """Minus the log-likelihood of the labels, and its derivative by the logits, which has their place.

    A row of the logits belongs to a class, a column to an example.
    """
    own = labels, np.arange(len(labels))
    logits -= logits.max(axis=0)
    chances = np.exp(logits, out=logits)
    chances /= chances.sum(axis=0)
    value = -float(np.log(np.maximum(chances[own], 1e-300)).sum())
    chances[own] -= 1
    return value, chances


def _minimum(loss: Any, start: FloatArray, **options: Any) -> FloatArray:
    from scipy.optimize import minimize  # slow to import, and only planning needs it

    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": MAX_STEPS}, **options)
    return np.asarray(found.x)
