"""Rows drawn without replacement, in random order, in one pass over rows whose number need not be known."""

import numpy as np

from pacshift.arrays import BoolArray, IntArray
from pacshift.errors import InputError
from pacshift.tally.coins import coins


class RowDraw:
    """Every row gets a random number; the rows with the smallest ones are drawn, in the order of these numbers.

    So all orders of all choices are equally likely, and the same seed draws the same rows however they are cut
    into blocks. Two equal numbers among the smallest are as unlikely as a hash collision.

    >>> whole, parts = RowDraw(3, seed=1), RowDraw(3, seed=1)
    >>> whole.add(10)
    >>> parts.add(4), parts.add(6)
    (None, None)
    >>> whole.rows.tolist() == parts.rows.tolist(), len(set(whole.rows.tolist()))
    (True, 3)
    """

    def __init__(self, budget: int, seed: int) -> None:
        self._budget, self._coins = budget, coins("label sheet", seed)
        self._keys = np.empty(0, np.uint64)
        self.rows: IntArray = np.empty(0, np.int64)
        self.n_rows = self.n_usable = 0

    def add(self, n_rows: int, usable: BoolArray | None = None) -> None:
        """The next rows; those that are not ``usable`` are counted, but never drawn."""
        keys = self._coins.integers(0, 2**64, n_rows, np.uint64)
        places = np.arange(n_rows) if usable is None else np.flatnonzero(usable)
        first, self.n_rows, self.n_usable = self.n_rows, self.n_rows + n_rows, self.n_usable + len(places)
        if len(self._keys) == self._budget:  # soon few rows are below all that were drawn
            places = places[keys[places] < self._keys[-1]]
        keys, rows = np.append(self._keys, keys[places]), np.append(self.rows, first + places)
        order = np.argsort(keys, kind="stable")[: self._budget]
        self._keys, self.rows = keys[order], rows[order]

    def require_enough(self) -> None:
        """Refuse a target with fewer rows than are to be labelled."""
        if self.n_usable < self._budget:
            raise InputError(
                f"budget must not exceed the target: {self._budget:,} rows to label, but the target has "
                f"{self.n_usable:,} usable rows. Lower the budget, or take a larger target."
            )
