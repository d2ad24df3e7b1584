"""A path of threshold vectors, and the last of them that passes a test.

What a path is made from may be wrong without harm to any guarantee; it then costs size. What proofs need is that
no class's threshold falls from step to step, and that the rows of the test had no part in making it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pacshift.arrays import FloatArray
from pacshift.tally.grid import to_grid


class Curves(Protocol):
    """How likely each class is, as a growing function of the class's score."""

    def scores_at(self, level: FloatArray | float) -> FloatArray:
        """The score of each class at which its curve reaches ``level``; does not fall as the level grows.

        Several levels lie in a column and give a row of scores each.
        """
        ...


@dataclass(frozen=True, eq=False)
class ThresholdPath:
    """Vectors of thresholds, one after the other; no class's threshold falls from step to step.

    "The path" of docs/methods/ps-lp-proof.md, and the path of docs/methods/ps-t.md.

    Parameters
    ----------
    curves : Curves
        Where they reach a level is a threshold.
    caps : ndarray of float
        The largest threshold of each class.
    ends : tuple of float
        Levels of the first and the last step.
    steps : int
        How many vectors there are, their levels equally far apart.
    grid : bool
        Whether thresholds are rounded down to the grid of a tally.
    """

    curves: Curves
    caps: FloatArray
    ends: tuple[float, float]
    steps: int
    grid: bool

    def thresholds(self, step: int) -> FloatArray:
        """The vector of one step, 0 to ``steps - 1``."""
        low, high = self.ends
        level = low + (high - low) * (step / (self.steps - 1))
        cuts = np.minimum(self.curves.scores_at(level), self.caps)
        return to_grid(cuts) if self.grid else cuts


def last_passing(path: ThresholdPath, passes: Callable[[FloatArray], bool]) -> FloatArray:
    """The last vector found that passes, by bisection; -inf for every class where none is found.

    ``passes`` should not turn from no to yes along the path; if it does, a vector that passes is found all the
    same.
    """
    low, high = -1, path.steps
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if passes(path.thresholds(middle)) else (low, middle)
    return path.thresholds(low) if low >= 0 else np.full(len(path.caps), -np.inf)
