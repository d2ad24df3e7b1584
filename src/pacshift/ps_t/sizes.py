"""Which thresholds give the smallest sets on the target."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from pacshift.arrays import FloatArray
from pacshift.tally import Tally
from pacshift.tally.histogram import mean_binned_size

CountLabels: TypeAlias = Callable[[Sequence[FloatArray]], list[float]]
"""Mean set sizes on the target rows for several vectors of thresholds."""


def mean_sizes(
    tally: Tally, candidates: Sequence[FloatArray], count_labels: CountLabels | None
) -> list[float] | None:
    """Labels per set on the target: counted on the rows if they are at hand, else by bins; None if neither is."""
    if count_labels is not None:
        return count_labels(candidates)
    if tally.bins is not None and tally.score == "probability":
        return [mean_binned_size(tally.bins, cuts) for cuts in candidates]
    return None


def smallest(tally: Tally, candidates: Sequence[FloatArray], count_labels: CountLabels | None) -> int:
    """The place of the thresholds with the smallest sets. All of them hold at once, so any rule may choose.

    If nothing tells the sizes: the first that are not all labels.
    """
    sizes = mean_sizes(tally, candidates, count_labels)
    return int(np.argmin([np.isneginf(cuts).all() for cuts in candidates] if sizes is None else sizes))
