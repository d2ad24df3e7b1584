"""Levels of scores: the fixed grid, the target's scores in coarse bins, and the largest threshold that passes.

Streams of scores become small tables of counts on a grid of floats. For a threshold τ on the grid, ``score >= τ``
and ``to_grid(score) >= τ`` say the same: a tally on the grid loses only the thresholds between grid points, never
the guarantee. Final thresholds are ``single_cuts``.

The bins are eight per octave between 2**-32 and 1, read off the leading bits of a float: enough to say how large
sets will be, too little to tell rows apart. They say which of the certified kinds of sets is the smallest. Counts
at their edges are exact: the box of docs/methods/many-classes.md rests on them.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pacshift.arrays import BoolArray, FloatArray, IntArray, running_sum, scratch_like
from pacshift.parallel import run_all

if TYPE_CHECKING:
    from pacshift.tally.tally import Tally

MANTISSA_BITS = 12
"""Kept of every score: 4,096 grid points per octave, so that a threshold is lower by at most 0.02 %."""
DROPPED_BITS = 52 - MANTISSA_BITS
CODE_BITS = 64 - DROPPED_BITS
"""Bits of a grid point's code: integers from 0 on, in the order of the grid points."""

_MAGNITUDE = np.int64(0x7FFF_FFFF_FFFF_FFFF)
_LEAST_CODE = -(1 << (CODE_BITS - 1))


def float_to_order(values: ArrayLike) -> IntArray:
    """Integers in the same order as the floats; neighbouring floats get neighbouring integers."""
    bits = (np.asarray(values, dtype=np.float64) + 0.0).view(np.int64)  # + 0.0 makes -0.0 and 0.0 one value
    return np.where(bits < 0, bits ^ _MAGNITUDE, bits)


def order_to_float(order: ArrayLike) -> FloatArray:
    """Undo ``float_to_order``."""
    order = np.asarray(order, dtype=np.int64)
    return np.where(order < 0, order ^ _MAGNITUDE, order).view(np.float64)


def float_to_code(values: FloatArray) -> IntArray:
    """The code of the largest grid point not above each value: 12 bits of mantissa kept, rounded toward -∞."""
    return (float_to_order(values) >> DROPPED_BITS) - _LEAST_CODE


def code_to_float(codes: IntArray) -> FloatArray:
    """The grid points of ``float_to_code``."""
    return order_to_float((codes + _LEAST_CODE) << DROPPED_BITS)


def to_grid(values: ArrayLike) -> FloatArray:
    """The largest grid point not above each value. Thresholds may be infinite, and stay so.

    >>> to_grid([0.7, 1 / 3, -0.7, -np.inf]).round(6).tolist()
    [0.699951, 0.333313, -0.700073, -inf]
    """
    values = np.asarray(values, np.float64)
    # Below -inf, rounding would reach the bits of NaN.
    return np.where(np.isneginf(values), values, code_to_float(float_to_code(values)))


def next_on_grid(values: FloatArray) -> FloatArray:
    """The largest number that ``to_grid`` rounds to each of the grid points.

    >>> to_grid(next_on_grid(to_grid([0.7, -3.0]))) == to_grid([0.7, -3.0])
    array([ True,  True])
    """
    return order_to_float(float_to_order(values) | ((1 << DROPPED_BITS) - 1))


def single_cuts(thresholds: ArrayLike) -> FloatArray:
    """Thresholds at which scores of single and of double precision make the same sets.

    The cut of τ is the least double that rounds to float32(τ). So ``x >= cut`` and ``float32(x) >= cut`` both say
    that float32(x) is at least float32(τ). Rounding keeps order: whatever reached τ, before or after a rounding to
    single precision, reaches the cut. A cut of a cut is itself. Positive thresholds that single precision rounds
    to 0, and those beyond its range, stay as they are (``fits_single``).

    >>> single_cuts([0.5, 0.8, -np.inf]).tolist()
    [0.4999999850988388, 0.7999999821186067, -inf]
    """
    values = np.asarray(thresholds, np.float64)
    with np.errstate(over="ignore", under="ignore"):
        single = values.astype(np.float32)
        below = np.nextafter(single, np.float32(-np.inf))
        middle = (single.astype(np.float64) + below) / 2
        cuts = np.where(middle.astype(np.float32) == single, middle, np.nextafter(middle, np.inf))
    return np.where(fits_single(values), cuts, values)


def fits_single(thresholds: FloatArray) -> BoolArray:
    """Whether single precision can tell scores at a threshold from others."""
    with np.errstate(over="ignore", under="ignore"):
        single = thresholds.astype(np.float32)
    return np.asarray((np.abs(single) < np.finfo(np.float32).max) & ((single != 0) | (thresholds <= 0)))


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


def largest_threshold(tally: "Tally", passes: Callable[..., bool], *counts: IntArray) -> float:
    """The largest τ at which ``passes`` says yes, or -inf where no observed score is admissible.

    Sums only change just above an observed score, so the answer is one: the observed scores are halved.

    Parameters
    ----------
    tally : Tally
        Its ``values`` are the true-label scores.
    passes : callable
        Gets, for each array of ``counts``, the per-class sums of what lies below τ. It must never turn from no to
        yes as τ grows.
    *counts : array of int
        How often each of ``tally.values`` counts; by default the tally's own counts.

    Returns
    -------
    float
        An observed score; inf if ``passes`` always says yes.
    """
    if not len(tally.values):
        return -np.inf
    layers = run_all(
        [
            (lambda: tally.cumulative) if one is tally.counts else partial(running_sum, one)
            for one in counts or [tally.counts]
        ]
    )

    starts, ends = tally.starts[:-1], tally.starts[1:]

    def below(places: IntArray) -> tuple[IntArray, ...]:
        return tuple(layer[places] - layer[starts] for layer in layers)

    filled = starts < ends  # scores ascend within a class
    low = float(tally.values[starts[filled]].min())
    low_places, high_places = starts, ends
    if not passes(*below(low_places)):
        return -np.inf
    if passes(*below(high_places)):
        return np.inf
    while True:
        # Per class the scores from ``low`` on that are below the least known to fail; those at ``low`` are known.
        first = low_places + (
            (low_places < ends) & (tally.values[np.minimum(low_places, len(tally.values) - 1)] == low)
        )
        open_classes = np.flatnonzero(first < high_places)
        if not len(open_classes):
            return low
        width = (high_places - first)[open_classes]
        middles = tally.values[first[open_classes] + (width - 1) // 2]
        order = np.argsort(middles, kind="stable")
        half = np.searchsorted(np.cumsum(width[order]), width.sum() / 2)  # the median of the medians
        middle = float(middles[order[half]])
        places = tally.positions(middle)
        if passes(*below(places)):
            low, low_places = middle, places
        else:
            high_places = places


def expected_tests(tally: "Tally") -> int:
    """About how often ``largest_threshold`` asks: halving finds one of so many scores, after two ends."""
    return len(tally.values).bit_length() + 2


def rank_threshold(tally: "Tally", cut: int) -> float:
    """The largest τ with at most ``cut`` scores below it, fewer than there are; -inf for a negative ``cut``."""
    if cut < 0:
        return -np.inf
    if tally.raw is not None:
        return tally.raw.at_rank(cut)
    return largest_threshold(tally, lambda below: bool(below.sum() <= cut))


def class_threshold(tally: "Tally", label: int, cut: int | IntArray) -> FloatArray:
    """The largest τ with at most ``cut`` scores of one class below it; -inf for a negative ``cut``."""
    if tally.raw is not None and isinstance(cut, int):
        is_any = cut >= 0 and tally.class_counts[label]
        return np.array(tally.raw.at_rank(cut, label) if is_any else -np.inf)
    start, end = tally.starts[label], tally.starts[label + 1]
    if start == end:
        return np.full(np.shape(cut), -np.inf)
    reached = tally.cumulative[start + 1 : end + 1]
    place = np.searchsorted(reached, cut + tally.cumulative[start], side="right")
    return np.where(np.asarray(cut) < 0, -np.inf, tally.values[start + np.minimum(place, end - start - 1)])
