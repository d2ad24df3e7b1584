"""What kind of numbers scores are: probabilities that sum to 1, numbers between 0 and 1, or others such as logits.

Thresholds found on one kind say nothing about another. The kind is read off the range of all scores and the sums
of some rows, so that it costs nearly nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.errors import InputError

ROWS_LOOKED_AT = 64
"""Rows of each block whose sums are looked at."""

VALUES_LOOKED_AT = 5000
"""Scores that are looked at before sets are made."""

FEWEST_ROWS = 8
"""From so few rows on, logits do not look like probabilities by chance."""

ROUNDING = 1e-3
"""How far a probability may lie outside of [0, 1] because it was rounded."""

SUM_TOLERANCE = 0.02
"""How far the sum of a row of probabilities may lie from 1: half precision and rounded columns are allowed for."""

PROBABILITIES, UNIT = "probabilities that sum to 1", "numbers between 0 and 1"
OTHER = "other numbers, as logits are"


@dataclass(frozen=True, slots=True)
class ScoreKind:
    """The range of some scores, and whether their rows sum to 1.

    Parameters
    ----------
    low, high : float
        The smallest and the largest score.
    least_top : float
        The smallest of the rows' largest scores.
    sums_to_one : bool
        Whether the rows that were looked at sum to 1, but for rounding.

    Examples
    --------
    >>> ScoreKind.of_rows(np.array([[0.2, 0.8], [0.5, 0.5]])).name
    'probabilities that sum to 1'
    """

    low: float
    high: float
    least_top: float
    sums_to_one: bool

    @classmethod
    def of(cls, scores: NDArray[np.floating[Any]], low: float, high: float, least_top: float) -> "ScoreKind":
        """The kind of a block of scores whose range is known already; some of its rows are summed.

        Parameters
        ----------
        scores : float array of shape (n, K)
            The block.
        low, high, least_top : float
            Smallest and largest score, and the smallest of the rows' largest scores.

        Returns
        -------
        ScoreKind
        """
        some = scores[:: -(-len(scores) // ROWS_LOOKED_AT)]
        in_range = low >= -ROUNDING and high <= 1 + ROUNDING
        sums = some.sum(axis=1, dtype=np.float64) if in_range else np.empty(0)
        return cls(low, high, least_top, in_range and bool((np.abs(sums - 1) <= SUM_TOLERANCE).all()))

    @classmethod
    def of_rows(cls, scores: NDArray[np.floating[Any]]) -> "ScoreKind":
        """The kind of a matrix, from some of its rows; rows that are not finite are ignored.

        Parameters
        ----------
        scores : float array of shape (n, K)
            One row per example, one column per class.

        Returns
        -------
        ScoreKind
        """
        n_rows = max(ROWS_LOOKED_AT // 4, VALUES_LOOKED_AT // scores.shape[1])
        some = scores[:: -(-len(scores) // n_rows)].astype(np.float64)
        some = some[np.isfinite(some).all(axis=1)]
        if not len(some):
            return cls(0.0, 1.0, 0.0, False)
        return cls.of(some, float(some.min()), float(some.max()), float(some.max(axis=1).min()))

    def __or__(self, other: "ScoreKind") -> "ScoreKind":
        """The kind of both together."""
        return ScoreKind(
            min(self.low, other.low),
            max(self.high, other.high),
            min(self.least_top, other.least_top),
            self.sums_to_one and other.sums_to_one,
        )

    @property
    def name(self) -> str:
        """One of the three kinds, in words.

        >>> ScoreKind(0.0, 1.0, 0.4, sums_to_one=True).name, ScoreKind(-3.0, 9.0, 0.4, sums_to_one=False).name
        ('probabilities that sum to 1', 'other numbers, as logits are')
        """
        if self.sums_to_one:
            return PROBABILITIES
        return UNIT if self.low >= -ROUNDING and self.high <= 1 + ROUNDING else OTHER

    @property
    def is_constant(self) -> bool:
        """Whether all rows have the same top score."""
        return self.least_top == self.high

    def __str__(self) -> str:
        return f"{self.name} (from {self.low:.4g} to {self.high:.4g})"


def kind_of_all(kinds: Iterable[ScoreKind | None]) -> ScoreKind | None:
    """The kind of all parts together; None where there is no part or one of unknown kind."""
    known = list(kinds)
    return None if None in known or not known else reduce(ScoreKind.__or__, [kind for kind in known if kind])


def require_same_kind(made_from: ScoreKind | None, given: ScoreKind | None, *, name: str, n_rows: int) -> None:
    """InputError if ``n_rows`` rows of scores are plainly of another kind than those the thresholds belong to."""
    if made_from is None or given is None or not _differ(made_from, given, n_rows):
        return
    remedy = (
        "Apply softmax to the logits first"
        if made_from.name != OTHER
        else "Pass the raw scores (logits), not probabilities"
    )
    raise InputError(
        f"{name}: the source's scores are {made_from}, but these are {given}. Thresholds of one kind of "
        f"scores mean nothing for another. {remedy}, or calibrate again with this kind of scores."
    )


def _differ(made_from: ScoreKind, given: ScoreKind, n_rows: int) -> bool:
    """Probabilities against logits, in either direction; never where the given scores could be of either kind."""
    if made_from.name == OTHER:  # a few rows of logits may look like probabilities by chance
        return given.name == PROBABILITIES and n_rows >= FEWEST_ROWS
    if made_from.name == UNIT:  # these may be anything that happened to lie between 0 and 1, so allow for more
        return not -1 <= given.low <= given.high <= 2
    return given.name == OTHER
