"""How often each class is missed: what a certificate says beside its guarantee.

Proofs: docs/methods/trust-proofs.md. The thresholds were chosen on the rows at hand, so bounds for fixed
thresholds would not do: these hold for all thresholds of all classes together (Lemma 1).
"""

from functools import lru_cache

import numpy as np

from pacshift.arrays import FloatArray, IntArray
from pacshift.bounds import Interval, binomial_lower, binomial_upper
from pacshift.tally import Tally
from pacshift.tally.grid import to_grid

RANK_STEP = 0.5
"""Distance of two ranks of the band, in square roots of the rank: half of a standard deviation of small ranks.

Mean width of the bounds at 2 to 30 % missed, two classes: 0.00800 at 100,000 rows a class (0.00803 with 0.25,
0.00820 with 1.0, 0.0104 with ranks 3 % apart), 0.114 at 300 rows (0.117, 0.116, 0.114).
"""


def class_miss(tally: Tally, thresholds: FloatArray, *, delta: float, n_unknown: int = 0) -> Interval:
    """Bounds of P(f(X, j) < τ_j given Y = j) for every class j, all right with probability at least ``1 - delta``.

    Lemma 1 of docs/methods/trust-proofs.md, Lemma 2 of docs/methods/monitor.md. The thresholds may depend on the
    counted rows in any way. Each of ``n_unknown`` more rows may be of any class, missed or not.

    >>> tally = Tally.from_scores([[0.9, 0.1], [0.2, 0.8]] * 500, [0, 1] * 500)
    >>> class_miss(tally, np.array([0.5, 0.9]), delta=0.05).upper.round(3)
    array([0.018, 1.   ])
    """
    missed, rows = tally.misses(thresholds), tally.class_counts
    surely = missed
    if tally.grid:  # a threshold between two of its points counts too many misses; one on a point does not
        surely = tally.misses(np.where(np.isfinite(thresholds), to_grid(np.nan_to_num(thresholds)), thresholds))
    n_events = 2 * sum(len(band_ranks(total)) for total in (rows + n_unknown).tolist())
    level = delta / max(n_events, 1)
    # A class has some number of the unknown rows: the widest bounds are right whatever it is.
    tried = [rate_bounds(surely, missed + more, rows + more, level=level) for more in range(n_unknown + 1)]
    bounds = Interval(
        np.min([each.lower for each in tried], axis=0), np.max([each.upper for each in tried], axis=0)
    )
    never, always = np.isneginf(thresholds), np.isposinf(thresholds)
    lower = np.where(always, 1.0, np.where(never, 0.0, bounds.lower))
    return Interval(lower, np.where(always, 1.0, np.where(never, 0.0, bounds.upper)))


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
    """The ranks of Lemma 1 for a class with ``total`` source rows: 1, 2, 3, ..., then further and further apart.

    >>> band_ranks(30).tolist()
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 26, 28, 30]
    """
    ranks, rank = [], 1
    while rank < total:
        ranks.append(rank)
        rank += max(1, int(RANK_STEP * rank**0.5))
    return np.array([*ranks, total] if total else [], np.int64)
