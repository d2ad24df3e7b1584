"""The largest threshold that passes: exact bisection on the counts, no line search."""

from collections.abc import Callable
from functools import partial

import numpy as np

from pacshift.arrays import IntArray
from pacshift.parallel import run_all
from pacshift.tally import Tally
from pacshift.tally.grid import float_to_order, order_to_float
from pacshift.tally.stores import running_sum


def largest_threshold(tally: Tally, passes: Callable[..., bool], *counts: IntArray) -> float:
    """The largest τ at which ``passes`` says yes, or -inf where no observed score is admissible.

    ``passes`` gets, for each array of ``counts`` (aligned with ``tally.values``; by default the tally's own),
    the per-class sums of what lies below τ, and must never turn from no to yes as τ grows. Sums only change
    just above an observed score, so the answer is an observed score and halving the ordered floats finds it.
    """
    if not len(tally.values):
        return -np.inf
    layers = run_all(
        [
            (lambda: tally.cumulative) if one is tally.counts else partial(running_sum, one)
            for one in counts or [tally.counts]
        ]
    )

    def below(order: int) -> tuple[IntArray, ...]:
        positions = tally.positions(order_to_float(order))
        return tuple(layer[positions] - layer[tally.starts[:-1]] for layer in layers)

    filled = tally.starts[:-1] < tally.starts[1:]  # scores ascend within a class
    ends = tally.values[tally.starts[:-1][filled]].min(), tally.values[tally.starts[1:][filled] - 1].max()
    low, high = (int(float_to_order(end)) for end in ends)
    high += 1  # just above every score: all examples are missed
    at_low, at_high = below(low), below(high)
    if not passes(*at_low):
        return -np.inf
    if passes(*at_high):
        return np.inf
    while high - low > 1:
        middle = (low + high) // 2
        sums = below(middle)
        if _same(sums, at_low) or (not _same(sums, at_high) and passes(*sums)):
            low, at_low = middle, sums
        else:
            high, at_high = middle, sums
    return float(order_to_float(low))


def expected_tests(tally: Tally) -> int:
    """About how often ``largest_threshold`` asks: halving finds one of so many scores, after two ends."""
    return len(tally.values).bit_length() + 2


def _same(one: tuple[IntArray, ...], other: tuple[IntArray, ...]) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def class_threshold(tally: Tally, label: int, cut: int) -> float:
    """The largest τ with at most ``cut`` scores of one class below it; -inf for a negative ``cut``."""
    start, end = tally.starts[label], tally.starts[label + 1]
    if cut < 0 or start == end:
        return -np.inf
    reached = tally.cumulative[start + 1 : end + 1]
    place = int(np.searchsorted(reached, cut + tally.cumulative[start], side="right"))
    return float(tally.values[start + min(place, end - start - 1)])
