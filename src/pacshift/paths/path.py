"""A path of threshold vectors along growing curves, and the last of them that passes a test.

What a path is made from may be wrong without harm to any guarantee; it then costs size. What proofs need is that
no class's threshold falls from step to step, and that the rows of the test had no part in making it. Curves from
rows say how likely a class is on the target at a score of this class.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import FloatArray, IntArray, order_of
from pacshift.parallel import run_all
from pacshift.tally.grid import to_grid


class Curves(Protocol):
    """How likely each class is, as a growing function of the class's score."""

    def scores_at(self, level: FloatArray | float) -> FloatArray:
        """The score of each class at which its curve reaches ``level``; does not fall as the level grows.

        Several levels lie in a column and give a row of scores each.
        """
        ...


@dataclass(frozen=True, eq=False)
class ThresholdPath:
    """Vectors of thresholds, one after the other; no class's threshold falls from step to step.

    "The path" of docs/methods/ps-lp-proof.md, and the path of docs/methods/ps-t.md.

    Parameters
    ----------
    curves : Curves
        Where they reach a level is a threshold.
    caps : ndarray of float
        The largest threshold of each class.
    ends : tuple of float
        Levels of the first and the last step.
    steps : int
        How many vectors there are, their levels equally far apart.
    grid : bool
        Whether thresholds are rounded down to the grid of a tally.
    guess : int, optional
        The step at which a search begins; by default in the middle.
    """

    curves: Curves
    caps: FloatArray
    ends: tuple[float, float]
    steps: int
    grid: bool
    guess: int | None = None

    def thresholds(self, step: int) -> FloatArray:
        """The vector of one step, 0 to ``steps - 1``; before them, -inf for every class."""
        if step < 0:
            return np.full(len(self.caps), -np.inf)
        low, high = self.ends
        level = low + (high - low) * (step / (self.steps - 1))
        cuts = np.minimum(self.curves.scores_at(level), self.caps)
        return to_grid(cuts) if self.grid else cuts


def last_passing(path: ThresholdPath, margin: Callable[[FloatArray], float], *, before: int | None = None) -> int:
    """The last step found whose margin is not below 0, among those ``before`` a step; -1 where none is found.

    The margin should not grow along the path; if it does, a step that passes is found all the same. The search
    begins at the path's guess. The margin is nearly linear, so a straight line between the ends says where to ask
    next: five or six questions for 4,096 steps, where halving takes twelve. Every fourth question halves what is
    left, whatever the margins are.
    """
    low, high, at_low, at_high, n_asked = -1, path.steps if before is None else before, np.inf, -np.inf, 0
    passed_before, near = None, path.steps // NEAR
    while high - low > 1:
        middle, drop, n_asked = (low + high) // 2, at_low - at_high, n_asked + 1
        if n_asked == 1 and path.guess is not None:
            middle = path.guess
        elif path.guess is not None and not np.isfinite(drop):  # the other end is sought near the guess
            middle, near = low + near if passed_before else high - near, 2 * near
        elif n_asked % 4 and np.isfinite(drop):
            middle = low + round((high - low) * at_low / drop)
        middle = min(max(middle, low + 1), high - 1)
        room = margin(path.thresholds(middle))
        passed = room >= 0
        if passed == passed_before:  # half the margin of the end that stays: the next question is nearer to it
            at_low, at_high = (at_low, at_high / 2) if passed else (at_low / 2, at_high)
        low, high, at_low, at_high = (middle, high, room, at_high) if passed else (low, middle, at_low, room)
        passed_before = passed
    return low


NEAR = 128
"""The part of the path by which the second question is away from the guess; then twice as far, and so on. Any
other only takes more questions."""

GROUPS = 400
"""Groups of rows whose means make a curve. With 400 of 20,000 rows curves are as good as with all. From PS-LP's
prototype; not measured anew."""

MIN_SLOPE = 0.1
"""Curves grow at least so fast beyond their ends, so that each has an inverse. As for PS-LP's curves."""

TINY = 1e-9
"""Shares are kept this far from 0 and 1, where log-odds are infinite."""

LOWEST = float(np.log(TINY) - np.log1p(-TINY))
"""Where a share of 0 lies on the axis."""

DECIMALS = 9
"""Points of a curve are rounded: where it is nearly flat, the last digits of a machine would move thresholds."""

BEYOND = 60.0
"""How far a curve is continued on both sides, in units of its axis: further than any level that is tried."""


@dataclass(frozen=True, slots=True, eq=False)
class IsotonicCurves:
    """Per class, points of a curve: places on the axis of scores, and log-odds that the row has this class.

    The axis is the log-odds of the score where scores are shares, else the score in units of its own spread.
    """

    places: tuple[FloatArray, ...]
    log_odds: tuple[FloatArray, ...]
    axis: "Axis"

    def scores_at(self, level: FloatArray | float) -> FloatArray:
        """The score of each class at which its curve reaches ``level``; does not fall as the level grows.

        Several levels lie in a column and give a row of scores each.
        """
        levels, points = np.atleast_1d(level), zip(self.places, self.log_odds, strict=True)
        return self.axis.scores(
            np.concatenate([np.interp(levels, odds, place) for place, odds in points], axis=-1)
        )


@dataclass(frozen=True, slots=True)
class Axis:
    """Where scores lie on a line: by their log-odds, or moved and scaled."""

    is_share: bool
    middle: float = 0.0
    spread: float = 1.0

    @classmethod
    def of(cls, scores: NDArray[np.floating[Any]]) -> "Axis":
        """Log-odds for scores within [0, 1]; others are centred and divided by their standard deviation."""
        if scores.min() >= 0 and scores.max() <= 1:
            return cls(True)
        return cls(False, float(scores.mean()), float(scores.std()) or 1.0)

    def places(self, scores: NDArray[np.floating[Any]]) -> FloatArray:
        """Places on the axis; do not fall as scores grow."""
        values = np.asarray(scores, float)
        return log_odds(values) if self.is_share else (values - self.middle) / self.spread

    def scores(self, places: FloatArray) -> FloatArray:
        """The scores at some places; do not fall as places grow."""
        if self.is_share:
            shares = 1 / (1 + np.exp(-np.clip(places, -36.0, 36.0)))
            return np.where(places <= LOWEST, 0.0, shares)  # a share of exactly 0 must be reached too
        return places * self.spread + self.middle


def log_odds(shares: FloatArray) -> FloatArray:
    """log(p / (1 - p)), with p kept away from 0 and 1.

    >>> log_odds(np.array([0.0, 0.5, 1.0])).round(1)
    array([-20.7,   0. ,  20.7])
    """
    kept = np.clip(shares, TINY, 1 - TINY)
    return np.asarray(np.log(kept) - np.log1p(-kept))


def fit_isotonic(scores: NDArray[np.floating[Any]], posterior: FloatArray) -> IsotonicCurves:
    """Isotonic regression of the posterior of y on the score of y, class by class.

    Used by PS-T, and by PS-LP in "How the path is chosen" of docs/methods/ps-lp-proof.md.
    """
    axis = Axis.of(scores)
    columns = zip(scores.T, posterior.T, strict=True)
    points = run_all([partial(_curve, axis, column, chances) for column, chances in columns])
    places, odds = zip(*points, strict=True)
    return IsotonicCurves(places, odds, axis)


def _curve(axis: Axis, scores: NDArray[Any], chances: FloatArray) -> tuple[FloatArray, FloatArray]:
    places = axis.places(scores)
    order = order_of(places)
    group = np.arange(len(order)) * min(GROUPS, len(order)) // len(order)
    size = np.bincount(group)
    x = np.bincount(group, places[order]) / size
    y = log_odds(isotonic(np.bincount(group, chances[order]) / size, size))
    x, y = x.round(DECIMALS), y.round(DECIMALS)
    # Means of sorted numbers, but for rounding; and never flat, so that the inverse is a function.
    x, y = (np.maximum.accumulate(points) + 1e-7 * np.arange(len(points)) for points in (x, y))
    slope = max((y[-1] - y[0]) / max(x[-1] - x[0], 1e-6), MIN_SLOPE)
    return (
        np.concatenate([[x[0] - BEYOND], x, [x[-1] + BEYOND]]),
        np.concatenate([[y[0] - BEYOND * slope], y, [y[-1] + BEYOND * slope]]),
    )


def isotonic(values: FloatArray, weights: FloatArray | IntArray) -> FloatArray:
    """The growing sequence closest to ``values`` in weighted squares: neighbours that fall are pooled.

    For a few hundred values; SciPy's needs 0.13 s to be imported.

    >>> isotonic(np.array([1.0, 3.0, 2.0, 4.0]), np.ones(4)).tolist()
    [1.0, 2.5, 2.5, 4.0]
    """
    means: list[float] = []
    pooled: list[float] = []
    lengths: list[int] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        mean, total, length = value, weight, 1
        while means and means[-1] >= mean:
            before = pooled.pop()
            mean = (means.pop() * before + mean * total) / (before + total)
            total, length = before + total, length + lengths.pop()
        means.append(mean)
        pooled.append(total)
        lengths.append(length)
    return np.repeat(means, lengths)
