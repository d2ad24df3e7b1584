"""What kind of numbers scores are: probabilities, percentages, log-probabilities, logits and others.

Thresholds found on one kind say nothing about another. The kind is read off the range of all scores and the sums
of the rows. Kinds add up: that of all blocks is the kind of the whole, however the rows are cut.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.scores.sums import ROUNDING, TOTALS, RowSums

ROWS_LOOKED_AT = 64
"""Rows of each block that are looked at first: one score that is no whole number settles it, without a look at the
others. A round number."""

VALUES_LOOKED_AT = 5000
"""Scores that are looked at before sets are made, spread over the rows. A round number: much less work than the
sets."""

FEWEST_ROWS = 8
"""Fewest rows that tell their kind: one or two rows of logits may sum to 1 by chance, eight hardly do. Not
measured."""

MOST_ROWS = 0.9
"""Share of the rows that must have the sum of their kind; the others may lack mass or be empty. A round number;
not measured."""

MIDDLE = (0.1, 0.9)
"""Quantiles between which top scores typically lie: a few outliers must not set the range."""

PROBABILITIES, UNIT = "probabilities that sum to 1", "numbers between 0 and 1"
PERCENTAGES, BYTES = "percentages that sum to 100", "whole numbers between 0 and 255"
LOGS, OTHER = "log-probabilities", "other numbers, as logits are"


@dataclass(frozen=True, slots=True)
class ScoreKind:
    """The range of some scores, and what is known about the sums of their rows.

    Parameters
    ----------
    low, high : float
        The smallest and the largest score.
    least_top : float
        The smallest of the rows' largest scores.
    sums_to_one : bool
        Whether the scores lie between 0 and 1 and every row sums to 1, but for rounding.
    whole : bool
        Whether all scores are whole numbers between 0 and 255.
    sums : RowSums or None
        Sums of the rows; None where they say nothing (logits).
    tops : tuple of float or None
        Between which numbers top scores typically lie: 10 and 90 % quantiles, of labelled rows the least and the
        largest of any class. None where it is not known.

    Examples
    --------
    >>> ScoreKind.of_rows(np.array([[0.2, 0.8], [0.5, 0.5]])).name
    'probabilities that sum to 1'
    """

    low: float
    high: float
    least_top: float
    sums_to_one: bool
    whole: bool = False
    sums: RowSums | None = None
    tops: tuple[float, float] | None = None

    @classmethod
    def of(cls, low: float, high: float, least_top: float, sums: RowSums | None, *, whole: bool) -> "ScoreKind":
        """The kind of scores of which all this is known.

        Parameters
        ----------
        low, high, least_top : float
            Smallest and largest score, and the smallest of the rows' largest scores.
        sums : RowSums or None
            Sums of the rows, where they say something.
        whole : bool
            Whether all scores are whole numbers.

        Returns
        -------
        ScoreKind
        """
        of_scores = sums is not None and not sums.of_exponentials
        all_near = sums is not None and of_scores and sums.near[0] == sums.n_rows
        return cls(low, high, least_top, _in_unit(low, high) and all_near, of_scores and whole, sums)

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
        tops = some.max(axis=1)
        low, high = float(some.min()), float(tops.max())
        kind = cls.of(low, high, float(tops.min()), RowSums.of(some, low, high), whole=are_whole(some))
        if kind.name == PROBABILITIES or len(some) < FEWEST_ROWS:
            return kind
        first, last = np.quantile(tops, MIDDLE).tolist()
        return kind.with_tops((first, last))

    def with_tops(self, tops: tuple[float, float] | None) -> "ScoreKind":
        """The same kind, with the numbers between which top scores typically lie.

        Parameters
        ----------
        tops : tuple of float or None
            The numbers, if they are known.

        Returns
        -------
        ScoreKind
        """
        return replace(self, tops=tops or self.tops)

    def __or__(self, other: "ScoreKind") -> "ScoreKind":
        """The kind of both together."""
        sums = None
        if self.sums and other.sums and self.sums.of_exponentials == other.sums.of_exponentials:
            sums = self.sums | other.sums
        low, high = min(self.low, other.low), max(self.high, other.high)
        least_top = min(self.least_top, other.least_top)
        sums_to_one, whole = self.sums_to_one and other.sums_to_one, self.whole and other.whole
        return ScoreKind(low, high, least_top, sums_to_one, whole, sums)

    @property
    def name(self) -> str:
        """One of the six kinds, in words.

        >>> ScoreKind(0.0, 1.0, 0.4, sums_to_one=True).name, ScoreKind(-3.0, 9.0, 0.4, sums_to_one=False).name
        ('probabilities that sum to 1', 'other numbers, as logits are')
        """
        if _in_unit(self.low, self.high):
            return PROBABILITIES if self.sums_to_one or self.share_near(0) >= MOST_ROWS else UNIT
        if self.sums is None:
            return OTHER
        if self.sums.of_exponentials:
            return LOGS if self.share_near(0) >= MOST_ROWS else OTHER
        if self.share_near(1) >= MOST_ROWS and self.high <= TOTALS[1] * (1 + ROUNDING):
            return PERCENTAGES
        return BYTES if self.whole else OTHER

    def share_near(self, place: int) -> float:
        """Share of the rows that sum to ``TOTALS[place]``; 0 where it is not known.

        Parameters
        ----------
        place : int
            Which total.

        Returns
        -------
        float
        """
        return 0.0 if self.sums is None else self.sums.near[place] / self.sums.n_rows

    @property
    def is_constant(self) -> bool:
        """Whether all rows have the same top score."""
        return self.least_top == self.high

    def __str__(self) -> str:
        ends = f"from {self.low:.4g} to {self.high:.4g}"
        if self.name == UNIT and self.sums is not None:
            return f"{self.name} (rows sum to {self.sums.least:.4g} to {self.sums.largest:.4g})"
        if self.name in (OTHER, BYTES) and self.tops is not None:
            return f"{self.name} ({ends}, top scores mostly {self.tops[0]:.4g} to {self.tops[1]:.4g})"
        return f"{self.name} ({ends})"

    def _require_consistent(self) -> None:
        if not self.low <= self.least_top <= self.high:
            raise ValueError(
                f"{self.low:g}, {self.least_top:g}, {self.high:g} where the range of the scores belongs"
            )
        if self.tops is not None and self.tops[0] > self.tops[1]:
            raise ValueError(f"{self.tops} where a range of top scores belongs")


def kind_of_all(kinds: Iterable[ScoreKind | None]) -> ScoreKind | None:
    """The kind of all parts together; None where there is no part or one of unknown kind."""
    known = list(kinds)
    return None if None in known or not known else reduce(ScoreKind.__or__, [kind for kind in known if kind])


def _in_unit(low: float, high: float) -> bool:
    """Whether all scores lie between 0 and 1, but for rounding."""
    return low >= -ROUNDING and high <= 1 + ROUNDING


def are_whole(scores: NDArray[np.floating[Any]]) -> bool:
    """Whether all scores are whole numbers."""
    some = scores[:: -(-len(scores) // ROWS_LOOKED_AT)]
    return bool((some == np.rint(some)).all() and (scores == np.rint(scores)).all())
