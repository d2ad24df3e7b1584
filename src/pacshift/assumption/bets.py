"""Bets against every label mix: inequalities in t that the true mix keeps, with a chosen probability.

Lemmas 1 to 4 of docs/methods/assumption.md. For a function c of the cell with values in [0, 1], learned on earlier
folds, and the true mix t, the target mean of c is the mix of its source means. A bet wins where the observed
target mean is above the observed mix. Its log-wealth is concave in t, so a linear function bounds it from below.
"""

from dataclasses import dataclass, replace

import numpy as np

from pacshift.arrays import FloatArray
from pacshift.assumption.folds import CellCounts

MAX_STAKE = 0.8
"""Largest stake per row; beyond it, a class's mean is bounded by 1 instead (Lemma 3). With 0.5 or 0.95: 118 or 126
refused."""

STAKE_FACTORS = (1.0, 0.8, 0.6, 0.45, 0.3, 0.2, 0.1)
"""Stakes that are considered, as shares of the best one for a normal law and a known mix. Only 1 or only 0.6: 103
or 115 refused; four from 1 to 0.1: 124."""


def stake_price(stake: FloatArray | float) -> FloatArray:
    """The function ψ(λ) = -log(1-λ) - λ of Lemma 1, the price of a stake per unit of squared distance.

    >>> float(stake_price(0.5).round(3))
    0.193
    """
    return np.asarray(-np.log1p(-np.asarray(stake)) - stake)


@dataclass(frozen=True, eq=False)
class FoldBets:
    """What one fold showed of D directions, and the stakes chosen before it was looked at.

    ``source_mean`` and ``source_square`` have shape (D, K): mean of c and mean squared distance of c from a centre
    that was fixed beforehand. ``stake`` is θ, per direction.
    """

    stake: FloatArray
    source_mean: FloatArray
    source_square: FloatArray
    target_mean: FloatArray
    target_square: FloatArray
    class_counts: FloatArray
    n_target: float

    def constant(self, contamination: float) -> FloatArray:
        """The part of the log-wealth that does not depend on the mix (Lemma 2)."""
        price = self.n_target * stake_price(self.stake / self.n_target) * self.target_square
        return np.asarray(self.stake * (self.target_mean - contamination) - price)

    def losses(self, top: FloatArray, contamination: float) -> FloatArray:
        """Coefficients g with log-wealth >= constant - g·t for all mixes t <= top (Lemma 3), shape (D, K)."""
        clean = (1 - contamination) * np.maximum(top, 1e-12)
        stake, counts = self.stake[:, None], self.class_counts
        kink = np.minimum(clean, MAX_STAKE * counts / stake)
        steepest = np.maximum(self._loss(kink) / np.maximum(kink, 1e-300), self._loss(clean) / clean)
        return np.asarray((1 - contamination) * steepest)

    def _loss(self, share: FloatArray) -> FloatArray:
        """h_j of Lemma 3 at a share t_j."""
        stake, counts = self.stake[:, None], self.class_counts
        per_row = np.minimum(stake * share / np.maximum(counts, 1.0), MAX_STAKE)
        placed = counts * per_row
        price = counts * stake_price(per_row) * self.source_square
        return np.asarray(placed * self.source_mean + (stake * share - placed) + price)


def place_bets(
    values: FloatArray,
    mix: FloatArray,
    top: FloatArray,
    past: CellCounts,
    fold: CellCounts,
    wanted: FloatArray,
    *,
    factors: FloatArray | None = None,
) -> FoldBets:
    """Bet on directions ``values`` (cells, D) learned on ``past``; ``wanted`` is the log-wealth to reach by each.

    Centres and stakes depend on ``past`` and on the sizes of the fold alone, as Lemma 2 asks. ``factors`` fixes
    the stakes as shares of the best ones for a known mix.
    """
    past_mean, past_target = past.means(values)
    known = np.minimum(past.class_counts, 1.0)
    centre = past_mean * known + 0.5 * (1 - known)
    past_raw, past_target_raw = past.means(values**2)
    source_mean, target_mean = fold.means(values)
    source_raw, target_raw = fold.means(values**2)
    sizes = fold.class_counts, max(fold.n_target, 1.0)
    squares = past_raw - past_mean**2, past_target_raw - past_target**2
    hoped = FoldBets(np.ones(values.shape[1]), past_mean, squares[0], past_target, squares[1], *sizes)
    return FoldBets(
        choose_stakes(hoped, mix, top, wanted) if factors is None else _stakes(hoped, mix, wanted, factors),
        source_mean,
        np.maximum(source_raw - 2 * centre * source_mean + centre**2, 0.0),
        target_mean,
        np.maximum(target_raw - 2 * past_target * target_mean + past_target**2, 0.0),
        *sizes,
    )


def choose_stakes(hoped: FoldBets, mix: FloatArray, top: FloatArray, wanted: FloatArray) -> FloatArray:
    """The stake θ per direction that would gain most at ``mix`` if the fold repeated the past."""
    variance = _variance(hoped, mix)
    # Past differences are partly luck: half of them is hoped for, at least what the wanted wealth needs.
    gap = np.maximum((hoped.target_mean - hoped.source_mean @ mix) / 2, np.sqrt(2 * wanted * variance))
    best, best_gain = np.zeros(len(gap)), np.full(len(gap), -np.inf)
    for factor in STAKE_FACTORS:
        stake = _stakes(hoped, mix, wanted, factor)
        bets = replace(hoped, stake=stake, target_mean=hoped.source_mean @ mix + gap)
        gain = bets.constant(0.0) - bets.losses(top, 0.0) @ mix
        best, best_gain = np.where(gain > best_gain, stake, best), np.maximum(gain, best_gain)
    return best


def _stakes(hoped: FoldBets, mix: FloatArray, wanted: FloatArray, factor: FloatArray | float) -> FloatArray:
    """Shares of the best stake for a normal law and a known mix, below 1 per target row."""
    best = np.sqrt(2 * wanted / _variance(hoped, mix))
    return np.asarray(np.minimum(factor * best, MAX_STAKE * hoped.n_target))


def _variance(hoped: FoldBets, mix: FloatArray) -> FloatArray:
    """Variance of (target mean - mix of source means) on the fold, as the past tells it."""
    seen = np.maximum(hoped.class_counts, 1.0)
    variance = hoped.source_square @ (mix**2 / seen) + hoped.target_square / hoped.n_target
    return np.asarray(np.maximum(variance, 1e-12))


@dataclass(frozen=True, eq=False)
class Bets:
    """The bets of all folds, added up and averaged over the splits (Lemma 4).

    ``folds`` holds those of all ``n_splits`` splits. ``hurdles`` is the log-wealth that direction d may reach by
    chance.
    """

    folds: tuple[FoldBets, ...]
    n_splits: int
    hurdles: FloatArray
    contamination: float

    def rows(self, top: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Inequalities ``rows t <= limits`` with entries in [0, 1] that the true mix keeps; one per direction."""
        constant = np.sum([fold.constant(self.contamination) for fold in self.folds], axis=0) / self.n_splits
        losses = np.sum([fold.losses(top, self.contamination) for fold in self.folds], axis=0) / self.n_splits
        # constant - losses·t <= hurdle; as t sums to 1, the largest loss may be added on both sides.
        largest = losses.max(axis=1)
        scale = np.maximum(np.ptp(losses, axis=1), 1e-300)
        scale = np.maximum(scale, 1e-6 * np.abs(largest))
        return (largest[:, None] - losses) / scale[:, None], (self.hurdles - constant + largest) / scale
