"""The target's scores in coarse bins: enough to say how large sets will be, too little to tell rows apart.

Eight bins per octave between 2**-32 and 1, read off the leading bits of a float. They say which of the certified
kinds of sets is the smallest. Counts at their edges are exact: the box of docs/methods/many-classes.md rests on
them.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import FloatArray, IntArray
from pacshift.tally.scratch import scratch_like

_KEPT_BITS = 3  # of the mantissa: 8 bins per octave, 2 kB per class; other numbers were not measured
_FIRST_EDGE, _LAST_EDGE = 2.0**-32, 1.0
_LIMIT = _LAST_EDGE + 2.0**-_KEPT_BITS

BINS = 8 * 32 + 1
"""The first bin holds all that is smaller, down to 0; the last one starts at 1."""

MAX_BINNED_CLASSES = 2000
"""Bins are kept for up to this many classes, 4 MB: beyond, they would outgrow the blocks that are counted."""


def count_bins(columns: NDArray[np.floating[Any]], ends: tuple[float, float] | None = None) -> IntArray | None:
    """``[j, b]`` counts the scores of class j (``columns[j]``) in bin b; None where they are not probabilities.

    ``ends`` are the smallest and the largest score, where they are known.

    >>> np.nonzero(count_bins(np.array([[1.0, 0.5, 0.0]]))[0])[0].tolist()
    [0, 248, 256]
    """
    least, most = (columns.min(), columns.max()) if ends is None else ends
    if not (least >= 0 and most < _LIMIT):  # NaN fails both
        return None
    first = int(_leading_bits(np.array([_FIRST_EDGE], columns.dtype))[0])
    codes = _leading_bits(columns)
    np.maximum(codes, first, out=codes)  # -0.0 has a negative code
    codes += (np.arange(len(columns)) * BINS - first).astype(codes.dtype)[:, None]
    counts = np.bincount(codes.ravel(order="K"), minlength=len(columns) * BINS)
    return counts.reshape(len(columns), BINS)


def _leading_bits(values: NDArray[np.floating[Any]]) -> NDArray[np.integer[Any]]:
    """Sign, exponent and the kept bits of the mantissa as one integer, in the same order as the floats."""
    integer, mantissa_bits = (np.int32, 23) if values.dtype == np.float32 else (np.int64, 52)
    bits: NDArray[np.integer[Any]] = scratch_like("bits", values, integer)
    np.right_shift(values.view(integer), mantissa_bits - _KEPT_BITS, out=bits)  # type: ignore[operator, unused-ignore]
    return bits


def count_at_least(bins: IntArray, level: float) -> IntArray:
    """For each class the number of scores of at least ``level``, exactly; ``level`` must be an edge of a bin.

    >>> count_at_least(count_bins(np.array([[0.5, 0.49], [0.1, 0.8]])), 0.5).tolist()
    [1, 1]
    """
    place, part = _place_in_bins(np.array([level]))
    if part[0] != 1:
        raise ValueError(f"{level} is not an edge of a bin.")
    return np.asarray(bins[:, place[0] :].sum(axis=1))


def mean_binned_size(bins: IntArray, thresholds: FloatArray, parts: FloatArray | None = None) -> float:
    """Mean number of labels per row that reach their thresholds, estimated from bins.

    The scores in a threshold's bin are taken as spread evenly, except where there are more of them than in either
    neighbour: the surplus is taken as one repeated score and counted in full. Scores pile up next to 0 and 1
    without being repeated, so the outermost bins are always spread. ``parts`` may say for each class which part of
    its threshold's bin lies above the threshold; NaN where that is not known.

    >>> bins = count_bins(np.array([[0.9, 0.2], [0.1, 0.8]]))
    >>> mean_binned_size(bins, np.array([0.5, 0.5])), mean_binned_size(bins, np.array([-np.inf, 0.5]))
    (1.0, 1.5)
    """
    place, part = _place_in_bins(thresholds)
    labels = np.arange(len(bins))
    inside = bins[labels, place]
    neighbours = np.maximum(bins[labels, np.maximum(place - 1, 0)], bins[labels, np.minimum(place + 1, BINS - 1)])
    outermost = (place == 0) | (place >= BINS - 2)
    repeated = np.where(outermost | (part == 0), 0, np.maximum(inside - neighbours, 0))
    if parts is not None:
        part, repeated = np.where(np.isnan(parts), part, parts), np.where(np.isnan(parts), repeated, 0)
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
    edges = bin_edges()
    place = bin_of(thresholds)
    return place, np.clip((edges[place + 1] - thresholds) / (edges[place + 1] - edges[place]), 0.0, 1.0)


def bin_edges() -> FloatArray:
    """Where the bins start, and where the last one ends: ``BINS + 1`` numbers.

    >>> bin_edges()[[0, 248, 256]].tolist()
    [0.0, 0.5, 1.0]
    """
    first = int(_leading_bits(np.array([_FIRST_EDGE]))[0])
    edges = ((np.arange(BINS + 1) + first) << (52 - _KEPT_BITS)).view(np.float64)
    edges[0] = 0.0
    return edges


def bin_of(values: FloatArray) -> IntArray:
    """The bin of each value; what lies beyond the bins belongs to the nearest one.

    >>> bin_of(np.array([0.0, 0.5, 1.0])).tolist()
    [0, 248, 256]
    """
    return np.clip(np.searchsorted(bin_edges(), values, side="right") - 1, 0, BINS - 1)
