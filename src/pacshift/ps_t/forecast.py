"""What to expect of a path, if a planned posterior were right: errors and sizes.

For planning and for words such as "about 1.3 labels per set". No guarantee rests on it.
"""

from dataclasses import dataclass

import numpy as np

from pacshift.arrays import FloatArray
from pacshift.paths.path import ThresholdPath, last_passing


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """Rows of the target to plan with: scores that are compared with thresholds, and chances of every label."""

    scores: FloatArray
    chances: FloatArray

    def error(self, thresholds: FloatArray) -> float:
        """The share of true labels that would be missed."""
        return float(self.chances[self.scores < thresholds].sum() / len(self.scores))

    def size(self, thresholds: FloatArray) -> float:
        """Labels per set."""
        return float(np.count_nonzero(self.scores >= thresholds) / len(self.scores))

    def size_at(self, path: ThresholdPath, error: float) -> float:
        """Labels per set at the last step of a path that would miss at most ``error``."""
        return self.size(last_passing(path, lambda thresholds: self.error(thresholds) <= error))


def typical_error(cut: int, rows: int) -> float:
    """About the error of thresholds at which ``cut`` of ``rows`` may be missed: the chosen step misses as many."""
    return (cut + 0.5) / (rows + 1)
