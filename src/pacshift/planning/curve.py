"""Mean sizes of sets along a growing number of rows."""

import math
from dataclasses import dataclass

import numpy as np
import scipy  # its parts load when first used

from pacshift.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Points of simulated sizes; ``draws`` says how many certificates each mean is over.

    More rows never make sets larger on average, so the points are smoothed to a curve that does not grow.
    """

    rows: IntArray
    means: FloatArray
    draws: IntArray

    @classmethod
    def empty(cls) -> "Curve":
        return cls(np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64))

    def with_point(self, n_rows: int, sizes: FloatArray) -> "Curve":
        """The curve with one point more, or with more draws at a point that it has.

        >>> Curve.empty().with_point(100, np.array([2.0])).with_point(100, np.array([1.0])).means
        array([1.5])
        """
        place = int(np.searchsorted(self.rows, n_rows))
        if n_rows in self.rows:
            means, draws = self.means.copy(), self.draws.copy()
            draws[place] += len(sizes)
            means[place] += (sizes.mean() - means[place]) * len(sizes) / draws[place]
            return Curve(self.rows, means, draws)
        return Curve(
            np.insert(self.rows, place, n_rows),
            np.insert(self.means, place, sizes.mean()),
            np.insert(self.draws, place, len(sizes)),
        )

    @property
    def sizes(self) -> FloatArray:
        """The smoothed means."""
        return np.asarray(scipy.optimize.isotonic_regression(self.means, weights=self.draws, increasing=False).x)

    def rows_for(self, size: float) -> float:
        """Rows that give this size, between the points on a logarithmic scale; infinite where none does.

        >>> curve = Curve(np.array([100, 10_000]), np.array([2.0, 1.0]), np.array([1, 1]))
        >>> round(curve.rows_for(1.5)), curve.rows_for(3.0), curve.rows_for(0.5)
        (1000, 100.0, inf)
        """
        sizes = self.sizes
        if size < sizes[-1]:
            return math.inf
        place = int(np.argmax(sizes <= size))
        if place == 0:
            return float(self.rows[0])
        low, high = np.log(self.rows[place - 1 : place + 1])
        above, below = sizes[place - 1 : place + 1]
        return float(np.exp(low + (high - low) * (above - size) / (above - below)))
