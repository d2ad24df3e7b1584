"""The bets: a test of "the target error is at least ε" by the wealth of a gambler who bets on the source labels.

For the true mix t and miss rates e = e(τ), and any λ fixed beforehand, each source example of label j with miss
indicator b multiplies the wealth by ``1 + (λ t_j / m_j) (e_j - b)``. These are fair bets, so large wealth is
unlikely. The log-wealth is jointly concave in t and r = t e, so its least value over all mixes of a region and all
miss rates with ``sum r >= ε`` is a linear program over corners. If even that is large, the error is below ε.
Section "The bets" of the proof (docs/methods/ps-lp-proof.md): stakes, what must be refuted, the test.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from pacshift.arrays import BoolArray, FloatArray, IntArray, scipy
from pacshift.bounds import ROUNDING, Interval, binomial_upper
from pacshift.mix.lp import LinearProgram, Problem, linear_program
from pacshift.mix.programs import MixProgram, find_violations
from pacshift.mix.region import PrevalenceRegion
from pacshift.mix.tails import prefactor_parts

MAX_STAKE = 0.8
"""No single bet is larger than this share of the wealth. Stakes may be rounded up by the root of ``STAKE_RATIO``,
and the product must stay below 1. With 0.5: small +0.2 %, the others do not change."""

STAKE_RATIO = 1.25
"""Stakes λ are rounded to powers of this, so that there are few cells. With 1.1 or 1.4: at most 0.2 %."""

STAKE_CAUTION = 0.97
"""λ relative to the best one for a normal law with all miss rates at ε. At 0.9 or 1.05: middle +0.3, -0.1 %."""

FEW_MISSES = 3.0
"""A class with fewer expected misses (m_j ε) gets no bet where it would force small stakes on the others.

With 1 or 10 sizes change by at most 0.2 %.
"""

WIDER = 1 + ROUNDING
"""Cells are made wider by this factor, so that rounding cannot lose a mix between two cells."""

ROW_PENALTY = 1e4
"""Price of violating a row in ``WorstCase``: every program stays feasible, so no case needs a ray.

Far above the prices of rows, which are log-wealth per share. Too low a price would cost size, not validity.
"""


@dataclass(frozen=True, eq=False)
class StakeCell:
    """A box around the mixes whose stake rounds to ``stake``."""

    stake: float
    prevalence: Interval


def normal_deviations(delta: float) -> float:
    """The number z in λ(t): standard deviations that a normal law needs for a tail of ``delta``, with caution."""
    return float(-scipy.special.ndtri(min(delta, 0.4))) * STAKE_CAUTION


def betting_classes(class_counts: IntArray, target: IntArray, *, epsilon: float, delta: float) -> BoolArray:
    """Step "Stakes": the set B of classes to bet on, from the label counts and the target's predictions alone.

    A class with few examples but a large predicted share would force small stakes on all others.
    """
    n_source, n_target = int(class_counts.sum()), max(int(target.sum()), 1)
    usual = normal_deviations(delta) * np.sqrt(n_source / (epsilon * (1 - epsilon)))
    stake = usual * (target / n_target) / np.maximum(class_counts, 1)
    spoils = (class_counts * epsilon < FEW_MISSES) & (stake > MAX_STAKE)
    return np.asarray((class_counts > 0) & ~spoils)


def stake_cells(
    prevalence: Interval, class_counts: IntArray, is_bet_on: BoolArray, *, epsilon: float, delta: float
) -> Iterator[StakeCell]:
    """Step "Stakes": the rounded stakes that mixes in the box may ask for, each with a box around those mixes.

    The stake of a mix t is the smaller of ``z / sqrt(ε (1 - ε) sum t_j² / m_j)``, the best one for a normal law,
    and the largest that keeps every bet at or below ``MAX_STAKE``.
    """
    low, high, totals = prevalence.lower[is_bet_on], prevalence.upper[is_bet_on], class_counts[is_bet_on]
    not_bet_on = min(float(prevalence.upper[~is_bet_on].sum()), 1.0)
    least_squares = max(float(low**2 @ (1 / totals)), (1 - not_bet_on) ** 2 / max(int(totals.sum()), 1))
    if not is_bet_on.any() or least_squares <= 0:
        return
    scale = normal_deviations(delta) / np.sqrt(epsilon * (1 - epsilon))
    # The largest λ that keeps all bets at or below MAX_STAKE, with the highest and the lowest shares.
    cap, high_cap = (MAX_STAKE * float((totals / np.maximum(share, 1e-12)).min()) for share in (high, low))
    ends = (
        min(scale / np.sqrt(float(high**2 @ (1 / totals))), cap) / WIDER,
        min(scale / np.sqrt(least_squares), high_cap) * WIDER,
    )
    first, last = (int(np.rint(np.log(stake) / np.log(STAKE_RATIO))) for stake in ends)
    small, large = low**2 / totals, high**2 / totals
    for power in range(first, last + 1):  # the mixes whose exact stake rounds to this power
        stake = STAKE_RATIO**power
        least, most = stake / np.sqrt(STAKE_RATIO) / WIDER, stake * np.sqrt(STAKE_RATIO) * WIDER
        lower, upper = prevalence.lower.copy(), prevalence.upper.copy()
        squares_at_most = (scale / least) ** 2 - (small.sum() - small)
        limit = np.minimum(np.sqrt(totals * np.maximum(squares_at_most, 0.0)), MAX_STAKE * totals / least)
        upper[is_bet_on] = np.minimum(high, limit)
        if cap > most:  # nowhere in the box does the cap decide the stake, so sum t²/m is bounded from below too
            squares_at_least = (scale / most) ** 2 - (large.sum() - large)
            lower[is_bet_on] = np.maximum(low, np.sqrt(totals * np.maximum(squares_at_least, 0.0)))
        some_sum_to_1 = lower.sum() <= 1 + ROUNDING and upper.sum() >= 1 - ROUNDING
        if (lower <= upper).all() and some_sum_to_1:
            yield StakeCell(stake, Interval(lower, upper))


@dataclass(frozen=True, eq=False)
class Corners:
    """Four corners (t, r = t e) per class of a set of mixes and miss rates: arrays of shape (4, K).

    ``value`` holds a function that is concave in (t, r), class by class: between the corners it is nowhere below
    the mixture of its values at the corners.
    """

    share: FloatArray
    missed: FloatArray
    value: FloatArray


@dataclass(frozen=True, eq=False)
class Prices:
    """Dual prices of ``WorstCase``: of the rows, of ``sum r >= epsilon`` and of ``sum t = 1``."""

    rows: FloatArray
    missed: float
    total: float


@dataclass(eq=False)
class WorstCase:
    """The least value L over ``rows t <= limits, sum t = 1, sum r >= epsilon`` (step "What must be refuted").

    Each (t_j, r_j) lies between its corners. ``extra_rows`` are added only where a solution violates them: few of
    thousands ever matter. Each cell keeps its program, which starts from its last solution.
    """

    rows: FloatArray
    limits: FloatArray
    extra_rows: FloatArray
    extra_limits: FloatArray
    _used: list[int] = field(default_factory=list)
    _programs: dict[int, LinearProgram] = field(default_factory=dict)

    def solve(self, cell: int, corners: Corners, epsilon: float, enough: float) -> tuple[float, Prices]:
        """A safe lower bound of the least value, and its prices; stops early once the bound is ``enough``.

        The corners of one ``cell`` always have the same shares.
        """
        n_classes = corners.share.shape[1]
        first, of_mix = 2 * n_classes + 2, np.arange(4 * n_classes, 5 * n_classes)
        if cell not in self._programs:
            self._programs[cell] = _corner_program(corners, self.rows, self.limits)
        program = self._programs[cell]
        program.change_costs(np.arange(4 * n_classes), corners.value.ravel())
        program.change_row(1, corners.missed.ravel())
        program.change_bounds(np.array([1]), np.array([epsilon]), np.array([np.inf]))
        while True:
            known = program.n_rows - first  # other cells may have added rows
            for row, limit in zip(self.rows[known:], self.limits[known:], strict=True):
                program.add_row(np.append(of_mix, 5 * n_classes), np.append(row, -1.0), limit)
            program.solve()
            dual = program.prices
            prices = Prices(np.maximum(-dual[first:], 0.0), max(float(dual[1]), 0.0), -float(dual[0]))
            value = self.least(prices, corners, epsilon)
            if value >= enough or not len(self.extra_rows):
                return value, prices
            excess = self.extra_rows @ program.values[of_mix] - self.extra_limits
            worst = find_violations(excess, self._used, tolerance=1e-7)
            if not worst:
                return value, prices
            self._used += worst
            self.rows = np.vstack([self.rows, self.extra_rows[worst]])
            self.limits = np.append(self.limits, self.extra_limits[worst])

    def least(self, prices: Prices, corners: Corners, epsilon: float) -> float:
        """Weak duality: no admissible (t, r) has a smaller value than this, whatever the prices.

        Rows that were added after the prices were found have none.
        """
        rows, limits = self.rows[: len(prices.rows)], self.limits[: len(prices.rows)]
        per_share = prices.rows @ rows + prices.total
        reduced = corners.value + per_share * corners.share - prices.missed * corners.missed
        constant = prices.missed * epsilon - prices.rows @ limits - prices.total
        return float(constant + reduced.min(axis=0).sum())


def _corner_program(corners: Corners, rows: FloatArray, limits: FloatArray) -> LinearProgram:
    """Columns: the weights of the corners, t, one slack. Rows: sum t, sum r, links of t, weights, region."""
    n_classes = corners.share.shape[1]
    eye, none = np.eye(n_classes), np.zeros((n_classes, 1))
    matrix = np.vstack(
        [
            np.concatenate([np.zeros(4 * n_classes), np.ones(n_classes), [0.0]])[None],
            np.concatenate([corners.missed.ravel(), np.zeros(n_classes), [1.0]])[None],
            np.hstack([*(corners.share[:, None, :] * eye), -eye, none]),
            np.hstack([eye, eye, eye, eye, np.zeros((n_classes, n_classes)), none]),
            np.hstack([np.zeros((len(rows), 4 * n_classes)), rows, -np.ones((len(rows), 1))]),
        ]
    )
    equal = np.concatenate([np.zeros(n_classes), np.ones(n_classes)])
    lower = np.concatenate([[1.0, 0.0], equal, np.full(len(rows), -np.inf)])
    upper = np.concatenate([[1.0, np.inf], equal, limits])
    cost = np.concatenate([np.zeros(5 * n_classes), [ROW_PENALTY]])
    return linear_program(Problem(matrix, lower, upper, cost=cost, least=np.zeros(5 * n_classes + 1)))


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
        self._wrong_mix = np.zeros(len(target))

    def passes(self, misses: IntArray) -> bool:
        """Step "The test": whether the error is below ε at the threshold with these misses per class.

        Thresholds that pass here also pass the ideal test of the page ("From one threshold to all"), which is
        monotone in the misses. This test itself is not: part and zone of Lemma 3 are chosen anew each time. A
        threshold found by bisection is valid all the same, because the test passed at that threshold.
        """
        rates = self.miss_rates(misses)
        if self._needs_no_bets(rates):
            return True
        for place, cell in enumerate(self._order):
            if self._margin(cell, misses, rates) < 0:
                self._order.insert(0, self._order.pop(place))  # what fails here fails nearby: ask it first
                return False
        return bool(self.cells)

    def first_margin(self, misses: IntArray) -> float:
        """Below 0 where the cell that is asked first fails, and so the test; it falls as misses grow."""
        rates = self.miss_rates(misses)
        if self._needs_no_bets(rates):
            return np.inf
        return self._margin(self._order[0], misses, rates) if self.cells else -np.inf

    def _needs_no_bets(self, rates: FloatArray) -> bool:
        """Whether no mix errs by ε at these miss rates. The last one that did is asked before a program is."""
        if rates @ self._wrong_mix >= self.epsilon:
            return False
        if self.mixes.largest(rates) < self.epsilon:
            return True
        self._wrong_mix = self.mixes.largest_mix
        return False

    def _margin(self, cell: int, misses: IntArray, rates: FloatArray) -> float:
        """By how much the least log-wealth of a cell exceeds the critical one, at least; below 0 at most."""
        needed, corners = self.corners(self.cells[cell], misses, rates, self.epsilon)
        known = self._prices.get(cell)  # prices found nearby often prove it without a new program
        if known is not None and (value := self._worst.least(known, corners, self.epsilon)) >= needed:
            return value - needed
        value, self._prices[cell] = self._worst.solve(cell, corners, self.epsilon, needed)
        return value - needed

    def miss_rates(self, misses: IntArray) -> FloatArray:
        """Step "Miss rates": upper bounds, all of them right with probability at least ``1 - miss_delta``."""
        return np.where(self.included, 0.0, binomial_upper(misses, self.class_counts, delta=self.miss_delta))

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
        # Part k: the k + 1 classes of shortest steps miss at least what the others, at their caps, cannot. The
        # cheapest of them are filled first.
        order = np.argsort(steps, kind="stable")
        price, caps = variance_per_miss[order], (high * rate)[order]
        left = missed_by_bets - (caps.sum() - np.cumsum(caps))
        cheapest = np.argsort(price, kind="stable")
        open_caps = np.tri(len(caps))[:, cheapest] * caps[cheapest]
        before = np.cumsum(open_caps, axis=1) - open_caps
        least_by_part = np.clip(left[:, None] - before, 0.0, open_caps) @ price[cheapest]
        peak = np.minimum(rate, 0.5)
        most = max(float(per_spread @ (high * peak * (1 - peak))), least_by_part[-1] * (1 + 1e-9))
        return _Spread(variance_per_miss, steps[order], least_by_part, float(least_by_part[-1]), most)


@dataclass(frozen=True, eq=False)
class _Spread:
    """Bounds of Var S = sum ``variance_per_miss`` · r; part k consists of the k + 1 classes of shortest steps."""

    variance_per_miss: FloatArray
    steps: FloatArray
    least_by_part: FloatArray
    least: float
    most: float


def _linear_log_prefactor(inner: float, outer: float, spread: _Spread) -> tuple[float, float]:
    """Numbers a, β with log(inner / σ + outer) <= a - β σ² for all σ² between ``least`` and ``most``.

    For such σ the left-hand side is at most log(inner + outer sqrt(most)) - ½ log σ², and the concave function
    ½ log lies above its chord.
    """
    slope = np.log(spread.most / spread.least) / 2 / (spread.most - spread.least)
    at_least = np.log(inner + outer * np.sqrt(spread.most)) - np.log(spread.least) / 2
    return float(at_least + slope * spread.least), float(slope)
