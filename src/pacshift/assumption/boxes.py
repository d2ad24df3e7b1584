"""Exact bounds for many sets of cells: inequalities that see what is rare on one side and rarer on the other.

Where a set holds 1 % of a class's source rows and 0.01 % of the target, bounds of both shares say more than the
difference and its variance. Lemma 6 of docs/methods/assumption.md.
"""

import numpy as np

from pacshift.arrays import FloatArray
from pacshift.assumption.folds import CellCounts
from pacshift.tally.cells import N_CONFIDENCE

MAX_BOX_CLASSES = 30
"""Up to this many classes: there are about 26 K² bounds, which beyond would take longer than all the rest. Without
any boxes 124 are refused."""

BISECTIONS = 44
"""Halvings of an interval of logarithms of width 700 at most: to within 4e-11. With 20 as many are refused."""


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

    Too low by at most one bisection step, never too high. 0 where nothing was counted.

    >>> chernoff_lower(np.array([0.0, 10.0, 50.0]), np.array(100.0), 3.0).round(3)
    array([0.   , 0.042, 0.379])
    """
    totals = np.maximum(total, 1.0)
    count = np.rint(count)  # matrix products round
    seen = count / totals
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = np.where(seen > 0, seen * np.log(seen), 0.0) + np.where(
            seen < 1, (1 - seen) * np.log1p(-seen), 0
        )
        # In x = log p: kl is above the limit at the lower end and 0 at the upper one.
        high = np.where(seen > 0, np.log(seen), 0.0)
        low = np.where(seen > 0, high - exponent / np.maximum(count, 1e-300) - 1, 0.0)
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            rest = np.where(seen < 1, (1 - seen) * np.log1p(-np.exp(middle)), 0.0)
            outside = totals * (entropy - seen * middle - rest) > exponent
            low, high = np.where(outside, middle, low), np.where(outside, high, middle)
    return np.where(count > 0, np.exp(low), 0.0)
