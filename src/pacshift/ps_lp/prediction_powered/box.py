"""The box: no class is more frequent on the target than its detectors allow.

Section "The box" of the page (docs/methods/many-classes.md).
"""

from itertools import pairwise

import numpy as np

from pacshift.arrays import FloatArray, IntArray
from pacshift.tally import Tally
from pacshift.tally.histogram import count_at_least

LEVELS = (0.5, 0.25, 0.125, 0.0625, 0.03125)
"""Detectors: the class's own score is at least this. Powers of two are edges of the target's bins."""

N_DETECTORS = 1 + len(LEVELS)
"""The union is over as many per class, whether the target has bins or not: numbers of rows fix the level."""

SPLITS = 16
"""Parts into which the statistic of Lemma 2 is cut: more give a slightly smaller ratio."""

HALVINGS = 50
"""Halvings of an interval of rates: its ends then agree to rounding."""


def largest_shares(tally: Tally, *, delta: float) -> FloatArray:
    """Upper bounds of all label shares of the target at once, with probability at least 1 - δ ("The box").

    The smallest over the detectors of a class; 1 for classes without source examples.
    """
    source, target = detector_counts(tally)
    level = critical_level(delta / (tally.n_classes * N_DETECTORS))
    ratios = largest_ratio(source, tally.class_counts, target, tally.n_target, level=level)
    return np.asarray(ratios.min(axis=0))


def detector_counts(tally: Tally) -> tuple[IntArray, IntArray]:
    """Hits of each detector ("The box"): ``[s, j]`` among the source rows of class j, and among the target rows.

    The first detector is "predicted j". Those by the own score need plain scores and the target's bins.
    """
    cells = tally.source_cells
    own = cells.predicted == cells.labels
    predicted = np.bincount(cells.labels[own], weights=cells.counts[own], minlength=tally.n_classes)
    source, target = [predicted.astype(np.int64)], [tally.target]
    if tally.bins is not None and tally.score == "probability":
        source += [tally.class_counts - tally.misses(level) for level in LEVELS]
        target += [count_at_least(tally.bins, level) for level in LEVELS]
    return np.array(source), np.array(target)


def critical_level(delta: float) -> float:
    """The x of Lemma 2 with (1 + x) exp(-x) = δ, rounded up.

    >>> x = critical_level(0.001)
    >>> 0.0009 < (1 + x) * np.exp(-x) <= 0.001
    True
    """
    low, high = 0.0, 2000.0
    for _ in range(HALVINGS + 20):
        middle = (low + high) / 2
        low, high = (middle, high) if np.log1p(middle) - middle > np.log(delta) else (low, middle)
    return high


def largest_ratio(
    source: IntArray, class_counts: IntArray, target: IntArray, n_target: int, *, level: float
) -> FloatArray:
    """The largest q/A at which the statistic of Lemma 2 stays below ``level``; at most 1 is asked for.

    The statistic is cut into a part for A and the rest for q. Neighbouring cuts are combined, so that every pair
    (A, q) is covered by one of them.
    """
    rows = np.maximum(class_counts, 1)
    rate, share = source / rows, target / n_target
    worst = np.zeros(rate.shape)
    cuts = np.linspace(0.0, level, SPLITS + 1)
    for small, large in pairwise(cuts):
        lowest = invert_divergence(rate, large / rows, upper=False)
        highest = invert_divergence(share, np.full(share.shape, (level - small) / n_target), upper=True)
        worst = np.maximum(worst, np.divide(highest, lowest, out=np.ones_like(worst), where=lowest > 0))
    return np.where(class_counts > 0, np.minimum(worst, 1.0), 1.0)


def divergence(observed: FloatArray, rate: FloatArray) -> FloatArray:
    """kl(observed, rate) of Lemma 1, elementwise, in nats."""
    with np.errstate(divide="ignore", invalid="ignore"):
        hit = np.where(observed > 0, observed * np.log(observed / rate), 0.0)
        fail = np.where(observed < 1, (1 - observed) * np.log((1 - observed) / (1 - rate)), 0.0)
    return np.asarray(hit + fail)


def invert_divergence(observed: FloatArray, bound: FloatArray, *, upper: bool) -> FloatArray:
    """Lemma 1: the rate above (below) ``observed`` at which the divergence reaches ``bound``, rounded outwards."""
    inner, outer = observed.copy(), np.full(observed.shape, 1.0 if upper else 0.0)
    for _ in range(HALVINGS):
        middle = (inner + outer) / 2
        inside = divergence(observed, middle) <= bound
        inner, outer = np.where(inside, middle, inner), np.where(inside, outer, middle)
    return outer
