"""The best thresholds at an allowed error, with everything known: one for all classes, and one per class."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import BoolArray, FloatArray, IntArray

HIGHEST_PRICE = 1e12
"""Beyond it a missed label costs more than any set size. A round number."""


def highest_threshold(true_scores: NDArray[np.floating[Any]], shares: FloatArray, allowed: float) -> float:
    """The highest threshold for all classes that misses at most ``allowed``."""
    order = np.argsort(true_scores)
    missed = np.cumsum(shares[order])  # by a threshold just above each score
    position = int(np.searchsorted(missed, allowed, side="right"))
    return float(true_scores[order][min(position, len(order) - 1)])


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Thresholds worth trying for one class in rising order, what each misses, and what it adds to the size."""

    thresholds: FloatArray
    missed: FloatArray
    size: FloatArray

    @classmethod
    def of(cls, scores: NDArray[np.floating[Any]], shares: FloatArray, own: BoolArray) -> "Candidates":
        """Only the scores of the class's ``own`` rows change what is missed; infinity is never in a set."""
        order = np.argsort(scores)
        thresholds = np.append(np.unique(scores[own]), np.inf)
        place = np.searchsorted(scores[order], thresholds)
        below = np.concatenate([[0.0], np.cumsum(shares[order])])
        own_below = np.concatenate([[0.0], np.cumsum((shares * own)[order])])
        return cls(thresholds, own_below[place], below[-1] - below[place])

    def up_to(self, share: float) -> "Candidates":
        """Only the thresholds that miss at most this share of the class."""
        kept = self.missed <= share * self.missed[-1]
        return Candidates(self.thresholds[kept], self.missed[kept], self.size[kept])


def cheapest_thresholds(
    scores: NDArray[np.floating[Any]], index: IntArray, shares: FloatArray, allowed: float, most: float = 1.0
) -> FloatArray:
    """Thresholds per class that miss at most ``allowed``, and of each class at most the share ``most``.

    ``shares`` are the probabilities of the rows.

    Error and size are sums over the columns. So a price per missed label decides every column by itself, and
    bisection finds the lowest price at which few enough labels are missed. What is left of the allowed error goes
    to the column where it saves most.
    """
    columns = [Candidates.of(scores[:, y], shares, index == y).up_to(most) for y in range(scores.shape[1])]
    low, high = 0.0, 1.0
    while _missed(columns, _choose(columns, high)) > allowed and high < HIGHEST_PRICE:
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _missed(columns, _choose(columns, middle)) > allowed else (low, middle)
    places = _choose(columns, high)
    for _ in columns:
        _spend_rest(columns, places, allowed)
    return np.array([column.thresholds[place] for column, place in zip(columns, places, strict=True)])


def _choose(columns: list[Candidates], price: float) -> list[int]:
    return [int(np.argmin(column.size + price * column.missed)) for column in columns]


def _missed(columns: list[Candidates], places: list[int]) -> float:
    return sum(float(column.missed[place]) for column, place in zip(columns, places, strict=True))


def _spend_rest(columns: list[Candidates], places: list[int], allowed: float) -> None:
    """Raise the one threshold that saves most with the allowed error that is left."""
    rest = allowed - _missed(columns, places)
    further = [
        int(np.searchsorted(column.missed, column.missed[place] + rest, side="right")) - 1
        for column, place in zip(columns, places, strict=True)
    ]
    saved = [column.size[a] - column.size[b] for column, a, b in zip(columns, places, further, strict=True)]
    best = int(np.argmax(saved))
    places[best] = max(places[best], further[best])
