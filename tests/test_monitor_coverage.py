"""Lemmas 1 and 3 of the page "Monitor", tried on hard and random cases."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from certificates import alter
from hospital import patients, population, source_tally
from pacshift import Interval, Tally, calibrate
from pacshift.arrays import FloatArray
from pacshift.monitor.verdict import error_bounds, lies_below


@st.composite
def boxes(draw: st.DrawFn) -> tuple[Interval, Interval]:
    """Bounds of miss rates, and of a mix around a true mix; some ends are sharp."""
    size = draw(st.integers(2, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rates = np.sort(rng.random((2, size)), axis=0)
    mix = rng.dirichlet(np.full(size, draw(st.sampled_from([0.2, 1.0, 20.0]))))
    spread = draw(st.sampled_from([0.0, 0.05, 0.5, 1.0]))
    below, above = mix - spread * rng.random(size), mix + spread * rng.random(size)
    return Interval(rates[0], rates[1]), Interval(np.clip(below, 0, 1), np.clip(above, 0, 1))


def extreme(values: FloatArray, box: Interval, sign: int) -> float:
    ends = list(zip(box.lower, box.upper, strict=True))
    found = linprog(-sign * values, A_eq=np.ones((1, len(values))), b_eq=[1.0], bounds=ends)
    return float(-sign * (found.fun or 0.0))


@given(boxes())
def test_error_bounds_are_the_two_linear_programs(case: tuple[Interval, Interval]) -> None:
    rates, mix = case
    lower, upper = error_bounds(rates, mix)
    assert upper == pytest.approx(extreme(rates.upper, mix, 1), abs=1e-6)
    assert lower == pytest.approx(extreme(rates.lower, mix, -1), abs=1e-6)


@given(boxes(), st.floats(0, 0.3), st.floats(0, 1), st.floats(0, 1), st.integers(0, 2**32))
def test_contaminated_rows_may_all_be_missed_or_none(
    case: tuple[Interval, Interval], allowed: float, part: float, missed: float, seed: int
) -> None:
    """Whatever share up to the allowed one is anything, and however much of it is missed."""
    rates, mix = case
    lower, upper = error_bounds(rates, mix, allowed)
    rng, eta = np.random.default_rng(seed), part * allowed
    inside = rates.lower + rng.random(len(rates.lower)) * (rates.upper - rates.lower)
    shares = mixes_within(mix, rng)
    error = (1 - eta) * float(shares @ inside) + eta * missed
    assert lower - 1e-9 <= error <= upper + 1e-9


def mixes_within(box: Interval, rng: np.random.Generator) -> FloatArray:
    """A random corner of the box with the sum 1."""
    shares, left = box.lower.copy(), 1 - box.lower.sum()
    for label in rng.permutation(len(shares)):
        step = min(max(left, 0.0), box.upper[label] - shares[label])
        shares[label] += step
        left -= step
    return np.asarray(shares)


def test_without_bounds_of_the_mix_every_mix_counts() -> None:
    assert error_bounds(Interval(np.array([0.1, 0.2]), np.array([0.3, 0.4])), None) == (0.1, 0.4)


def test_lower_thresholds_miss_less_in_every_mix() -> None:
    rows = patients(3000, [0.5, 0.1, 0.4], np.random.default_rng(3))[0]
    target = Tally.from_target(rows, classes=source_tally().classes)
    fresh = calibrate(source_tally() + target, epsilon=0.1, delta=0.05)
    lowered = alter(fresh, thresholds=fresh.thresholds * [0.9, 1.0, 0.5])
    assert lies_below(lowered, fresh)
    assert lies_below(fresh, fresh)
    crossed = alter(fresh, thresholds=fresh.thresholds * [0.5, 0.5, 1.01])
    assert not lies_below(crossed, fresh)
    everyone = population(n=6000)
    assert (everyone.class_error(lowered.thresholds) <= everyone.class_error(fresh.thresholds)).all()
