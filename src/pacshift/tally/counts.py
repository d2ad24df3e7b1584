"""The counts themselves, and what can be read off them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from pacshift.arrays import FloatArray, IntArray, Label
from pacshift.scores.kind import ScoreKind
from pacshift.tally.cells import Cells, typical_tops
from pacshift.tally.grouped import Grouped
from pacshift.tally.inputs import Input
from pacshift.tally.soft import SoftSums
from pacshift.tally.stores import running_sum

HALVED_TOGETHER = 60
"""Above this many classes thresholds are looked up for all classes at once. With 1,000 classes of 200 scores that
takes 0.15 ms instead of 1.3 ms; with 10 classes one search after the other is quicker."""


@dataclass(frozen=True, eq=False)
class Counts:
    """What a tally holds; ``Tally`` describes the fields."""

    classes: tuple[Label, ...]
    score: str
    grid: bool
    source_cells: Cells
    target_cells: Cells
    values: FloatArray
    counts: IntArray
    starts: IntArray
    soft: SoftSums | None = None
    bins: IntArray | None = None
    source_kind: ScoreKind | None = None
    target_kind: ScoreKind | None = None
    inputs: tuple[Input, ...] = ()
    n_more_inputs: int = 0
    source_grouped: Grouped | None = None
    target_grouped: Grouped | None = None
    softmax: bool = False

    def __post_init__(self) -> None:
        """Counts cannot be written to through the tally. Views, because arrays may be large."""
        for name in ("values", "counts", "starts", "bins"):
            given = getattr(self, name)
            if given is not None:
                view = given.view()
                view.flags.writeable = False
                object.__setattr__(self, name, view)

    @property
    def n_classes(self) -> int:
        """Number of classes, K."""
        return len(self.classes)

    @property
    def n_source(self) -> int:
        """Labelled source rows, m."""
        return self.source_cells.n_rows

    @property
    def n_target(self) -> int:
        """Unlabelled target rows, n."""
        return self.target_cells.n_rows

    @cached_property
    def full_source_kind(self) -> ScoreKind | None:
        """``source_kind`` with what the cells say about top scores, for comparisons."""
        return self.source_kind and self.source_kind.with_tops(typical_tops(self.source_cells))

    @cached_property
    def full_target_kind(self) -> ScoreKind | None:
        """``target_kind`` with what the cells say about top scores, for comparisons."""
        return self.target_kind and self.target_kind.with_tops(typical_tops(self.target_cells))

    @cached_property
    def confusion(self) -> IntArray:
        """``confusion[i, j]`` counts source rows predicted i and labelled j; dense, K × K."""
        return self.source_cells.table(self.n_classes)

    @cached_property
    def target(self) -> IntArray:
        """``target[i]`` counts target rows predicted i."""
        return self.target_cells.table(self.n_classes)[:, 0]

    @cached_property
    def class_counts(self) -> IntArray:
        """Source rows of each true label, m_j."""
        return self.source_cells.label_counts()

    @cached_property
    def cumulative(self) -> IntArray:
        """``cumulative[i]`` is the sum of the first i counts."""
        return running_sum(self.counts)

    def positions(self, thresholds: ArrayLike) -> IntArray:
        """For each class, the index into ``values`` of its first score not below its threshold.

        Parameters
        ----------
        thresholds : float or array_like of shape (K,)
            One threshold, or one per class.

        Returns
        -------
        numpy.ndarray of shape (K,)
            Indices.
        """
        cuts = np.broadcast_to(np.asarray(thresholds, float), (self.n_classes,))
        if self.n_classes > HALVED_TOGETHER:
            return _halved_together(self.values, self.starts, cuts)
        found = self.starts[:-1].copy()
        for label in np.flatnonzero(np.diff(self.starts)).tolist():
            found[label] += np.searchsorted(self.values[self.starts[label] : self.starts[label + 1]], cuts[label])
        return found

    def misses(self, thresholds: ArrayLike) -> IntArray:
        """For each class, how many of its true-label scores lie below its threshold.

        Parameters
        ----------
        thresholds : float or array_like of shape (K,)
            One threshold, or one per class.

        Returns
        -------
        numpy.ndarray of shape (K,)
            Counts.

        Examples
        --------
        >>> from pacshift import Tally
        >>> Tally.from_scores([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], [0, 1, 1]).misses(0.5).tolist()
        [0, 1]
        """
        return self.cumulative[self.positions(thresholds)] - self.cumulative[self.starts[:-1]]


def _halved_together(values: FloatArray, starts: IntArray, cuts: FloatArray) -> IntArray:
    """For each class the first of its ascending scores that is not below its cut, as ``searchsorted`` finds it."""
    low, high = starts[:-1].copy(), starts[1:].copy()
    for _ in range(int((high - low).max()).bit_length()):
        middle = (low + high) // 2
        left = low < high
        below = left & ~(values[np.minimum(middle, len(values) - 1)] >= cuts)  # NaN is above all scores
        low = np.where(below, middle + 1, low)
        high = np.where(left & ~below, middle, high)
    return low
