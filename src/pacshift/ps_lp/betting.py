"""Evidence against "the target error is at least ε", as the wealth of a gambler who bets on the source labels.

For the true mix t and miss rates e = e(τ), and any λ fixed beforehand, each source example of label j with miss
indicator b multiplies the wealth by ``1 + (λ t_j / m_j) (e_j - b)``: fair bets, so large wealth is unlikely. The
log-wealth is jointly concave in t and r = t e, so its least value over all mixes of a region and all miss rates
with ``sum r >= ε`` is a linear program over corners. If even that is large, the error is below ε. The docs page
"PS-LP" has the proofs.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy  # its parts load when first used

from pacshift.arrays import BoolArray, FloatArray, IntArray
from pacshift.bounds import Interval, binomial_upper
from pacshift.ps_lp.programs import Corners, MixProgram, Prices, WorstCase
from pacshift.ps_lp.region import PrevalenceRegion
from pacshift.ps_lp.tails import lattice_prefactor, prefactor_parts

MOST = 0.8
"""No stake is larger than this share of the wealth."""

RATIO = 1.12
"""Stakes λ are rounded to powers of this, so that the data can tell which one the true mix asks for."""

CAUTION = 0.97
"""λ relative to the best one for a normal law with the miss rates all at ε."""

ANCHORS = 3
"""Steps of :meth:`Wealth.bound` towards its answer; each is valid by itself."""

RARE = 3.0
"""Classes with fewer than this over ε examples get no bet where they would spoil the stakes of the others."""


@dataclass(frozen=True, eq=False)
class Cell:
    """The mixes whose stake rounds to ``stake``, as a box."""

    stake: float
    prevalence: Interval


class Wealth:
    """The test of "target error >= ε" at one threshold after the other.

    ``delta`` is the chance that the wealth misleads, ``miss_delta`` the chance that a miss rate is above its
    bound; ``included`` marks classes that are in every set, so that they are never missed.
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
        self.bets = betting_classes(class_counts, target, epsilon=epsilon, delta=delta)
        self.cells = list(_cells(region.prevalence, class_counts, self.bets, epsilon=epsilon, delta=delta))
        self.mixes = MixProgram(region.rows, region.limits)
        self._worst = WorstCase(region.rows, region.limits, region.spare, region.spare_limits)
        self._order = list(range(len(self.cells)))
        self._prices: dict[int, Prices] = {}

    def passes(self, misses: IntArray) -> bool:
        """Whether the error is below ε at the threshold with these misses a class.

        Never turns from no to yes as misses grow: the corners spread, their values and the prefactor worsen.
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
        value, self._prices[cell] = self._worst.solve(corners, self.epsilon, needed)
        return value >= needed

    def miss_rates(self, misses: IntArray) -> FloatArray:
        """Upper bounds on the miss rates, all of them right with probability ``1 - miss_delta``."""
        return np.where(self.included, 0.0, binomial_upper(misses, self.class_counts, delta=self.miss_delta))

    def evidence(self, cell: Cell, misses: IntArray, rates: FloatArray) -> tuple[float, float, Prices]:
        """Least log-wealth over the cell, the log-wealth needed, and the prices of the least."""
        needed, corners = self.corners(cell, misses, rates, self.epsilon)
        value, prices = self._worst.solve(corners, self.epsilon, needed)
        return value, needed, prices

    def prices(self, misses: IntArray) -> list[Prices]:
        """For each cell the prices of the worst case at these misses, good ones for those nearby too."""
        rates = self.miss_rates(misses)
        return [
            self._worst.solve(self.corners(cell, misses, rates, self.epsilon)[1], self.epsilon, np.inf)[1]
            for cell in self.cells
        ]

    def bound(self, misses: IntArray, prices: list[Prices]) -> float:
        """An upper bound of the error at the threshold with these misses, by prices found nearby.

        What is needed and the corners for an error of at least ``anchor`` also serve for larger errors, and
        there the least log-wealth grows in a straight line: where it reaches what is needed, errors end.
        """
        rates = self.miss_rates(misses)
        bound, anchor = min(self.mixes.largest(rates), 1.0), 0.0
        for _ in range(ANCHORS):
            ends = [anchor]
            for cell, price in zip(self.cells, prices, strict=True):
                needed, corners = self.corners(cell, misses, rates, anchor)
                lacking = max(needed - self._worst.least(price, corners, anchor), 0.0)
                ends.append(anchor + lacking / price.missed if price.missed > 0 else np.inf)
            bound = min(bound, max(ends)) if self.cells else bound
            anchor += 0.9 * (bound - anchor)
        return bound

    def corners(self, cell: Cell, misses: IntArray, rates: FloatArray, epsilon: float) -> tuple[float, Corners]:
        """The hurdle, and the cell's corners in (t, r) with the log-wealth and the bonus there."""
        low, high = cell.prevalence.lower, cell.prevalence.upper
        caps = high * rates
        # What the other classes cannot miss, this one must.
        spare = np.maximum(epsilon - (caps.sum() - caps), 0.0)
        least = np.minimum(np.divide(spare, high, out=np.zeros_like(high), where=high > 0), rates)
        share = np.stack([low, low, high, high])
        rate = np.stack([least, rates, least, rates])
        totals = np.maximum(self.class_counts, 1)
        stake = np.where(self.bets, cell.stake * share / totals, 0.0)
        value = (self.class_counts - misses) * np.log1p(stake * rate) + misses * np.log1p(stake * (rate - 1))
        needed, bonus = self.hurdle(cell, rates, epsilon)
        return needed, Corners(share, share * rate, np.where(self.bets, value, 0.0) + bonus * share * rate)

    def hurdle(self, cell: Cell, rates: FloatArray, epsilon: float) -> tuple[float, FloatArray]:
        """Log-wealth that the truth reaches with probability at most ``delta``, less a bonus on each class's r.

        The hurdle is log(1/δ) plus the log of the prefactor (A + B σ) / σ. The less the log-wealth can vary, the
        larger that is: as σ² >= price · r, the chord of log σ turns it into a linear bonus for what is missed.
        """
        low, high = cell.prevalence.lower[self.bets], cell.prevalence.upper[self.bets]
        totals, most = self.class_counts[self.bets], rates[self.bets]
        stakes = Interval(cell.stake * low / totals, cell.stake * high / totals)
        caps = high * most
        rest = epsilon - float((cell.prevalence.upper * rates)[~self.bets].sum())
        step = -np.log1p(-stakes.upper)  # the largest it can be, at miss rate 0
        half = np.maximum(step, 1e-9) / 2
        scale = cell.stake * stakes.lower * (half / np.sinh(half)) ** 2
        price = scale * (1 - most)
        order = np.argsort(step, kind="stable")
        small = _cheapest(price[order], caps[order], rest)
        peak = np.minimum(most, 0.5)
        large = max(float(scale @ (high * peak * (1 - peak))), small[-1] * (1 + 1e-9))
        inner, outer = prefactor_parts(np.sqrt(small[-1]), step.max(), np.sqrt(small), step[order])
        least = np.clip(rest - (caps.sum() - caps), 0.0, caps) / np.maximum(high, 1e-300)
        plain = np.log(lattice_prefactor(totals, stakes, Interval(least, most)).min())
        bonus = np.zeros(len(rates))
        if small[-1] > 0:
            slope = np.log(large / small[-1]) / 2 / (large - small[-1])
            sharp = np.log(inner + outer * np.sqrt(large)) - np.log(small[-1]) / 2
            if sharp - slope * (large - small[-1]) / 2 < plain:
                bonus[self.bets] = slope * price
                plain = sharp + slope * small[-1]
        return float(plain - np.log(self.delta)), bonus


def _cheapest(price: FloatArray, caps: FloatArray, amount: float) -> FloatArray:
    """For the first 1, 2, ... classes: least ``sum price r`` over them, where all miss ``amount`` together.

    No class misses more than its cap.
    """
    first = np.tri(len(caps))
    left = amount - (caps.sum() - np.cumsum(caps))
    order = np.argsort(price, kind="stable")
    open_caps = first[:, order] * caps[order]
    before = np.cumsum(open_caps, axis=1) - open_caps
    return np.asarray(np.clip(left[:, None] - before, 0.0, open_caps) @ price[order])


def quantile(delta: float) -> float:
    """How many standard deviations a normal law needs for a tail of ``delta``."""
    return float(-scipy.special.ndtri(delta)) * CAUTION


def betting_classes(class_counts: IntArray, target: IntArray, *, epsilon: float, delta: float) -> BoolArray:
    """Classes to bet on, chosen without a look at the source's predictions and scores.

    A class with few examples but a large predicted share would force small stakes on all others.
    """
    n_source, n_target = int(class_counts.sum()), max(int(target.sum()), 1)
    usual = quantile(min(delta, 0.4)) * np.sqrt(n_source / (epsilon * (1 - epsilon)))
    stake = usual * (target / n_target) / np.maximum(class_counts, 1)
    spoils = (class_counts * epsilon < RARE) & (stake > MOST)
    return np.asarray((class_counts > 0) & ~spoils)


def _cells(
    prevalence: Interval, class_counts: IntArray, bets: BoolArray, *, epsilon: float, delta: float
) -> Iterator[Cell]:
    """All rounded stakes that a mix in the box may ask for, each with the mixes that do.

    The stake of a mix t is the smaller of ``z / sqrt(ε (1 - ε) sum t_j² / m_j)``, the best one for a normal law,
    and what keeps every bet below ``MOST``.
    """
    low, high, totals = prevalence.lower[bets], prevalence.upper[bets], class_counts[bets]
    unbet = min(float(prevalence.upper[~bets].sum()), 1.0)
    least = max(float(low**2 @ (1 / totals)), (1 - unbet) ** 2 / max(int(totals.sum()), 1))
    if not bets.any() or least <= 0:
        return
    scale = quantile(min(delta, 0.4)) / np.sqrt(epsilon * (1 - epsilon))
    capped = MOST * float((totals / np.maximum(high, 1e-12)).min())
    smallest = min(scale / np.sqrt(float(high**2 @ (1 / totals))), capped)
    largest = min(scale / np.sqrt(least), MOST * float((totals / np.maximum(low, 1e-12)).min()))
    ends = smallest / (1 + 1e-9), largest * (1 + 1e-9)  # rounding must not lose a stake between two powers
    first, last = (int(np.rint(np.log(stake) / np.log(RATIO))) for stake in ends)
    for power in range(first, last + 1):
        stake = RATIO**power
        box = _mixes_of(stake, prevalence, class_counts, bets, scale=scale, capped=capped)
        if (box.lower <= box.upper).all() and box.lower.sum() <= 1 + 1e-9 <= box.upper.sum() + 2e-9:
            yield Cell(stake, box)


def _mixes_of(
    stake: float, prevalence: Interval, class_counts: IntArray, bets: BoolArray, *, scale: float, capped: float
) -> Interval:
    """Box around the mixes whose exact stake lies within rounding of ``stake``."""
    slack = 1 + 1e-9
    down, up = stake / np.sqrt(RATIO) / slack, stake * np.sqrt(RATIO) * slack
    low, high = prevalence.lower.copy(), prevalence.upper.copy()
    totals = class_counts[bets]
    small, large = low[bets] ** 2 / totals, high[bets] ** 2 / totals
    room = (scale / down) ** 2 - (small.sum() - small)
    limit = np.minimum(np.sqrt(totals * np.maximum(room, 0.0)), MOST * totals / down)
    high[bets] = np.minimum(high[bets], limit)
    if capped > up:  # nowhere in the box is the cap what decides, so sum t²/m is bounded from below too
        need = (scale / up) ** 2 - (large.sum() - large)
        low[bets] = np.maximum(low[bets], np.sqrt(totals * np.maximum(need, 0.0)))
    return Interval(low, high)
