"""Stakes: how much to bet on which class, chosen without looking at the source's predictions and scores.

Step "Stakes" of the proof (docs/methods/ps-lp-proof.md). The stake λ(t) may depend on the true mix t, on the label
counts and on the target. The data tell t only up to a region, so every stake that a mix in the region may ask for
becomes a cell, and every cell must pass the test.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy  # its parts load when first used

from pacshift.arrays import BoolArray, FloatArray, IntArray
from pacshift.bounds import ROUNDING, Interval

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
    smallest = min(scale / np.sqrt(float(high**2 @ (1 / totals))), _largest_allowed(high, totals))
    largest = min(scale / np.sqrt(least_squares), _largest_allowed(low, totals))
    first, last = (_nearest_power(stake) for stake in (smallest / WIDER, largest * WIDER))
    for power in range(first, last + 1):
        stake = STAKE_RATIO**power
        box = _mixes_with_stake(stake, prevalence, class_counts, is_bet_on, scale=scale)
        some_sum_to_1 = box.lower.sum() <= 1 + ROUNDING and box.upper.sum() >= 1 - ROUNDING
        if (box.lower <= box.upper).all() and some_sum_to_1:
            yield StakeCell(stake, box)


def _largest_allowed(share: FloatArray, totals: IntArray) -> float:
    """The largest λ that keeps all bets at or below ``MAX_STAKE`` for these label shares."""
    return MAX_STAKE * float((totals / np.maximum(share, 1e-12)).min())


def _nearest_power(stake: float) -> int:
    return int(np.rint(np.log(stake) / np.log(STAKE_RATIO)))


def _mixes_with_stake(
    stake: float, prevalence: Interval, class_counts: IntArray, is_bet_on: BoolArray, *, scale: float
) -> Interval:
    """Box around the mixes whose exact stake rounds to ``stake``."""
    least, most = stake / np.sqrt(STAKE_RATIO) / WIDER, stake * np.sqrt(STAKE_RATIO) * WIDER
    low, high = prevalence.lower.copy(), prevalence.upper.copy()
    totals = class_counts[is_bet_on]
    small, large = low[is_bet_on] ** 2 / totals, high[is_bet_on] ** 2 / totals
    cap = _largest_allowed(high[is_bet_on], totals)
    squares_at_most = (scale / least) ** 2 - (small.sum() - small)
    limit = np.minimum(np.sqrt(totals * np.maximum(squares_at_most, 0.0)), MAX_STAKE * totals / least)
    high[is_bet_on] = np.minimum(high[is_bet_on], limit)
    if cap > most:  # nowhere in the box does the cap decide the stake, so sum t²/m is bounded from below too
        squares_at_least = (scale / most) ** 2 - (large.sum() - large)
        low[is_bet_on] = np.maximum(low[is_bet_on], np.sqrt(totals * np.maximum(squares_at_least, 0.0)))
    return Interval(low, high)
