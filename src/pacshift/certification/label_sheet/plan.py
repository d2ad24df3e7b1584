"""When one may look, and how many rows tune: fixed before the first label is known."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from pacshift.errors import InputError
from pacshift.ps_t.looks import look_cuts, test_rows
from pacshift.scores.check import check_rate

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
    totals = _totals(budget, looks)
    # Sized for the first look: the path of thresholds must be fixed before the first look, and later labels that
    # would tune it are not there yet.
    n_pilot = totals[0] - test_rows(totals[0], epsilon=epsilon, delta=delta)
    for pilot in (n_pilot, 0):  # looks allow fewer misses than one test: without a pilot the first may still pass
        if _first_cut(totals, pilot, epsilon, delta) >= 0:
            return SheetPlan(epsilon, delta, totals, pilot)
    raise _too_early(totals, epsilon, delta)


def check_count(value: Any, name: str) -> int:
    """A whole number above 0."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InputError(f"{name} must be a whole number of rows above 0, got {value!r}.")
    return int(value)


def _totals(budget: Any, looks: Any) -> tuple[int, ...]:
    most = check_count(budget, "budget")
    if most > LARGEST_BUDGET:
        raise InputError(f"budget must be at most {LARGEST_BUDGET:,} rows, got {most:,}.")
    if isinstance(looks, (str, bytes)) or not hasattr(looks, "__iter__"):
        raise InputError(f"looks must be a list of numbers of rows such as (100, 200), got {looks!r}.")
    asked = [check_count(look, "looks") for look in looks]
    if any(first >= second for first, second in pairwise(asked)):
        raise InputError(f"looks must increase, got {_listed(asked)}. They count labelled rows from the top.")
    if asked and asked[-1] > most:
        raise InputError(
            f"looks must not exceed the budget: got a look after {asked[-1]:,} rows and a budget of {most:,}. "
            "Raise the budget, or leave this look out."
        )
    return tuple(asked if asked[-1:] == [most] else [*asked, most])


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def _first_cut(totals: Sequence[int], n_pilot: int, epsilon: float, delta: float) -> int:
    return look_cuts([total - n_pilot for total in totals], epsilon=epsilon, delta=delta)[0]


def _too_early(totals: Sequence[int], epsilon: float, delta: float) -> InputError:
    """The first look certifies nothing even if no row is missed: say how many rows it needs."""
    least = _least_first_look(totals, epsilon, delta)
    what, remedy = f"the budget is {totals[0]:,} rows", "Raise the budget"
    if len(totals) > 1:
        what, remedy = f"the first look is after {totals[0]:,} rows", "Raise the first look"
        remedy += " and the budget" if least > totals[-1] else ""
    return InputError(
        f"{what}, too few to certify anything at epsilon={epsilon:g} and delta={delta:g}, even if no label is "
        f"missed. {remedy} to at least {least:,}, or raise epsilon or delta."
    )


def _least_first_look(totals: Sequence[int], epsilon: float, delta: float) -> int:
    """The least first look that can pass, the later looks staying where they are."""

    def passes(first: int) -> bool:
        return _first_cut([first, *(total for total in totals if total > first)], 0, epsilon, delta) >= 0

    # Each of J looks at level delta / J is always allowed (union bound), so `high` passes.
    low, high = totals[0], math.ceil(math.log(delta / len(totals)) / math.log1p(-epsilon)) + 1
    while 1 < high - low < LARGEST_BUDGET:
        middle = (low + high) // 2
        low, high = (low, middle) if passes(middle) else (middle, high)
    return high
