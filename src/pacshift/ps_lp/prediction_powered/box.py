"""The box: no class is more frequent on the target than its detectors allow.

Section "The box" of the page (docs/methods/many-classes.md).
"""

from itertools import pairwise

import numpy as np

from pacshift.arrays import FloatArray, IntArray
from pacshift.bounds import binomial_lower, binomial_upper
from pacshift.tally import Tally
from pacshift.tally.histogram import count_at_least

LEVELS = (1 / 4, 1 / 16, 1 / 64)
"""Detectors: the class's own score is at least this. Powers of two are edges of the target's bins. One level of
1/4: ImageNet with 50,000 rows needs 5.5 times as many labels; six levels from 1/2 to 1/64: -0.3 %."""

N_DETECTORS = 1 + len(LEVELS)
"""The union is over as many per class, whether the target has bins or not: numbers of rows fix the level."""

SPLITS = 24
"""Parts into which the statistic of Lemma 2 is cut: more give smaller ratios. With 8 or 64: +0.3 or -0.1 %."""


def detected_shares(tally: Tally, *, delta: float) -> FloatArray:
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
    >>> round(float((1 + x) * np.exp(-x)), 9)
    0.001
    """
    low, high = 0.0, 2000.0
    for _ in range(70):  # halvings; the ends then agree to rounding
        middle = (low + high) / 2
        low, high = (middle, high) if np.log1p(middle) - middle > np.log(delta) else (low, middle)
    return high


def largest_ratio(
    source: IntArray, class_counts: IntArray, target: IntArray, n_target: int, *, level: float
) -> FloatArray:
    """The largest q/A at which the statistic of Lemma 2 stays below ``level``, and at most 1.

    The statistic is cut into a part for A and the rest for q, and each cut is rounded to the safe side, so that
    every pair (A, q) is covered by one of them. Each part is a one-sided Clopper-Pearson bound (Lemma 1).
    """
    worst = np.zeros(source.shape)
    distinct, place = np.unique(target, return_inverse=True)
    for small, large in pairwise(np.linspace(0.0, level, SPLITS + 1).tolist()):
        lowest = binomial_lower(source, class_counts, delta=np.exp(-large))
        highest = binomial_upper(distinct, n_target, delta=np.exp(small - level))[place].reshape(source.shape)
        worst = np.maximum(worst, np.divide(highest, lowest, out=np.ones_like(worst), where=lowest > 0))
    return np.minimum(worst, 1.0)
