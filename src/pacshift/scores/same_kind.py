"""Scores that are plainly of another kind than those the thresholds belong to are refused, with the remedy.

Ordinary scores are never refused: columns may be rounded, rows may lack mass, and the target may have any mix of
the source's classes. What could be either kind is let through.
"""

from pacshift.errors import InputError
from pacshift.scores.kind import (
    BYTES,
    FEWEST_ROWS,
    LOGS,
    MOST_ROWS,
    OTHER,
    PERCENTAGES,
    PROBABILITIES,
    UNIT,
    ScoreKind,
)
from pacshift.scores.sums import ROUNDING, TOTALS, RowSums

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


def require_same_kind(made_from: ScoreKind | None, given: ScoreKind | None, *, name: str, n_rows: int) -> None:
    """InputError if ``n_rows`` rows of scores are plainly of another kind than those the thresholds belong to."""
    if made_from is None or given is None or not _differ(made_from, given, many=n_rows >= FEWEST_ROWS):
        return
    remedy = _remedy(made_from.name, given.name)
    raise InputError(
        f"{name}: the source's scores are {made_from}, but these are {given}. Thresholds of one kind of "
        f"scores mean nothing for another. {remedy}, or calibrate again with this kind of scores."
    )


def is_exact(kind: ScoreKind) -> bool:
    """Whether even a single row tells its kind: it has the total exactly, and is not made of whole numbers."""
    total = _fixed_total(kind)
    if total is None or kind.sums is None or kind.whole:
        return False
    return max(TOTALS[total] - kind.sums.least, kind.sums.largest - TOTALS[total]) <= EXACT_SUM * TOTALS[total]


def _differ(made_from: ScoreKind, given: ScoreKind, *, many: bool) -> bool:
    """Whether the kinds differ, as far as the given rows, many or few, can tell."""
    total = _fixed_total(made_from)
    if total is not None:
        return _out_of_range(made_from, given) or _other_total(made_from, given, total)
    if made_from.name == UNIT:  # these may be anything that happened to lie between 0 and 1, so allow for more
        far_off = not -1 <= given.low <= given.high <= 2 or (many and _far_off(made_from.tops, given.tops))
        return far_off or (many and (given.name == LOGS or _has_total(made_from, given, 0)))
    if made_from.name == BYTES and (given.low < -ROUNDING or (many and _has_total(made_from, given, 2))):
        return True
    return _like_no_other(made_from, given, many=many) or (many and _far_off(made_from.tops, given.tops))


def _fixed_total(kind: ScoreKind) -> int | None:
    """The place in ``TOTALS`` of what every row of this kind sums to; None where there is no such sum."""
    if kind.name in (PROBABILITIES, LOGS):
        return 0
    if kind.name == PERCENTAGES:
        return 1
    return 2 if kind.name == BYTES and kind.share_near(2) >= MOST_ROWS else None


def _out_of_range(made_from: ScoreKind, given: ScoreKind) -> bool:
    """Whether a score lies where none of a kind with a fixed total can lie."""
    if made_from.name == LOGS:
        return given.high > ROUNDING
    largest = TOTALS[_fixed_total(made_from) or 0]
    return given.low < -ROUNDING or given.high > largest * (1 + ROUNDING)


def _other_total(made_from: ScoreKind, given: ScoreKind, place: int) -> bool:
    """Whether rows sum to something else than the source's did, and most of the rows miss the total."""
    if given.sums is None:
        return False
    if given.sums.of_exponentials != (made_from.name == LOGS):
        return True
    return _sums_outside(made_from.sums, given.sums, TOTALS[place]) and given.share_near(place) < 0.5


def _sums_outside(source: RowSums | None, given: RowSums, total: float) -> bool:
    """Rows that lack mass are ordinary if the source had such rows, too."""
    least, largest = (total, total) if source is None else (source.least, source.largest)
    slack = SUM_SLACK * total
    return given.least < min(least, total) - slack or given.largest > max(largest, total) + slack


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
