"""Rejection sampling on counts: keep each example of class j with probability weight_j / envelope."""

import numpy as np

from pacshift.arrays import FloatArray, IntArray
from pacshift.tally import Tally


def thin(counts: IntArray, tally: Tally, keep: FloatArray, rng: np.random.Generator) -> IntArray:
    """Binomial thinning: the same law as one uniform V per example, kept where V ≤ ``keep[class]``.

    ``rng`` must be independent of the counts, as those of ``pacshift.tally.coins`` are.
    """
    kept = np.empty_like(counts)
    for label, share in enumerate(keep):
        members = slice(tally.starts[label], tally.starts[label + 1])
        own = counts[members]
        if own.max(initial=0) <= 1:  # single examples: one uniform number each is far cheaper
            kept[members] = own * (rng.random(len(own)) < share)
        else:
            kept[members] = rng.binomial(own, share)
    return kept
