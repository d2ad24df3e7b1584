"""The label mix that explains the target's cells best.

Nothing rests on it: directions, words and pictures start from it ("Directions" of docs/methods/assumption.md).
"""

from dataclasses import dataclass

import numpy as np
import scipy  # its parts load when first used

from pacshift.arrays import FloatArray
from pacshift.assumption.folds import FEW_CLASSES, CellCounts
from pacshift.mix.programs import nonnegative_least_squares

REWEIGHTINGS = 2
"""How often the weights are computed from the last fit. With 0 or 5 as many are refused."""

SUM_WEIGHT = 1e3
"""Weight of the row "shares add up to 1" in the non-negative least squares. With 10 or 1e5 as many are refused."""


@dataclass(frozen=True, eq=False)
class Fit:
    """The label mix that explains the target's cells best, and the variance of each cell's residual."""

    mix: FloatArray
    variance: FloatArray


def best_fit(counts: CellCounts) -> Fit:
    """By weighted least squares over single cells; by expectation maximisation where classes are many."""
    if counts.n_classes > FEW_CLASSES:
        mix = em_mix(counts)
        return Fit(mix, cell_variance(counts, mix))
    variance = (counts.target + 1) / max(counts.n_target, 1.0) ** 2
    for _ in range(1 + REWEIGHTINGS):
        mix = simplex_fit(counts.rates, counts.shares, 1 / np.sqrt(variance))
        variance = cell_variance(counts, mix)
    return Fit(simplex_fit(counts.rates, counts.shares, 1 / np.sqrt(variance)), variance)


def cell_variance(counts: CellCounts, mix: FloatArray) -> FloatArray:
    """Variance of the residual of each cell, at least that of two target rows."""
    n, totals = max(counts.n_target, 1.0), np.maximum(counts.class_counts, 1.0)
    explained = np.maximum(counts.rates @ mix, 0.0)
    return np.asarray((explained * n + 2) / n**2 + counts.rates @ (mix**2 / totals))


def simplex_fit(model: FloatArray, seen: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted least squares over mixes; the sum is tied to 1 by a heavy row."""
    heavy = SUM_WEIGHT * max(float(np.abs(weights).mean()), 1e-300)
    matrix = np.vstack([model * weights[:, None], np.full(model.shape[1], heavy)])
    wanted = np.append(seen * weights, heavy)
    if len(matrix) > 400:  # the same squares from a square matrix: far faster for many cells
        matrix, root = np.linalg.qr(matrix)
        matrix, wanted = root, matrix.T @ wanted
    mix = nonnegative_least_squares(matrix, wanted)
    return np.asarray(mix / mix.sum())


def em_mix(counts: CellCounts, steps: int = 60) -> FloatArray:
    """Expectation maximisation over the mix, from equal shares."""
    mix = np.full(counts.n_classes, 1 / counts.n_classes)
    seen = counts.shares > 0
    rates, shares = scipy.sparse.csr_matrix(counts.rates)[seen], counts.shares[seen]
    turned = rates.T.tocsr()  # once: a transposed view would be turned in every step
    for _ in range(steps):
        mix = mix * (turned @ (shares / np.maximum(rates @ mix, 1e-300))) + 1e-12
        mix /= mix.sum()
    return np.asarray(mix)
