"""Which thresholds give the smallest sets on the target."""

from collections.abc import Callable, Sequence

import numpy as np

from pacshift.arrays import FloatArray
from pacshift.tally import Tally
from pacshift.tally.histogram import mean_binned_size


def smallest(
    tally: Tally,
    candidates: Sequence[FloatArray],
    count_labels: Callable[[Sequence[FloatArray]], list[float]] | None,
) -> int:
    """The place of the thresholds with the smallest sets. All of them hold at once, so any rule may choose.

    Counted on the rows if they are at hand, else by bins. If nothing tells the sizes: the first that are not all
    labels.
    """
    if count_labels is not None:
        sizes = count_labels(candidates)
    elif tally.bins is not None and tally.score == "probability":
        sizes = [mean_binned_size(tally.bins, cuts) for cuts in candidates]
    else:
        sizes = [float(np.isneginf(cuts).all()) for cuts in candidates]
    return int(np.argmin(sizes))
