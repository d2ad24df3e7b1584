"""Labels that come in bit by bit: how many of them test, and how many misses each look at them may show."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from pacshift.arrays import FloatArray
from pacshift.bounds import binomial_cdf, binomial_cut

PILOT_SHARE, PILOT_MOST = 0.2, 80
"""Labels that tune thresholds instead of testing them: at least this share, until it is this many.

Chosen among a dozen designs, on 20 halves of BRFSS 2020 and 10 shifted score sets. With 100 / 400 / 1,000 labels
the sets had .945 / .907 / .900 of the size of the best single threshold's on people and 1.236 / .976 / .955 on
score sets; on 22 populations looked at only afterwards .990 / .957 / .948 and 1.261 / 1.032 / .996.
"""

TUNING_ROWS = 10
"""With fewer labels than this over epsilon nothing is tuned: with 50 labels and epsilon .1 a pilot made sets
larger, 1.72 against 1.50 times the best single threshold's on score sets, 2.77 against 2.02 on those looked at
afterwards.
"""

ROUNDING = 1e-9
"""Relative error that sums of millions of positive floats stay below by far; it is added to what they give."""

TAIL = 1e-120
"""Chance of the ends of binomial laws that are not computed but counted as passed: far below the smallest delta
(1e-100), and yet it leaves 47 standard deviations of a law whose counts may be millions.
"""


def look_cuts(rows: Sequence[int], *, epsilon: float, delta: float) -> tuple[int, ...]:
    """Misses allowed at each look: a miss rate of ``epsilon`` passes any of them with chance at most ``delta``.

    Lemma 1 of docs/methods/ps-t.md. All looks have the same level: look j allows the largest count k with
    P(Binomial(rows[j], epsilon) <= k) at most this level. The level is the largest for which the chance to pass
    any look, exact but for ROUNDING upward, is at most ``delta``.

    Parameters
    ----------
    rows : sequence of int
        Numbers of test rows at the looks, increasing.
    epsilon : float
        Miss rate to be excluded.
    delta : float
        Allowed probability that any look is passed at that rate.

    Returns
    -------
    tuple of int
        The largest number of misses at each look; -1 where none passes.

    Examples
    --------
    >>> look_cuts([100, 200, 400, 800], epsilon=0.1, delta=0.05)
    (3, 11, 27, 63)
    >>> look_cuts([100], epsilon=0.1, delta=0.05)
    (4,)
    """
    single = [binomial_cut(n, epsilon=epsilon, delta=delta) for n in rows]
    if len(rows) == 1:
        return (single[0],)
    chances = [binomial_cdf(np.arange(cut + 1), n, epsilon) for n, cut in zip(rows, single, strict=True)]
    levels = np.unique(np.concatenate(chances))  # between two of these no cut changes

    def cuts(n_levels: int) -> list[int]:
        level = levels[n_levels - 1] if n_levels else -1.0
        return [int(np.searchsorted(chance, level, side="right")) - 1 for chance in chances]

    low, high = 0, len(levels) + 1  # no level at all passes, one beyond the last does not
    while high - low > 1:
        middle = (low + high) // 2
        if pass_chance(rows, cuts(middle), epsilon) <= delta:
            low = middle
        else:
            high = middle
    return tuple(cuts(low))


def pass_chance(rows: Sequence[int], cuts: Sequence[int], epsilon: float) -> float:
    """P(B_j <= cuts[j] at some look j), B_j the running sum of Bernoulli(epsilon) at ``rows[j]``; rounded up.

    >>> round(pass_chance([100, 200], [3, 11], 0.1), 4)
    0.0218
    """
    most = max(cuts)  # with more misses no look is passed any more: counts only grow
    first, law, passed, before = 0, np.ones(1), 0.0, 0  # law[i] = P(first + i misses so far, no look passed)
    for n, cut in zip(rows, cuts, strict=True):
        least, step = _binomial_law(n - before, epsilon)
        first, before = first + least, n
        law = np.convolve(law, step)[: max(most + 1 - first, 0)]  # all terms are positive: nothing cancels
        through = max(cut + 1 - first, 0)
        passed += float(law[:through].sum()) + 2 * TAIL
        first, law = first + through, law[through:]
        if not len(law):
            break
    return passed * (1 + ROUNDING) if most >= 0 else 0.0


@lru_cache(maxsize=64)
def _binomial_law(n: int, epsilon: float) -> tuple[int, FloatArray]:
    """The least count and the chances from there on; each end that is left out has a chance of at most TAIL."""
    least = binomial_cut(n, epsilon=epsilon, delta=TAIL) + 1
    largest = n - binomial_cut(n, epsilon=1 - epsilon, delta=TAIL) - 1
    mode = min(max(int((n + 1) * epsilon), least), largest)
    up, down = np.arange(mode, largest), np.arange(mode, least, -1)
    # Ratios of neighbours, from the mode on: where most of the chance is, little has been rounded.
    odds = epsilon / (1 - epsilon)
    rising = np.cumsum(np.log((n - up) / (up + 1) * odds))
    falling = np.cumsum(np.log(down / (n - down + 1) / odds))
    law = np.exp(np.concatenate([falling[::-1], [0.0], rising]))
    return least, law / law.sum()


def test_rows(n_labels: int, *, epsilon: float, delta: float) -> int:
    """How many of ``n_labels`` labelled rows test; the others are the pilot, by which thresholds are tuned.

    The least pilot is taken away, then as many rows more as the test can spare: the fewest that allow as many
    misses. Few labels all test, and so do labels of which none could be spared.

    Parameters
    ----------
    n_labels : int
        Labelled rows.
    epsilon : float
        Miss rate to be excluded.
    delta : float
        Allowed probability that it is not.

    Returns
    -------
    int
        Rows of the test part.

    Examples
    --------
    >>> test_rows(100, epsilon=0.1, delta=0.05), test_rows(99, epsilon=0.1, delta=0.05)
    (76, 99)
    """
    if n_labels * epsilon < TUNING_ROWS:
        return n_labels
    most = n_labels - min(int(PILOT_SHARE * n_labels), PILOT_MOST)
    cut = binomial_cut(most, epsilon=epsilon, delta=delta)
    if cut < 0:  # the test needs all rows it can get
        return n_labels
    low, high = cut, most  # `low` rows allow fewer misses, `high` rows as many
    while high - low > 1:
        middle = (low + high) // 2
        if binomial_cut(middle, epsilon=epsilon, delta=delta) < cut:
            low = middle
        else:
            high = middle
    return high
