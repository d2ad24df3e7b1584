"""The curve: the error bound along a family of thresholds. It is a picture, not a second guarantee.

Its points lie at thresholds chosen from the same data as the bounds, and are smoothed so that the curve grows.
Only the chosen thresholds are proven. Section "By-products" of the proof (docs/methods/ps-lp-proof.md).
"""

from dataclasses import dataclass, replace

import numpy as np

from pacshift.arrays import BoolArray, FloatArray, IntArray
from pacshift.bounds import BoundCurve
from pacshift.mix.programs import MixProgram
from pacshift.mix.region import PrevalenceRegion
from pacshift.ps_lp.equal_miss_rate import error_bound, ranks_of, thresholds_at_ranks
from pacshift.ps_lp.theorem import EQUAL_MISS_RATE, TUNED, Plan, betting_test
from pacshift.ps_lp.tuned import PATH_STEPS, Tuning, tune
from pacshift.tally import Tally
from pacshift.tally.grid import largest_threshold

BETTING_POINTS, RANK_POINTS = 21, 9
"""Points of the picture; fewer along ranks, because every point is a search of its own. Round numbers."""


@dataclass(frozen=True, eq=False)
class CurveOnDemand:
    """What the curve of "By-products" is computed from, as plain data; calling it computes the curve."""

    tally: Tally
    region: PrevalenceRegion
    plan: Plan
    kind: str
    thresholds: FloatArray
    included: BoolArray
    tuning: Tuning | None = None

    def __call__(self) -> BoundCurve:
        """The curve along the family that the thresholds belong to."""
        if self.kind == EQUAL_MISS_RATE:
            return self._along_ranks()
        return self._along_path() if self.kind == TUNED else self._along_thresholds()

    def _along_path(self) -> BoundCurve:
        """Bounds at steps of the path on which the tuned thresholds lie."""
        tuning = self.tuning or tune(self.tally, epsilon=self.plan.epsilon)
        held, path = tuning.held, tuning.path
        test = betting_test(self.tally, self.region, self.plan, included=self.included, held=held)
        certifying = replace(self.tally, counts=self.tally.counts - held)
        steps = np.linspace(0, PATH_STEPS - 1, BETTING_POINTS).astype(int).tolist()
        cuts = [np.where(self.included, -np.inf, path.thresholds(step)) for step in steps]
        prices = test.prices(certifying.misses(self.thresholds))
        bounds = [test.bound(certifying.misses(each), prices) for each in cuts]
        misses = [self.tally.misses(each) for each in cuts]
        return _growing_curve(self.tally, bounds, misses, self.tally.misses(self.thresholds), self.plan.epsilon)

    def _along_thresholds(self) -> BoundCurve:
        """Bounds at single thresholds with up to three times the misses of the chosen one."""
        tally = self.tally
        test = betting_test(tally, self.region, self.plan, included=self.included)
        chosen = tally.misses(float(self.thresholds.max()))
        most = min(3 * max(int(chosen.sum()), 10), tally.n_source - 1)
        # Only the scores up to there are sorted: most scores are higher.
        last = tally.positions(np.nextafter(largest_threshold(tally, lambda misses: misses.sum() <= most), np.inf))
        low = np.concatenate([np.arange(start, end) for start, end in zip(tally.starts[:-1], last, strict=True)])
        order = low[np.argsort(tally.values[low], kind="stable")]
        missed = np.cumsum(tally.counts[order])
        places = np.searchsorted(missed, np.linspace(0, most, BETTING_POINTS).astype(np.int64), side="right")
        misses = [tally.misses(cut) for cut in np.unique(tally.values[order[places]])]
        prices = test.prices(chosen)
        bounds = [test.bound(each, prices) for each in misses]
        return _growing_curve(tally, bounds, misses, chosen, self.plan.epsilon)

    def _along_ranks(self) -> BoundCurve:
        """Bounds at rates up to three times the one of the chosen thresholds."""
        counts, chosen = self.tally.class_counts, self.tally.misses(self.thresholds)
        rate = float(np.max((chosen + 1) / (counts + 1), where=self.thresholds > -np.inf, initial=0.0))
        mixes = MixProgram(self.region.rows, self.region.limits)
        rates, shares = np.linspace(0.0, min(3 * rate, 0.99), RANK_POINTS), self.plan.shares
        ranks = [ranks_of(each, counts, shares.caution) for each in rates]
        delta = shares.equal_miss_rate * self.plan.delta
        bounds = [error_bound(mixes, self.region.prevalence, counts, each, delta=delta) for each in ranks]
        misses = [self.tally.misses(thresholds_at_ranks(self.tally, each)) for each in ranks]
        return _growing_curve(self.tally, bounds, misses, chosen, self.plan.epsilon)


def _growing_curve(
    tally: Tally, bounds: list[float], misses: list[IntArray], chosen: IntArray, epsilon: float
) -> BoundCurve:
    """The chosen thresholds err by ε at most; the other points get the bound that was found for each."""
    errors = np.array([each.sum() for each in (*misses, chosen)]) / tally.n_source
    found = np.array([*bounds, epsilon])
    order = np.lexsort((found, errors))
    # The error grows with the thresholds, so that a bound further right also holds further left.
    growing = np.minimum.accumulate(found[order][::-1])[::-1]
    unique, first = np.unique(errors[order], return_index=True)
    return BoundCurve(unique, growing[first], float(errors[-1]))
