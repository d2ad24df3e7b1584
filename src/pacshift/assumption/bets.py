"""Bets against every label mix: inequalities in t that the true mix keeps, with a chosen probability.

Lemmas 1 to 4 of docs/methods/assumption.md. For a function c of the cell with values in [0, 1], learned on earlier
folds, and the true mix t, the target mean of c is the mix of its source means. A bet wins where the observed
target mean is above the observed mix. A linear function of t bounds its log-wealth from below. Arrays may begin
with any axes, such as one for the splits: "..." below.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from pacshift.arrays import FloatArray, scipy
from pacshift.bounds import ROUNDING
from pacshift.mix.programs import ViolationProgram

MAX_STAKE = 0.8
"""Largest stake per row times its reach; beyond it, a class's mean is bounded by 1 instead (Lemma 3). With 0.5 or
0.95 fewer violations or as many were refused."""

LEAST_REACH = 0.05
"""A smaller reach counts as this one: stakes stay finite. A larger reach is always valid."""

STAKE_FACTORS = np.array([1.0, 0.8, 0.6, 0.45, 0.3, 0.2, 0.1])
"""Stakes that are considered, as shares of the best one for a normal law and a known mix."""

EFFECT_SHRINKAGE = 0.4
"""Past differences are partly luck: such a part of them is expected again. Chosen on heart, CIFAR-10 and
Entity-13."""

MAX_CUTS = 8
"""How many rows of the mixture are added; one or two are usual. Fewer refuse less often, never wrongly."""


def fourth_price(x: FloatArray) -> FloatArray:
    """Slightly above κ(x) = sum of x^k / (4 + k) of Lemma 1: the terms from the sixth on have a common divisor.

    >>> fourth_price(np.array([0.0, 0.5])).round(4)
    array([0.25  , 0.4239])
    """
    head = 1 / 4 + x * (1 / 5 + x * (1 / 6 + x * (1 / 7 + x * (1 / 8 + x / 9))))
    return np.asarray(head + x**6 / (10 * (1 - x)))


def stake_price(stake: FloatArray, reach: FloatArray, moments: FloatArray) -> FloatArray:
    """What a stake λ costs per row: the mean of y²/2 - y³/3 + κ(λb) y⁴, y = λ · distance (Lemma 1).

    ``moments`` are the means of distance², ³ and ⁴, ``reach`` is b: distances are at least -b.

    >>> round(float(stake_price(np.array(0.5), np.array(0.4), np.array([0.1, 0.0, 0.01]))), 4)
    0.0127
    """
    second, third, fourth = moments
    return np.asarray(
        stake**2 * (second / 2 - stake * third / 3 + fourth_price(stake * reach) * stake**2 * fourth)
    )


def distances(raw: FloatArray, centre: FloatArray) -> FloatArray:
    """Means of (X - centre)², ³ and ⁴ from the means of X, X², X³ and X⁴."""
    first, second, third, fourth = raw
    square = centre**2
    return np.array(
        [
            np.maximum(second - 2 * centre * first + square, 0.0),
            third - 3 * centre * second + 3 * square * first - square * centre,
            np.maximum(
                fourth - 4 * centre * third + 6 * square * second - 4 * square * centre * first + square**2, 0.0
            ),
        ]
    )


@dataclass(frozen=True, eq=False)
class FoldBets:
    """What one fold showed of D directions, and the stakes chosen before it was looked at.

    ``stake`` is θ, shape (..., D). ``source_mean`` has shape (..., D, K), ``source_moments`` (3, ..., D, K): mean
    of c, and of the powers 2 to 4 of a - c, a centre that was fixed beforehand; ``source_reach`` is the largest
    c - a. For the target a - c is c - a, and there is no axis of classes. ``class_counts`` has shape (..., 1, K),
    ``n_target`` (..., 1).
    """

    stake: FloatArray
    source_mean: FloatArray
    source_moments: FloatArray
    source_reach: FloatArray
    target_mean: FloatArray
    target_moments: FloatArray
    target_reach: FloatArray
    class_counts: FloatArray
    n_target: FloatArray

    def constant(self, contamination: float) -> FloatArray:
        """The part of the log-wealth that does not depend on the mix (Lemma 2), shape (..., D)."""
        price = stake_price(self.stake / self.n_target, self.target_reach, self.target_moments)
        return np.asarray(self.stake * (self.target_mean - contamination) - self.n_target * price)

    def lines(self, low: FloatArray, top: FloatArray, contamination: float) -> tuple[FloatArray, FloatArray]:
        """Intercepts and slopes with loss_j <= intercept_j + slope_j t_j for low <= t <= top (Lemma 3)."""
        clean = 1 - contamination
        top = clean * np.maximum(top, 1e-9)
        low = np.clip(clean * low, 0.0, top - 1e-12)
        kink = MAX_STAKE * self.class_counts / self.source_reach / self.stake[..., None]
        at_top, whole = self.loss(top), top <= kink
        at_low = self.loss(low) if low.any() else np.zeros_like(at_top)
        slope = (at_top - at_low) / (top - low)
        intercept = at_low - slope * low
        if not whole.all():
            end = np.minimum(top, kink)
            steepest = np.maximum(self.loss(end) / np.maximum(end, 1e-300), at_top / top)
            slope, intercept = np.where(whole, slope, steepest), np.where(whole, intercept, 0.0)
        return intercept, clean * slope

    def loss(self, share: FloatArray) -> FloatArray:
        """h_j of Lemma 2 at a share t'_j."""
        wanted = self.stake[..., None] * share
        per_row = np.minimum(wanted / np.maximum(self.class_counts, 1.0), MAX_STAKE / self.source_reach)
        placed = self.class_counts * per_row
        price = self.class_counts * stake_price(per_row, self.source_reach, self.source_moments)
        return np.asarray(placed * self.source_mean + (wanted - placed) + price)

    def within_limits(self) -> "FoldBets":
        """The bets with stakes of at most the largest θ that Lemma 2 allows."""
        return replace(self, stake=np.minimum(self.stake, MAX_STAKE * self.n_target / self.target_reach))

    def at_shares(self, factors: FloatArray, mix: FloatArray, wanted: FloatArray | float) -> "FoldBets":
        """The bets at shares of the best stake for a normal law and a known mix."""
        best = np.sqrt(2 * wanted / self.variance(mix))
        return replace(self, stake=factors * best).within_limits()

    def variance(self, mix: FloatArray) -> FloatArray:
        """Variance of (target mean - mix of source means) on the fold."""
        by_class = self.source_moments[0] * (mix**2 / np.maximum(self.class_counts, 1.0))
        return np.asarray(np.maximum(by_class.sum(axis=-1) + self.target_moments[0] / self.n_target, 1e-12))


@dataclass(frozen=True, eq=False)
class Means:
    """Means of c, c², c³ and c⁴ by label and on the target, shapes (4, ..., D, K) and (4, ..., D), and row counts.

    ``class_counts`` has shape (..., 1, K), ``n_target`` (..., 1).
    """

    source: FloatArray
    target: FloatArray
    class_counts: FloatArray
    n_target: FloatArray


def place_bets(stake: FloatArray, past: Means, fold: Means) -> FoldBets:
    """Bets on a fold at stakes that the past chose (Lemma 2).

    Centres are the means of the past; 1/2 for a class without rows.
    """
    centre, target_centre = np.where(past.class_counts > 0, past.source[0], 0.5), past.target[0]
    signs = np.array([1.0, -1.0, 1.0]).reshape(3, *[1] * centre.ndim)  # a - c for the source, c - a for the target
    return FoldBets(
        stake,
        fold.source[0],
        distances(fold.source, centre) * signs,
        np.maximum(1 - centre, LEAST_REACH),
        fold.target[0],
        distances(fold.target, target_centre),
        np.maximum(target_centre, LEAST_REACH),
        fold.class_counts,
        np.maximum(fold.n_target, 1.0),
    )


def bets_if_past_repeats(past: Means, class_counts: FloatArray, n_target: FloatArray) -> FoldBets:
    """The bets if a fold of these sizes repeated the past. Stakes are still 1."""
    repeated = replace(past, class_counts=class_counts, n_target=n_target)
    bets = place_bets(np.ones_like(past.target[0]), past, repeated)
    rows = past.class_counts > 0  # without rows nothing is hoped for, and nothing feared
    return replace(bets, source_moments=np.where(rows, bets.source_moments, 0.0))


def choose_stakes(
    bets: FoldBets, mix: FloatArray, low: FloatArray, top: FloatArray, wanted: FloatArray | float
) -> FloatArray:
    """The stake θ per direction that would gain most at ``mix`` if the fold repeated the past.

    ``wanted`` is the log-wealth to reach by each fold. ``mix``, ``low`` and ``top`` have shape (..., 1, K).
    """
    explained, variance = (bets.source_mean * mix).sum(axis=-1), bets.variance(mix)
    gap = np.maximum(EFFECT_SHRINKAGE * (bets.target_mean - explained), np.sqrt(2 * wanted * variance))
    factors = STAKE_FACTORS.reshape(-1, *[1] * variance.ndim)
    tried = bets.at_shares(factors, mix, wanted)
    tried = replace(tried, target_mean=explained + gap)
    intercept, slope = tried.lines(low, top, 0.0)
    gain = tried.constant(0.0) - (intercept + slope * mix).sum(axis=-1)
    return np.asarray(np.take_along_axis(tried.stake, gain.argmax(axis=0)[None], axis=0)[0])


def stack_folds(folds: Sequence[FoldBets]) -> FoldBets:
    """The bets on one fold after another, along a first axis."""
    columns = {}
    for name in (field.name for field in fields(FoldBets)):
        axis = 1 if name.endswith("moments") else 0
        columns[name] = np.stack([getattr(fold, name) for fold in folds], axis=axis)
    return FoldBets(**columns)


def wealth_lines(
    folds: FoldBets, low: FloatArray, top: FloatArray, contamination: float
) -> tuple[FloatArray, FloatArray]:
    """Constants (N,) and slopes (N, K) of each bet: log-wealth >= constant - slope·t for low <= t <= top.

    The log-wealth of several folds, along the first axis, adds up (Lemma 4).
    """
    intercept, slope = folds.lines(low, top, contamination)
    constant = (folds.constant(contamination) - intercept.sum(axis=-1)).sum(axis=0)
    return constant.ravel(), slope.sum(axis=0).reshape(-1, slope.shape[-1])


def as_rows(constant: FloatArray, slope: FloatArray, hurdle: float) -> tuple[FloatArray, FloatArray]:
    """The inequalities constant - slope·t <= hurdle as ``rows t <= limits`` with entries in [0, 1]."""
    # As t sums to 1, the largest slope may be added on both sides.
    largest = slope.max(axis=1)
    scale = np.maximum(np.maximum(np.ptp(slope, axis=1), 1e-300), 1e-6 * np.abs(largest))
    rows, limits = (largest[:, None] - slope) / scale[:, None], (hurdle - constant + largest) / scale
    return rows, np.minimum(limits, 1.0)  # entries are at most 1: a larger limit says no more


@dataclass(frozen=True, eq=False)
class Mixture:
    """One e-value for many bets: the mean of their wealth (Lemma 4).

    Bets with log-wealth S_i(t) >= ``constant`` - ``slope`` · t, and log(1 / level) of their mean wealth.
    ``start`` is a mix near which the first row is sought.
    """

    constant: FloatArray
    slope: FloatArray
    hurdle: float
    start: FloatArray

    def log_wealth(self, mix: FloatArray) -> float:
        """A lower bound of the logarithm of the mean wealth at ``mix``."""
        return float(scipy.special.logsumexp(self._bets(mix)))

    def row(self, mix: FloatArray) -> tuple[FloatArray, float]:
        """The row of Lemma 4 that is sharpest at ``mix``: weights w as the bets' wealth is there."""
        bets = self._bets(mix)
        weights = np.exp(bets - bets.max())
        weights /= weights.sum()
        some = weights > 0
        divergence = float(weights[some] @ np.log(len(weights) * weights[some]))
        rows, limits = as_rows(
            np.array([weights @ self.constant - divergence]), (weights @ self.slope)[None], self.hurdle
        )
        return rows[0], float(limits[0])

    def _bets(self, mix: FloatArray) -> FloatArray:
        return np.asarray(self.constant - self.slope @ mix - np.log(len(self.constant)))


def cutting_planes(
    rows: FloatArray, limits: FloatArray, mixture: Mixture | None
) -> tuple[FloatArray, FloatArray, bool]:
    """Add rows of the mixture until some mix keeps everything, or none keeps ``rows t <= limits`` and the cuts.

    All of them hold on the event of Lemma 4: the solution of each program chooses the next one. Given back are
    rows and limits with the cuts that were needed, and whether no mix keeps them.
    """
    program = ViolationProgram(rows, limits)
    if mixture is None:
        return rows, limits, program.solve()[0] > ROUNDING
    mix = mixture.start
    for _ in range(MAX_CUTS):
        row, limit = mixture.row(mix)
        program.add(row, limit)
        rows, limits = np.vstack([rows, row]), np.append(limits, limit)
        violation, _, mix = program.solve()
        if violation > ROUNDING:
            return rows, limits, True
        if mixture.log_wealth(mix) <= mixture.hurdle:
            break
    return rows, limits, False
