"""What the test would notice with these data: two differences that people understand, and how large they must be.

A picture of the test's power, nothing rests on it ("What is noticed" of docs/methods/assumption.md).
"""

from collections.abc import Sequence

import numpy as np

from pacshift.arrays import BoolArray, FloatArray, Label
from pacshift.assumption.directions import by_cells, simplex_fit
from pacshift.assumption.folds import FEW_CLASSES, CellCounts, n_folds
from pacshift.assumption.groups import unsure_groups
from pacshift.wording import percent, points

POWER_QUANTILE = 1.65
"""A normal variable with mean 1.65 standard deviations above a hurdle exceeds it in 95 of 100 draws."""

LEARNING = 2.0
"""How much larger a difference must be because its direction has to be learned.

At this factor 20 of 20 draws were refused for 2 to 30 classes and 1,000 to 20,000 rows, at 1.5 between 15 and 20,
at 1 between 0 and 7 (`python -m benchmarks power` has the power of whole violations).
"""

PROBE = 0.05
"""Share of rows that change their confidence in the difference whose distance is measured."""


def noticeable(
    counts: CellCounts, classes: Sequence[Label], *, hurdle: float, contamination: float = 0.0
) -> tuple[str, ...]:
    """Differences that are refused in nearly every draw, in words; none where classes are many.

    A difference that a change of the mix explains is not noticed. So its size is measured by the distance from the
    nearest mix of the source's classes, in standard deviations of the cells.
    """
    unsure = unsure_groups(counts, classes)
    if counts.n_classes > FEW_CLASSES or not unsure.names:
        return ()
    _, mix, variance = by_cells(counts)
    explained = np.asarray(counts.rates @ mix)
    needed = LEARNING * (np.sqrt(2 * hurdle) + POWER_QUANTILE) / np.sqrt(1 - 1 / n_folds(counts.n_classes))
    least = unsure.members[0] > 0
    half = int(np.argmin(np.abs(unsure.members @ explained - 0.5)))
    below = unsure.members[half] > 0
    new = needed / _distance(counts, least / least.sum(), variance)
    moved = needed * PROBE / _distance(counts, explained + PROBE * _into(explained, below), variance)
    found = [
        (new, f"{{}} of the target rows are of a kind that the source does not have, if they are of "
              f"{unsure.names[0]}", percent),
        (moved, f"the share of target rows of {unsure.names[half]} is {{}} larger than the mix explains", points),
    ]  # fmt: skip
    return tuple(
        words.format("about " + in_words(size + contamination))
        for size, words, in_words in found
        if size + contamination < 1
    )


def _into(explained: FloatArray, below: BoolArray) -> FloatArray:
    """The change of the cells' shares for each share of rows that moves into ``below``, spread as the rows are."""
    inside, outside = explained[below].sum(), explained[~below].sum()
    return np.asarray(np.where(below, explained / max(inside, 1e-12), -explained / max(outside, 1e-12)))


def _distance(counts: CellCounts, shares: FloatArray, variance: FloatArray) -> float:
    """How far cell shares are from the nearest mix of the source's classes, in standard deviations."""
    weights = 1 / np.sqrt(variance)
    nearest = counts.rates @ simplex_fit(counts.rates, shares, weights)
    return max(float(np.linalg.norm((shares - nearest) * weights)), 1e-12)
