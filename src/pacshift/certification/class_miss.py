"""How often each class is missed at the chosen thresholds, with bounds for all classes at once.

The thresholds were chosen on the same rows, so a bound for one fixed threshold would not do. The bounds here hold
for all thresholds of all classes together. Proof: docs/methods/trust-proofs.md, Lemma 1.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from pacshift.arrays import FloatArray, IntArray, Label
from pacshift.bounds import Interval, binomial_lower, binomial_upper
from pacshift.tally import Tally
from pacshift.tally.grid import to_grid
from pacshift.wording import at_least, given

RANK_RATIO = 1.03
"""Ratio of neighbouring ranks of the band. A finer grid costs level, a coarser one is wider between its ranks."""

OFTEN_MISSED = 2.0
"""A class whose miss rate has a lower bound above this many times epsilon is named in a note."""


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
    n_events = 2 * sum(len(band_ranks(total)) for total in tally.class_counts.tolist())
    found = rate_bounds(surely, tally.misses(thresholds), tally.class_counts, level=delta / max(n_events, 1))
    never, always = np.isneginf(thresholds), np.isposinf(thresholds)
    lower = np.where(always, 1.0, np.where(never, 0.0, found.lower))
    return Interval(np.where(never_empty, 0.0, lower), np.where(always, 1.0, np.where(never, 0.0, found.upper)))


def rate_bounds(least: IntArray, most: IntArray, totals: IntArray, *, level: float) -> Interval:
    """Bounds of the miss rate at thresholds that ``least`` to ``most`` of ``totals`` scores lie below.

    Each end of each rank of the band may be wrong with probability ``level``. The lower bound is that of the
    largest rank not above ``least``, the upper bound that of the smallest rank above ``most``.
    """
    below, above = np.zeros(len(totals), np.int64), np.zeros(len(totals), np.int64)
    for place, total in enumerate(totals.tolist()):
        ranks = np.concatenate([[0], band_ranks(total), [total + 1]])
        below[place] = ranks[np.searchsorted(ranks, least[place], side="right") - 1]
        above[place] = ranks[np.searchsorted(ranks, most[place], side="right")]
    # Rank 0 gives the bound 0 and rank total + 1 the bound 1, which need no event.
    return Interval(binomial_lower(below, totals, delta=level), binomial_upper(above - 1, totals, delta=level))


@lru_cache(maxsize=4096)
def band_ranks(total: int) -> IntArray:
    """The ranks of "Class by class": 1, 2, 3, ... and from some point on a geometric grid, up to ``total``.

    >>> band_ranks(40)[[0, 1, -3, -2, -1]].tolist(), len(band_ranks(1_000_000))
    ([1, 2, 37, 39, 40], 382)
    """
    n_steps = int(np.ceil(np.log(max(total, 1)) / np.log(RANK_RATIO)))
    grid = np.floor(RANK_RATIO ** np.arange(n_steps + 1)).astype(np.int64)
    first = np.arange(1, min(total, int(1 / (RANK_RATIO - 1)) + 1) + 1)
    return np.unique(np.concatenate([first, grid[grid <= total], [total] if total else []])).astype(np.int64)


def often_missed_note(
    misses: Interval, classes: Sequence[Label], *, epsilon: float, whose: str = ""
) -> tuple[str, ...]:
    """A note that names the classes which are shown to be missed more than twice as often as all cases may be.

    ``whose`` is "label-shifted " where the bounds are about that part of the target.
    """
    found = np.flatnonzero(misses.lower > OFTEN_MISSED * epsilon)
    if not len(found):
        return ()
    worst = found[np.argsort(-misses.lower[found], kind="stable")]
    listed = [f"{classes[label]!r} ({at_least(misses.lower[label])})" for label in worst[:6].tolist()]
    more = f" and {len(worst) - 6} more" if len(worst) > 6 else ""
    return (
        f"the sets miss more than {given(OFTEN_MISSED * epsilon)} (twice epsilon) of the {whose}cases of "
        f"{', '.join(listed)}{more}. The promise is about all cases "
        "together. To limit the misses of every class, set class_epsilon=, or use method PS-LW.",
    )
