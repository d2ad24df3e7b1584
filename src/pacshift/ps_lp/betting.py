"""The bets: a test of "the target error is at least ε" by the wealth of a gambler who bets on the source labels.

For the true mix t and miss rates e = e(τ), and any λ fixed beforehand, each source example of label j with miss
indicator b multiplies the wealth by ``1 + (λ t_j / m_j) (e_j - b)``. These are fair bets, so large wealth is
unlikely. The log-wealth is jointly concave in t and r = t e, so its least value over all mixes of a region and all
miss rates with ``sum r >= ε`` is a linear program over corners. If even that is large, the error is below ε.
Section "The bets" of the proof (docs/methods/ps-lp-proof.md).
"""

from dataclasses import dataclass

import numpy as np

from pacshift.arrays import BoolArray, FloatArray, IntArray
from pacshift.bounds import binomial_upper
from pacshift.mix.programs import MixProgram
from pacshift.mix.region import PrevalenceRegion
from pacshift.mix.tails import prefactor_parts
from pacshift.ps_lp.stakes import StakeCell, betting_classes, stake_cells
from pacshift.ps_lp.worst_case import Corners, Prices, WorstCase

BOUND_STEPS = 3
"""Steps of ``BettingTest.bound`` towards its answer; each is a bound by itself. For a picture; not measured."""


class BettingTest:
    """The test of "target error >= ε" for one family of thresholds (section "The bets").

    Parameters
    ----------
    region : PrevalenceRegion
        The label mixes that the target may have.
    class_counts, target : ndarray of int
        Source rows per label and target rows per predicted label.
    epsilon : float
        The error to refute.
    delta : float
        Allowed probability that the wealth is large although the error is at least ε (δ_M of the page).
    miss_delta : float
        Allowed probability that some miss rate is above its bound (δ_V of the page).
    included : ndarray of bool
        Classes that are in every set, so that they are never missed.
    """

    def __init__(
        self,
        region: PrevalenceRegion,
        class_counts: IntArray,
        target: IntArray,
        *,
        epsilon: float,
        delta: float,
        miss_delta: float,
        included: BoolArray,
    ) -> None:
        self.class_counts, self.epsilon, self.delta = class_counts, epsilon, delta
        self.miss_delta, self.included = miss_delta / len(target), included
        self.is_bet_on = betting_classes(class_counts, target, epsilon=epsilon, delta=delta)
        self.cells = list(
            stake_cells(region.prevalence, class_counts, self.is_bet_on, epsilon=epsilon, delta=delta)
        )
        self.mixes = MixProgram(region.rows, region.limits)
        self._worst = WorstCase(region.rows, region.limits, region.extra_rows, region.extra_limits)
        self._order = list(range(len(self.cells)))
        self._prices: dict[int, Prices] = {}

    def passes(self, misses: IntArray) -> bool:
        """Step "The test": whether the error is below ε at the threshold with these misses per class.

        Thresholds that pass here also pass the ideal test of the page ("From one threshold to all"), which is
        monotone in the misses. This test itself is not: part and zone of Lemma 3 are chosen anew each time. A
        threshold found by bisection is valid all the same, because the test passed at that threshold.
        """
        rates = self.miss_rates(misses)
        if self.mixes.largest(rates) < self.epsilon:
            return True
        for place, cell in enumerate(self._order):
            if not self._cell_passes(cell, misses, rates):
                self._order.insert(0, self._order.pop(place))  # what fails here fails nearby: ask it first
                return False
        return bool(self.cells)

    def _cell_passes(self, cell: int, misses: IntArray, rates: FloatArray) -> bool:
        needed, corners = self.corners(self.cells[cell], misses, rates, self.epsilon)
        known = self._prices.get(cell)  # prices found nearby often prove it without a new program
        if known is not None and self._worst.least(known, corners, self.epsilon) >= needed:
            return True
        value, self._prices[cell] = self._worst.solve(cell, corners, self.epsilon, needed)
        return value >= needed

    def miss_rates(self, misses: IntArray) -> FloatArray:
        """Step "Miss rates": upper bounds, all of them right with probability at least ``1 - miss_delta``."""
        return np.where(self.included, 0.0, binomial_upper(misses, self.class_counts, delta=self.miss_delta))

    def prices(self, misses: IntArray) -> list[Prices]:
        """For each cell the prices of the worst case at these misses, good ones for nearby misses too."""
        rates = self.miss_rates(misses)
        return [
            self._worst.solve(place, self.corners(cell, misses, rates, self.epsilon)[1], self.epsilon, np.inf)[1]
            for place, cell in enumerate(self.cells)
        ]

    def bound(self, misses: IntArray, prices: list[Prices]) -> float:
        """An upper bound of the error at the threshold with these misses, by prices found nearby.

        The critical log-wealth and the corners for an error of at least ``anchor`` also serve for larger errors,
        and there the least log-wealth grows linearly: errors above the point where it reaches the critical one
        are refuted.
        """
        rates = self.miss_rates(misses)
        bound, anchor = min(self.mixes.largest(rates), 1.0), 0.0
        for _ in range(BOUND_STEPS):
            ends = [anchor]
            for cell, price in zip(self.cells, prices, strict=True):
                needed, corners = self.corners(cell, misses, rates, anchor)
                lacking = max(needed - self._worst.least(price, corners, anchor), 0.0)
                ends.append(anchor + lacking / price.missed if price.missed > 0 else np.inf)
            bound = min(bound, max(ends)) if self.cells else bound
            anchor += 0.9 * (bound - anchor)
        return bound

    def corners(
        self, cell: StakeCell, misses: IntArray, rates: FloatArray, epsilon: float
    ) -> tuple[float, Corners]:
        """Step "What must be refuted": the critical log-wealth, and the corners of the cell in (t, r).

        The value at a corner is the log-wealth there plus the miss credit.
        """
        low, high = cell.prevalence.lower, cell.prevalence.upper
        most_missed = high * rates
        # What the other classes cannot miss, this one must.
        least_missed = np.maximum(epsilon - (most_missed.sum() - most_missed), 0.0)
        least = np.minimum(np.divide(least_missed, high, out=np.zeros_like(high), where=high > 0), rates)
        share = np.stack([low, low, high, high])
        rate = np.stack([least, rates, least, rates])
        stake = np.where(self.is_bet_on, cell.stake * share / np.maximum(self.class_counts, 1), 0.0)
        value = (self.class_counts - misses) * np.log1p(stake * rate) + misses * np.log1p(stake * (rate - 1))
        needed, miss_credit = self.critical_log_wealth(cell, rates, epsilon)
        value = np.where(self.is_bet_on, value, 0.0) + miss_credit * share * rate
        return needed, Corners(share, share * rate, value)

    def critical_log_wealth(self, cell: StakeCell, rates: FloatArray, epsilon: float) -> tuple[float, FloatArray]:
        """Step "The critical wealth": what the truth reaches with probability at most δ, and the miss credit.

        Log-wealth plus ``miss_credit · r`` must reach the number returned first. It is log(1/δ) plus the log of
        the prefactor F of Lemma 3 where that is smaller than F = 1 (Markov's inequality, without a credit).
        """
        markov, miss_credit = -float(np.log(self.delta)), np.zeros(len(rates))
        spread = self._spread(cell, rates, epsilon)
        if spread.least <= 0:
            return markov, miss_credit
        inner, outer = prefactor_parts(
            np.sqrt(spread.least), spread.steps[-1], np.sqrt(spread.least_by_part), spread.steps
        )
        log_factor, slope = _linear_log_prefactor(inner, outer, spread)
        if log_factor - slope * (spread.least + spread.most) / 2 >= 0:  # no gain in the middle of the range
            return markov, miss_credit
        miss_credit[self.is_bet_on] = slope * spread.variance_per_miss
        return float(log_factor + markov), miss_credit

    def _spread(self, cell: StakeCell, rates: FloatArray, epsilon: float) -> "_Spread":
        """Bounds of the tilted variance of the log-wealth over the cell (step "Tilted law")."""
        bet, box = self.is_bet_on, cell.prevalence
        low, high, rate, totals = box.lower[bet], box.upper[bet], rates[bet], self.class_counts[bet]
        # The longest step of the log-wealth per class, at miss rate 0.
        steps = -np.log1p(-(cell.stake * high / totals))
        half = np.maximum(steps, 1e-9) / 2
        per_spread = cell.stake * (cell.stake * low / totals) * (half / np.sinh(half)) ** 2
        variance_per_miss = per_spread * (1 - rate)
        missed_by_bets = epsilon - float((box.upper * rates)[~bet].sum())
        order = np.argsort(steps, kind="stable")
        least_by_part = _least_cost(variance_per_miss[order], (high * rate)[order], missed_by_bets)
        peak = np.minimum(rate, 0.5)
        most = max(float(per_spread @ (high * peak * (1 - peak))), least_by_part[-1] * (1 + 1e-9))
        return _Spread(variance_per_miss, steps[order], least_by_part, most)


@dataclass(frozen=True, eq=False)
class _Spread:
    """Bounds of Var S = sum ``variance_per_miss`` · r; part k consists of the k + 1 classes of shortest steps."""

    variance_per_miss: FloatArray
    steps: FloatArray
    least_by_part: FloatArray
    most: float

    @property
    def least(self) -> float:
        """The least variance of all classes together."""
        return float(self.least_by_part[-1])


def _linear_log_prefactor(inner: float, outer: float, spread: _Spread) -> tuple[float, float]:
    """Numbers a, β with log(inner / σ + outer) <= a - β σ² for all σ² between ``least`` and ``most``.

    For such σ the left-hand side is at most log(inner + outer sqrt(most)) - ½ log σ², and the concave function
    ½ log lies above its chord.
    """
    slope = np.log(spread.most / spread.least) / 2 / (spread.most - spread.least)
    at_least = np.log(inner + outer * np.sqrt(spread.most)) - np.log(spread.least) / 2
    return float(at_least + slope * spread.least), float(slope)


def _least_cost(price: FloatArray, caps: FloatArray, amount: float) -> FloatArray:
    """For the first 1, 2, ... classes: the least ``sum price r`` over them where all miss ``amount`` together.

    No class misses more than its cap; the cheapest classes are filled first.
    """
    first = np.tri(len(caps))
    left = amount - (caps.sum() - np.cumsum(caps))
    order = np.argsort(price, kind="stable")
    open_caps = first[:, order] * caps[order]
    before = np.cumsum(open_caps, axis=1) - open_caps
    return np.asarray(np.clip(left[:, None] - before, 0.0, open_caps) @ price[order])
