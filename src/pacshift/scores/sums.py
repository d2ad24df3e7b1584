"""Sums of rows, by which kinds of scores are told apart: probabilities sum to 1, percentages to 100."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROUNDING = 1e-3
"""How far a probability may lie outside of [0, 1] because it was rounded: half precision has steps of 0.001 above
1."""

SUM_TOLERANCE = 0.02
"""How far the sum of a row may lie from its total, as a share of it: half precision and rounded columns. Two
digits in ten columns are off by 0.05 at worst and by less than 0.02 in most rows."""

TOTALS = (1.0, 100.0, 255.0)
"""What rows of probabilities, of percentages and of 8-bit probabilities sum to."""


@dataclass(frozen=True, slots=True)
class RowSums:
    """Sums of rows: of the scores where none is negative, of their exponentials where none is positive.

    Parameters
    ----------
    least, largest : float
        The smallest and the largest sum.
    near : tuple of int
        How many rows sum to 1, to 100 and to 255, but for rounding.
    n_rows : int
        How many rows there are.
    of_exponentials : bool
        Whether exponentials were added up.
    """

    least: float
    largest: float
    near: tuple[int, ...]
    n_rows: int
    of_exponentials: bool = False

    @classmethod
    def of(cls, scores: NDArray[np.floating[Any]], low: float, high: float) -> "RowSums | None":
        """The sums of a block whose range is known; None where no sum could tell anything.

        Parameters
        ----------
        scores : float array of shape (n, K)
            The block.
        low, high : float
            Smallest and largest score.

        Returns
        -------
        RowSums or None
        """
        block = BlockSums(len(scores))
        block.add(slice(len(scores)), scores, low, high)
        return block.result(len(scores))

    def __or__(self, other: "RowSums") -> "RowSums":
        """The sums of both together; both must be of the same numbers."""
        least, largest = min(self.least, other.least), max(self.largest, other.largest)
        near = tuple(map(sum, zip(self.near, other.near, strict=True)))
        return RowSums(least, largest, near, self.n_rows + other.n_rows, self.of_exponentials)

    def _require_consistent(self) -> None:
        if len(self.near) != len(TOTALS) or not max(*self.near, 1) <= self.n_rows or self.least > self.largest:
            raise ValueError(f"{self!r} where sums of rows belong")


class BlockSums:
    """Sums of the rows of a block that comes in pieces.

    They are looked at once for all pieces: between many short calls threads would wait for each other.
    """

    def __init__(self, n_rows: int) -> None:
        self._sums = np.empty(n_rows)
        self._of_exponentials: set[bool | None] = set()

    def add(self, rows: slice, piece: NDArray[np.floating[Any]], low: float, high: float) -> None:
        """Add up the scores of some rows, which lie between ``low`` and ``high``."""
        of_exponentials = low < -ROUNDING
        if high > (ROUNDING if of_exponentials else TOTALS[-1] * (1 + ROUNDING)):
            self._of_exponentials.add(None)
            return
        if of_exponentials:
            piece = np.exp(np.maximum(piece, -100).astype(np.float32))  # NumPy is fast in single precision
        np.add.reduce(piece, axis=1, dtype=np.float64, out=self._sums[rows])
        self._of_exponentials.add(of_exponentials)

    def result(self, n_rows: int) -> RowSums | None:
        """What the sums of the first rows are like; None where no sum could tell anything."""
        if None in self._of_exponentials or len(self._of_exponentials) != 1:
            return None
        sums = self._sums[:n_rows]
        # Rounded, because the last bits depend on how the rows are cut into blocks.
        least, largest = round(float(sums.min()), 6), round(float(sums.max()), 6)
        near = tuple(_rows_near(sums, total, least, largest) for total in TOTALS)
        return RowSums(least, largest, near, n_rows, True in self._of_exponentials)


def _rows_near(sums: NDArray[np.float64], total: float, least: float, largest: float) -> int:
    low, high = total * (1 - SUM_TOLERANCE), total * (1 + SUM_TOLERANCE)
    if largest < low or least > high:
        return 0
    return len(sums) if low <= least <= largest <= high else int(((sums >= low) & (sums <= high)).sum())
