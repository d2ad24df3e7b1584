"""A guess of P(label given scores): recalibrated on labelled rows, moved towards a few rows of another population.

For planning alone: whatever it says, no guarantee rests on it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import FloatArray, IntArray
from pacshift.scores.transforms import softmax

SLOPE_RIDGE = 40.0
"""How many rows the guess is worth that all classes have one slope. As for PS-LP's curves; not measured anew."""

MOVE_RIDGE = 0.5
"""What a move away from the first population costs, per squared unit of log-odds: about 1 log-odds is free with a
dozen rows. Chosen on survey populations of 2020 and five sets of scores; others are reported."""

OFFSET_RIDGE = 0.02
"""What offsets apart cost, per squared unit: next to nothing, but a class without rows keeps a finite one."""

FLAT_RIDGE = 1e-9
"""A common offset changes no posterior; so much of a ridge makes the smallest one the answer."""

MAX_STEPS, SHORTEST_STEP, CONVERGED = 30, 1e-3, 1e-9
"""Steps of Newton's method; five or so are made. It ends when a step promises to gain less log-likelihood than the
last. Ten digits of slopes and offsets are then right, so that six are the same on every machine."""

DECIMALS = 6
"""Slopes and offsets are rounded, so that another machine, whose last digits differ, gets the same ones."""

SMALLEST_SHARE = 1e-9
"""Scores of 0 count as this share of the largest score. A round number; not measured."""


Bowl: TypeAlias = Callable[[FloatArray], tuple[float, FloatArray, FloatArray]]
"""A function with its slope and its curvature (positive definite, if not exact)."""


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
    # Class after class, which takes a quarter of the time: NumPy is slow on short rows.
    centred = np.ascontiguousarray((evidence - middle).T)
    spread = float(centred.std()) or 1.0
    centred /= spread
    ridges = np.diag([SLOPE_RIDGE / spread**2, OFFSET_RIDGE])
    ridge = np.kron(ridges, np.eye(n_classes) - 1 / n_classes) + FLAT_RIDGE * np.eye(2 * n_classes)

    def bowl(numbers: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        value, chances, wrong = _misfit(centred * numbers[:n_classes, None] + numbers[n_classes:, None], labels)
        scaled = chances * centred
        both = np.concatenate([scaled, chances])
        across = np.diag(scaled.sum(axis=1))
        within = [np.diag((scaled * centred).sum(axis=1)), np.diag(chances.sum(axis=1))]
        curvature = np.block([[within[0], across], [across, within[1]]]) - both @ both.T
        slope = np.concatenate([(wrong * centred).sum(axis=1), wrong.sum(axis=1)])
        return float(value + numbers @ ridge @ numbers / 2), slope + ridge @ numbers, curvature + ridge

    minimum = _minimum(bowl, np.concatenate([np.full(n_classes, spread), middle]))
    slopes = minimum[:n_classes] / spread
    return Posterior(slopes.round(DECIMALS), (minimum[n_classes:] - slopes * middle).round(DECIMALS))


def move_posterior(posterior: Posterior, evidence: FloatArray, labels: IntArray) -> Posterior:
    """``posterior`` brought nearer to a few labelled rows of another population: one factor, and offsets."""
    if not len(labels):
        return posterior
    logits, offsets = (evidence * posterior.slopes).T, posterior.offsets[:, None]

    def bowl(numbers: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        stretched = np.exp(numbers[0]) * logits
        value, chances, wrong = _misfit(stretched + offsets + numbers[1:, None], labels)
        pulled = chances * (stretched - (chances * stretched).sum(axis=0))
        curvature = np.diag([(pulled * stretched).sum(), *chances.sum(axis=1)])  # without what bends the factor
        curvature[1:, 1:] -= chances @ chances.T
        curvature[0, 1:] = curvature[1:, 0] = pulled.sum(axis=1)
        slope = np.concatenate([[(wrong * stretched).sum()], wrong.sum(axis=1)])
        ridge = MOVE_RIDGE * np.eye(len(numbers))
        return float(value + MOVE_RIDGE / 2 * numbers @ numbers), slope + MOVE_RIDGE * numbers, curvature + ridge

    minimum = _minimum(bowl, np.zeros(evidence.shape[1] + 1))
    factor = np.exp(np.clip(minimum[0], -2.0, 2.0))
    return Posterior(posterior.slopes * factor, posterior.offsets + np.clip(minimum[1:], -6.0, 6.0))


def _misfit(logits: FloatArray, labels: IntArray) -> tuple[float, FloatArray, FloatArray]:
    """Minus the log-likelihood of the labels, the chances of classes, and the derivative by the logits.

    A row of the logits belongs to a class, a column to an example.
    """
    true_places = labels, np.arange(len(labels))
    logits -= logits.max(axis=0)
    chances = np.exp(logits, out=logits)
    chances /= chances.sum(axis=0)
    wrong = chances.copy()
    wrong[true_places] -= 1
    return -float(np.log(np.maximum(chances[true_places], 1e-300)).sum()), chances, wrong


def _minimum(bowl: Bowl, start: FloatArray) -> FloatArray:
    """Newton's method, its steps halved until they help. A solver of SciPy would start BLAS threads for matrices
    of a few dozen rows: ten times as long on an idle machine, a hundred times on a busy one.
    """
    numbers, (value, slope, curvature) = start, bowl(start)
    for _ in range(MAX_STEPS):
        step, length = np.linalg.solve(curvature, slope), 1.0
        gain = float(slope @ step)
        if gain < CONVERGED:
            break
        while (tried := bowl(numbers - length * step))[0] > value - length * gain / 4 and length > SHORTEST_STEP:
            length /= 2
        numbers, (value, slope, curvature) = numbers - length * step, tried
    return numbers
