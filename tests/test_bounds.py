"""Clopper-Pearson and the binomial cut against SciPy, exact sums and mpmath."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pacshift.bounds import binomial_cdf, binomial_cut, binomial_lower, binomial_upper, clopper_pearson

TOTALS = [1, 2, 10, 200, 42_000, 10**6, 10**8, 10**9]
COUNTS = [0, 1, 5, 100, 999, 1000, 1001, 20_000]
DELTAS = [0.1, 5e-4, 1e-7, 1e-12]


def tail(count: int, total: int, rate: float, *, upper: bool = False) -> mpmath.mpf:
    """P(Binomial <= count), or >= count, to about 12 digits: log-gamma in 50 digits, a sum of ratios of terms.

    Upwards the terms fall off long before ``count + 50_000``.
    """
    with mpmath.workdps(50):
        p = mpmath.mpf(rate)
        log_term = mpmath.loggamma(total + 1) - mpmath.loggamma(count + 1) - mpmath.loggamma(total - count + 1)
        log_term += count * mpmath.log(p) + (total - count) * mpmath.log1p(-p)
        if upper:
            up = np.arange(count, min(total, count + 50_000), 1.0)
            ratios = (total - up) / (up + 1) * float(p / (1 - p))
        else:
            down = np.arange(count, 0, -1.0)
            ratios = down / (total - down + 1) * float((1 - p) / p)
        return mpmath.exp(log_term) * (1 + float(np.cumprod(ratios).sum()))


@pytest.mark.parametrize("delta", [0.3, 0.05, 1e-3, 1e-8])
@pytest.mark.parametrize("total", [1, 7, 50])
def test_clopper_pearson_agrees_with_scipy_binomtest(total: int, delta: float) -> None:
    count = np.arange(total + 1)
    interval = clopper_pearson(count, total, delta=delta)
    reference = [stats.binomtest(k, total).proportion_ci(1 - delta) for k in range(total + 1)]
    np.testing.assert_allclose(interval.lower, [ci.low for ci in reference], rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(interval.upper, [ci.high for ci in reference], rtol=1e-7)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("total", TOTALS)
def test_bounds_solve_the_tail_equations_at_every_size(total: int, delta: float) -> None:
    for count in (count for count in COUNTS if count < total):
        upper = float(binomial_upper(count, total, delta=delta))
        if upper < 1 - 1e-9:  # closer to 1 the tail moves by more than 1e-6 from one float to the next
            assert float(tail(count, total, upper) / delta) == pytest.approx(1, rel=2e-6)
        if count > 0:
            lower = float(binomial_lower(count, total, delta=delta))
            assert float(tail(count, total, lower, upper=True) / delta) == pytest.approx(1, rel=2e-6)


def test_the_parameter_that_scipy_inverts_wrongly() -> None:
    # SciPy 1.17's betaincinv(1000, 1e9, ...) is above 1000/1e9 at every level: no lower bound at all.
    around = binomial_lower([999, 1000, 1001], 10**9, delta=1e-6)
    assert (np.diff(around) > 0).all()
    assert around[1] == pytest.approx(around[[0, 2]].mean(), rel=1e-6)
    around = binomial_upper([998, 999, 1000], 10**9, delta=1e-13)
    assert around[1] == pytest.approx(around[[0, 2]].mean(), rel=1e-6)


def test_ends_are_exact_at_zero_and_all() -> None:
    interval = clopper_pearson([0, 10, 0, 1], [10, 10, 1, 1], delta=1e-12)
    assert interval.lower[[0, 2]].tolist() == [0.0, 0.0]
    assert interval.upper[[1, 3]].tolist() == [1.0, 1.0]
    # k = 0 in closed form: (1 - u)^n = delta / 2.
    assert interval.upper[0] == pytest.approx(1 - (1e-12 / 2) ** (1 / 10), rel=1e-12)


def test_no_data_means_anything_is_possible() -> None:
    interval = clopper_pearson(0, 0, delta=0.05)
    assert (float(interval.lower), float(interval.upper)) == (0.0, 1.0)


@pytest.mark.parametrize("delta", [0.2, 0.01])
@pytest.mark.parametrize("total", [3, 25])
def test_coverage_is_never_below_its_level(total: int, delta: float) -> None:
    count = np.arange(total + 1)
    interval = clopper_pearson(count, total, delta=delta)
    for rate in np.linspace(0.001, 0.999, 499):
        misses = stats.binom.pmf(count, total, rate)[~interval.contains(rate)].sum()
        assert misses <= delta * (1 + 1e-9)


@given(st.integers(1, 10**9), st.data())
def test_intervals_move_with_their_count(total: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(0, total - 1))
    delta = data.draw(st.floats(1e-12, 0.5))
    interval = clopper_pearson([count, count + 1], total, delta=delta)
    assert interval.lower[0] < interval.lower[1]
    assert interval.upper[0] <= interval.upper[1]
    assert interval.contains(np.array([count, count + 1]) / total).all()


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 0.97])
@pytest.mark.parametrize("delta", [0.3, 0.05, 5e-4])
def test_binomial_cut_is_the_definition_for_small_samples(epsilon: float, delta: float) -> None:
    for total in [0, 1, 2, 5, 28, 29, 100, 333]:
        passing = stats.binom.cdf(np.arange(total + 1), total, epsilon) <= delta
        assert binomial_cut(total, epsilon=epsilon, delta=delta) == np.count_nonzero(passing) - 1


def test_binomial_cut_on_the_boundary_counts_as_passing() -> None:
    # P(Binomial(2, 1/2) <= 0) is 1/4 exactly, in floats too.
    assert binomial_cut(2, epsilon=0.5, delta=0.25) == 0
    assert binomial_cut(2, epsilon=0.5, delta=np.nextafter(0.25, 0)) == -1


@pytest.mark.parametrize("delta", [0.05, 5e-4, 1e-9])
@pytest.mark.parametrize(("total", "epsilon"), [(10**6, 0.01), (10**8, 1e-4), (10**9, 1e-6), (10**9, 1e-5)])
def test_binomial_cut_at_large_samples(total: int, epsilon: float, delta: float) -> None:
    cut = binomial_cut(total, epsilon=epsilon, delta=delta)
    assert tail(cut, total, epsilon) <= delta < tail(cut + 1, total, epsilon)


def test_binomial_cdf_is_exact_for_a_small_case() -> None:
    # Sum of C(5, i) (1/4)^i (3/4)^(5-i) by hand: 243, 405, 270, 90, 15, 1 over 1024.
    expected = np.array([0, 243, 648, 918, 1008, 1023, 1024, 1024]) / 1024
    np.testing.assert_allclose(binomial_cdf(np.arange(-1, 7), 5, 0.25), expected, rtol=1e-14)
