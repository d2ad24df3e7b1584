"""Rescaled thresholds: lower for classes that the target seems to have more of.

Section "Rescaled thresholds" of the proof page (docs/methods/many-classes.md). The factors depend on the target
and on the label counts alone, so that for the source's scores they are fixed numbers. Any such factors are valid.
These ones are a heuristic for small sets: if scores are probabilities under the source, those under the target
grow with the weight q(y)/p(y).
"""

from dataclasses import replace

import numpy as np

from pacshift.arrays import FloatArray
from pacshift.tally import Tally
from pacshift.tally.grid import to_grid

EXPONENT = 0.5
"""Power of the estimated weights: predicted shares are not label shares, and scores are often not calibrated. With
0, 0.25, 0.75, 1: +14, +6, -2, -2 %; 1 makes sets larger in one of the four draws."""

TINY = 1e-280
"""Below this size products and quotients lose digits, so that relative rounding bounds do not hold."""


def rescaling_factors(tally: Tally) -> FloatArray:
    """The factors φ_j of "Rescaled thresholds": (predicted target share / source label share) ** EXPONENT."""
    size = tally.n_classes
    target = (tally.target + 1) / (tally.n_target + size)
    source = (tally.class_counts + 1) / (tally.n_source + size)
    return np.asarray((target / source) ** EXPONENT)


def rescaled(tally: Tally, factors: FloatArray) -> Tally:
    """The tally of the scores multiplied by their class's factor ("Rescaled thresholds")."""
    return replace(tally, values=tally.values * np.repeat(factors, np.diff(tally.starts)))


def undo_rescaling(threshold: float, factors: FloatArray, tally: Tally) -> FloatArray:
    """The thresholds τ / φ_j of the scores themselves, rounded down ("Rescaled thresholds").

    A score whose product reaches τ reaches its own threshold.
    """
    if not np.isfinite(threshold):
        return np.full(len(factors), threshold)
    with np.errstate(over="ignore", under="ignore"):
        cuts = threshold / factors
    rounding = np.abs(cuts) * 1e-15  # of products and quotients; far less than the steps of the grid
    with np.errstate(invalid="ignore"):
        lowered = to_grid(cuts + rounding) if tally.grid else cuts - rounding
    lowered = np.where(np.abs(cuts) < TINY, to_grid(-2 * TINY), lowered)
    return np.where(np.isfinite(cuts), lowered, -np.inf)  # beyond the range of floats: in every set, always valid
