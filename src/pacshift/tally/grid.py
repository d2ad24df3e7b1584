"""A fixed grid of floats, so that streams of scores become small tables of counts.

For a threshold τ on the grid, ``score >= τ`` and ``to_grid(score) >= τ`` say the same: a tally on the grid
loses only the thresholds between grid points, never the guarantee. Final thresholds are ``single_cuts``.
"""

import numpy as np
from numpy.typing import ArrayLike

from pacshift.arrays import BoolArray, FloatArray, IntArray

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
