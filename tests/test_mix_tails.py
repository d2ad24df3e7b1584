"""Sharp tails against exact ones: sums of few scaled binomials are laid out in full and added up."""

from fractions import Fraction
from functools import reduce
from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from pacshift.arrays import FloatArray
from pacshift.bounds import Interval, binomial_upper
from pacshift.mix.tails import FREQUENCY_ZONES, _parts, bennett, bernstein_upper, deviation, prefactor_parts
from strategies import seeds


def majorant(x: FloatArray, rate: float) -> FloatArray:
    """Graham and Vaaler's majorant of exp(-rate x) 1{x >= 0}, of exponential type 2π, at no integer.

    It takes the values of that function at the integers, and its slopes at all of them but 0.
    """
    n = np.arange(0, int(45 / rate) + 2)
    height, distance = np.exp(-rate * n), x[:, None] - n
    slopes = rate * (height[1:] * (1 / distance[:, 1:] - 1 / x[:, None])).sum(axis=1)
    return np.asarray((np.sin(np.pi * x) / np.pi) ** 2 * ((height / distance**2).sum(axis=1) - slopes))


@pytest.mark.parametrize("rate", [0.02, 0.3, 1.0, 4.0])
def test_the_majorant_majorises(rate: float) -> None:
    x = np.arange(-20, 100, 0.0371) + 0.00123
    value, step = majorant(x, rate), np.where(x >= 0, np.exp(-rate * x), 0.0)
    assert (value >= step - 1e-11).all()
    assert (value >= -1e-11).all()


@pytest.mark.parametrize("rate", [0.3, 1.0, 4.0])
def test_the_integral_of_the_majorant_is_the_factor_in_front(rate: float) -> None:
    width = 0.2
    x = np.arange(-400, 400, width) + width / 3
    # A sum at a rate above twice the highest frequency is the integral; the tails beyond 400 fall like 1/x².
    assert majorant(x, rate).sum() * width == pytest.approx(1 / -np.expm1(-rate), abs=3e-3)


class Bets:
    """Log-wealth of bets on a few binomials, its tilted law laid out in full."""

    def __init__(self, totals: list[int], stakes: list[float], rates: list[float]) -> None:
        self.totals, self.stakes, self.rates = (np.array(x) for x in (totals, stakes, rates))
        self.step = np.log1p(self.stakes * self.rates) - np.log1p(-self.stakes * (1 - self.rates))
        tilted = self.rates * (1 - self.stakes * (1 - self.rates))
        self.variances = self.totals * self.step**2 * tilted * (1 - tilted)
        start = float(self.totals @ np.log1p(self.stakes * self.rates))
        counts = [np.arange(total + 1) for total in totals]
        steps = [-step * count for step, count in zip(self.step, counts, strict=True)]
        self.value = start + reduce(lambda a, b: (a[:, None] + b).ravel(), steps)
        laws = [
            [stats.binom.logpmf(c, m, p) for c, m, p in zip(counts, totals, chance, strict=True)]
            for chance in (self.rates, tilted)
        ]
        self.law, self.tilted = (reduce(lambda a, b: (a[:, None] + b).ravel(), law) for law in laws)

    def factors(self) -> FloatArray:
        """E~[exp(-(S - y)) 1{S >= y}] at every value y of S: between values it is smaller."""
        order = np.argsort(-self.value)
        value, law = self.value[order], self.tilted[order]
        last = np.append(np.diff(value) < -1e-12, True)  # equal values belong together
        return np.asarray(np.exp(np.logaddexp.accumulate(law - value) + value)[last])


@st.composite
def bets(draw: st.DrawFn) -> Bets:
    n_classes = draw(st.integers(1, 3))
    most = {1: 3000, 2: 100, 3: 20}[n_classes]
    totals = [draw(st.integers(1, most)) for _ in range(n_classes)]
    stakes = [draw(st.floats(1e-3, 0.9)) for _ in range(n_classes)]
    return Bets(totals, stakes, [draw(st.floats(1e-3, 0.999)) for _ in range(n_classes)])


@given(bets())
@settings(deadline=None, max_examples=100)
def test_prefactors_bound_the_exact_factor(game: Bets) -> None:
    likely = game.tilted > -30
    assert game.tilted[likely] == pytest.approx((game.law + game.value)[likely], abs=1e-6)  # hence fair bets
    exact = game.factors().max()
    order = np.argsort(game.step)
    parts = np.sqrt(np.cumsum(game.variances[order]))
    inner, outer = prefactor_parts(parts[-1], game.step.max(), parts, game.step[order])
    assert exact <= (inner / parts[-1] + outer) * (1 + 1e-9)
    for size in range(len(order)):  # every part is valid, not only the best one
        after = slice(size, size + 1)
        part = prefactor_parts(parts[-1], game.step.max(), parts[after], game.step[order][after])
        assert exact <= (part[0] / parts[-1] + part[1]) * (1 + 1e-9)


@pytest.mark.parametrize("zone", FREQUENCY_ZONES)
@pytest.mark.parametrize(("step", "fine_sigma", "fine_step"), [(0.5, 0.4, 0.02), (2.0, 1.0, 0.3), (0.1, 3.0, 0.1)])
def test_the_formula_is_the_integral(zone: float, step: float, fine_sigma: float, fine_step: float) -> None:
    sigma, kappa = 3.0, 2 * (1 - np.cos(zone)) / zone**2
    inner = quad(lambda v: np.exp(-kappa * (sigma * v) ** 2 / 2), 0, np.inf)[0]
    outer = quad(lambda v: np.exp(-2 * (fine_sigma * v / np.pi) ** 2), zone / step, np.inf)[0]
    factor = 2 * fine_step / (1 - np.exp(-2 * fine_step)) / np.pi
    found = _parts(step, np.array(fine_sigma), np.array(fine_step), zone)
    assert [found[0] / sigma, found[1]] == pytest.approx([factor * inner, factor * outer], rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("total", [5, 20, 60, 200])
def test_a_coarse_lattice_shows_through_a_part_that_varies_little(total: int) -> None:
    game = Bets([400, total], [0.7, 0.05], [0.5, 0.3])
    sigma, fine = np.sqrt(game.variances.sum()), np.sqrt(game.variances[1:])
    inner, outer = prefactor_parts(float(sigma), float(game.step.max()), fine, game.step[1:])
    assert game.factors().max() <= inner / sigma + outer


def test_the_prefactor_is_close_to_the_exact_factor_where_it_matters() -> None:
    game = Bets([2500], [0.25], [0.08])
    inner, outer = prefactor_parts(np.sqrt(game.variances[0]), game.step[0], np.sqrt(game.variances), game.step)
    assert inner / np.sqrt(game.variances[0]) + outer < 1.2 * game.factors().max()


@given(seeds, st.sampled_from([0.2, 1e-2, 1e-4, 1e-7]), st.sampled_from([0.0, 0.2, 1.0]))
@settings(deadline=None, max_examples=100)
def test_deviations_are_exceeded_with_probability_at_most_delta(seed: int, delta: float, doubt: float) -> None:
    rng = np.random.default_rng(seed)
    totals, target = rng.integers(1, 60, 2), int(rng.integers(1, 400))
    share, rate, target_rate = rng.dirichlet([1, 1]), rng.random(2) ** 2, rng.random() ** 2
    scales = [*(share / totals), -1 / target]
    sizes, rates = [*totals, target], [*rate, target_rate]
    values = [s * (np.arange(m + 1) - m * p) for s, m, p in zip(scales, sizes, rates, strict=True)]
    laws = [stats.binom.pmf(np.arange(m + 1), m, p) for m, p in zip(sizes, rates, strict=True)]
    value = reduce(lambda a, b: (a[:, None] + b).ravel(), values)
    law = reduce(lambda a, b: np.outer(a, b).ravel(), laws)
    variance = float(law @ value**2)
    fine = target_rate * (1 - target_rate) / target
    bounds = Interval(np.array([variance / (1 + doubt)]), np.array([variance * (1 + doubt)]))
    at_least, slope = deviation(
        bounds,
        step=max(abs(s) for s in scales),
        fine_variance=np.array([fine / (1 + doubt)]),
        fine_step=1 / target,
        delta=np.array([delta]),
    )
    width = float((at_least + slope * (variance - bounds.lower))[0])
    assert slope[0] >= 0
    assert law[value > width + 1e-12].sum() <= delta * (1 + 1e-6)


def test_deviations_are_sharp_for_large_samples() -> None:
    variance = np.array([0.25 / 40_000])
    width, _ = deviation(
        Interval(variance, variance),
        step=1 / 40_000,
        fine_variance=variance,
        fine_step=1 / 40_000,
        delta=np.array([1e-5]),
    )
    normal = stats.norm.isf(1e-5) * np.sqrt(variance)
    assert normal < width < 1.04 * normal  # Bernstein's inequality is 12 % above it


def test_bennett_near_zero() -> None:
    assert bennett([0.0, 1e-5, 1.0]) == pytest.approx([0.5, 0.5 + 1e-5 / 6, np.e - 2])
    for x in (1e-5, 9e-5):  # where the series is cut off, what is left out is made up for
        exact = sum(Fraction(x) ** k / factorial(k + 2) for k in range(8))
        assert 0 < Fraction(float(bennett(x))) - exact < Fraction(1, 10**9)


@given(st.integers(1, 400), st.floats(0.0, 1.0), st.sampled_from([0.3, 0.05, 1e-3, 1e-6]))
@settings(deadline=None, max_examples=150)
def test_bernsteins_bound_is_too_low_with_probability_at_most_delta(total: int, rate: float, delta: float) -> None:
    counts = np.arange(total + 1)
    upper = bernstein_upper(counts, total, delta=delta)
    assert stats.binom.pmf(counts[upper < rate], total, rate).sum() <= delta * (1 + 1e-9)
    assert (np.diff(upper) >= -1e-12).all()


def test_bernsteins_bound_is_close_to_the_exact_one_for_many_rows() -> None:
    counts, total = np.array([50, 500, 5000, 9500]), 10_000
    exact = binomial_upper(counts, total, delta=1e-5) - counts / total
    assert (bernstein_upper(counts, total, delta=1e-5) - counts / total < 1.35 * exact + 1e-3).all()
