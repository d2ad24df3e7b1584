"""How often each class is missed at the chosen thresholds, with bounds for all classes at once.

The thresholds were chosen on the same rows, so a bound for one fixed threshold would not do. The bounds here hold
for all thresholds of all classes together. Proof: section "Class by class" of the docs page "When can I trust it?"
(docs/trust.md).
"""

from collections.abc import Sequence

import numpy as np

from pacshift.arrays import FloatArray, IntArray, Label
from pacshift.bounds import Interval, binomial_lower, binomial_upper
from pacshift.tally import Tally
from pacshift.tally.grid import to_grid

RANK_RATIO = 1.03
"""Ratio of neighbouring ranks of the band. A finer grid costs level, a coarser one is wider between its ranks."""

OFTEN_MISSED = 2.0
"""A class that is surely missed more often than this many times epsilon is named in a note."""


def class_miss(tally: Tally, thresholds: FloatArray, *, delta: float, never_empty: bool = False) -> Interval:
    """Bounds of P(f(X, j) < τ_j given Y = j) for every class j, all right with probability at least ``1 - delta``.

    Lemma 1 of the page. The thresholds may depend on the counted rows in any way. Filling empty sets with the top
    label can only lower a miss rate, so with ``never_empty`` the lower bounds are 0.

    >>> tally = Tally.from_scores([[0.9, 0.1], [0.2, 0.8]] * 500, [0, 1] * 500)
    >>> class_miss(tally, np.array([0.5, 0.9]), delta=0.05).upper.round(3)
    array([0.018, 1.   ])
    """
    # A threshold between two grid points counts too many misses; one on the grid or an exact tally does not.
    on_grid = np.where(np.isfinite(thresholds), to_grid(np.nan_to_num(thresholds)), thresholds)
    surely = tally.misses(on_grid if tally.grid else thresholds)
    possibly, level = tally.misses(thresholds), delta / tally.n_classes
    ends = [
        (_least_rate(low, total, level), _largest_rate(high, total, level))
        for low, high, total in zip(surely.tolist(), possibly.tolist(), tally.class_counts.tolist(), strict=True)
    ]
    lower, upper = np.array(ends).T
    never, always = np.isneginf(thresholds), np.isposinf(thresholds)
    lower, upper = np.where(always, 1.0, np.where(never, 0.0, lower)), np.where(never, 0.0, upper)
    return Interval(np.zeros_like(lower) if never_empty else lower, np.where(always, 1.0, upper))


def band_ranks(total: int) -> IntArray:
    """The ranks of "Class by class": 1, 2, 3, ... and from some point on a geometric grid, up to ``total``.

    >>> band_ranks(40)[[0, 1, -3, -2, -1]].tolist(), len(band_ranks(1_000_000))
    ([1, 2, 37, 39, 40], 382)
    """
    n_steps = int(np.ceil(np.log(max(total, 1)) / np.log(RANK_RATIO)))
    grid = np.floor(RANK_RATIO ** np.arange(n_steps + 1)).astype(np.int64)
    first = np.arange(1, min(total, int(1 / (RANK_RATIO - 1)) + 1) + 1)
    return np.unique(np.concatenate([first, grid[grid <= total], [total] if total else []])).astype(np.int64)


def _least_rate(misses: int, total: int, delta: float) -> float:
    """Lower bound at a threshold with so many misses: that of the largest rank of the grid not above them."""
    ranks = band_ranks(total)
    place = int(np.searchsorted(ranks, misses, side="right")) - 1
    return float(binomial_lower(ranks[place], total, delta=delta / (2 * len(ranks)))) if place >= 0 else 0.0


def _largest_rate(misses: int, total: int, delta: float) -> float:
    """Upper bound at a threshold with so many misses: that of the smallest rank of the grid above them."""
    ranks = band_ranks(total)
    place = int(np.searchsorted(ranks, misses, side="right"))
    if place == len(ranks):
        return 1.0
    return float(binomial_upper(ranks[place] - 1, total, delta=delta / (2 * len(ranks))))


def often_missed_note(misses: Interval, classes: Sequence[Label], *, epsilon: float) -> tuple[str, ...]:
    """A note that names the classes which are surely missed more than twice as often as all cases may be."""
    found = np.flatnonzero(misses.lower > OFTEN_MISSED * epsilon)
    if not len(found):
        return ()
    worst = found[np.argsort(-misses.lower[found], kind="stable")]
    listed = [f"{classes[label]!r} (at least {100 * misses.lower[label]:.3g} %)" for label in worst[:6].tolist()]
    more = f" and {len(worst) - 6} more" if len(worst) > 6 else ""
    return (
        f"the sets surely miss more than {OFTEN_MISSED * epsilon:g} (twice epsilon) of the cases of "
        f"{', '.join(listed)}{more}. The promise is about all cases together. To limit the misses of every class, "
        "set class_epsilon (--class-epsilon), or use method PS-LW.",
    )
