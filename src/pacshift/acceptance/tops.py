"""Rows by predicted label and top score: all that a rule can tell apart which accepts the top label or asks.

A tie asks: where two labels share the top score in single precision, another float type would choose another label
(docs/methods/accept.md, "The rule").
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import BoolArray, FloatArray, IntArray
from pacshift.errors import InputError, param
from pacshift.scores.kind import ScoreKind
from pacshift.tally.cells import CONFIDENCE_EDGES, Cells
from pacshift.tally.coins import coins

TALLY_CUTS = (1 - np.array(CONFIDENCE_EDGES[1:], np.float32)).astype(np.float64)
"""Top scores at which a tally can cut: the edges of its bins above one half, where rows of probabilities have no
ties."""


def top_labels(scores: NDArray[np.floating[Any]]) -> tuple[IntArray, NDArray[np.float32]]:
    """The label with the highest score of each row, the first on ties, and this score in single precision.

    The score is -inf where another label has the same one: such a row is not accepted at any threshold.

    >>> top_labels(np.array([[0.2, 0.8], [0.5, 0.5]]))
    (array([1, 0]), array([ 0.8, -inf], dtype=float32))
    """
    with np.errstate(over="ignore"):
        single = scores.astype(np.float32, copy=False)
    label, rows = single.argmax(axis=1), np.arange(len(single))
    top = single[rows, label]
    tied = np.count_nonzero(single == top[:, None], axis=1) > 1
    return label, np.where(tied | ~np.isfinite(top), np.float32(-np.inf), top)


def reaches_threshold(label: IntArray, top: NDArray[Any], thresholds: FloatArray) -> BoolArray:
    """Whether the top score reaches the threshold of its label, in single precision."""
    return np.asarray((top >= thresholds.astype(np.float32)[label]) & (top > -np.inf))


@dataclass(frozen=True, slots=True, eq=False)
class TopScoreTable:
    """How many rows have each (predicted label, top score, true label); unlabelled rows have the label 0.

    ``top`` holds numbers of single precision, -inf for rows that are never accepted. Entries ascend, so equal rows
    give equal tops, in whatever order they come.
    """

    predicted: IntArray
    top: FloatArray
    labels: IntArray
    counts: IntArray

    @classmethod
    def of_rows(cls, scores: NDArray[np.floating[Any]], labels: IntArray | None = None) -> "TopScoreTable":
        """Count a matrix of scores."""
        predicted, top = top_labels(scores)
        labels = np.zeros(len(predicted), np.int64) if labels is None else labels
        return cls.sum([cls(predicted, top.astype(np.float64), labels, np.ones(len(predicted), np.int64))])

    @classmethod
    def of_cells(cls, cells: Cells, kind: ScoreKind | None) -> "TopScoreTable":
        """The rows of a tally: each top score is that of the edge that it reaches.

        An InputError where rows may hold two equal scores above the edges.
        """
        sums = None if kind is None else kind.sums
        if cells.bins != "confidence" or sums is None or sums[1] >= 2 * TALLY_CUTS[0]:
            raise InputError(
                "a tally tells top scores apart only where they are probabilities that sum to 1: count with "
                f"{param('softmax=True')}, or pass the rows themselves."
            )
        edges = np.concatenate([[-np.inf, -np.inf], TALLY_CUTS])
        return cls.sum([cls(cells.predicted, edges[cells.bin], cells.labels, cells.counts)])

    @classmethod
    def sum(cls, parts: Sequence["TopScoreTable"]) -> "TopScoreTable":
        """Join equal entries of all parts."""
        names = ("predicted", "top", "labels", "counts")
        predicted, top, labels, counts = (
            np.concatenate([getattr(part, name) for part in parts]) for name in names
        )
        order = np.lexsort((labels, top, predicted))
        keys = predicted[order], top[order], labels[order]
        heads = np.flatnonzero(np.any([np.r_[True, key[1:] != key[:-1]] for key in keys], axis=0)[: len(order)])
        counts = np.add.reduceat(counts[order], heads) if len(heads) else counts
        return cls(keys[0][heads], keys[1][heads], keys[2][heads], counts)

    @property
    def n_rows(self) -> int:
        return int(self.counts.sum())

    def split(self, purpose: str, share: float, seed: int) -> tuple["TopScoreTable", "TopScoreTable"]:
        """Rows held out, about this share, and the others: one coin per row ("Coins" of the page).

        Given which rows are held out, the others are independent draws: a fixed number per entry would tell by
        the rows held out how many there are in all.
        """
        rng = coins(f"accept, {purpose}", seed, self.predicted, self.top, self.labels, self.counts)
        held = rng.binomial(self.counts, share)
        return self._with_counts(held), self._with_counts(self.counts - held)

    def _with_counts(self, counts: IntArray) -> "TopScoreTable":
        left = counts > 0
        return TopScoreTable(self.predicted[left], self.top[left], self.labels[left], counts[left])

    def tables(self, path: FloatArray, n_labels: int) -> FloatArray:
        """Rows by rule, cell and label; the cell of a row is twice its predicted label, plus 1 if it is accepted.

        ``path`` holds the thresholds of nested rules, one row each, from the strictest to the loosest.
        """
        n_rules, n_classes = path.shape
        cuts, first = path.astype(np.float32).astype(np.float64), np.full(len(self.top), n_rules)
        for label in np.unique(self.predicted).tolist():  # the first rule that accepts an entry
            of_label = self.predicted == label
            first[of_label] = np.searchsorted(-cuts[:, label], -self.top[of_label], side="left")
        first[np.isneginf(self.top)] = n_rules
        shape = (n_rules + 1, n_classes, n_labels)
        place = np.ravel_multi_index((first, self.predicted, self.labels), shape)
        by_rule = np.bincount(place, self.counts, minlength=np.prod(shape)).reshape(shape)
        tables = np.empty((n_rules, 2 * n_classes, n_labels))
        tables[:, 1::2] = np.cumsum(by_rule[:-1], axis=0)
        tables[:, 0::2] = by_rule.sum(axis=0) - tables[:, 1::2]
        return tables
