"""Looks: the chance to pass any of them is exact, and what they allow is never too much."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacshift.bounds import binomial_cut
from pacshift.paths import looks  # test_rows by its own name would be run as a test
from pacshift.paths.looks import look_cuts, pass_chance

RATES = st.sampled_from([Fraction(1, 20), Fraction(1, 10), Fraction(1, 4), Fraction(2, 5)])
DELTAS = st.sampled_from([Fraction(1, 1000), Fraction(1, 20), Fraction(1, 5), Fraction(1, 2)])
ROWS = st.lists(st.integers(1, 40), min_size=1, max_size=5, unique=True).map(sorted)


def exact_chance(rows: list[int], cuts: tuple[int, ...], epsilon: Fraction) -> Fraction:
    """P(some look is passed), in fractions: one row after another, paths that passed are taken out."""
    allowed = dict(zip(rows, cuts, strict=True))
    law, passed = {0: Fraction(1)}, Fraction(0)
    for row in range(1, rows[-1] + 1):
        after: dict[int, Fraction] = {}
        for misses, chance in law.items():
            after[misses] = after.get(misses, Fraction(0)) + chance * (1 - epsilon)
            after[misses + 1] = after.get(misses + 1, Fraction(0)) + chance * epsilon
        passed += sum((after.pop(misses) for misses in list(after) if misses <= allowed.get(row, -1)), Fraction(0))
        law = after
    return passed


def enumerated_chance(rows: list[int], cuts: tuple[int, ...], epsilon: Fraction) -> Fraction:
    """The same, over all 2^n sequences of misses."""
    total = Fraction(0)
    for number in range(2 ** rows[-1]):
        misses = np.cumsum([number >> bit & 1 for bit in range(rows[-1])])
        if any(misses[n - 1] <= cut for n, cut in zip(rows, cuts, strict=True)):
            total += epsilon ** int(misses[-1]) * (1 - epsilon) ** int(rows[-1] - misses[-1])
    return total


@given(ROWS, st.data(), RATES)
def test_chance_to_pass_is_exact(rows: list[int], data: st.DataObject, epsilon: Fraction) -> None:
    cuts = tuple(data.draw(st.integers(-1, n)) for n in rows)
    exact = float(exact_chance(rows, cuts, epsilon))
    assert exact <= pass_chance(rows, cuts, float(epsilon)) <= exact * (1 + 1e-8) + 1e-300


@pytest.mark.parametrize("rows", [[4, 9], [2, 3, 10]])
def test_both_ways_to_count_agree(rows: list[int]) -> None:
    cuts = (1, 2, 5)[: len(rows)]
    assert exact_chance(rows, cuts, Fraction(1, 4)) == enumerated_chance(rows, cuts, Fraction(1, 4))


@pytest.mark.slow
@given(ROWS, RATES, DELTAS)
def test_looks_together_seldom_pass_a_bad_rate(rows: list[int], epsilon: Fraction, delta: Fraction) -> None:
    cuts = look_cuts(rows, epsilon=float(epsilon), delta=float(delta))
    # A delta that is a binomial chance itself is met but for the last digit of the float, as in `binomial_cut`.
    assert exact_chance(rows, cuts, epsilon) <= delta * (1 + Fraction(1, 10**12))


@pytest.mark.slow
@given(ROWS, RATES, DELTAS)
def test_cuts_are_not_merely_small(rows: list[int], epsilon: Fraction, delta: Fraction) -> None:
    """One more miss at every look would be too many: the level could not be larger."""
    cuts = look_cuts(rows, epsilon=float(epsilon), delta=float(delta))
    more = tuple(cut + 1 for cut in cuts)
    assert exact_chance(rows, more, epsilon) > delta


@given(ROWS, RATES, DELTAS)
def test_cuts_grow_and_stay_below_those_of_one_look(rows: list[int], epsilon: Fraction, delta: Fraction) -> None:
    cuts = look_cuts(rows, epsilon=float(epsilon), delta=float(delta))
    single = [binomial_cut(n, epsilon=float(epsilon), delta=float(delta)) for n in rows]
    assert all(cut <= one for cut, one in zip(cuts, single, strict=True))
    assert list(cuts) == sorted(cuts)


@given(st.integers(0, 3000), st.floats(0.01, 0.5), st.floats(1e-6, 0.5))
def test_one_look_is_the_binomial_test(n: int, epsilon: float, delta: float) -> None:
    assert look_cuts([n], epsilon=epsilon, delta=delta) == (binomial_cut(n, epsilon=epsilon, delta=delta),)


def test_a_look_too_early_to_pass_costs_nothing() -> None:
    assert look_cuts([5, 400], epsilon=0.1, delta=0.05) == (-1, binomial_cut(400, epsilon=0.1, delta=0.05))


def test_ten_looks_of_thousands_of_rows() -> None:
    rows = [500 * look for look in range(1, 11)]
    cuts = look_cuts(rows, epsilon=0.1, delta=0.05)
    assert pass_chance(rows, cuts, 0.1) <= 0.05
    single = [binomial_cut(n, epsilon=0.1, delta=0.05) for n in rows]
    assert all(one - cut < 0.1 * one for cut, one in zip(cuts, single, strict=True))  # ten looks cost little


@pytest.mark.parametrize(
    ("n_labels", "epsilon", "delta", "tested"),
    [
        (100, 0.1, 0.05, 76),
        (400, 0.1, 0.05, 310),
        (1000, 0.1, 0.05, 912),
        (99, 0.1, 0.05, 99),  # few labels have no pilot
        (199, 0.05, 0.05, 199),
        (0, 0.1, 0.05, 0),
        (120, 0.1, 1e-5, 120),  # 96 rows allow nothing; a test part of 1 row would "allow as many"
    ],
)
def test_the_part_that_tests(n_labels: int, epsilon: float, delta: float, tested: int) -> None:
    assert looks.test_rows(n_labels, epsilon=epsilon, delta=delta) == tested


@given(st.integers(0, 3000), st.sampled_from([0.01, 0.05, 0.1, 0.3]), st.sampled_from([1e-6, 0.01, 0.05, 0.2]))
def test_no_row_of_the_test_could_be_spared(n_labels: int, epsilon: float, delta: float) -> None:
    n_test = looks.test_rows(n_labels, epsilon=epsilon, delta=delta)
    cut = binomial_cut(n_test, epsilon=epsilon, delta=delta)
    assert 0 <= n_test <= n_labels
    if n_test < n_labels:
        assert n_labels - n_test >= min(int(0.2 * n_labels), 80)
        assert cut >= 0
        assert cut == binomial_cut(n_labels - min(int(0.2 * n_labels), 80), epsilon=epsilon, delta=delta)
        assert binomial_cut(n_test - 1, epsilon=epsilon, delta=delta) == cut - 1


@pytest.mark.montecarlo
def test_all_looks_hold_together_and_no_more_than_that() -> None:
    """Scores are uniform, so a threshold errs by its own value: some look is wrong as often as computed."""
    rows, runs, epsilon = [100, 200, 400, 800], 20_000, 0.1
    cuts = look_cuts(rows, epsilon=epsilon, delta=0.05)
    scores = np.random.default_rng(0).random((runs, rows[-1]), np.float32)
    chosen = [np.partition(scores[:, :n], cut, axis=1)[:, cut] for n, cut in zip(rows, cuts, strict=True)]
    wrong = (np.array(chosen) > epsilon).any(axis=0).mean()
    assert abs(wrong - pass_chance(rows, cuts, epsilon)) < 0.005  # more than three standard errors
    assert 0.04 < wrong <= 0.05


@pytest.mark.montecarlo
def test_rows_nobody_can_label_count_as_missed() -> None:
    """The rows that nobody can label are the hard ones: with them as missed no look fails too often (Lemma 2)."""
    rows, runs, epsilon = [100, 200, 400], 20_000, 0.1
    cuts = look_cuts(rows, epsilon=epsilon, delta=0.05)
    scores = np.random.default_rng(1).random((runs, rows[-1]), np.float32)
    counted = np.where(scores < 0.02, -1.0, scores)
    chosen = [np.partition(counted[:, :n], cut, axis=1)[:, cut] for n, cut in zip(rows, cuts, strict=True)]
    wrong = (np.array(chosen) > epsilon).any(axis=0).mean()
    assert 0.03 < wrong <= 0.05  # the hard rows would be missed anyway: nothing is lost
    without = np.partition(np.where(scores < 0.02, 2.0, scores), cuts[-1], axis=1)[:, cuts[-1]]
    assert (without > epsilon).mean() > 0.2  # left out instead, they are missed and not counted
