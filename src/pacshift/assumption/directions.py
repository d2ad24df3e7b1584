"""Directions: functions of the cell that show best where the target is not a mix of the source's classes.

A direction is learned on rows that are not tested with it, so that nothing here can break validity: this module is
about power alone. The best-fitting mix t minimises the weighted squared residual r of the target's cells. Then the
direction d = W r has the same source mean for every class in the mix, and no larger one for the others: no change
of the mix explains what d shows.
"""

from typing import Any

import numpy as np
import scipy

from pacshift.arrays import FloatArray
from pacshift.assumption.folds import FEW_CLASSES, CellCounts
from pacshift.mix.least_squares import nonnegative_least_squares
from pacshift.tally.cells import N_CONFIDENCE

SMOOTH_DEGREE = 3
"""Degree of the polynomial in the confidence bin, for each predicted class, of the smooth direction. With 1, 2 or
5: 125, 126, 126 refused."""

MAX_PROJECTED_CLASSES = 2000
"""Beyond this many classes the direction looks at confidence alone: K x K numbers would be too many (32 MB
here)."""

MANY_STAKES = (0.3, 0.12, 0.07, 0.04)
"""With many classes: stakes that the direction is tried with, as shares of the best one for a known mix. Chosen on
draws of ImageNet scores; small, because the mix of many classes is known badly."""

CLIP, CLIP_MANY = 4.0, 2.5
"""Directions are cut at so many standard deviations (few, many classes): rare cells must not set the scale. With
2.5 or 8 for few classes: 126 or 124 refused. The cut for many classes was chosen on draws of ImageNet scores."""

REWEIGHTINGS = 2
"""How often the weights are computed from the last fit. With 0 or 5 as many are refused."""

SUM_WEIGHT = 1e3
"""Weight of the row "shares add up to 1" in the non-negative least squares. With 10 or 1e5 as many are refused."""


def n_directions(n_classes: int) -> tuple[int, int]:
    """How many bets look for a difference, and how many bound the shares of the classes."""
    return (3, 2 * n_classes) if n_classes <= FEW_CLASSES else (len(MANY_STAKES), 0)


def directions(past: CellCounts) -> tuple[FloatArray, FloatArray]:
    """Functions of the cell with values in [0, 1], shape (cells, D), and the best-fitting mix.

    Few classes: three that look for a difference, then two per class that bound its share. Many classes: one that
    looks for a difference, once for each of the stakes that it is tried with.
    """
    if past.n_classes > FEW_CLASSES:
        only, mix = _many_classes(past)
        return np.repeat(_scaled(only[:, None], past, mix), len(MANY_STAKES), axis=1), mix
    by_cell, mix, variance = by_cells(past)
    smooth = _by_features(past, _smooth_features(past), variance)
    marginal = _by_features(past, _marginal_features(past), variance)
    shares = _share_directions(past, variance)
    return _scaled(np.hstack([np.array([by_cell, smooth, marginal]).T, shares, -shares]), past, mix), mix


def best_mix(counts: CellCounts) -> FloatArray:
    """The label mix that explains the target's cells best."""
    return by_cells(counts)[1] if counts.n_classes <= FEW_CLASSES else _many_classes(counts)[1]


def by_cells(past: CellCounts) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The direction over single cells, the mix and the variance of each cell's residual."""
    variance = (past.target + 1) / max(past.n_target, 1.0) ** 2
    for _ in range(1 + REWEIGHTINGS):
        mix = simplex_fit(past.rates, past.shares, 1 / np.sqrt(variance))
        variance = _cell_variance(past, mix)
    mix = simplex_fit(past.rates, past.shares, 1 / np.sqrt(variance))
    return (past.shares - past.rates @ mix) / variance, mix, variance


def _cell_variance(past: CellCounts, mix: FloatArray) -> FloatArray:
    """Variance of the residual of each cell, at least that of two target rows."""
    n, totals = max(past.n_target, 1.0), np.maximum(past.class_counts, 1.0)
    explained = np.maximum(past.rates @ mix, 0.0)
    return np.asarray((explained * n + 2) / n**2 + past.rates @ (mix**2 / totals))


def _by_features(past: CellCounts, features: FloatArray, variance: FloatArray) -> FloatArray:
    """The same fit seen through a few functions of the cell: less noise where the difference is smooth."""
    root = np.linalg.cholesky(_ridged(features.T @ (features * variance[:, None]), 1e-9))
    model, seen = (_solve_lower(root, features.T @ part) for part in (past.rates, past.shares))
    mix = simplex_fit(model, seen, np.ones(len(seen)))
    return np.asarray(features @ scipy.linalg.solve_triangular(root, seen - model @ mix, lower=True, trans=1))


def _ridged(matrix: FloatArray, share: float) -> FloatArray:
    """A symmetric matrix with a share of its mean diagonal added to the diagonal, so that it can be solved."""
    return np.asarray(matrix + max(share * np.trace(matrix) / len(matrix), 1e-12) * np.eye(len(matrix)))


def _solve_lower(root: Any, wanted: FloatArray) -> FloatArray:
    return np.asarray(scipy.linalg.solve_triangular(root, wanted, lower=True))


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


def _smooth_features(past: CellCounts) -> FloatArray:
    """For each predicted class a polynomial of the confidence bin."""
    middle = (N_CONFIDENCE - 1) / 2
    powers = np.vander((past.confidence - middle) / middle, SMOOTH_DEGREE + 1)
    one_hot = np.eye(past.n_classes)[past.predicted]
    return _independent((one_hot[:, :, None] * powers[:, None, :]).reshape(len(powers), -1))


def _marginal_features(past: CellCounts) -> FloatArray:
    """The predicted class, and the confidence bin over all classes."""
    return _independent(np.hstack([np.eye(past.n_classes)[past.predicted], np.eye(N_CONFIDENCE)[past.confidence]]))


def _independent(features: FloatArray) -> FloatArray:
    """Without the functions that no filled cell needs."""
    return features[:, features.any(axis=0)]


def _share_directions(past: CellCounts, variance: FloatArray) -> FloatArray:
    """For each class the function whose target mean estimates its share best; shape (cells, K)."""
    weighted = past.rates / variance[:, None]
    gram = _ridged(past.rates.T @ weighted, 1e-6)
    return np.asarray(np.linalg.solve(gram, weighted.T).T)


def _scaled(found: FloatArray, past: CellCounts, mix: FloatArray) -> FloatArray:
    """Cut at a few standard deviations and brought to [0, 1]."""
    weight = (past.shares + np.asarray(past.rates @ mix)) / 2
    centred = found - weight @ found / max(weight.sum(), 1e-300)
    limit = (CLIP if past.n_classes <= FEW_CLASSES else CLIP_MANY) * np.sqrt(weight @ centred**2)
    cut = np.clip(centred, -limit, limit)
    low, high = cut.min(axis=0), cut.max(axis=0)
    return np.asarray((cut - low) / np.where(high > low, high - low, 1.0))


def _many_classes(past: CellCounts) -> tuple[FloatArray, FloatArray]:
    """The marginal direction where classes are many: solved without signs, then freed of every change of mix."""
    mix = _em_mix(past)
    variance = _cell_variance(past, mix)
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


def _em_mix(past: CellCounts, steps: int = 60) -> FloatArray:
    """Expectation maximisation over the mix, from equal shares."""
    mix = np.full(past.n_classes, 1 / past.n_classes)
    seen = past.shares > 0
    rates, shares = scipy.sparse.csr_matrix(past.rates)[seen], past.shares[seen]
    turned = rates.T.tocsr()  # once: a transposed view would be turned in every step
    for _ in range(steps):
        mix = mix * (turned @ (shares / np.maximum(rates @ mix, 1e-300))) + 1e-12
        mix /= mix.sum()
    return np.asarray(mix)
