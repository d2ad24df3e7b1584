"""Thresholds that lean with the label mix: lower for classes that the target seems to have more of.

If scores are probabilities of the source, those of the target grow with the weight q(y)/p(y), and cutting them
at one level makes the smallest sets. The factors only look at the target and at the label counts, so that for
the source's scores they are fixed numbers; any such factors keep the guarantee.
"""

from dataclasses import replace

import numpy as np

from pacshift.arrays import FloatArray
from pacshift.tally import Tally
from pacshift.tally.grid import to_grid

HALF = 0.5
"""How far to lean: predicted shares are no label shares, and scores are often not calibrated."""


def factors(tally: Tally) -> FloatArray:
    """What to multiply each class's scores by: (predicted share of the target / label share of the source)^½."""
    size = tally.n_classes
    target = (tally.target + 1) / (tally.n_target + size)
    source = (tally.class_counts + 1) / (tally.n_source + size)
    return np.asarray((target / source) ** HALF)


def leaned(tally: Tally, by: FloatArray) -> Tally:
    """The tally of the multiplied scores."""
    return replace(tally, values=tally.values * np.repeat(by, np.diff(tally.starts)))


def straightened(threshold: float, by: FloatArray, tally: Tally) -> FloatArray:
    """The thresholds of the scores themselves: every score whose product reaches ``threshold`` reaches its own."""
    cuts = threshold / by
    if not np.isfinite(cuts).all():
        return np.full(len(by), threshold)
    rounding = np.abs(cuts) * 1e-15  # of products and quotients; far less than the steps of the grid
    return to_grid(cuts + rounding) if tally.grid else cuts - rounding
