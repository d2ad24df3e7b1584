"""What is planned on held-out rows: a path of rules, a bet for each, and where to start (docs/methods/accept.md).

Nothing here is part of the proof. Plans may be bad, and then little is accepted; they cannot make the promise
wrong, because they see no row that tests a rule.
"""

from dataclasses import dataclass

import numpy as np

from pacshift.acceptance.tops import TopScoreTable
from pacshift.acceptance.wealth import Bet, psi
from pacshift.arrays import BoolArray, FloatArray
from pacshift.paths.path import Axis, IsotonicCurves, isotonic

N_RULES = 60
"""Rules of a path: from the first that accepts a sixtieth of the target to the one that accepts all.

This and what follows only shapes how much is accepted. In simulated worlds half or twice as many rules, other
weights, groups and shares changed it by less than 60 draws tell.
"""

GROUPS = 40
"""Groups of rows of equal weight whose shares of right labels make a curve."""

PULL = 0.5
"""Weight of the wish that all predicted labels have the same curve."""

EQUAL_MEANS = 60.0
"""Weight of the wish that the correction leaves the same mean in every class: then the mix drops out."""

MOST_PLANNED, DEVIATIONS = 0.9, 3.0
"""No planned bet is larger at a mix so many standard deviations above the planned one."""

FEWEST_WRONG = 3.0
"""A class that would be bet on beyond its means is left out if fewer wrong rows than this are allowed in it."""

HALF_WAY = 0.5
"""Planned variances lie between what is expected (0) and what a wrong rule would show (1). With 0 a seventh less
is accepted with 2,000 rows, with 1 no less."""

EARLY = 0.9
"""The first rule is the strictest whose planned score is at least this share of the best. With 0.7 a tenth less is
accepted with 2,000 rows, with 1 no less."""


SURE = -1.5
"""A label with a limit of its own is accepted where its test has this planned score; -1 would just pass. With -1,
labels end the sequence: 0.08 of the best less is accepted with 10,000 rows. With -2 0.04 less with 2,000."""


def held_out_share(n_rows: int) -> float:
    """The share of rows that plan: a matter of the number of rows alone.

    >>> [round(held_out_share(n), 2) for n in (500, 2_000, 20_000, 200_000)]
    [0.35, 0.3, 0.15, 0.1]
    """
    return float(np.clip(0.15 * (20_000 / max(n_rows, 1)) ** 0.3, 0.1, 0.35))


def planned_mix(source: TopScoreTable, target: TopScoreTable, n_classes: int, rounds: int = 200) -> FloatArray:
    """About the label mix of the target: EM over predicted labels and quarters of the top score."""
    finite = target.top[np.isfinite(target.top)]
    edges = np.quantile(finite, [0.25, 0.5, 0.75]) if len(finite) else np.zeros(3)
    table = np.zeros((4 * n_classes, n_classes))
    np.add.at(table, (4 * source.predicted + np.searchsorted(edges, source.top), source.labels), source.counts)
    seen = np.bincount(
        4 * target.predicted + np.searchsorted(edges, target.top), target.counts, minlength=len(table)
    )
    columns, mix = _drawn_to_mean(table), np.full(n_classes, 1 / n_classes)
    for _ in range(rounds):
        joint = columns * mix
        rows_by_label = seen @ (joint / joint.sum(axis=1, keepdims=True)) + 0.5
        mix = rows_by_label / rows_by_label.sum()
    return np.asarray(mix)


def _drawn_to_mean(table: FloatArray, rows: float = 2.0) -> FloatArray:
    """Shares of the cells within each label, drawn to those of all labels by two rows."""
    overall = (table.sum(axis=1) + 0.05) / (table.sum() + 0.05 * len(table))
    return np.asarray((table + rows * overall[:, None]) / (table.sum(axis=0) + rows))


def planned_path(
    rows: TopScoreTable, weights: FloatArray, seen: TopScoreTable, n_classes: int, cuts: FloatArray | None
) -> FloatArray:
    """Thresholds of nested rules, one row each: cuts at one level of the planned log-odds of being right.

    Who accepts most at a given error has one level of the error for all labels. The log-odds are one growing curve
    of the top score plus a number for each predicted label, fitted to labelled ``rows`` with ``weights``. Levels
    are quantiles over the target rows ``seen``. Only ``cuts`` are used, if they are given.
    """
    usable, finite = np.isfinite(rows.top), np.isfinite(seen.top)
    if not (usable.any() and finite.any()):  # nothing to plan with: nothing is accepted
        return np.full((1, n_classes), np.inf)
    top, label, weight = rows.top[usable], rows.predicted[usable], weights[usable] / weights.mean()
    right = (label == rows.labels[usable]).astype(float)
    axis = Axis.of(top)
    places, which = np.unique(axis.places(top).round(9), return_inverse=True)
    total, hits = np.bincount(which, weight), np.bincount(which, weight * right)
    group = np.minimum((np.cumsum(total) / total.sum() * GROUPS).astype(int), GROUPS - 1)
    _, group = np.unique(group, return_inverse=True)
    size, hit = np.bincount(group, total), np.bincount(group, hits)
    block = np.unique(isotonic(hit / size, size), return_inverse=True)[1][group]
    size, hit, at = (np.bincount(block, each) for each in (total, hits, total * places))
    x, y = at / size, np.log((hit + 0.5) / (size - hit + 0.5))
    y = np.maximum.accumulate(y) + 1e-7 * np.arange(len(y))
    x, y = np.r_[x[0] - 60, x, x[-1] + 60], np.r_[y[0] - 18, y, y[-1] + 18]  # a slope of 0.3 beyond the ends
    offsets, base = np.zeros(n_classes), np.interp(axis.places(top), x, y)
    for _ in range(25):  # Newton's steps of a penalised likelihood, label by label
        chance = 1 / (1 + np.exp(-np.clip(base + offsets[label], -30, 30)))
        slope = np.bincount(label, weight * (right - chance), n_classes) - PULL * offsets
        curvature = np.bincount(label, weight * chance * (1 - chance), n_classes) + PULL
        offsets += np.clip(slope / curvature, -1, 1)
    levels = np.interp(axis.places(seen.top[finite]), x, y) + offsets[seen.predicted[finite]]
    order = np.argsort(-levels, kind="stable")
    reached = np.cumsum(seen.counts[finite][order]) / seen.n_rows
    steps = np.searchsorted(reached, np.arange(1, N_RULES + 1) / N_RULES)
    wanted = levels[order][np.minimum(steps, len(order) - 1)]
    curves = IsotonicCurves((x,) * n_classes, tuple(y + offset for offset in offsets), axis)
    path = curves.scores_at(wanted[:, None])
    if cuts is not None:
        path = np.append(cuts, np.inf)[np.searchsorted(cuts, path)]
    path[-1] = -np.inf if cuts is None else cuts[0]
    return np.minimum.accumulate(path.astype(np.float32).astype(float), axis=0)


def within_limits(path: FloatArray, sure: BoolArray) -> FloatArray:
    """The path with thresholds at which labels are ``sure``, by rule and label, to keep limits of their own.

    Elsewhere a label has the threshold of the last rule at which it is, or is never accepted: a label that failed
    would end the sequence for all others.

    >>> path = np.array([[0.9, 0.9], [0.8, 0.8], [0.7, 0.7]])
    >>> within_limits(path, np.array([[True, False], [True, True], [True, False]]))
    array([[0.9, inf],
           [0.8, 0.8],
           [0.7, 0.8]])
    """
    last = np.maximum.accumulate(np.where(sure, np.arange(len(path))[:, None], -1), axis=0)
    return np.where(last < 0, np.inf, np.take_along_axis(path, np.maximum(last, 0), axis=0))


@dataclass(frozen=True, slots=True, eq=False)
class PlannedBet:
    """A bet, the planned mean of the loss, and by how much it must lie below 0 for the test to pass."""

    bet: Bet
    mean: float
    need: float

    @property
    def score(self) -> float:
        """The smaller, the surer the test is to pass: below -1 it is expected to."""
        return self.mean / self.need


def plan_bet(
    phi: FloatArray, table: FloatArray, mix: FloatArray, rows: FloatArray, n_target: float, *, level: float
) -> PlannedBet:
    """The correction with the least planned variance and nearly equal means, and the stake that needs least.

    ``phi`` is the loss; ``table`` counts held-out source rows by (cell, label); ``rows`` and ``n_target`` are
    certifying rows.
    """
    n_classes, error, safe = len(mix), -float(phi.min()), np.maximum(rows, 1.0)
    columns = _drawn_to_mean(table)
    seen, weight = columns @ mix, mix**2 / safe
    mean = (columns * phi).sum(axis=0)
    # Var(u) / n + Σ t_j² Var_j(φ - u) / m_j, and a weight on the differences of the means.
    square = (np.diag(seen) - np.outer(seen, seen)) / n_target + np.diag(columns @ weight)
    square -= (columns * weight) @ columns.T
    linear = (columns * (phi - mean)) @ weight
    spread = mix * (1 - mix) * (1 / n_target + 1 / max(rows.sum(), 1.0))
    apart = np.eye(n_classes) - mix
    apart = apart.T @ np.diag(EQUAL_MEANS * (spread + 0.01 * (1 / n_target + 1 / max(rows.sum(), 1.0)))) @ apart
    square += columns @ apart @ columns.T
    linear += columns @ apart @ mean
    square += np.eye(len(seen)) * 1e-3 * np.trace(square) / len(seen)
    correction = np.linalg.solve(square, linear)
    correction = np.clip(correction - seen @ correction, -1.5, 1.5)
    rest = phi - correction[:, None]
    centres, target_centre = (columns * rest).sum(axis=0), float(seen @ correction)
    variances = np.maximum((columns * rest**2).sum(axis=0) - centres**2, 0.0)
    target_variance = max(float(seen @ correction**2) - target_centre**2, 0.0)
    # Where the error is the limit itself, more is wrong than is planned: half of it is allowed for.
    lacking = max(0.0, -(target_centre + float(mix @ centres)))
    wrong = mix * ((columns * (phi > 0)).sum(axis=0) + error / 2)
    variances = variances + HALF_WAY * lacking * wrong / wrong.sum() / np.maximum(mix, 1e-9)
    variance = target_variance / n_target + float(weight @ variances)
    usual = np.sqrt(2 * np.log(1 / level) / max(variance, 1e-12))
    bet = Bet(phi, correction, centres, target_centre, usual, rows > 0)
    bold = usual * mix * bet.unit / safe > MOST_PLANNED
    on = (rows > 0) & ~((rows * error < FEWEST_WRONG) & bold)
    stakes = np.linspace(0.1, 2.0, 39) * usual
    most = np.minimum(mix + DEVIATIONS * np.sqrt(spread), 1.0)
    largest = np.maximum(np.where(on, most * bet.unit / safe, 0.0).max(), bet.target_unit / n_target)
    stakes = stakes[stakes * largest < MOST_PLANNED] if stakes[0] * largest < MOST_PLANNED else stakes[:1]
    bets = np.minimum(stakes[:, None] * np.where(on, mix * bet.unit / safe, 0.0), MOST_PLANNED)
    price = (psi(bets) * safe / bet.unit**2) @ variances
    price += psi(np.minimum(stakes * bet.target_unit / n_target, MOST_PLANNED)) * (
        n_target * target_variance / bet.target_unit**2
    )
    needs = (np.log(1 / level) + price) / stakes
    best = int(np.argmin(needs))
    expected = target_centre + float(mix @ np.where(on, centres, rest.max(axis=0)))
    chosen = Bet(phi, correction, centres, target_centre, float(stakes[best]), on)
    return PlannedBet(chosen, expected, float(needs[best]))


def first_rule(scores: FloatArray) -> int:
    """The strictest rule whose planned score is nearly the best: the sequence ends at its first failure.

    >>> first_rule(np.array([0.5, -1.0, -2.9, -3.0, -2.0]))
    2
    """
    best = scores.min()
    return int(np.flatnonzero(scores <= (EARLY * best if best < 0 else best))[0])
