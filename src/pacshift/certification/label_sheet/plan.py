"""What is fixed before the first label is known: when one may look, how many rows tune, which rows are drawn."""

import hashlib
import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import BoolArray, IntArray
from pacshift.errors import InputError
from pacshift.paths.looks import look_cuts, test_rows
from pacshift.scores.check import check_rate
from pacshift.tally.coins import coins

LARGEST_BUDGET = 10**6
"""More rows than anybody labels. The cuts of ten looks at so many take some seconds."""


@dataclass(frozen=True, slots=True)
class SheetPlan:
    """``looks`` count labelled rows in all, from the top, the pilot included; the last of them is the budget."""

    epsilon: float
    delta: float
    looks: tuple[int, ...]
    n_pilot: int


def plan_sheet(budget: Any, looks: Any, *, epsilon: Any, delta: Any) -> SheetPlan:
    """The looks and the pilot, or an InputError that says what cannot be.

    >>> plan_sheet(400, (100, 200), epsilon=0.1, delta=0.05)
    SheetPlan(epsilon=0.1, delta=0.05, looks=(100, 200, 400), n_pilot=24)
    """
    epsilon, delta = check_rate(epsilon, "epsilon"), check_rate(delta, "delta")
    budget = _check_count(budget, "budget")
    if budget > LARGEST_BUDGET:
        raise InputError(f"budget must be at most {LARGEST_BUDGET:,} rows, got {budget:,}.")
    if isinstance(looks, (str, bytes)) or not hasattr(looks, "__iter__"):
        raise InputError(f"looks must be a list of numbers of rows such as (100, 200), got {looks!r}.")
    totals = [_check_count(look, "looks") for look in looks]
    if any(first >= second for first, second in pairwise(totals)):
        listed = ", ".join(map(str, totals))
        raise InputError(f"looks must increase, got {listed}. They count labelled rows from the top.")
    if totals and totals[-1] > budget:
        raise InputError(
            f"looks must not exceed the budget: got a look after {totals[-1]:,} rows and a budget of {budget:,}. "
            "Raise the budget, or leave this look out."
        )
    if totals[-1:] != [budget]:
        totals.append(budget)
    # Sized for the first look: the path of thresholds must be fixed before the first look, and later labels that
    # would tune it are not there yet.
    n_pilot = totals[0] - test_rows(totals[0], epsilon=epsilon, delta=delta)
    for pilot in (n_pilot, 0):  # looks allow fewer misses than one test: without a pilot the first may still pass
        if look_cuts([total - pilot for total in totals], epsilon=epsilon, delta=delta)[0] >= 0:
            return SheetPlan(epsilon, delta, tuple(totals), pilot)
    least = _least_first_look(totals, epsilon, delta)
    what, remedy = f"the budget is {totals[0]:,} rows", "Raise the budget"
    if len(totals) > 1:
        what, remedy = f"the first look is after {totals[0]:,} rows", "Raise the first look"
        remedy += " and the budget" if least > totals[-1] else ""
    raise InputError(
        f"{what}, too few to certify anything at epsilon={epsilon:g} and delta={delta:g}, even if no label is "
        f"missed. {remedy} to at least {least:,}, or raise epsilon or delta."
    )


def _check_count(value: Any, name: str) -> int:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InputError(f"{name} must be a whole number of rows above 0, got {value!r}.")
    return int(value)


def _least_first_look(totals: list[int], epsilon: float, delta: float) -> int:
    """The least first look that can pass, the later looks staying where they are."""
    # Each of J looks at level delta / J is always allowed (union bound), so `high` passes.
    low, high = totals[0], math.ceil(math.log(delta / len(totals)) / math.log1p(-epsilon)) + 1
    while 1 < high - low < LARGEST_BUDGET:
        middle = (low + high) // 2
        looks = [middle, *(total for total in totals if total > middle)]
        passes = look_cuts(looks, epsilon=epsilon, delta=delta)[0] >= 0
        low, high = (low, middle) if passes else (middle, high)
    return high


class RowDraw:
    """Rows drawn in random order, without replacement, in one pass over scores; and which scores these were.

    Every row gets a random number; the rows with the smallest ones are drawn, in the order of these numbers. So
    all orders of all choices are equally likely, and the same seed draws the same rows however they are cut into
    blocks. Two equal numbers among the smallest are as unlikely as a hash collision.

    >>> scores = np.array([[0.25, 0.75], [1.0, 0.0], [0.5, 0.5]])
    >>> whole, parts = RowDraw(2, seed=1, n_classes=2), RowDraw(2, seed=1, n_classes=2)
    >>> whole.add(scores)
    >>> for block in (scores[:1, ::-1], scores[1:, ::-1].astype(np.float32)):
    ...     parts.add(block)
    >>> whole.rows.tolist() == parts.rows.tolist(), whole.sha256 == parts.sha256
    (True, True)
    """

    def __init__(self, budget: int, seed: int, n_classes: int) -> None:
        self.budget, self.seed, self._coins = budget, seed, coins("label sheet", seed)
        self._keys = np.empty(0, np.uint64)
        self._columns = [hashlib.sha256() for _ in range(n_classes)]
        self.rows: IntArray = np.empty(0, np.int64)
        self.n_rows = self.n_usable = 0

    def add(self, scores: NDArray[np.floating[Any]], usable: BoolArray | None = None) -> None:
        """The next rows: the scores of those that are ``usable`` (None: all). Others are counted, never drawn."""
        n_rows = len(scores) if usable is None else len(usable)
        keys = self._coins.integers(0, 2**64, n_rows, np.uint64)
        places = np.arange(n_rows) if usable is None else np.flatnonzero(usable)
        first, self.n_rows, self.n_usable = self.n_rows, self.n_rows + n_rows, self.n_usable + len(places)
        if len(self._keys) == self.budget:  # soon few rows are below all that were drawn
            places = places[keys[places] < self._keys[-1]]
        keys, rows = np.append(self._keys, keys[places]), np.append(self.rows, first + places)
        order = np.argsort(keys, kind="stable")[: self.budget]
        self._keys, self.rows = keys[order], rows[order]
        for digest, column in zip(self._columns, scores.T, strict=True):
            digest.update((column.astype("<f8") + 0.0).data)  # -0.0 and 0.0 are one number

    @property
    def sha256(self) -> str:
        """Fingerprint of the usable rows so far, in their order, however they are stored.

        Every column has a hash of its own, of float64 numbers, so that float32 in Parquet and float64 in memory
        agree; the SHA-256 of the sorted hashes of the columns is the fingerprint. So a table whose columns stand
        in another order has the same: which column belongs to which class is told by names, and not known before
        there is a source.
        """
        columns = sorted(digest.digest() for digest in self._columns)
        return hashlib.sha256(b"".join(columns)).hexdigest()
