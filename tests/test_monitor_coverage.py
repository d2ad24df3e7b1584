"""Lemmas 1 to 3 of the page "Monitor", tried on hard and random cases."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from hospital import patients, population, source_tally
from pacshift import Interval, Tally, calibrate_tally
from pacshift.arrays import FloatArray
from pacshift.bounds import clopper_pearson
from pacshift.monitor.coverage import error_bounds, lies_below, miss_rate_band, rank_grid
from pacshift.tally.grid import to_grid

DELTA = 0.2


def uniform_tally(rng: np.random.Generator, counts: tuple[int, int], *, grid: bool = False) -> Tally:
    """True-label scores are uniform, so the miss rate at a threshold is the threshold."""
    labels = np.repeat([0, 1], counts)
    own = rng.random(len(labels))
    scores = np.where(np.eye(2)[labels] == 1, own[:, None], 0.5)
    return Tally.from_scores(scores, labels, grid=grid, soft=False)


def wrong_somewhere(tally: Tally) -> bool:
    """Whether the band misses the truth at any threshold. Only thresholds next to a score can be the worst."""
    worst = np.unique(np.concatenate([tally.values, np.nextafter(tally.values, 1), [0.0, 1.0]]))
    for cut in worst.tolist():
        band = miss_rate_band(tally, np.array([cut, cut]), delta=DELTA)
        if not band.contains(cut).all():
            return True
    return False


def test_the_band_is_right_at_all_thresholds_at_once_and_not_much_too_wide() -> None:
    rng = np.random.default_rng(0)
    wrong = sum(wrong_somewhere(uniform_tally(rng, (25, 6))) for _ in range(100))
    assert wrong <= 0.2 * 100
    # Sharp: ranks of one class are dependent, so a union over them loses something, but not everything.
    assert wrong >= 0.02 * 100


def test_the_band_costs_little_more_than_bounds_at_one_fixed_threshold() -> None:
    tally = uniform_tally(np.random.default_rng(1), (20_000, 20_000))
    cut = np.array([0.1, 0.1])
    band = miss_rate_band(tally, cut, delta=0.01)
    fixed = clopper_pearson(tally.misses(cut), 20_000, delta=0.01)
    assert (band.lower <= fixed.lower).all()
    assert ((band.upper - band.lower) < 2.2 * (fixed.upper - fixed.lower)).all()


def test_the_band_at_the_ends() -> None:
    tally = uniform_tally(np.random.default_rng(2), (30, 0))
    band = miss_rate_band(tally, np.array([-np.inf, 0.5]), delta=0.1)
    assert (band.lower[0], band.upper[0]) == (0, 0)
    assert (band.lower[1], band.upper[1]) == (0, 1)  # no rows, nothing known
    band = miss_rate_band(tally, np.array([np.inf, -np.inf]), delta=0.1)
    assert band.upper[0] == 1
    assert band.lower[0] > 0.7
    assert band.upper[1] == 0


def test_on_a_grid_a_class_that_is_in_every_set_is_never_missed() -> None:
    """The grid has no point below -inf: the sets in use must not be called broken for a class they always hold."""
    tally = uniform_tally(np.random.default_rng(3), (200, 200), grid=True)
    for cuts in ([-np.inf, 0.5], [-np.inf, -np.inf], [np.inf, -np.inf]):
        band = miss_rate_band(tally, np.array(cuts), delta=0.1)
        exact = miss_rate_band(replace(tally, grid=False), np.array(cuts), delta=0.1)
        assert (band.lower == exact.lower).all()
        assert (band.lower <= band.upper).all()


@given(st.integers(0, 10_000))
def test_the_grid_of_ranks_grows_and_ends_at_the_count(count: int) -> None:
    ranks = rank_grid(count)
    assert (np.diff(ranks) > 0).all()
    assert ranks.tolist()[-1:] == ([count] if count else [])
    assert len(ranks) <= 4.2 * count**0.5 + 16


def test_rounded_scores_never_raise_the_lower_bound() -> None:
    """A threshold just below a grid point: rounding counts the rows up to the point before it as missed."""
    value = float(to_grid(np.array([0.3]))[0])
    point = float(np.nextafter(value, 1))
    labels = np.zeros(200, np.int64)
    scores = np.column_stack([np.full(200, value * (1 + 2e-5)), np.full(200, 0.9)])
    tally = Tally.from_scores(scores, labels, grid=True, soft=False)
    assert tally.misses(np.array([point, 0.0]))[0] == 200  # by rounding only: none of the scores is below
    band = miss_rate_band(tally, np.array([point, 0.0]), delta=0.1)
    assert band.lower[0] == 0


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
    target = Tally.from_target(
        patients(3000, [0.5, 0.1, 0.4], np.random.default_rng(3))[0], classes=source_tally().classes
    )
    fresh = calibrate_tally(source_tally() + target, epsilon=0.1, delta=0.05)
    lowered = replace(fresh, thresholds=fresh.thresholds * [0.9, 1.0, 0.5])
    assert lies_below(lowered, fresh)
    assert lies_below(fresh, fresh)
    crossed = replace(fresh, thresholds=fresh.thresholds * [0.5, 0.5, 1.01])
    assert not lies_below(crossed, fresh)
    everyone = population(n=6000)
    assert (everyone.class_error(lowered.thresholds) <= everyone.class_error(fresh.thresholds)).all()
