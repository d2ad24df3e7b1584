"""What the test would notice with these data: two differences that people understand, and how large they must be.

A picture of the test's power, nothing rests on it ("What is noticed" of docs/methods/assumption.md).
"""

from collections.abc import Sequence

import numpy as np

from pacshift.arrays import BoolArray, FloatArray, Label
from pacshift.assumption.fit import Fit, simplex_fit
from pacshift.assumption.folds import FEW_CLASSES, CellCounts, n_folds
from pacshift.assumption.groups import unsure_groups
from pacshift.words.numbers import percent, points

POWER_QUANTILE = 1.65
"""A normal variable with mean 1.65 standard deviations above a hurdle exceeds it in 95 of 100 draws."""

LEARNING, ROWS_FOR_LEARNING = 2.5, 2.0
"""A difference must be larger because its direction has to be learned: a factor, and rows per unit of the hurdle.

With these 15 of 15 draws were refused for 2 to 30 classes with 160 to 5,000 rows per class; at 0.6 of the size 5
to 15, at 0.4 of it 0 to 12.
"""

FEWEST_ROWS_PER_CLASS = 150
"""With fewer rows too little is learned for such a rule: 100 per class gave 10 of 15, 33 per class none."""

PROBE = 0.05
"""Share of rows that change their confidence in the difference whose distance is measured. Small, because the
distance is taken as proportional to it; not measured."""


def noticeable(
    counts: CellCounts, classes: Sequence[Label], fit: Fit, *, hurdle: float, contamination: float = 0.0
) -> tuple[str, ...]:
    """Differences that are refused in nearly every draw, in words; none where classes are many or rows are few.

    A difference that a change of the mix explains is not noticed. So its size is measured by the distance from the
    nearest mix of the source's classes, in standard deviations of the cells.
    """
    unsure = unsure_groups(counts, classes)
    rows = min(float(counts.class_counts.sum()), counts.n_target)
    if counts.n_classes > FEW_CLASSES or not unsure.names or rows < FEWEST_ROWS_PER_CLASS * counts.n_classes:
        return ()
    explained = np.asarray(counts.rates @ fit.mix)
    needed = LEARNING * (np.sqrt(2 * hurdle) + POWER_QUANTILE) / np.sqrt(1 - 1 / n_folds(counts.n_classes))
    # Cells that nothing falls into, such as confidence below 50 % of two classes, would make any row conspicuous.
    filled = counts.target + counts.source.sum(axis=1) > 0
    least = (unsure.members[0] > 0) & filled
    half = int(np.argmin(np.abs(unsure.members @ explained - 0.5)))
    below = unsure.members[half] > 0
    new = needed / _distance(counts, least / least.sum(), fit.variance)
    moved = needed * PROBE / _distance(counts, explained + PROBE * _into(explained, below), fit.variance)
    found = [
        (new, f"{{}} of the target rows are of a kind that the source does not have, if they are of "
              f"{unsure.names[0]}", percent),
        (moved, f"the share of target rows of {unsure.names[half]} is {{}} larger than the mix explains", points),
    ]  # fmt: skip
    more = ROWS_FOR_LEARNING * hurdle / counts.n_target + contamination
    return tuple(words.format("about " + said(size + more)) for size, words, said in found if size + more < 1)


def _into(explained: FloatArray, below: BoolArray) -> FloatArray:
    """The change of the cells' shares for each share of rows that moves into ``below``, spread as the rows are."""
    inside, outside = explained[below].sum(), explained[~below].sum()
    return np.asarray(np.where(below, explained / max(inside, 1e-12), -explained / max(outside, 1e-12)))


def _distance(counts: CellCounts, shares: FloatArray, variance: FloatArray) -> float:
    """How far cell shares are from the nearest mix of the source's classes, in standard deviations."""
    weights = 1 / np.sqrt(variance)
    nearest = counts.rates @ simplex_fit(counts.rates, shares, weights)
    return max(float(np.linalg.norm((shares - nearest) * weights)), 1e-12)
