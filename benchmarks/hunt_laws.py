"""Laws of a row given its class, under which the miss rate of any thresholds is known exactly."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pacshift import Certificate
from pacshift.arrays import FloatArray, IntArray

Piece = tuple[float, float, float]
"""Least and largest score of the true label, and how likely the piece is; equal ends are a tie."""

NEW_KIND = -1
"""The label of rows that belong to no class: every set misses them."""

SMALLEST_PROBABILITY = 1e-12
"""Logarithms are taken of at least this."""


Served = Callable[[FloatArray], Any]


def as_they_are(scores: FloatArray) -> FloatArray:
    """Rows come where sets are used as they came where they were made."""
    return scores


@dataclass(frozen=True, eq=False)
class Pieces:
    """The score of the true label has a law in pieces; one other label has the rest of the row.

    Parameters
    ----------
    pieces : one sequence of pieces per class
        Their probabilities add up to 1.
    others : one label per class
        Which label has the rest. It is predicted where the true label's score is below one half.
    """

    pieces: Sequence[Sequence[Piece]]
    others: Sequence[int]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.pieces)

    def draw(self, labels: IntArray, places: FloatArray) -> FloatArray:
        """One row of scores for every label, at its place in the law of its class: a number from 0 to 1."""
        true = np.empty(len(labels))
        for label in np.unique(labels):
            low, high, chance = np.array(self.pieces[label]).T
            members = np.flatnonzero(labels == label)
            ends = np.cumsum(chance / chance.sum())
            piece = np.minimum(np.searchsorted(ends, places[members], side="right"), len(low) - 1)
            inside = 1 - (ends[piece] - places[members]) / (chance[piece] / chance.sum())
            true[members] = low[piece] + (high - low)[piece] * np.clip(inside, 0.0, 1.0)
        return self._rows(labels, true)

    def _rows(self, labels: IntArray, true: FloatArray) -> FloatArray:
        rows, places = np.zeros((len(labels), self.n_classes)), np.arange(len(labels))
        rows[places, np.asarray(self.others)[labels]] = 1 - true
        rows[places, labels] = true
        return rows

    def missed(self, certificate: Certificate, *, served: Served = as_they_are, **sets: Any) -> FloatArray:
        """How often label j is missing from the set of a row that looks like class k: entry [j, k], exact.

        ``served`` turns rows into what comes where sets are used: logits, another float type.
        """
        assert certificate.score == "probability"  # else the thresholds are not those of the pieces
        assert certificate.rule.kind == "sets"
        assert not certificate.rule.never_empty
        assert served is as_they_are
        cuts = certificate.thresholds
        found = np.repeat((cuts > 0).astype(float)[:, None], self.n_classes, axis=1)
        for looks, pieces in enumerate(self.pieces):
            found[looks, looks] = share_below(pieces, cuts[looks])
            other = self.others[looks]
            rest = [(1 - high, 1 - low, chance) for low, high, chance in pieces]
            found[other, looks] = share_below(rest, cuts[other])
        return found

    @property
    def recall(self) -> FloatArray:
        """How often a row of each class is predicted right, exact."""
        found = []
        for label, (pieces, other) in enumerate(zip(self.pieces, self.others, strict=True)):
            # Of two equal scores the first one is predicted.
            lost = share_below(pieces, 0.5 if label < other else float(np.nextafter(0.5, 1)))
            found.append(1 - lost)
        return np.array(found)

    def atoms(self, points: int = 400) -> "Atoms":
        """A finite population like this law: each piece is a row of ties or evenly spaced points."""
        labels, true, weights = [], [], []
        for label, pieces in enumerate(self.pieces):
            for low, high, chance in pieces:
                scores = np.array([low]) if low == high else np.linspace(low, high, points)
                labels.append(np.full(len(scores), label))
                true.append(scores)
                weights.append(np.full(len(scores), chance / len(scores)))
        index = np.concatenate(labels)
        return Atoms(self._rows(index, np.concatenate(true)), index, np.concatenate(weights))


def share_below(pieces: Sequence[Piece], cut: float) -> float:
    """How likely a score below the cut is.

    >>> share_below([(0.5, 0.5, 0.2), (0.5, 1.0, 0.8)], 0.5), share_below([(0.5, 0.5, 0.2), (0.5, 1.0, 0.8)], 0.75)
    (0.0, 0.6000000000000001)
    """
    low, high, chance = np.array(pieces).T
    length = np.where(high > low, high - low, 1.0)
    inside = np.where(high > low, np.clip((cut - low) / length, 0, 1), low < cut)
    return float((inside * chance).sum() / chance.sum())


@dataclass(frozen=True, eq=False)
class Atoms:
    """A finite population: rows with labels in ascending order, and how likely each is within its class."""

    scores: FloatArray
    index: IntArray
    weights: FloatArray

    @property
    def n_classes(self) -> int:
        return int(self.scores.shape[1])

    @cached_property
    def _shares(self) -> FloatArray:
        total = np.bincount(self.index, self.weights, minlength=self.n_classes)
        return np.asarray(self.weights / total[self.index])

    def weights_in(self, mix: FloatArray) -> FloatArray:
        """How likely each row is in a population with this label mix."""
        return np.asarray(mix[self.index] * self._shares)

    @cached_property
    def _ends(self) -> FloatArray:
        """The rows of class j share the numbers from j to j + 1."""
        first = np.searchsorted(self.index, np.arange(self.n_classes))
        running = np.concatenate([[0.0], np.cumsum(self._shares)])
        return np.asarray(running[1:] - running[first][self.index] + self.index)

    def draw(self, labels: IntArray, places: FloatArray) -> FloatArray:
        place = np.searchsorted(self._ends, labels + places, side="right")
        last = np.searchsorted(self.index, labels, side="right") - 1
        return np.asarray(self.scores[np.minimum(place, last)])

    def missed(self, certificate: Certificate, *, served: Served = as_they_are, **sets: Any) -> FloatArray:
        out = ~certificate.sets(served(self.scores), **sets) * self._shares[:, None]
        looks = np.zeros((self.n_classes, self.n_classes))
        np.add.at(looks, self.index, out)
        return looks.T

    @property
    def recall(self) -> FloatArray:
        right = self.scores.argmax(axis=1) == self.index
        return np.bincount(self.index, right * self._shares, minlength=self.n_classes).astype(float)


Law = Pieces | Atoms
"""How rows of each class look."""


def as_logits(scores: FloatArray) -> FloatArray:
    """Numbers whose softmax the scores are."""
    return np.asarray(np.log(np.maximum(scores, SMALLEST_PROBABILITY)) + 3.0)
