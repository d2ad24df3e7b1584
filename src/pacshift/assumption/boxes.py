"""Exact bounds for many sets of cells: inequalities that see what is rare on one side and rarer on the other.

Where a set holds 1 % of a class's source rows and 0.01 % of the target, bounds of both shares say more than the
difference and its variance. Lemma 6 of docs/methods/assumption.md.
"""

import numpy as np

from pacshift.arrays import FloatArray
from pacshift.assumption.folds import CellCounts
from pacshift.tally.cells import N_CONFIDENCE

MAX_BOX_CLASSES = 30
"""Up to this many classes: there are about 26 K² bounds, which beyond would take longer than all the rest."""

NEWTON_STEPS = 6
"""Steps towards the root, each from below. Six are within 1e-6 of it wherever a bound exceeds 1e-8; fewer would
only be lower."""

BELOW = 1e-11
"""So much, in logarithms, is subtracted for rounding."""


def box_sets(counts: CellCounts) -> FloatArray:
    """Sets of cells as rows of 0 and 1; how many there are depends on the number of classes alone.

    Confidence below each edge and from it on, over all classes; each predicted class and all but it; each
    predicted class with confidence below each edge and from it on.
    """
    confidence, edges = counts.confidence, np.arange(1, N_CONFIDENCE)[:, None]
    ranges = np.vstack([confidence < edges, confidence >= edges]).astype(float)
    predicted = np.eye(counts.n_classes)[:, counts.predicted]
    both = (predicted[:, None, :] * ranges[None]).reshape(-1, len(confidence))
    return np.vstack([ranges, predicted, 1 - predicted, both])


def n_bounds(n_classes: int) -> int:
    """How many bounds the boxes take: one per set and class, and one per set for the target."""
    edges = N_CONFIDENCE - 1
    return (2 * edges + 2 * n_classes + 2 * edges * n_classes) * (n_classes + 1)


def box_rows(counts: CellCounts, *, delta: float, contamination: float) -> tuple[FloatArray, FloatArray]:
    """Rows A_S lower · t <= q_S upper / (1-η), which all hold with probability >= ``1 - delta`` (Lemma 6)."""
    sets, exponent = box_sets(counts), np.log(n_bounds(counts.n_classes) / delta)
    rate = chernoff_lower(sets @ counts.source, counts.class_counts, exponent)
    share = 1 - chernoff_lower((1 - sets) @ counts.target, np.asarray(counts.n_target), exponent)
    useful = (rate > share[:, None]).any(axis=1)  # a row whose entries are all below its limit says nothing
    return rate[useful], share[useful] / (1 - contamination)


def chernoff_lower(count: FloatArray, total: FloatArray, exponent: float) -> FloatArray:
    """The least p with total · kl(count / total, p) <= exponent: a lower bound of a binomial rate (Lemma 6).

    In x = log p, kl is convex and falls up to the root: Newton's steps from below never pass it. So the answer may
    be too low by a little, never too high. 0 where nothing was counted.

    >>> chernoff_lower(np.array([0.0, 10.0, 50.0]), np.array(100.0), 3.0).round(3)
    array([0.   , 0.042, 0.379])
    """
    count, total = np.broadcast_arrays(np.rint(count), np.maximum(total, 1.0))  # matrix products round
    lower, some = np.zeros(count.shape), count > 0
    rate, allowed = count[some] / total[some], exponent / total[some]
    rest = 1 - rate
    entropy = rate * np.log(rate) + rest * np.log(np.maximum(rest, 1e-300))
    # Both ends are below the root: kl(z, p) >= z log(z / p) - z, and >= (z - p)² / 2z for p <= z.
    by_square = rate - np.sqrt(2 * rate * allowed)
    x = np.maximum(np.log(rate) - allowed / rate - 1, np.log(np.maximum(by_square, 1e-300)))
    for _ in range(NEWTON_STEPS):
        p = np.exp(x)
        excess = entropy - rate * x - rest * np.log1p(-p) - allowed
        x = x + np.maximum(excess, 0.0) * (1 - p) / np.maximum(rate - p, 1e-300)  # the slope is (p - z) / (1 - p)
    lower[some] = np.exp(x - BELOW)
    return lower
