"""The smallest sets that thresholds per class can give at an allowed error, with everything known."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import BoolArray, FloatArray, IntArray

HIGHEST_PRICE = 1e12
"""Beyond it a missed label costs more than any set size."""


def cheapest_thresholds(
    scores: NDArray[np.floating[Any]], index: IntArray, shares: FloatArray, allowed: float
) -> FloatArray:
    """Thresholds per class that miss at most ``allowed``; ``shares`` are the probabilities of the rows.

    Error and size are sums over the columns. So a price per missed label decides every column by itself, and
    bisection finds the lowest price at which few enough labels are missed.
    """
    columns = [_choices(scores[:, y], shares, index == y) for y in range(scores.shape[1])]

    def cheapest(price: float) -> tuple[float, FloatArray]:
        best = [int(np.argmin(size + price * missed)) for _, missed, size in columns]
        chosen = [(column[0][place], column[1][place]) for column, place in zip(columns, best, strict=True)]
        thresholds, missed = np.array(chosen).T
        return float(missed.sum()), thresholds

    low, high = 0.0, 1.0
    while cheapest(high)[0] > allowed and high < HIGHEST_PRICE:
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if cheapest(middle)[0] > allowed else (low, middle)
    return cheapest(high)[1]


def _choices(
    column: NDArray[np.floating[Any]], shares: FloatArray, own: BoolArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Thresholds worth trying for one class, what each misses, and what it adds to the size."""
    order = np.argsort(column)
    thresholds = np.append(np.unique(column[own]), np.inf)  # infinity: never in a set
    place = np.searchsorted(column[order], thresholds)
    below = np.concatenate([[0.0], np.cumsum(shares[order])])
    own_below = np.concatenate([[0.0], np.cumsum((shares * own)[order])])
    return thresholds, own_below[place], below[-1] - below[place]
