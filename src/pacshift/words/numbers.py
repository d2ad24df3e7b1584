"""Numbers in words: the one place where shares become text, everywhere in one style ("97.8 %").

A bound is rounded outward, so that what is printed is still true: an upper bound up, a lower bound down. A number
that was given (epsilon, delta) is printed as it was given. An estimate is rounded to the nearest.
"""

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

DIGITS = 3
"""Significant digits of bounds and estimates."""

EXACT_DIGITS = 12
"""Numbers that agree to so many digits are the same: 1 - .07 is .9299999999999999, and means 93 %."""

MOST_DIGITS = 9
"""Significant digits by which two numbers are told apart at most."""

SMALLEST_ESTIMATE = 1e-4
"""Smaller estimates are printed as "< 0.01 %"."""

SMALLEST_LOWER, SMALLEST_UPPER = 1e-5, 1e-8
"""Lower bounds below the first say nothing and are printed as 0; upper bounds are raised to the second."""

MAX_LISTED = 6
"""Classes or files that a sentence lists: what fits a screen."""


def percent(share: float, digits: int = DIGITS) -> str:
    """An estimate, rounded to the nearest; "0 %" and "100 %" mean exactly that.

    >>> percent(0.04556), percent(0.0), percent(0.00004), percent(0.9996), percent(1.0)
    ('4.56 %', '0 %', '< 0.01 %', '> 99.9 %', '100 %')
    """
    if 0 < share < SMALLEST_ESTIMATE:
        return "< 0.01 %"
    shown = _round(100 * _decimal(share), digits, ROUND_HALF_EVEN)
    if shown == 100 and share < 1:
        return f"> {_plain(_below_100(digits))} %"
    return f"{_plain(shown)} %"


def given(rate: float) -> str:
    """A rate that was asked for or fixed beforehand, with all of its digits.

    >>> given(0.1), given(0.0005), given(0.1 * 0.05), given(1e-12)
    ('10 %', '0.05 %', '0.5 %', '1e-10 %')
    """
    exact = 100 * _decimal(rate)
    return f"{_plain(exact) if exact == 0 or exact >= Decimal('1e-6') else format(exact.normalize(), 'g')} %"


def all_but(rate: float) -> str:
    """What a rate leaves of 100 %, with all of its digits: never 100 % for a rate above 0.

    >>> all_but(0.05), all_but(0.07), all_but(1e-8), all_but(1e-100)
    ('95 %', '93 %', '99.999999 %', '99.9999999999 %')
    """
    left = 100 - 100 * _decimal(rate)
    shown = _round(left, EXACT_DIGITS, ROUND_HALF_EVEN)
    return f"{_plain(_below_100(EXACT_DIGITS) if shown == 100 and rate > 0 else shown)} %"


def up(share: float, digits: int = DIGITS) -> str:
    """An upper bound, rounded up.

    >>> up(0.23595), up(0.3), up(0.9996), up(2e-12)
    ('23.6 %', '30 %', '100 %', '0.000001 %')
    """
    return f"{_plain(_up(share, digits))} %"


def down(share: float, digits: int = DIGITS) -> str:
    """A lower bound, rounded down; 100 % only for 1.

    >>> down(0.23595), down(0.3), down(0.9996), down(1.0), down(2e-9)
    ('23.5 %', '30 %', '99.9 %', '100 %', '0 %')
    """
    return f"{_plain(_down(share, digits))} %"


def at_most(share: float, digits: int = DIGITS) -> str:
    """An upper bound with its words.

    >>> at_most(0.23595)
    'at most 23.6 %'
    """
    return f"at most {up(share, digits)}"


def at_least(share: float, digits: int = DIGITS) -> str:
    """A lower bound with its words.

    >>> at_least(0.23595)
    'at least 23.5 %'
    """
    return f"at least {down(share, digits)}"


def between(low: float, high: float, digits: int = DIGITS, *, word: str = " to ") -> str:
    """Two bounds, rounded outward; one number where both are the same.

    >>> between(0.07891, 0.1021), between(2e-9, 0.1021), between(0.34, 0.34)
    ('7.89 to 10.3 %', '0 to 10.3 %', '34 %')
    """
    first, last = _plain(_down(low, digits)), _plain(_up(high, digits))
    return f"{last} %" if first == last else f"{first}{word}{last} %"


def whole_percent(share: float) -> str:
    """An estimate of what may be missed, rounded up to whole per cents.

    >>> whole_percent(0.137), whole_percent(0.002)
    ('14 %', '1 %')
    """
    return f"{math.ceil(100 * share)} %"


def points(difference: float, digits: int = 2) -> str:
    """An estimated difference of shares, in percentage points.

    >>> points(0.0123)
    '1.2 percentage points'
    """
    return f"{_plain(_round(100 * _decimal(difference), digits, ROUND_HALF_EVEN))} percentage points"


def digits_apart(low: float, high: float, digits: int = DIGITS) -> int:
    """As few digits, from ``digits`` on, as still show ``low``, rounded up, below ``high``, rounded down.

    >>> digits_apart(0.1, 0.2), digits_apart(0.1, 0.100041)
    (3, 5)
    """
    for tried in range(digits, MOST_DIGITS):
        if _round(100 * _decimal(low), tried, ROUND_CEILING) < _down(high, tried):
            return tried
    return MOST_DIGITS


def digits_against(low: float, allowed: float) -> int:
    """Digits of an interval that begins at ``low``: where it lies above ``allowed``, enough to show it.

    >>> digits_against(0.07, 0.1), digits_against(0.100041, 0.1)
    (3, 5)
    """
    return digits_apart(allowed, low) if low > allowed else DIGITS


def numbers_between(low: float, high: float, digits: int = DIGITS) -> str:
    """Two bounds of a number that is no share, such as a weight, rounded outward.

    >>> numbers_between(0.71298, 1.5001), numbers_between(2.0, float("inf"))
    ('0.712 to 1.51', '2 to ∞')
    """
    return f"{number_down(low, digits)} to {number_up(high, digits)}"


def number_up(value: float, digits: int = DIGITS) -> str:
    """An upper bound of a number that is no share, rounded up.

    >>> number_up(1.5001), number_up(float("inf"))
    ('1.51', '∞')
    """
    return "∞" if math.isinf(value) else _short(_round(_decimal(value), digits, ROUND_CEILING))


def number_down(value: float, digits: int = DIGITS) -> str:
    """A lower bound of a number that is no share, rounded down.

    >>> number_down(0.71298), number_down(0.1)
    ('0.712', '0.1')
    """
    return _short(_round(_decimal(value), digits, ROUND_FLOOR))


def mean_size(value: float) -> str:
    """A mean number of labels in a set, with the same digits wherever it stands.

    >>> mean_size(1.36789)
    '1.368'
    """
    return f"{value:.3f}"


def one_of(texts: Sequence[str]) -> str:
    """Texts as alternatives.

    >>> one_of(["100", "200", "400"]), one_of(["100"])
    ('100, 200 or 400', '100')
    """
    *before, last = texts or ("",)
    return f"{', '.join(before)} or {last}" if before else last


def plural(count: int, word: str, more: str = "") -> str:
    """A number of things.

    >>> plural(1, "row"), plural(1200, "row"), plural(0, "miss", "misses")
    ('1 row', '1,200 rows', '0 misses')
    """
    return f"{count:,} {word if count == 1 else more or f'{word}s'}"


def have(count: int, word: str) -> str:
    """Things that have something.

    >>> have(1, "row"), have(3, "row")
    ('1 row has', '3 rows have')
    """
    return f"{plural(count, word)} {'has' if count == 1 else 'have'}"


def capital(text: str) -> str:
    """A text that begins a sentence.

    >>> capital("nothing is guaranteed.")
    'Nothing is guaranteed.'
    """
    return text[:1].upper() + text[1:]


def _up(share: float, digits: int) -> Decimal:
    """An upper bound in per cent."""
    raised = max(share, SMALLEST_UPPER) if share > 0 else share
    return _round(100 * _decimal(raised), digits, ROUND_CEILING)


def _down(share: float, digits: int) -> Decimal:
    """A lower bound in per cent."""
    if 0 < share < SMALLEST_LOWER:
        return Decimal(0)
    shown = _round(100 * _decimal(share), digits, ROUND_FLOOR)
    return _below_100(digits) if shown == 100 and share < 1 else shown


def _decimal(value: float) -> Decimal:
    """The number people would write: the shortest that is this float, without the noise of its last digits."""
    return _round(Decimal(repr(float(value))), EXACT_DIGITS, ROUND_HALF_EVEN)


def _round(value: Decimal, digits: int, rounding: str) -> Decimal:
    return Context(prec=digits, rounding=rounding).create_decimal(value)


def _below_100(digits: int) -> Decimal:
    """The largest number of so many digits below 100."""
    return 100 - Decimal(1).scaleb(2 - digits)


def _plain(value: Decimal) -> str:
    """Without exponent and without zeros at the end."""
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _short(value: Decimal) -> str:
    """As ``_plain``, but with an exponent where there would be many zeros."""
    return _plain(value) if value == 0 or Decimal("1e-6") <= abs(value) < Decimal("1e9") else f"{value:g}"
