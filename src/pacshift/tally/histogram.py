"""The target's scores in coarse bins: enough to tell how large sets will be, too little to tell rows apart.

Eight bins an octave between 2**-32 and 1, told by the leading bits of a float. Nothing that is guaranteed rests on
them: they only say which of the certified kinds of sets is the smallest.
"""

import numpy as np

from pacshift.arrays import FloatArray, IntArray

_BITS = 49  # dropped: 3 bits of the mantissa stay, 8 bins an octave
_FIRST = int(np.float64(2.0**-32).view(np.int64) >> _BITS)
BINS = int(np.float64(1.0).view(np.int64) >> _BITS) - _FIRST + 1
"""The first bin holds all that is smaller, down to 0; the last one starts at 1."""

SIZED_CLASSES = 200
"""Up to so many classes bins are kept: beyond, no method compares sizes."""


def count_bins(columns: FloatArray) -> IntArray | None:
    """``[j, b]`` counts the scores of class j (``columns[j]``) in bin b; None where they are not probabilities.

    >>> np.nonzero(count_bins(np.array([[1.0, 0.5, 0.0]]))[0])[0].tolist()
    [0, 248, 256]
    """
    codes = np.ascontiguousarray(columns).view(np.int64) >> _BITS
    if codes.min() < 0 and not (columns >= 0).all():  # -0.0 looks negative and is not; a NaN may as well
        return None
    np.maximum(codes, _FIRST, out=codes)
    codes -= _FIRST
    if codes.max() >= BINS:
        return None
    codes += np.arange(len(codes))[:, None] * BINS
    return np.bincount(codes.ravel(), minlength=len(codes) * BINS).reshape(len(codes), BINS)


def mean_size(bins: IntArray, thresholds: FloatArray) -> float:
    """Mean number of labels per row that reach their thresholds, estimated from bins.

    The scores in a threshold's bin are taken as spread evenly, except where there are more of them than in either
    neighbour: the surplus is taken as one repeated score and counted in full. Scores pile up next to 0 and 1
    without being repeated, so the outermost bins are always spread.

    >>> bins = count_bins(np.array([[0.9, 0.2], [0.1, 0.8]]))
    >>> mean_size(bins, np.array([0.5, 0.5])), mean_size(bins, np.array([-np.inf, 0.5]))
    (1.0, 1.5)
    """
    place, part = _place_in_bins(thresholds)
    labels = np.arange(len(bins))
    inside = bins[labels, place]
    neighbours = np.maximum(bins[labels, np.maximum(place - 1, 0)], bins[labels, np.minimum(place + 1, BINS - 1)])
    outermost = (place == 0) | (place >= BINS - 2)
    repeated = np.where(outermost | (part == 0), 0, np.maximum(inside - neighbours, 0))
    above = bins.sum(axis=1) - np.cumsum(bins, axis=1)[labels, place]
    return float((above + repeated + part * (inside - repeated)).sum() / bins[0].sum())


def mean_size_range(bins: IntArray, thresholds: FloatArray) -> tuple[float, float]:
    """Bounds of the mean number of labels per row that reach their thresholds, right however scores repeat.

    >>> bins = count_bins(np.array([[0.9, 0.2], [0.1, 0.8]]))
    >>> mean_size_range(bins, np.array([0.5, 0.78]))
    (0.5, 1.0)
    """
    place, part = _place_in_bins(thresholds)
    labels = np.arange(len(bins))
    at_least = bins.sum(axis=1) - np.cumsum(bins, axis=1)[labels, place]
    at_most = at_least + bins[labels, place]
    rows = bins[0].sum()
    low, high = np.where(part == 1, at_most, at_least), np.where(part == 0, at_least, at_most)
    return float(low.sum() / rows), float(high.sum() / rows)


def _place_in_bins(thresholds: FloatArray) -> tuple[IntArray, FloatArray]:
    """The bin of each threshold, and the part of the bin's width that lies above it."""
    edges = ((np.arange(BINS + 1) + _FIRST) << _BITS).view(np.float64)
    edges[0] = 0.0
    place = np.clip(np.searchsorted(edges, thresholds, side="right") - 1, 0, BINS - 1)
    return place, np.clip((edges[place + 1] - thresholds) / (edges[place + 1] - edges[place]), 0.0, 1.0)
