"""Rejection sampling on counts: keep each example of class j with probability weight_j / envelope."""

import numpy as np

from pacshift.arrays import FloatArray, IntArray
from pacshift.tally import Tally


def thin(counts: IntArray, tally: Tally, keep: FloatArray, rng: np.random.Generator) -> IntArray:
    """Binomial thinning: the same law as one uniform V per example, kept where V ≤ ``keep[class]``.

    ``rng`` must be independent of the counts, as those of ``pacshift.tally.coins`` are.
    """
    kept, uniform = np.empty_like(counts), np.empty(np.diff(tally.starts).max(initial=0))
    for label, share in enumerate(keep):
        members = slice(tally.starts[label], tally.starts[label + 1])
        own = counts[members]
        if own.max(initial=0) <= 1:  # single examples: one uniform number each is far cheaper
            np.multiply(own, rng.random(out=uniform[: len(own)]) < share, out=kept[members])
        else:
            kept[members] = rng.binomial(own, share)
    return kept
