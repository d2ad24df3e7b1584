"""Numbers in words: what is printed is on the right side of the value, and close to it."""

import math
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pacshift.words import numbers

NOISE = 1e-11
"""Relative: numbers that agree to 12 digits are the same number."""

shares = st.floats(0, 1) | st.floats(0.99, 1) | st.floats(0, 1e-3) | st.integers(0, 1000).map(lambda n: n / 1000)


def number(text: str) -> float:
    """The share that a text says."""
    return float(text.removesuffix(" %")) / 100


def step(value: float, digits: int) -> float:
    """One unit of the last printed digit, and what is not printed at all."""
    return float(10 ** (math.floor(math.log10(max(value, 1e-8))) + 1.0 - digits)) + 2e-8


@given(shares, st.integers(2, 6))
@example(0.23595, 3)
@example(0.9996, 3)
@example(0.1 + 0.2, 3)
def test_bounds_go_outward_and_stay_close(share: float, digits: int) -> None:
    low, high = number(numbers.down(share, digits)), number(numbers.up(share, digits))
    assert low <= share * (1 + NOISE)
    assert share * (1 - NOISE) <= high
    close = step(share, digits)
    assert share - low <= max(close, numbers.SMALLEST_LOWER)
    assert high - share <= close
    assert numbers.at_most(share, digits) == f"at most {numbers.up(share, digits)}"
    assert numbers.at_least(share, digits) == f"at least {numbers.down(share, digits)}"
    assert (low == 1) <= (share == 1)  # "at least 100 %" is all or nothing


@given(shares, shares)
def test_intervals_hold_what_they_are_about(one: float, other: float) -> None:
    low, high = min(one, other), max(one, other)
    said = numbers.between(low, high)
    assert said.endswith(" %")
    first, _, last = said.removesuffix(" %").rpartition(" to ")
    assert float(first or last) / 100 <= low * (1 + NOISE) + 1e-300
    assert float(last) / 100 >= high * (1 - NOISE)


@given(shares, st.integers(2, 6))
@example(0.995, 2)
@example(0.99996, 3)
def test_estimates_are_near_and_the_ends_mean_what_they_say(share: float, digits: int) -> None:
    said = numbers.percent(share, digits)
    assert (said == "0 %") == (share == 0)
    assert (said == "100 %") == (share == 1)
    if said.startswith("<"):
        assert share < number(said[2:])
    elif said.startswith(">"):
        assert number(said[2:]) <= share * (1 + NOISE)
        assert share < 1
    else:
        assert abs(number(said) - share) <= step(share, digits) / 2 * (1 + 1e-9) + 1e-11


@given(st.floats(1e-100, 1, exclude_max=True) | st.sampled_from([0.07, 0.1 * 0.05, 1e-8, 0.3, 5e-4]))
def test_given_rates_are_printed_exactly(rate: float) -> None:
    assert number(numbers.given(rate)) == pytest.approx(rate, rel=NOISE)
    left = number(numbers.all_but(rate))
    assert left < 1
    assert left == pytest.approx(1 - rate, rel=NOISE, abs=2e-12)


@given(shares, shares)
def test_two_numbers_are_told_apart_where_few_digits_can(one: float, other: float) -> None:
    low, high = min(one, other), max(one, other)
    digits = numbers.digits_apart(low, high)
    if digits < numbers.MOST_DIGITS:
        assert number(numbers.up(low, digits)) < number(numbers.down(high, digits))
    elif low > 1e-3:
        assert high - low < 1e-6


@given(st.floats(0, 1e12) | st.just(math.inf))
def test_numbers_that_are_no_shares_go_outward_too(value: float) -> None:
    high = numbers.number_up(value)
    assert math.isinf(value) if high == "∞" else float(high) >= value * (1 - NOISE)
    if math.isfinite(value):
        assert float(numbers.number_down(value)) <= value * (1 + NOISE)
        assert numbers.numbers_between(value, value) == f"{numbers.number_down(value)} to {high}"


@pytest.mark.parametrize("say", [numbers.percent, numbers.up, numbers.down, numbers.given])
def test_one_style(say: Callable[[float], str]) -> None:
    assert say(0.978) == "97.8 %"
