"""Counts of rows by predicted label, confidence and true label: filled cells only, so K × K never matters.

The confidence of a row is read off 1 minus its top score, in bins whose edges are fixed beforehand. Under label
shift the target's frequencies of (predicted label, bin) are a mixture of those of the source's classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import IntArray
from pacshift.tally.stores import edges_reached, sum_by_key

CONFIDENCE_EDGES = (0.5, 0.35, 0.25, 0.18, 0.12, 0.08, 0.05, 0.03, 0.018, 0.01, 0.004, 0.001)
"""Edges of 1 - top score. Bin b holds the rows that lie within the first b of them, and no further."""

N_CONFIDENCE = len(CONFIDENCE_EDGES) + 1
_TOP_EDGES = np.float32(1) - np.array(CONFIDENCE_EDGES, np.float32)


def confidence_bin(top: NDArray[np.floating]) -> NDArray[np.uint8]:
    """Bin of each top score: 0 for the least confident rows, 12 for the most confident ones.

    >>> confidence_bin(np.array([0.4, 0.5, 0.9, 1.0])).tolist()
    [0, 1, 5, 12]
    """
    return edges_reached(top, _TOP_EDGES)


def n_codes(n_classes: int, n_labels: int) -> int:
    """How many codes of cells there are."""
    return n_classes * N_CONFIDENCE * n_labels


def code_type(n_classes: int, n_labels: int) -> type[np.integer]:
    """A small type that holds every code of a cell."""
    largest = n_codes(n_classes, n_labels) - 1
    return np.uint16 if largest < 1 << 16 else np.uint32 if largest < 1 << 32 else np.int64


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """How many rows fall into each cell (predicted label, confidence bin, true label).

    The code of a cell is ``(predicted * N_CONFIDENCE + bin) * n_labels + label``. ``codes`` ascend and ``counts``
    are at least 1. Unlabelled rows have one label, 0 (``n_labels`` is 1). Without ``has_confidence`` (scores that
    are not probabilities) every row is in bin 0.
    """

    codes: IntArray
    counts: IntArray
    n_labels: int
    has_confidence: bool = True

    @classmethod
    def empty(cls, n_labels: int) -> "Cells":
        return cls(np.empty(0, np.int64), np.empty(0, np.int64), n_labels)

    @classmethod
    def sum(cls, parts: Sequence["Cells"]) -> "Cells":
        """Add many; the sum has confidence bins where every part with rows has them."""
        filled = [part for part in parts if len(part.codes)]
        if len(filled) <= 1:
            return filled[0] if filled else parts[0]
        has_confidence = all(part.has_confidence for part in filled)
        filled = filled if has_confidence else [part.without_confidence() for part in filled]
        codes, counts = (np.concatenate([getattr(part, name) for part in filled]) for name in ("codes", "counts"))
        return cls(*sum_by_key(codes, counts), parts[0].n_labels, has_confidence)

    @classmethod
    def of_table(cls, table: IntArray) -> "Cells":
        """Cells without confidence bins from a dense ``table[predicted, label]``."""
        predicted, label = np.nonzero(table)
        n_labels = table.shape[1]
        codes = predicted * (N_CONFIDENCE * n_labels) + label
        return cls(codes, table[predicted, label], n_labels, has_confidence=not len(codes))

    def without_confidence(self) -> "Cells":
        """The same rows, all in bin 0."""
        codes = self.predicted * (N_CONFIDENCE * self.n_labels) + self.labels
        return Cells(*sum_by_key(codes, self.counts), self.n_labels, has_confidence=not len(codes))

    @property
    def predicted(self) -> IntArray:
        return self.codes // (N_CONFIDENCE * self.n_labels)

    @property
    def confidence(self) -> IntArray:
        return self.codes // self.n_labels % N_CONFIDENCE

    @property
    def labels(self) -> IntArray:
        return self.codes % self.n_labels

    @property
    def n_rows(self) -> int:
        return int(self.counts.sum())

    def table(self, n_classes: int) -> IntArray:
        """Dense counts ``[predicted, label]``."""
        table = np.zeros((n_classes, self.n_labels), np.int64)
        np.add.at(table, (self.predicted, self.labels), self.counts)
        return table

    def label_counts(self) -> IntArray:
        """Rows of each true label."""
        total = np.zeros(self.n_labels, np.int64)
        np.add.at(total, self.labels, self.counts)
        return total


def cell_codes(
    predicted: NDArray[np.integer], top: NDArray[np.floating] | None, labels: IntArray | None, n_classes: int
) -> NDArray[np.integer]:
    """The code of each row's cell; without ``top`` scores in bin 0, without ``labels`` unlabelled."""
    kind = code_type(n_classes, 1 if labels is None else n_classes)
    codes = predicted.astype(kind)
    codes *= N_CONFIDENCE
    if top is not None:
        codes += confidence_bin(top)
    if labels is not None:
        codes *= n_classes
        codes += labels.astype(kind)
    return codes
