"""The counts that the bound works on: section "Setting" of the page (docs/methods/many-classes.md)."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy

from pacshift.arrays import BoolArray, FloatArray, IntArray
from pacshift.tally import Tally

Sparse: TypeAlias = "scipy.sparse.csr_array[Any, tuple[int, int]]"


@dataclass(frozen=True, eq=False)
class Evidence:
    """What does not depend on the thresholds ("Setting"); sparse, so that K × K numbers are never stored.

    ``predictions[j, k]`` is the share of the source rows of class j that are predicted k (Ĝ), ``recall`` its
    diagonal, ``target_shares`` the shares of the target's predictions (q̂). ``largest_shares`` bound the target's
    label shares from above. Classes ``in_every_set`` are never missed.
    """

    class_counts: IntArray
    predictions: Sparse
    recall: FloatArray
    target_shares: FloatArray
    n_target: int
    largest_shares: FloatArray
    in_every_set: BoolArray

    @property
    def n_classes(self) -> int:
        return len(self.class_counts)

    def miss_rates(self, misses: IntArray) -> FloatArray:
        """ê_j, which is 0 for classes in every set."""
        return np.where(self.in_every_set, 0.0, misses / np.maximum(self.class_counts, 1))

    @classmethod
    def of_tally(cls, tally: Tally, largest_shares: FloatArray, in_every_set: BoolArray) -> "Evidence":
        """Read the counts off a tally."""
        cells, size = tally.source_cells, tally.n_classes
        per_row = cells.counts / tally.class_counts[cells.labels]
        predictions = scipy.sparse.csr_array((per_row, (cells.labels, cells.predicted)), shape=(size, size))
        return cls(
            class_counts=tally.class_counts,
            predictions=predictions,
            recall=predictions.diagonal(),
            target_shares=tally.target / tally.n_target,
            n_target=tally.n_target,
            largest_shares=largest_shares,
            in_every_set=in_every_set,
        )
