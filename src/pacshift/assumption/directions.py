"""Directions: functions of the cell that show best where the target is not a mix of the source's classes.

A direction is learned on rows that are not tested with it, so that nothing here can break validity: this module is
about power alone. The best-fitting mix t minimises the weighted squared residual r of the target's cells. What is
left of a direction after the span of the classes is taken out has the same source mean for every class: no change
of the mix explains what it shows. All splits and folds are learned at once, along the first axis. "Directions" of
docs/methods/assumption.md.
"""

from dataclasses import dataclass

import numpy as np

from pacshift.arrays import BoolArray, FloatArray, IntArray
from pacshift.tally.cells import N_CONFIDENCE

DIRECTIONS = ("cells", "smooth", "marginal", "slope", "single")
"""What looks for a difference. Without "single" 0.10 of log-wealth would be lost on difficult draws."""

CUTS = np.array([4.0, 2.5, 2.5, 2.5, 2.5])
"""Each direction is cut at so many standard deviations: rare cells must not set the scale. With 2.5 for "cells"
new kinds of rows in a few cells were missed."""

SHARE_CUT = 2.5
"""The same for the directions that bound the classes' shares."""

SLOPE, BINS, CLASS_SLOPE, CLASS_CURVE, SINGLE = 0.35, 0.2, 0.2, 0.14, 0.35
"""How large a change of log(target share / explained share) is expected for each feature, in prior deviations.
Chosen on heart, CIFAR-10 and Entity-13."""

FIT_STEPS = 4
"""How often negative shares are dropped and the others solved again."""

RIDGE = 1e-6
"""Share of the mean diagonal that is added to it, so that classes that look alike can be solved."""


@dataclass(frozen=True, eq=False)
class Fits:
    """The mix that fits the past best, for each of G pasts, and what it leaves.

    ``rates`` (G, C, K) are the classes' shares of the cells, ``shares`` (G, C) the target's, ``explained`` the
    mix's, ``variance`` that of their difference; ``mix`` (G, K).
    """

    rates: FloatArray
    shares: FloatArray
    explained: FloatArray
    variance: FloatArray
    mix: FloatArray
    n_target: FloatArray

    @property
    def weight(self) -> FloatArray:
        """How frequent the cells are on both sides, shape (G, C, 1)."""
        return np.asarray((self.shares + self.explained)[..., None] / 2)


def fit_all(source: FloatArray, target: FloatArray) -> Fits:
    """Fit a mix to each past: counts (G, C, K) and (G, C). As ``fit.best_fit``, but all at once and less exact."""
    counts, n_target = np.maximum(source.sum(axis=1), 1.0), np.maximum(target.sum(axis=1), 1.0)
    rates, shares, n = source / counts[:, None, :], target / n_target[:, None], n_target[:, None]
    variance = (target + 1) / n**2
    for _ in range(2):
        mix = _mixes(rates, shares, variance)
        explained = _times(rates, mix)
        variance = (explained * n + 2) / n**2 + _times(rates, mix**2 / counts)
    mix = _mixes(rates, shares, variance)
    return Fits(rates, shares, _times(rates, mix), variance, mix, n_target)


def _mixes(rates: FloatArray, shares: FloatArray, variance: FloatArray) -> FloatArray:
    """Weighted least squares over mixes; negative shares are dropped and the others solved again."""
    weighted = rates / variance[..., None]
    gram, right = _ridged(turned(weighted) @ rates, 1e-9), (shares[:, None, :] @ weighted)[:, 0]
    live: BoolArray = np.ones(right.shape, bool)
    for _ in range(FIT_STEPS):
        kept = np.where(live[:, :, None] & live[:, None, :], gram, np.eye(gram.shape[1]))
        free, by_sum = np.moveaxis(np.linalg.solve(kept, np.stack([right * live, 1.0 * live], axis=2)), 2, 0)
        missing = (1 - free.sum(axis=1)) / np.maximum(by_sum.sum(axis=1), 1e-300)
        mix = free + by_sum * missing[:, None]  # the sum of 1 by a multiplier
        if not (mix < 0).any():
            break
        live = live & (mix >= 0)
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


def features(predicted: IntArray, confidence: IntArray, n_classes: int) -> Features:
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


def difference_directions(fits: Fits, looks: Features) -> FloatArray:
    """What looks for a difference, in the order of ``DIRECTIONS``: shape (G, C, 5), at any scale."""
    root = np.sqrt(fits.variance)[..., None]
    span = fits.rates / root
    gram = _ridged(turned(span) @ span, RIDGE)

    def off_span(found: FloatArray) -> FloatArray:
        return np.asarray(found - span @ np.linalg.solve(gram, turned(span) @ found))

    residual = off_span((fits.shares - fits.explained)[..., None] / root)
    raw = fits.weight / root * looks.values
    free = off_span(raw)
    seen, products = turned(free) @ residual, turned(free) @ free
    coefficients = np.zeros((*raw.shape[::2], len(DIRECTIONS) - 1))
    for place, (columns, deviation) in enumerate(looks.sets):  # posterior means
        inner = products[:, columns[:, None], columns] + np.diag(1 / deviation**2)
        coefficients[:, columns, place] = np.linalg.solve(inner, seen[:, columns])[..., 0]
    coefficients[..., -1] = _one_class(products, seen, looks.by_class)
    return np.asarray(off_span(np.concatenate([residual, raw @ coefficients], axis=2)) / root)


def _one_class(products: FloatArray, seen: FloatArray, by_class: IntArray) -> FloatArray:
    """Coefficients if one predicted class has changed and nobody knows which: averaged by posterior weight."""
    inner = products[:, by_class[:, :, None], by_class[:, None, :]] + np.eye(4) / SINGLE**2
    found = np.linalg.solve(inner, seen[:, by_class])
    evidence = ((seen[:, by_class] * found).sum(axis=(2, 3)) - np.linalg.slogdet(inner)[1]) / 2
    weight = np.exp(evidence - evidence.max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)
    coefficients = np.zeros(seen.shape[:2])
    coefficients[:, by_class] = found[..., 0] * weight[..., None]
    return coefficients


def share_directions(fits: Fits) -> FloatArray:
    """For each class the function whose target mean estimates its share best; shape (G, C, K)."""
    weighted = fits.rates / fits.variance[..., None]
    gram = _ridged(turned(fits.rates) @ weighted, RIDGE)
    return turned(np.asarray(np.linalg.solve(gram, turned(weighted)), float))


def scaled(found: FloatArray, weight: FloatArray, cut: FloatArray | float) -> tuple[FloatArray, FloatArray]:
    """Directions cut at a few standard deviations and brought to [0, 1], and how wide they were before."""
    centred = found - (weight * found).sum(axis=1, keepdims=True)
    limit = cut * np.sqrt((weight * centred**2).sum(axis=1, keepdims=True))
    centred = np.clip(centred, -limit, limit)
    low = centred.min(axis=1, keepdims=True)
    width = np.maximum(centred.max(axis=1, keepdims=True) - low, 1e-9)
    return np.clip((centred - low) / width, 0.0, 1.0), width[:, 0]


def turned(stack: FloatArray) -> FloatArray:
    """Each matrix of a stack transposed."""
    return np.swapaxes(stack, -1, -2)


def _times(matrices: FloatArray, vectors: FloatArray) -> FloatArray:
    return np.asarray((matrices @ vectors[..., None])[..., 0])


def _ridged(matrices: FloatArray, share: float) -> FloatArray:
    """Symmetric matrices with a share of their mean diagonal added to the diagonal, so that they can be solved."""
    size = matrices.shape[-1]
    more = np.maximum(share * np.trace(matrices, axis1=1, axis2=2) / size, 1e-300)
    return np.asarray(matrices + more[:, None, None] * np.eye(size))
