"""Counts of rows by predicted label, confidence and true label: filled cells only, so K × K never matters.

The confidence of a row is read off 1 minus its top score, in bins whose edges are fixed beforehand. Top scores
that are not probabilities may have any scale: they are kept to five bits of mantissa. Under label shift the
target's frequencies of (predicted label, bin) are a mixture of those of the source's classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import FloatArray, IntArray
from pacshift.errors import InputError
from pacshift.scores.kind import FEWEST_ROWS, MIDDLE
from pacshift.tally.stores import count_edges, sum_by_key

Bins = Literal["confidence", "top scores", "none", "not counted"]
"""By what rows of one predicted label are told apart: probabilities by confidence, others by their top score.

``"not counted"``: not even predicted labels were counted, for a method that needs none (``needs_predicted``)."""

CONFIDENCE_EDGES = (0.5, 0.35, 0.25, 0.18, 0.12, 0.08, 0.05, 0.03, 0.018, 0.01, 0.004, 0.001)
"""Edges of 1 - top score. Bin b holds the rows that lie within the first b of them, and no further.

They must be fixed beforehand. About 1.5 times apart, and finer where most rows of a good classifier lie; not
tuned.
"""

N_CONFIDENCE = len(CONFIDENCE_EDGES) + 1
_TOP_EDGES = np.float32(1) - np.array(CONFIDENCE_EDGES, np.float32)


def confidence_bin(top: NDArray[np.floating]) -> NDArray[np.uint8]:
    """Bin of each top score: 0 for the least confident rows, 12 for the most confident ones.

    >>> confidence_bin(np.array([0.4, 0.5, 0.9, 1.0])).tolist()
    [0, 1, 5, 12]
    """
    return count_edges(top, _TOP_EDGES)


def least_confidence(bins: IntArray) -> FloatArray:
    """The smallest top score of each bin, whether it is a probability or not for the first one.

    >>> least_confidence(np.array([0, 1, 2])).round(3).tolist()
    [-inf, 0.5, 0.65]
    """
    return np.append(-np.inf, _TOP_EDGES)[bins]


TOP_BITS = 5
"""Bits of mantissa kept of top scores that are not probabilities: 32 bins per octave, in their order. Fine enough
for 13 bins at quantiles: to within 3 %."""

N_TOP = 1 << (9 + TOP_BITS)
"""All bins of such top scores: sign, exponent and mantissa of single precision."""

_DROPPED = 23 - TOP_BITS
_LARGEST = np.finfo(np.float32).max


def top_bin(top: NDArray[np.floating]) -> NDArray[np.int32]:
    """Bin of each top score at any scale, in their order.

    >>> top_bin(np.array([-1.0, 0.0, 1.0, 1.03125, 2.0])).tolist()
    [4127, 8192, 12256, 12257, 12288]
    """
    with np.errstate(over="ignore"):
        single = np.clip(top.astype(np.float32), -_LARGEST, _LARGEST)
    single += np.float32(0)  # makes -0.0 and 0.0 one value
    bits = single.view(np.int32)
    bits ^= (bits >> 31) & np.int32(0x7FFF_FFFF)  # the bits of negative numbers fall as they grow
    bits >>= _DROPPED
    bits += N_TOP // 2
    return bits


def least_top(bins: IntArray) -> FloatArray:
    """The smallest top score of each bin.

    >>> least_top(np.array([4127, 8192, 12257])).round(3).tolist()
    [-1.031, 0.0, 1.031]
    """
    bits = ((np.asarray(bins) - N_TOP // 2) << _DROPPED).astype(np.int32)
    return np.where(bits < 0, bits ^ np.int32(0x7FFF_FFFF), bits).view(np.float32).astype(np.float64)


def n_bins(bins: Bins) -> int:
    """How many bins each predicted label has in the codes of cells."""
    return N_TOP if bins == "top scores" else N_CONFIDENCE


def n_codes(n_classes: int, n_labels: int, bins: Bins) -> int:
    """How many codes of cells there are."""
    return n_labels if bins == "not counted" else n_classes * n_bins(bins) * n_labels


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """How many rows fall into each cell (predicted label, bin, true label).

    The code of a cell is ``(predicted * n_bins + bin) * n_labels + label``, where ``n_bins`` is 13, or 16,384 for
    ``bins`` of top scores. ``codes`` ascend and ``counts`` are at least 1. Unlabelled rows have one label, 0
    (``n_labels`` is 1). Without bins (rows of both kinds) every row is in bin 0. Where predicted labels were not
    counted, the code of a cell is its true label, and whoever asks for more gets an InputError.
    """

    codes: IntArray
    counts: IntArray
    n_labels: int
    bins: Bins = "confidence"

    @classmethod
    def empty(cls, n_labels: int) -> "Cells":
        return cls(np.empty(0, np.int64), np.empty(0, np.int64), n_labels)

    @classmethod
    def sum(cls, parts: Sequence["Cells"]) -> "Cells":
        """Add many; the sum has the bins that every part with rows has, or none."""
        filled = [part for part in parts if len(part.codes)]
        if len(filled) <= 1:
            return filled[0] if filled else parts[0]
        bins = filled[0].bins
        if "not counted" in {part.bins for part in filled} != {"not counted"}:
            raise _no_predictions_error()
        if any(part.bins != bins for part in filled):
            filled, bins = [part.without_bins() for part in filled], "none"
        codes, counts = (np.concatenate([getattr(part, name) for part in filled]) for name in ("codes", "counts"))
        return cls(*sum_by_key(codes, counts), parts[0].n_labels, bins)

    def without_bins(self) -> "Cells":
        """The same rows, all in bin 0."""
        codes = self.predicted * (N_CONFIDENCE * self.n_labels) + self.labels
        return Cells(*sum_by_key(codes, self.counts), self.n_labels, "none" if len(codes) else "confidence")

    def forget_predictions(self) -> "Cells":
        """The same rows by true label alone."""
        counts = self.label_counts()
        labels = np.flatnonzero(counts)
        return Cells(labels, counts[labels], self.n_labels, "not counted" if len(labels) else "confidence")

    @property
    def predicted(self) -> IntArray:
        if self.bins == "not counted":
            raise _no_predictions_error()
        return self.codes // (n_bins(self.bins) * self.n_labels)

    @property
    def bin(self) -> IntArray:
        if self.bins == "not counted":
            raise _no_predictions_error()
        return self.codes // self.n_labels % n_bins(self.bins)

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


def _no_predictions_error() -> InputError:
    return InputError(
        "predicted labels were not counted, because the method that these counts are for needs none. Count the "
        "rows again with predicted=True, or use such a method, as PS is."
    )


def cell_codes(
    predicted: NDArray[np.integer], top: NDArray[np.floating], labels: IntArray | None, n_classes: int, bins: Bins
) -> NDArray[np.integer]:
    """The code of each row's cell; without ``labels`` unlabelled."""
    kind = np.min_scalar_type(n_codes(n_classes, 1 if labels is None else n_classes, bins) - 1)
    codes = predicted.astype(kind)
    codes *= n_bins(bins)
    codes += (confidence_bin(top) if bins == "confidence" else top_bin(top)).astype(kind, copy=False)
    if labels is not None:
        codes *= n_classes
        codes += labels.astype(kind)
    return codes


def typical_tops(cells: Cells) -> tuple[float, float] | None:
    """Between which numbers top scores typically lie, in the least and the largest class; None where not counted.

    Classes of a few rows say too little and are left out, unless there are no others.
    """
    if cells.bins in ("none", "not counted") or not len(cells.codes):
        return None
    labels, bins = cells.labels, cells.bin
    order = np.lexsort((bins, labels))
    reached, totals = np.cumsum(cells.counts[order]), cells.label_counts()
    chosen = totals >= FEWEST_ROWS if totals.max() >= FEWEST_ROWS else totals > 0
    before = np.cumsum(totals) - totals
    first, last = (
        bins[order][np.searchsorted(reached, (before + np.maximum(share * totals, 1))[chosen])] for share in MIDDLE
    )
    lower, upper = int(first.min()), int(last.max()) + 1
    if cells.bins == "confidence":
        edges = [0.0, *_TOP_EDGES.tolist(), 1.0]
        return edges[lower], edges[upper]
    ends = np.clip(least_top(np.array([lower, upper])), -_LARGEST, _LARGEST)  # the last bin ends at infinity
    return float(ends[0]), float(ends[1])
