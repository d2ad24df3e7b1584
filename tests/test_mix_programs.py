"""Linear programs over mixes: as good as an independent solver's, and safe whatever the prices; least squares."""

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from lp_solvers import each_solver  # noqa: F401  tests run with both
from pacshift.arrays import FloatArray
from pacshift.bounds import Interval
from pacshift.mix.programs import MixProgram, largest_means, least_violation, nonnegative_least_squares
from pacshift.ps_lp.betting import Corners, Prices, WorstCase
from strategies import seeds


def region(rng: np.random.Generator, n_classes: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Random rows, limits that leave room around one mix, and that mix."""
    inside = rng.dirichlet(np.full(n_classes, 0.7))
    rows = rng.normal(size=(int(rng.integers(1, 4 * n_classes)), n_classes))
    return rows, rows @ inside + rng.exponential(0.1, len(rows)), inside


def members(rng: np.random.Generator, rows: FloatArray, limits: FloatArray, inside: FloatArray) -> FloatArray:
    """Mixes of the region: steps from one member towards others until a row stops them."""
    ends = rng.dirichlet(np.full(rows.shape[1], 0.5), 20)
    speed = rows @ (ends - inside).T
    with np.errstate(divide="ignore"):
        room = np.where(speed > 0, (limits - rows @ inside)[:, None] / speed, 1.0)
    return np.asarray(inside + np.clip(room.min(axis=0), 0, 1)[:, None] * (ends - inside) * 0.999)


@given(seeds, st.integers(2, 12))
@settings(deadline=None, max_examples=60)
def test_largest_is_the_optimum_and_never_below_a_member(seed: int, n_classes: int) -> None:
    rng = np.random.default_rng(seed)
    rows, limits, inside = region(rng, n_classes)
    program = MixProgram(rows, limits)
    for _ in range(3):
        cost = rng.normal(size=n_classes)
        value = program.largest(cost)
        best = linprog(-cost, rows, limits, np.ones((1, n_classes)), [1.0]).x
        assert best is not None
        assert value == pytest.approx(cost @ best, abs=1e-6)
        assert (members(rng, rows, limits, inside) @ cost <= value + 1e-12).all()


@given(seeds, st.integers(2, 8))
@settings(deadline=None, max_examples=60)
def test_an_empty_region_has_its_least_violation(seed: int, n_classes: int) -> None:
    rng = np.random.default_rng(seed)
    rows, limits, inside = region(rng, n_classes)
    assert least_violation(rows, limits, (len(rows) + 1) // 2)[0] <= 1e-12
    gap = float(rng.uniform(0.01, 1))
    row = rng.random(n_classes)
    empty = np.vstack([rows, row, -row]), np.concatenate([limits, [row @ inside - gap], [-row @ inside - gap]])
    violation, prices = least_violation(*empty, len(empty[0]))
    assert violation == pytest.approx(gap, abs=1e-6)  # half of it on each of the two rows that exclude each other
    assert 0 < least_violation(*empty, 1)[0] <= violation + 1e-9  # stops as soon as it is sure
    assert (prices >= 0).all()


def random_corners(rng: np.random.Generator, low: FloatArray, high: FloatArray, rates: FloatArray) -> Corners:
    share = np.stack([low, low, high, high])
    missed = share * np.stack([0 * rates, rates, 0 * rates, rates])
    return Corners(share, missed, concave(share, missed, np.arange(1.0, 1 + len(low))))


def concave(share: FloatArray, missed: FloatArray, scale: FloatArray) -> FloatArray:
    """Some function that is jointly concave in t and r, class by class."""
    return np.asarray(scale * (np.log1p(missed) + 3 * np.log1p(0.5 * (missed - share))))


@given(seeds, st.integers(2, 8))
@settings(deadline=None, max_examples=60)
def test_the_worst_case_is_below_every_member(seed: int, n_classes: int) -> None:
    rng = np.random.default_rng(seed)
    rows, limits, inside = region(rng, n_classes)
    mixes = members(rng, rows, limits, inside)
    low, high = mixes.min(axis=0), mixes.max(axis=0)
    rates = rng.random(n_classes)
    corners = random_corners(rng, low, high, rates)
    half = len(rows) // 2
    worst = WorstCase(rows[:half], limits[:half], rows[half:], limits[half:])
    missed = mixes * (rates * rng.random(mixes.shape))
    values = concave(mixes, missed, np.arange(1.0, 1 + n_classes)).sum(axis=1)
    for epsilon in (0.0, float(np.median(missed.sum(axis=1)))):
        value, prices = worst.solve(0, corners, epsilon, np.inf)
        able = missed.sum(axis=1) >= epsilon
        assert (values[able] >= value - 1e-9).all()
        # Any prices are safe, so a wrong answer of the solver cannot make the bound wrong.
        wrong = Prices(prices.rows * rng.random(len(prices.rows)) * 2, prices.missed / 2, prices.total + 1)
        assert (values[able] >= worst.least(wrong, corners, epsilon) - 1e-9).all()


def test_extra_rows_are_used_where_they_matter() -> None:
    low, high, rates = np.zeros(2), np.ones(2), np.ones(2)
    corners = random_corners(np.random.default_rng(0), low, high, rates)
    none, no_limits = np.empty((0, 2)), np.empty(0)
    row, limit = np.array([[0.0, 1.0]]), np.array([0.2])
    free = WorstCase(none, no_limits, none, no_limits).solve(0, corners, 0.0, np.inf)[0]
    cut = WorstCase(none, no_limits, row, limit).solve(0, corners, 0.0, np.inf)[0]
    bound = WorstCase(row, limit, none, no_limits).solve(0, corners, 0.0, np.inf)[0]
    assert cut == pytest.approx(bound)
    assert cut > free + 0.1


@given(st.integers(0, 2**32))
def test_the_worst_mix_is_the_one_a_linear_program_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values, largest = rng.normal(size=6), rng.uniform(0.1, 1, 6)
    largest *= max(1.0, 1.01 / largest.sum())
    found = linprog(-values, A_eq=np.ones((1, 6)), b_eq=[1.0], bounds=[(0, min(top, 1.0)) for top in largest])
    box = Interval(np.zeros(6), largest)
    assert largest_means(values[None], box)[0] == pytest.approx(float(values @ np.asarray(found.x)), abs=1e-9)


def test_the_answer_is_that_of_scipy_with_and_without_a_limit_that_binds() -> None:
    rng = np.random.default_rng(1)
    binds = set()
    for n_rows in [12] * 50 + [500] * 5:
        matrix, wanted = rng.random((n_rows, 4)), rng.normal(0.5, 1.0, n_rows)
        found, (exact, _) = nonnegative_least_squares(matrix, wanted), scipy.optimize.nnls(matrix, wanted)
        assert (found >= 0).all()
        assert found == pytest.approx(exact, abs=1e-9)
        binds.add(bool((found == 0).any()))
    assert binds == {True, False}


def test_columns_that_depend_on_each_other_or_say_nothing() -> None:
    """The squares are the least all the same, whichever of the columns is used."""
    rng = np.random.default_rng(2)
    for _ in range(50):
        matrix, wanted = rng.normal(size=(12, 6)), rng.normal(size=12)
        matrix[:, 1], matrix[:, 2] = matrix[:, 0] * (1 + 1e-13), 0.0
        found = nonnegative_least_squares(matrix, wanted)
        _, least = scipy.optimize.nnls(matrix[:, [0, 3, 4, 5]], wanted)
        assert (found >= 0).all()
        assert np.linalg.norm(matrix @ found - wanted) == pytest.approx(least, rel=1e-9)
