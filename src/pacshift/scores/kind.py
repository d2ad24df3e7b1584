"""What kind of numbers scores are: probabilities, percentages, log-probabilities, logits and others.

Thresholds found on one kind say nothing about another, so scores that are plainly of another kind are refused,
with the remedy. Ordinary scores are never refused: columns may be rounded, rows may lack mass, and the target may
have any mix of the source's classes. What could be either kind is let through.

The kind is read off the range of all scores and the sums of the rows. Kinds add up: that of all blocks is the kind
of the whole, however the rows are cut.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pacshift.errors import InputError
from pacshift.files.codec import Rules

Row: TypeAlias = NDArray[Any]
_INF, _LARGE = float("inf"), 3e38  # scores near the end of single precision go the long way

ROUNDING = 1e-3
"""How far a probability may lie outside of [0, 1] because it was rounded: half precision has steps of 0.001 above
1."""

SUM_TOLERANCE = 0.02
"""How far the sum of a row may lie from its total, as a share of it: half precision and rounded columns. Two
digits in ten columns are off by 0.05 at worst and by less than 0.02 in most rows."""

TOTALS = (1.0, 100.0, 255.0)
"""What rows of probabilities, of percentages and of 8-bit probabilities sum to."""

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

SUM_SLACK = 0.1
"""A row whose sum is off by more, as a share of the total, was not merely rounded: two digits are off by up to
0.005 per column, so 20 columns by 0.1."""

EXACT_SUM = 2e-6
"""Softmax in single precision sums to 1 up to this, about 16 units in the last place. Other numbers hardly ever
do."""

RANGE_SLACK = 2.0
"""How far top scores may lie from the source's, in widths of their range, ..."""

SCALE_SLACK = 10.0
"""... and how many times smaller they may be: a class that is rare in the source may look different. Both are
wide, because ordinary scores must never be refused; not measured."""

_TO_PROBABILITIES = {
    PERCENTAGES: "divide by 100",
    BYTES: "divide by 255",
    LOGS: "take exp",
    OTHER: "apply softmax to the logits",
}
_FROM_PROBABILITIES = {
    PERCENTAGES: "multiply by 100",
    BYTES: "multiply by 255 and round",
    LOGS: "take the logarithm",
}


@dataclass(frozen=True, slots=True)
class RowSums:
    """Sums of rows: of the scores where none is negative, of their exponentials where none is positive.

    Parameters
    ----------
    least, largest : float
        The smallest and the largest sum.
    near : tuple of int
        How many rows sum to 1, to 100 and to 255, but for rounding.
    n_rows : int
        How many rows there are.
    of_exponentials : bool
        Whether exponentials were added up.
    """

    least: float
    largest: float
    near: tuple[int, ...]
    n_rows: int
    of_exponentials: bool = False

    def __or__(self, other: "RowSums") -> "RowSums":
        """The sums of both together; both must be of the same numbers."""
        least, largest = min(self.least, other.least), max(self.largest, other.largest)
        near = tuple(map(sum, zip(self.near, other.near, strict=True)))
        return RowSums(least, largest, near, self.n_rows + other.n_rows, self.of_exponentials)

    _RULES: ClassVar[Rules] = {
        "the least sum of rows is not above the largest": lambda self: self.least <= self.largest,
        "sums are those of at least one row": lambda self: self.n_rows > 0,
        "rows near each of the totals are counted": lambda self: len(self.near) == len(TOTALS),
        "no more rows are near a total than there are": lambda self: max(self.near) <= self.n_rows,
        "rows near a total have sums near it": lambda self: all(
            not near or (self.least <= 1.03 * total and self.largest >= 0.97 * total)
            for near, total in zip(self.near, TOTALS, strict=True)
        ),
    }


class BlockSums:
    """Sums of the rows of a block that comes in pieces.

    They are looked at once for all pieces: between many short calls threads would wait for each other.
    """

    def __init__(self, n_rows: int) -> None:
        self._sums = np.empty(n_rows)
        self._of_exponentials: set[bool | None] = set()

    def add(self, rows: slice, piece: NDArray[np.floating[Any]], low: float, high: float) -> None:
        """Add up the scores of some rows, which lie between ``low`` and ``high``."""
        of_exponentials = low < -ROUNDING
        if high > (ROUNDING if of_exponentials else TOTALS[-1] * (1 + ROUNDING)):
            self._of_exponentials.add(None)
            return
        if of_exponentials:
            piece = np.exp(np.maximum(piece, -100).astype(np.float32))  # NumPy is fast in single precision
        if piece.flags.c_contiguous:  # short rows: a quarter of the time of the other way
            np.einsum("ij->i", piece, dtype=np.float64, out=self._sums[rows])
        else:
            np.add.reduce(piece, axis=1, dtype=np.float64, out=self._sums[rows])
        self._of_exponentials.add(of_exponentials)

    def result(self, n_rows: int) -> RowSums | None:
        """What the sums of the first rows are like; None where no sum could tell anything."""
        if None in self._of_exponentials or len(self._of_exponentials) != 1:
            return None
        sums = self._sums[:n_rows]
        # Rounded, because the last bits depend on how the rows are cut into blocks.
        least, largest = round(float(sums.min()), 6), round(float(sums.max()), 6)
        near = []
        for total in TOTALS:
            low, high = total * (1 - SUM_TOLERANCE), total * (1 + SUM_TOLERANCE)
            if largest < low or least > high:
                near.append(0)
            else:  # a sum that is the same for all rows need not be looked at row by row
                all_near = low <= least <= largest <= high
                near.append(n_rows if all_near else int(((sums >= low) & (sums <= high)).sum()))
        return RowSums(least, largest, tuple(near), n_rows, True in self._of_exponentials)


@dataclass(frozen=True, slots=True)
class ScoreKind:
    """The range of some scores, and what is known about the sums of their rows.

    Parameters
    ----------
    low, high : float
        The smallest and the largest score.
    least_top : float
        The smallest of the rows' largest scores; where nobody looked for them, the smallest score.
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
        sums_to_one = _all_sum_to_one(low, high, sums)
        return cls(low, high, least_top, sums_to_one, _are_scores(sums) and whole, sums)

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
        low, high, sums = float(some.min()), float(tops.max()), BlockSums(len(some))
        sums.add(slice(None), some, low, high)
        kind = cls.of(low, high, float(tops.min()), sums.result(len(some)), whole=are_whole(some))
        if kind.name == PROBABILITIES or len(some) < FEWEST_ROWS:
            return kind
        first, last = np.quantile(tops, MIDDLE).tolist()
        return replace(kind, tops=(first, last))

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

    _RULES: ClassVar[Rules] = {
        "scores lie between the smallest and the largest": lambda self: self.low <= self.least_top <= self.high,
        "top scores lie in a range": lambda self: self.tops is None or self.tops[0] <= self.tops[1],
        "rows that sum to 1 were seen to": lambda self: (
            self.sums_to_one == _all_sum_to_one(self.low, self.high, self.sums)
        ),
        "whole numbers are scores with sums": lambda self: not self.whole or _are_scores(self.sums),
        "sums are of exponentials where scores are negative": lambda self: (
            self.sums is None or self.sums.of_exponentials == (self.low < -ROUNDING)
        ),
        "sums are not above what the largest score allows": lambda self: (
            self.sums is None or self.high <= (ROUNDING if self.low < -ROUNDING else TOTALS[-1] * (1 + ROUNDING))
        ),
    }


def _are_scores(sums: RowSums | None) -> bool:
    return sums is not None and not sums.of_exponentials


def _all_sum_to_one(low: float, high: float, sums: RowSums | None) -> bool:
    """Whether all scores lie between 0 and 1 and every row sums to 1, but for rounding."""
    return sums is not None and _in_unit(low, high) and _are_scores(sums) and sums.near[0] == sums.n_rows


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


def require_same_kind(made_from: ScoreKind | None, given: ScoreKind | None, *, name: str, n_rows: int) -> None:
    """InputError if ``n_rows`` rows of scores are plainly of another kind than those the thresholds belong to."""
    if made_from is None or given is None or not _differ(made_from, given, many=n_rows >= FEWEST_ROWS):
        return
    raise InputError(
        f"{name}: these scores are {given}, but the source's are {made_from}. "
        f"{_remedy(made_from.name, given.name)}, or calibrate with this kind of scores on both sides."
    )


def is_exact(kind: ScoreKind) -> bool:
    """Whether even a single row tells its kind: it has the total exactly, and is not made of whole numbers."""
    total = fixed_total(kind)
    if total is None or kind.sums is None or kind.whole:
        return False
    return max(TOTALS[total] - kind.sums.least, kind.sums.largest - TOTALS[total]) <= EXACT_SUM * TOTALS[total]


def _differ(made_from: ScoreKind, given: ScoreKind, *, many: bool) -> bool:
    """Whether the kinds differ, as far as the given rows, many or few, can tell."""
    total = fixed_total(made_from)
    if total is not None:
        return _breaks_total(made_from, given, total)
    if made_from.name == UNIT:  # these may be anything that happened to lie between 0 and 1, so allow for more
        far_off = not -1 <= given.low <= given.high <= 2 or (many and _far_off(made_from.tops, given.tops))
        return far_off or (many and (given.name == LOGS or _has_total(made_from, given, 0)))
    if made_from.name == BYTES and (given.low < -ROUNDING or (many and _has_total(made_from, given, 2))):
        return True
    return _like_no_other(made_from, given, many=many) or (many and _far_off(made_from.tops, given.tops))


def fixed_total(kind: ScoreKind) -> int | None:
    """The place in ``TOTALS`` of what every row of this kind sums to; None where there is no such sum."""
    if kind.name in (PROBABILITIES, LOGS):
        return 0
    if kind.name == PERCENTAGES:
        return 1
    return 2 if kind.name == BYTES and kind.share_near(2) >= MOST_ROWS else None


def _breaks_total(made_from: ScoreKind, given: ScoreKind, place: int) -> bool:
    """Whether a score lies where none of a kind with this total can lie, or most rows have another total."""
    total = TOTALS[place]
    if made_from.name == LOGS:
        out_of_range = given.high > ROUNDING
    else:
        out_of_range = given.low < -ROUNDING or given.high > total * (1 + ROUNDING)
    if out_of_range or given.sums is None:
        return out_of_range
    if given.sums.of_exponentials != (made_from.name == LOGS):
        return True
    # Rows that lack mass are ordinary if the source had such rows, too.
    least, largest = (total, total) if made_from.sums is None else (made_from.sums.least, made_from.sums.largest)
    slack = SUM_SLACK * total
    outside = given.sums.least < min(least, total) - slack or given.sums.largest > max(largest, total) + slack
    return outside and given.share_near(place) < 0.5


def _has_total(made_from: ScoreKind, given: ScoreKind, place: int) -> bool:
    """Whether the given rows have a total that the source's, sigmoids for example, hardly ever had.

    A source whose rows never sum to more may hold probabilities that lack mass. Rows that lack none are then
    ordinary.
    """
    sums = made_from.sums
    if sums is None or sums.n_rows < FEWEST_ROWS or sums.largest <= TOTALS[place] * (1 + SUM_SLACK):
        return False
    return made_from.share_near(place) <= 1 - MOST_ROWS and given.share_near(place) >= MOST_ROWS


def _like_no_other(made_from: ScoreKind, given: ScoreKind, *, many: bool) -> bool:
    """Whether the given scores are plainly of a kind of their own, and the source's are not."""
    if not many and not is_exact(given):
        return False
    # Whether rows of scores without a sign change but without sums had a total is not known.
    unknown = made_from.sums is None and (made_from.low >= -ROUNDING or made_from.high <= ROUNDING)
    usual = -float("inf") if made_from.tops is None else made_from.tops[0]
    if given.name == PROBABILITIES:
        return made_from.share_near(0) < 0.5 and (many or usual > 1 + ROUNDING)
    if given.name == UNIT:
        return (usual > 1 + ROUNDING or made_from.name == BYTES) and not given.whole
    if given.name == PERCENTAGES:
        return not unknown and made_from.share_near(1) < 0.5
    return given.name == LOGS and not unknown and (many or usual > ROUNDING)


def _far_off(source: tuple[float, float] | None, given: tuple[float, float] | None) -> bool:
    """Whether typical top scores have another scale or place than those of every class of the source.

    Under label shift the quantiles of the target's top scores lie between the least and the largest of the
    source's classes.
    """
    if source is None or given is None:
        return False
    first, last = source
    slack = RANGE_SLACK * max(last - first, max(abs(first), abs(last)) / 2)
    low, high = first - slack, last + slack
    if first > 0:
        low = max(low, first / SCALE_SLACK)
    if last < 0:
        high = min(high, last / SCALE_SLACK)
    return given[1] < low or given[0] > high


def _remedy(wanted: str, given: str) -> str:
    """What makes the given scores the source's kind, as the beginning of a sentence."""
    if wanted == given:
        return "Pass scores of the same scale as the source's"
    if wanted == OTHER:
        return f"Pass the raw scores (logits), not {given}"
    if wanted == UNIT and given in (PROBABILITIES, OTHER):
        return "Pass the same scores as in the source, such as the sigmoid of each logit"
    first = "pass the model's softmax, whose rows sum to 1" if given == UNIT else _TO_PROBABILITIES.get(given)
    steps = [first, _FROM_PROBABILITIES.get(wanted)]
    text = ", then ".join(step for step in steps if step)
    return text[0].upper() + text[1:]


def require_logits(scores: NDArray[np.floating[Any]], *, name: str) -> None:
    """InputError where rows are probabilities already: they must not go through a second softmax."""
    kind = ScoreKind.of_rows(scores)
    if kind.name in (PROBABILITIES, PERCENTAGES) and (len(scores) >= FEWEST_ROWS or is_exact(kind)):
        raise InputError(
            f"{name}: softmax=True is for logits, but these scores are {kind.name} already. Leave it out, or pass "
            "the logits."
        )


def quick_look(made_from: ScoreKind | None, *, softmax: bool) -> Callable[[Row, Row], bool]:
    """A look that is true only for rows that ``require_same_kind`` and ``require_logits`` let through.

    NaN fails every comparison, so a row that holds one is never usual. The second argument is a row of ones:
    the dot product is the fastest sum.
    """
    if softmax:
        return _are_logits
    if made_from is None:
        return lambda row, _ones: low_of(row) > -_INF and high_of(row) < _LARGE
    known = {PROBABILITIES: _are_probabilities, UNIT: _are_near_unit, OTHER: _are_raw}
    return known.get(made_from.name, lambda _row, _ones: False)


def low_of(row: Row) -> float:
    low: float = row.item(row.argmin())
    return low


def high_of(row: Row) -> float:
    high: float = row.item(row.argmax())
    return high


def _has_no_total(row: Row, ones: Row) -> bool:
    """Whether the sum is far from those by which probabilities and percentages are known."""
    total = float(row.dot(ones))
    return abs(total - 1) > 2 * SUM_TOLERANCE and abs(total - 100) > 200 * SUM_TOLERANCE


def _are_logits(row: Row, ones: Row) -> bool:
    """Neither probabilities nor percentages, with at least one finite logit and without +inf."""
    return _has_no_total(row, ones) and -_INF < high_of(row) < _INF


def _are_probabilities(row: Row, ones: Row) -> bool:
    total = float(row.dot(ones))
    if not abs(total - 1) < SUM_TOLERANCE / 2 or not low_of(row) >= 0:
        return False
    return total < 1 + ROUNDING / 2 or high_of(row) < 1 + ROUNDING


def _are_near_unit(row: Row, _ones: Row) -> bool:
    return low_of(row) >= -1 and high_of(row) <= 2


def _are_raw(row: Row, ones: Row) -> bool:
    """Of both signs, or not negative and without a total: no other kind of scores is so."""
    if not ROUNDING < high_of(row) < _LARGE:
        return False
    low = low_of(row)
    return -_INF < low < -ROUNDING or (low >= 0 and _has_no_total(row, ones))
