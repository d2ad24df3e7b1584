"""May these scores go to these thresholds? Thresholds found on one kind of scores say nothing about another.

Scores that are plainly of another kind than the source's are refused, with the remedy. Ordinary scores are never
refused: columns may be rounded, rows may lack mass, and the target may have any mix of the source's classes. What
could be either kind is let through.

A kind is the range of all scores, the least top score, and how many rows sum to 1. Kinds add up: that of all
blocks is the kind of the whole, however the rows are cut.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import FloatArray
from pacshift.errors import InputError, param
from pacshift.files.codec import Rules

Row: TypeAlias = NDArray[Any]
_INF, _LARGE = float("inf"), 3e38  # scores near the end of single precision go the long way

ROUNDING = 1e-3
"""How far a probability may lie outside of [0, 1] because it was rounded: half precision has steps of 0.001 above
1."""

SUM_TOLERANCE = 0.02
"""How far the sum of a row may lie from 1: half precision and rounded columns. Two digits in ten columns are off
by 0.05 at worst and by less than 0.02 in most rows."""
_NEAR = 1 - SUM_TOLERANCE - 5e-7, 1 + SUM_TOLERANCE + 5e-7  # sums on record are rounded to six digits

FEWEST_ROWS_LOOKED_AT, VALUES_LOOKED_AT = 16, 5000
"""Scores that are looked at before sets are made, spread over the rows. Round numbers: much less work than the
sets."""

FEWEST_ROWS = 8
"""Fewest rows that tell their kind: one or two rows of logits may sum to 1 by chance, eight hardly do. Not
measured."""

MOST_ROWS = 0.9
"""Share of the rows that must sum to 1; the others may lack mass or be empty. A round number; not measured."""

MIDDLE = (0.1, 0.9)
"""Quantiles between which top scores typically lie: a few outliers must not set the range."""

PROBABILITIES, UNIT = "probabilities that sum to 1", "numbers between 0 and 1"
OTHER = "other numbers, as logits are"

SUM_SLACK = 0.1
"""A row whose sum is off by more was not merely rounded: two digits are off by up to 0.005 per column, so 20
columns by 0.1."""

EXACT_SUM = 2e-6
"""Softmax in single precision sums to 1 up to this, about 16 units in the last place. Other numbers hardly ever
do."""

RANGE_SLACK = 2.0
"""How far top scores may lie from the source's, in widths of their range, ..."""

SCALE_SLACK = 10.0
"""... and how many times smaller they may be: a class that is rare in the source may look different. Both are
wide, because ordinary scores must never be refused; not measured."""

_REMEDIES = {
    PROBABILITIES: "Pass probabilities whose rows sum to 1: the softmax of logits, exp() of log-probabilities, "
    "percentages divided by 100",
    UNIT: "Pass the same scores as in the source, such as the sigmoid of each logit",
    OTHER: "Pass the raw scores as in the source, such as logits",
}


@dataclass(frozen=True, slots=True)
class ScoreKind:
    """The range of some scores, and how many of their rows sum to 1.

    Parameters
    ----------
    low, high : float
        The smallest and the largest score.
    least_top : float
        The smallest of the rows' largest scores; where nobody looked for them, the smallest score.
    n_rows : int
        How many rows there are.
    n_sum_to_one : int
        How many rows sum to 1, but for rounding; 0 unless all scores lie between 0 and 1.
    sums : tuple of float or None
        The smallest and the largest sum of a row; None unless all scores lie between 0 and 1.
    tops : tuple of float or None
        Between which numbers top scores typically lie: 10 and 90 % quantiles, of labelled rows the least and the
        largest of any class. None where it is not known.

    Examples
    --------
    >>> str(ScoreKind.of_rows(np.array([[0.2, 0.8], [0.5, 0.5]])))
    'probabilities that sum to 1 (from 0.2 to 0.8)'
    """

    low: float
    high: float
    least_top: float
    n_rows: int
    n_sum_to_one: int = 0
    sums: tuple[float, float] | None = None
    tops: tuple[float, float] | None = None

    @classmethod
    def of(cls, low: float, high: float, least_top: float, sums: FloatArray) -> "ScoreKind":
        """The kind of rows whose range is known, and their sums where all scores lie between 0 and 1.

        Parameters
        ----------
        low, high, least_top : float
            Smallest and largest score, and the smallest of the rows' largest scores.
        sums : float array of shape (n,)
            The sum of each row.

        Returns
        -------
        ScoreKind
        """
        if not in_unit(low, high):
            return cls(low, high, least_top, len(sums))
        least, largest = float(sums.min()), float(sums.max())
        all_near = _NEAR[0] <= least <= largest <= _NEAR[1]
        n_near = len(sums) if all_near else int(((sums >= _NEAR[0]) & (sums <= _NEAR[1])).sum())
        # Rounded, because the last bits depend on how the rows are cut into blocks.
        return cls(low, high, least_top, len(sums), n_near, (round(least, 6), round(largest, 6)))

    @classmethod
    def of_rows(cls, scores: NDArray[np.floating[Any]]) -> "ScoreKind | None":
        """The kind of a matrix, from some of its rows. Rows that are not finite are ignored; None without others.

        Parameters
        ----------
        scores : float array of shape (n, K)
            One row per example, one column per class.

        Returns
        -------
        ScoreKind or None
        """
        n_rows = max(FEWEST_ROWS_LOOKED_AT, VALUES_LOOKED_AT // scores.shape[1])
        some = scores[:: -(-len(scores) // n_rows)].astype(np.float64)
        some = some[np.isfinite(some).all(axis=1)]
        if not len(some):
            return None
        tops = some.max(axis=1)
        kind = cls.of(float(some.min()), float(tops.max()), float(tops.min()), some.sum(axis=1))
        if kind.name == PROBABILITIES or len(some) < FEWEST_ROWS:
            return kind
        first, last = np.quantile(tops, MIDDLE).tolist()
        return replace(kind, tops=(first, last))

    def __or__(self, other: "ScoreKind") -> "ScoreKind":
        """The kind of both together."""
        low, high = min(self.low, other.low), max(self.high, other.high)
        least_top, n_rows = min(self.least_top, other.least_top), self.n_rows + other.n_rows
        if self.sums is None or other.sums is None:
            return ScoreKind(low, high, least_top, n_rows)
        sums = min(self.sums[0], other.sums[0]), max(self.sums[1], other.sums[1])
        return ScoreKind(low, high, least_top, n_rows, self.n_sum_to_one + other.n_sum_to_one, sums)

    @property
    def name(self) -> str:
        """One of three kinds, in words.

        >>> ScoreKind(0.0, 1.0, 0.4, 9, 9, sums=(0.99, 1.0)).name, ScoreKind(-3.0, 9.0, 0.4, 9).name
        ('probabilities that sum to 1', 'other numbers, as logits are')
        """
        if self.sums is None:
            return OTHER
        return PROBABILITIES if self.n_sum_to_one >= MOST_ROWS * self.n_rows else UNIT

    @property
    def is_softmax(self) -> bool:
        """Whether even a single row tells its kind: all sum to 1 exactly, and are not made of whole numbers."""
        if self.sums is None or self.least_top >= 1:
            return False
        return max(1 - self.sums[0], self.sums[1] - 1) <= EXACT_SUM

    @property
    def is_constant(self) -> bool:
        """Whether all rows have the same top score."""
        return self.least_top == self.high

    def __str__(self) -> str:
        details = f"from {self.low:.4g} to {self.high:.4g}"
        if self.name == UNIT and self.sums is not None:
            details = f"rows sum to {self.sums[0]:.4g} to {self.sums[1]:.4g}"
        elif self.name == OTHER and self.tops is not None:
            details += f", top scores mostly {self.tops[0]:.4g} to {self.tops[1]:.4g}"
        return f"{self.name} ({details})"

    _RULES: ClassVar[Rules] = {
        "scores lie between the smallest and the largest": lambda self: self.low <= self.least_top <= self.high,
        "top scores lie in a range": lambda self: self.tops is None or self.tops[0] <= self.tops[1],
        "rows have sums where all scores lie between 0 and 1": lambda self: (
            (self.sums is not None) == in_unit(self.low, self.high)
        ),
        "the least sum of rows is not above the largest": lambda self: (
            self.sums is None or self.sums[0] <= self.sums[1]
        ),
        "no more rows sum to 1 than there are": lambda self: self.n_sum_to_one <= self.n_rows > 0,
        "all rows sum to 1 where the smallest and the largest sum are near 1": lambda self: (
            (self.n_sum_to_one == self.n_rows)
            == (self.sums is not None and _NEAR[0] <= self.sums[0] <= self.sums[1] <= _NEAR[1])
        ),
        "rows that sum to 1 have such a sum": lambda self: (
            not self.n_sum_to_one
            or (self.sums is not None and self.sums[0] <= _NEAR[1] and self.sums[1] >= _NEAR[0])
        ),
    }


def kind_of_all(kinds: Iterable[ScoreKind | None]) -> ScoreKind | None:
    """The kind of all parts together; None where there is no part or one of unknown kind."""
    known = list(kinds)
    return None if None in known or not known else reduce(ScoreKind.__or__, [kind for kind in known if kind])


def in_unit(low: float, high: float) -> bool:
    """Whether all scores lie between 0 and 1, but for rounding."""
    return low >= -ROUNDING and high <= 1 + ROUNDING


def require_same_kind(source: ScoreKind | None, target: ScoreKind | None, *, name: str, n_rows: int) -> None:
    """InputError if ``n_rows`` rows of scores are plainly of another kind than those the thresholds belong to."""
    if source is None or target is None or not _differ(source, target, many=n_rows >= FEWEST_ROWS):
        return
    same = source.name == target.name
    raise InputError(
        f"{name}: these scores are {target}, but the source's are {source}. "
        f"{'Pass scores of the same scale as the source' if same else _REMEDIES[source.name]}, or calibrate with "
        "this kind of scores on both sides."
    )


def _differ(source: ScoreKind, target: ScoreKind, *, many: bool) -> bool:
    """Whether the kinds differ, as far as the target's rows, many or few, can tell."""
    if source.name == PROBABILITIES and source.sums is not None:
        if target.sums is None:
            return True
        # Rows that lack mass are ordinary if the source had such rows, too.
        least, largest = min(source.sums[0], 1) - SUM_SLACK, max(source.sums[1], 1) + SUM_SLACK
        return not least <= target.sums[0] <= target.sums[1] <= largest and 2 * target.n_sum_to_one < target.n_rows
    far_off = many and _far_off(source.tops, target.tops)
    if source.name == UNIT:  # these may be anything that happened to lie between 0 and 1, so allow for more
        # A source whose rows never sum to more may hold probabilities that lack mass. Rows that lack none are
        # then ordinary.
        above_one = source.n_rows >= FEWEST_ROWS and source.sums is not None and source.sums[1] > 1 + SUM_SLACK
        never_one = many and above_one and source.n_sum_to_one <= (1 - MOST_ROWS) * source.n_rows
        out_of_range = not -1 <= target.low <= target.high <= 2
        return out_of_range or far_off or (never_one and target.name == PROBABILITIES)
    if source.high <= ROUNDING < target.high:  # log-probabilities are never above 0
        return True
    least_usual_top = -_INF if source.tops is None else source.tops[0]
    if target.name == PROBABILITIES:
        return many or (target.is_softmax and least_usual_top > 1 + ROUNDING)
    return far_off or (many and target.name == UNIT and least_usual_top > 1 + ROUNDING)


def _far_off(source: tuple[float, float] | None, target: tuple[float, float] | None) -> bool:
    """Whether typical top scores have another scale or place than those of every class of the source.

    Under label shift the quantiles of the target's top scores lie between the least and the largest of the
    source's classes.
    """
    if source is None or target is None:
        return False
    first, last = source
    slack = RANGE_SLACK * max(last - first, max(abs(first), abs(last)) / 2)
    low, high = first - slack, last + slack
    if first > 0:
        low = max(low, first / SCALE_SLACK)
    if last < 0:
        high = min(high, last / SCALE_SLACK)
    return target[1] < low or target[0] > high


def require_logits(scores: NDArray[np.floating[Any]], *, name: str) -> None:
    """InputError where rows are probabilities already: they must not go through a second softmax."""
    kind = ScoreKind.of_rows(scores)
    if kind and kind.name == PROBABILITIES and (len(scores) >= FEWEST_ROWS or kind.is_softmax):
        raise InputError(
            f"{name}: {param('softmax=True')} is for logits, but these scores are {kind.name} already. Leave it "
            "out, or pass the logits."
        )


def fast_row_check(source: ScoreKind | None, *, softmax: bool) -> Callable[[Row, Row], bool]:
    """A check that passes only rows that ``require_same_kind`` and ``require_logits`` let through.

    NaN fails every comparison, so a row that holds one never passes. The second argument is a row of ones:
    the dot product is the fastest sum.
    """
    if softmax:
        return lambda row, ones: _has_other_sum(row, ones) and -_INF < high_of(row) < _INF
    if source is None:
        return lambda row, _ones: low_of(row) > -_INF and high_of(row) < _LARGE
    if source.name == PROBABILITIES:
        return _are_probabilities
    if source.name == UNIT:
        return lambda row, _ones: low_of(row) >= -1 and high_of(row) <= 2
    highest = ROUNDING if source.high <= ROUNDING else _LARGE
    return lambda row, ones: high_of(row) < highest and _are_raw(low_of(row), row, ones)


def low_of(row: Row) -> float:
    low: float = row.item(row.argmin())
    return low


def high_of(row: Row) -> float:
    high: float = row.item(row.argmax())
    return high


def _has_other_sum(row: Row, ones: Row) -> bool:
    """Whether the sum is far from that of probabilities."""
    return abs(float(row.dot(ones)) - 1) > 2 * SUM_TOLERANCE


def _are_probabilities(row: Row, ones: Row) -> bool:
    total = float(row.dot(ones))
    if not abs(total - 1) < SUM_TOLERANCE / 2 or not low_of(row) >= 0:
        return False
    return total < 1 + ROUNDING / 2 or high_of(row) < 1 + ROUNDING


def _are_raw(low: float, row: Row, ones: Row) -> bool:
    """Finite numbers, and no probabilities: some are negative, or their sum is another."""
    return -_INF < low < -ROUNDING or (low >= 0 and _has_other_sum(row, ones))
