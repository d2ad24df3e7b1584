"""The proven bound along a family of thresholds, for pictures: each point is right by itself, not all at once."""

import numpy as np

from pacshift.arrays import FloatArray, IntArray
from pacshift.bounds import BoundCurve, Interval
from pacshift.ps_lp.betting import Wealth
from pacshift.ps_lp.equal_miss_rate import error_bound, ranks_of
from pacshift.ps_lp.programs import MixProgram
from pacshift.tally import Tally
from pacshift.tally.threshold import class_threshold, largest_threshold

POINTS = 21
FEW_POINTS = 9
"""Where every point is a search of its own."""


def curve_of_bets(tally: Tally, wealth: Wealth, threshold: float) -> BoundCurve:
    """Bounds at thresholds with up to three times the misses of the chosen one."""
    chosen = tally.misses(threshold)
    most = min(3 * max(int(chosen.sum()), 10), tally.n_source - 1)
    # Only the scores up to there are sorted: the others are most of them.
    last = tally.positions(np.nextafter(largest_threshold(tally, lambda misses: misses.sum() <= most), np.inf))
    low = np.concatenate([np.arange(start, end) for start, end in zip(tally.starts[:-1], last, strict=True)])
    order = low[np.argsort(tally.values[low], kind="stable")]
    missed = np.cumsum(tally.counts[order])
    places = np.searchsorted(missed, np.linspace(0, most, POINTS).astype(np.int64), side="right")
    misses = [tally.misses(cut) for cut in np.unique(tally.values[order[places]])]
    prices = wealth.prices(chosen)
    bounds = [wealth.bound(each, prices) for each in misses]
    return _curve(tally, bounds, misses, chosen, wealth.epsilon)


def curve_of_ranks(
    tally: Tally, thresholds: FloatArray, mixes: MixProgram, prevalence: Interval, *, epsilon: float, delta: float
) -> BoundCurve:
    """Bounds at rates up to three times the one of the chosen thresholds."""
    counts, chosen = tally.class_counts, tally.misses(thresholds)
    rate = float(np.max((chosen + 1) / (counts + 1), where=thresholds > -np.inf, initial=0.0))
    rates = np.linspace(0.0, min(3 * rate, 0.99), FEW_POINTS)
    ranks = [ranks_of(each, counts) for each in rates]
    bounds = [error_bound(mixes, prevalence, counts, each, delta=delta) for each in ranks]
    cuts = [[class_threshold(tally, j, k - 1) for j, k in enumerate(each.tolist())] for each in ranks]
    return _curve(tally, bounds, [tally.misses(each) for each in cuts], chosen, epsilon)


def _curve(
    tally: Tally, bounds: list[float], misses: list[IntArray], chosen: IntArray, epsilon: float
) -> BoundCurve:
    """The chosen thresholds are proven to err by ε at most; the other points by what was found for each."""
    errors = np.array([each.sum() for each in (*misses, chosen)]) / tally.n_source
    found = np.array([*bounds, epsilon])
    order = np.lexsort((found, errors))
    # The error grows with the thresholds, and so must what is said about it.
    growing = np.minimum.accumulate(found[order][::-1])[::-1]
    unique, first = np.unique(errors[order], return_index=True)
    return BoundCurve(unique, growing[first], float(errors[-1]))
