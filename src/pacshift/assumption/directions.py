"""The mix that fits best, and directions: functions of the cell that show best where the target is no such mix.

A direction is learned on rows that are not tested with it, so that nothing here can break validity: this module is
about power alone. The best-fitting mix t minimises the weighted squared residual r of the target's cells. What is
left of a direction after the span of the classes is taken out has the same source mean for every class: no change
of the mix explains what it shows. Where classes are few, all splits and folds are learned at once, along the first
axis. "Directions" of docs/methods/assumption.md.
"""

from dataclasses import dataclass

import numpy as np
import scipy  # its parts load when first used

from pacshift.arrays import BoolArray, FloatArray, IntArray
from pacshift.assumption.cells import FEW_CLASSES, CellCounts
from pacshift.mix.programs import nonnegative_least_squares
from pacshift.tally.cells import N_CONFIDENCE

DIRECTIONS = ("cells", "smooth", "marginal", "slope", "single")
"""What looks for a difference. Without "single" 0.10 of log-wealth would be lost on difficult draws."""

CLIPS = np.array([4.0, 2.5, 2.5, 2.5, 2.5])
"""Each direction is clipped at so many standard deviations: rare cells must not set the scale. With 2.5 for
"cells" new kinds of rows in a few cells were missed."""

SHARE_CLIP = 2.5
"""The same for the directions that bound the classes' shares."""

SLOPE, BINS, CLASS_SLOPE, CLASS_CURVE, SINGLE = 0.35, 0.2, 0.2, 0.14, 0.35
"""How large a change of log(target share / explained share) is expected for each feature, in prior deviations.
Chosen on heart, CIFAR-10 and Entity-13."""

FIT_STEPS = 4
"""How often negative shares are dropped and the others solved again."""

REWEIGHTINGS = 2
"""How often the weights are computed from the last fit. With 0 or 5 as many are refused."""

SUM_WEIGHT = 1e3
"""Weight of the row "shares add up to 1" in the non-negative least squares. With 10 or 1e5 as many are refused."""

RIDGE = 1e-6
"""Share of the mean diagonal that is added to it, so that classes that look alike can be solved."""


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
    transposed = rates.T.tocsr()  # once: a view would be converted in every step
    for _ in range(steps):
        mix = mix * (transposed @ (shares / np.maximum(rates @ mix, 1e-300))) + 1e-12
        mix /= mix.sum()
    return np.asarray(mix)


@dataclass(frozen=True, eq=False)
class Fits:
    """The mix that fits the past best, for each of G pasts, and what it leaves.

    ``rates`` (G, C, K) are the classes' shares of the cells, ``shares`` (G, C) the target's, ``explained`` the
    mix's, ``variance`` that of their difference, ``weight`` (G, C, 1) how frequent the cells are on both sides;
    ``mix`` (G, K).
    """

    rates: FloatArray
    shares: FloatArray
    explained: FloatArray
    variance: FloatArray
    weight: FloatArray
    mix: FloatArray
    n_target: FloatArray


def fit_all(source: FloatArray, target: FloatArray) -> Fits:
    """Fit a mix to each past: counts (G, C, K) and (G, C). As ``best_fit``, but all at once and less exact."""
    counts, n_target = np.maximum(source.sum(axis=1), 1.0), np.maximum(target.sum(axis=1), 1.0)
    rates, shares, n = source / counts[:, None, :], target / n_target[:, None], n_target[:, None]
    variance = (target + 1) / n**2
    for _ in range(2):
        mix = _mixes(rates, shares, variance)
        explained = _matvec(rates, mix)
        variance = (explained * n + 2) / n**2 + _matvec(rates, mix**2 / counts)
    mix = _mixes(rates, shares, variance)
    explained = _matvec(rates, mix)
    return Fits(rates, shares, explained, variance, (shares + explained)[..., None] / 2, mix, n_target)


def _mixes(rates: FloatArray, shares: FloatArray, variance: FloatArray) -> FloatArray:
    """Weighted least squares over mixes; negative shares are dropped and the others solved again."""
    weighted = rates / variance[..., None]
    gram, right = _ridged(transpose_last(weighted) @ rates, 1e-9), (shares[:, None, :] @ weighted)[:, 0]
    positive: BoolArray = np.ones(right.shape, bool)
    for _ in range(FIT_STEPS):
        kept = np.where(positive[:, :, None] & positive[:, None, :], gram, np.eye(gram.shape[1]))
        free, by_sum = np.moveaxis(
            np.linalg.solve(kept, np.stack([right * positive, 1.0 * positive], axis=2)), 2, 0
        )
        missing = (1 - free.sum(axis=1)) / np.maximum(by_sum.sum(axis=1), 1e-300)
        mix = free + by_sum * missing[:, None]  # the sum of 1 by a multiplier
        if not (mix < 0).any():
            break
        positive = positive & (mix >= 0)
    mix = np.maximum(mix, 0.0)
    return np.asarray(mix / np.maximum(mix.sum(axis=1, keepdims=True), 1e-300))


@dataclass(frozen=True, eq=False)
class Features:
    """A few functions of the cell that a difference may follow: ``values`` (C, F)."""

    values: FloatArray
    sets: tuple[tuple[IntArray, FloatArray], ...]
    """For "smooth", "marginal" and "slope": which functions, and their prior deviations."""
    by_class: IntArray
    """Functions (K, 4) of each predicted class alone, for "single"."""


def cell_features(predicted: IntArray, confidence: IntArray, n_classes: int) -> Features:
    """Slope in the bin, lowest bin, each bin; for each predicted class a cubic curve and the lowest bin."""
    middle = (N_CONFIDENCE - 1) / 2
    place, lowest = ((confidence - middle) / middle)[:, None], (confidence == 0)[:, None] * 1.0
    one_hot, bins = np.eye(n_classes)[predicted], np.eye(N_CONFIDENCE)[confidence]
    curves = [one_hot * part for part in (place, place**2, place**3, lowest)]
    deviations = np.repeat([SLOPE, BINS, CLASS_SLOPE, CLASS_CURVE], [2, N_CONFIDENCE, n_classes, 3 * n_classes])
    slope, first = np.arange(2), 2 + N_CONFIDENCE
    by_class = first + np.arange(4 * n_classes)
    sets = np.append(slope, by_class), np.arange(first), slope
    return Features(
        np.hstack([place, lowest, bins, *curves]),
        tuple((columns, deviations[columns]) for columns in sets),
        by_class.reshape(4, n_classes).T,
    )


def difference_directions(fits: Fits, features: Features) -> FloatArray:
    """What looks for a difference, in the order of ``DIRECTIONS``: shape (G, C, 5), at any scale."""
    root = np.sqrt(fits.variance)[..., None]
    span = fits.rates / root
    gram = _ridged(transpose_last(span) @ span, RIDGE)

    def off_span(found: FloatArray) -> FloatArray:
        return np.asarray(found - span @ np.linalg.solve(gram, transpose_last(span) @ found))

    residual = off_span((fits.shares - fits.explained)[..., None] / root)
    raw = fits.weight / root * features.values
    free = off_span(raw)
    seen, products = transpose_last(free) @ residual, transpose_last(free) @ free
    coefficients = np.zeros((*raw.shape[::2], len(DIRECTIONS) - 1))
    for place, (columns, deviation) in enumerate(features.sets):  # "smooth", "marginal", "slope": posterior means
        inner = products[:, columns[:, None], columns] + np.diag(1 / deviation**2)
        coefficients[:, columns, place] = np.linalg.solve(inner, seen[:, columns])[..., 0]
    # "single": if one predicted class has changed and nobody knows which, averaged by posterior weight.
    own = features.by_class
    inner = products[:, own[:, :, None], own[:, None, :]] + np.eye(4) / SINGLE**2
    found = np.linalg.solve(inner, seen[:, own])
    evidence = ((seen[:, own] * found).sum(axis=(2, 3)) - np.linalg.slogdet(inner)[1]) / 2
    weight = np.exp(evidence - evidence.max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)
    coefficients[:, own, -1] = found[..., 0] * weight[..., None]
    return np.asarray(off_span(np.concatenate([residual, raw @ coefficients], axis=2)) / root)


def share_directions(fits: Fits) -> FloatArray:
    """For each class the function whose target mean estimates its share best; shape (G, C, K)."""
    weighted = fits.rates / fits.variance[..., None]
    gram = _ridged(transpose_last(fits.rates) @ weighted, RIDGE)
    return transpose_last(np.asarray(np.linalg.solve(gram, transpose_last(weighted)), float))


def scaled(found: FloatArray, weight: FloatArray, clip: FloatArray | float) -> tuple[FloatArray, FloatArray]:
    """Directions clipped at a few standard deviations and brought to [0, 1], and how wide they were before."""
    centred = found - (weight * found).sum(axis=1, keepdims=True)
    limit = clip * np.sqrt((weight * centred**2).sum(axis=1, keepdims=True))
    centred = np.clip(centred, -limit, limit)
    low = centred.min(axis=1, keepdims=True)
    width = np.maximum(centred.max(axis=1, keepdims=True) - low, 1e-9)
    return np.clip((centred - low) / width, 0.0, 1.0), width[:, 0]


def transpose_last(stack: FloatArray) -> FloatArray:
    """Each matrix of a stack transposed."""
    return np.swapaxes(stack, -1, -2)


def _matvec(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    return np.asarray((matrices @ vectors[..., None])[..., 0])


def _ridged(matrices: FloatArray, share: float) -> FloatArray:
    """Symmetric matrices with a share of their mean diagonal added to the diagonal, so that they can be solved."""
    size = matrices.shape[-1]
    more = np.maximum(share * np.trace(matrices, axis1=1, axis2=2) / size, 1e-300)
    return np.asarray(matrices + more[:, None, None] * np.eye(size))
