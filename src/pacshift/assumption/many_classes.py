"""Bets where classes are many: one direction at four stakes, with sparse counts.

"Directions" of docs/methods/assumption.md, last paragraph.
"""

from math import log
from typing import Any

import numpy as np
import scipy  # its parts load when first used

from pacshift.arrays import FloatArray
from pacshift.assumption.bets import Bets, FoldBets, Means, hoped, known_mix_stakes, see, stacked
from pacshift.assumption.fit import best_fit
from pacshift.assumption.folds import CellCounts, joined
from pacshift.tally.cells import N_CONFIDENCE

MAX_PROJECTED_CLASSES = 2000
"""Beyond this many classes the direction looks at confidence alone: K x K numbers would be too many (32 MB
here)."""

STAKES = np.array([0.3, 0.12, 0.07, 0.04])
"""Stakes that the direction is tried with, as shares of the best one for a known mix. Chosen on draws of ImageNet
scores; small, because the mix of many classes is known badly."""

CLIP = 2.5
"""The direction is cut at so many standard deviations: rare cells must not set the scale. Chosen on draws of
ImageNet scores."""


def many_bets(folds: list[CellCounts], hurdle: float, contamination: float) -> Bets:
    """The bets on every fold but the first, one for each of the stakes (Lemmas 2 to 4)."""
    wanted = hurdle / (len(folds) - 1)
    placed = [_place(joined(folds[:place]), folds[place], wanted) for place in range(1, len(folds))]
    return Bets(stacked(placed), contamination)


def many_hurdle(level: float) -> float:
    """The log-wealth that one of the bets reaches by chance with its part of ``level``."""
    return log(len(STAKES) / level)


def _place(past: CellCounts, fold: CellCounts, wanted: float) -> FoldBets:
    found, mix = direction(past)
    values = np.repeat(_scaled(found, past, mix)[:, None], len(STAKES), axis=1)
    before, now = _means(past, values), _means(fold, values)
    stake = known_mix_stakes(hoped(before, now), mix, wanted, STAKES)
    return see(stake, before, now)


def _means(counts: CellCounts, values: FloatArray) -> Means:
    both = [counts.means(values**power) for power in (1, 2, 3, 4)]
    source, target = (np.array([each[side] for each in both]) for side in (0, 1))
    return Means(source, target, counts.class_counts[None, :], np.array([counts.n_target]))


def _scaled(found: FloatArray, past: CellCounts, mix: FloatArray) -> FloatArray:
    """Cut at a few standard deviations and brought to [0, 1]."""
    weight = (past.shares + np.asarray(past.rates @ mix)) / 2
    centred = found - weight @ found / max(weight.sum(), 1e-300)
    limit = CLIP * np.sqrt(weight @ centred**2)
    cut = np.clip(centred, -limit, limit)
    low, high = cut.min(), cut.max()
    return np.asarray((cut - low) / (high - low if high > low else 1.0))


def direction(past: CellCounts) -> tuple[FloatArray, FloatArray]:
    """The marginal direction, solved without signs, then freed of every change of mix; and the best mix."""
    fit = best_fit(past)
    mix, variance = fit.mix, fit.variance
    if past.n_classes > MAX_PROJECTED_CLASSES:
        residual, spread = (
            np.bincount(past.confidence, part) for part in (past.shares - past.rates @ mix, variance)
        )
        return np.asarray((residual / spread)[past.confidence]), mix
    pooled = _sparse_marginals(past).T
    residual = np.asarray(pooled @ (past.shares - past.rates @ mix))
    model = pooled @ past.rates
    weighed = _solve_marginals(past, variance, np.column_stack([model.toarray(), residual]))
    gram = _ridged(np.asarray(model.T @ weighed[:, :-1]), 3e-2)  # against classes that look alike; not measured
    explained = weighed[:, :-1] @ np.linalg.solve(gram, weighed[:, :-1].T @ residual)
    return np.asarray(pooled.T @ (weighed[:, -1] - explained)), mix


def _sparse_marginals(past: CellCounts) -> Any:
    """The predicted class and the bin of each cell, as columns of 0 and 1."""
    cells = np.arange(len(past.target))
    ones = np.ones(len(cells))
    predicted = scipy.sparse.csc_matrix((ones, (cells, past.predicted)), (len(cells), past.n_classes))
    confidence = scipy.sparse.csc_matrix((ones, (cells, past.confidence)), (len(cells), N_CONFIDENCE))
    return scipy.sparse.hstack([predicted, confidence]).tocsc()


def _solve_marginals(past: CellCounts, variance: FloatArray, wanted: FloatArray) -> FloatArray:
    """Solve with the covariance of predicted classes and bins, of which each block but one is diagonal.

    So only 13 equations are left after the predicted classes are eliminated.
    """
    n_classes, shape = past.n_classes, (past.n_classes, N_CONFIDENCE)
    cross: FloatArray = np.zeros(shape)
    np.add.at(cross, (past.predicted, past.confidence), variance)
    ridge = max(1e-6 * 2 * variance.sum() / sum(shape), 1e-12)
    first, second = cross.sum(axis=1) + ridge, np.diag(cross.sum(axis=0) + ridge)
    scaled = cross / first[:, None]
    last = np.linalg.solve(second - cross.T @ scaled, wanted[n_classes:] - scaled.T @ wanted[:n_classes])
    return np.vstack([wanted[:n_classes] / first[:, None] - scaled @ last, last])


def _ridged(matrix: FloatArray, share: float) -> FloatArray:
    """A symmetric matrix with a share of its mean diagonal added to the diagonal, so that it can be solved."""
    return np.asarray(matrix + max(share * np.trace(matrix) / len(matrix), 1e-12) * np.eye(len(matrix)))
