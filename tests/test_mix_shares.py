"""Sharp intervals of shares: their inequalities against exact laws, coverage, and how narrow they are."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from pacshift import AssumptionError
from pacshift.arrays import FloatArray, IntArray
from pacshift.bounds import Interval
from pacshift.mix import lp
from pacshift.mix.region import SetCounts, exact_box, exact_upper, predicted_sets, prevalence_region
from pacshift.mix.shares import BOX_SHARE, ShareTest, half_spaces, share_region
from test_mix_lp import Liar

seeds = st.integers(0, 2**32 - 1)


def tail(
    weights: FloatArray, rates: FloatArray, rows: IntArray, share: float, n_target: int, seen: float
) -> float:
    """P(sum of weights times observed rates minus the observed share >= seen), exactly, by all outcomes."""
    values, chances = np.zeros(1), np.ones(1)
    steps = [(weight / count, rate, count) for weight, rate, count in zip(weights, rates, rows, strict=True)]
    for step, rate, count in [*steps, (-1 / n_target, share, n_target)]:
        hits = np.arange(count + 1)
        values = (values[:, None] + step * hits).ravel()
        chances = (chances[:, None] * binom.pmf(hits, count, rate)).ravel()
    return float(chances[values >= seen - 1e-12].sum())


@given(seeds)
@settings(deadline=None, max_examples=150)
def test_an_excluded_share_has_a_small_tail_whatever_the_rates_are(seed: int) -> None:
    """Lemma 2, prefactor and all: the exact law at shares and rates that the grid never looked at."""
    rng = np.random.default_rng(seed)
    rows, n_target, delta = rng.integers(1, 26, 2), int(rng.integers(5, 60)), float(rng.choice([0.05, 0.2, 0.5]))
    hits, share = rng.binomial(rows, rng.random(2)), int(rng.binomial(n_target, rng.random()))
    confusion = np.array([rows - hits, hits])
    test = ShareTest(confusion, np.array([n_target - share, share]), delta)
    low, high = np.sort(rng.random(2)) if rng.random() < 0.5 else rng.random() + np.array([0.0, 0.02])
    high = min(high, 1.0)
    low = min(low, high)
    if not test.excludes(low, high):
        return
    for _ in range(20):
        t, (a, b) = rng.uniform(low, high), rng.uniform(test.rate.lower, test.rate.upper)
        q = t * a + (1 - t) * b
        if not test.share[0] <= q <= test.share[1]:
            continue  # of these the box says that they are not
        seen = float(t * test.seen[0] + (1 - t) * test.seen[1] - test.seen_share)
        sign = np.sign(seen)
        weights, rates = np.array([t, 1 - t]), np.array([a, b])
        if sign < 0:  # count what was not predicted: the same sum with the other sign
            rates, q = 1 - rates, 1 - q
        assert tail(weights, rates, rows[::-1], q, n_target, abs(seen)) <= (1 - BOX_SHARE) * delta / 2 * (1 + 1e-9)


@given(seeds)
@settings(deadline=None, max_examples=150)
def test_a_mix_outside_of_a_half_space_has_a_small_tail_whatever_the_rates_are(seed: int) -> None:
    """Lemma 3, at mixes of the box and rates that it was not made at."""
    rng = np.random.default_rng(seed)
    n_classes, n_target, delta = 3, int(rng.integers(5, 30)), float(rng.choice([0.05, 0.2, 0.5]))
    rows = rng.integers(1, 9, n_classes)
    confusion = np.array([rng.multinomial(count, rng.dirichlet(np.ones(3))) for count in rows]).T
    target, single = rng.multinomial(n_target, rng.dirichlet(np.ones(3))), predicted_sets(n_classes)[0]
    counts = SetCounts.of(single, confusion, target, bound=exact_upper, delta=BOX_SHARE * delta)
    level = np.log((1 - BOX_SHARE) * delta / len(single))
    mixes = rng.dirichlet(np.ones(3) * rng.choice([1.0, 20.0]), 4)
    spaces, limits = half_spaces(counts, Interval(mixes.min(axis=0), mixes.max(axis=0)), float(level))
    for mix in [*mixes, *(rng.dirichlet(np.ones(4)) @ mixes for _ in range(6))]:
        for row in np.flatnonzero(spaces @ mix > limits) % len(single):
            for rates in rng.uniform(counts.rate.lower[row], counts.rate.upper[row], (5, 3)):
                seen = float(mix @ counts.observed[row] - counts.observed_share[row])
                assert tail(mix, rates, rows, float(mix @ rates), n_target, seen) <= np.exp(level) * (1 + 1e-9)


def draw(
    rng: np.random.Generator, rates: FloatArray, source: FloatArray, mix: FloatArray, n_source: int, n_target: int
) -> tuple[IntArray, IntArray]:
    rows = rng.multinomial(n_source, source)
    confusion = np.array([rng.multinomial(count, column) for count, column in zip(rows, rates.T, strict=True)]).T
    return confusion, rng.multinomial(n_target, rates @ mix)


def two(sensitivity: float, specificity: float) -> FloatArray:
    return np.array([[specificity, 1 - sensitivity], [1 - specificity, sensitivity]])


def even(n_classes: int, accuracy: float) -> FloatArray:
    off = (1 - accuracy) / (n_classes - 1)
    return np.full((n_classes, n_classes), off) + (accuracy - off) * np.eye(n_classes)


WORLDS = {
    "many rows": (two(0.8, 0.8), [0.5, 0.5], [0.5, 0.5], 4000, 4000),
    "rare": (two(0.8, 0.9), [0.95, 0.05], [0.95, 0.05], 500, 2000),
    "few": (two(0.97, 0.6), [0.1, 0.9], [0.03, 0.97], 100, 500),
    "three": (even(3, 0.8), [0.4, 0.3, 0.3], [0.2, 0.3, 0.5], 2000, 4000),
    "four, rare": (even(4, 0.9), [0.7, 0.2, 0.05, 0.05], [0.5, 0.3, 0.1, 0.1], 300, 3000),
}


@pytest.mark.montecarlo
@pytest.mark.parametrize("name", WORLDS)
def test_the_true_mix_is_excluded_in_at_most_delta_of_draws(name: str) -> None:
    rates, source, mix, n_source, n_target = WORLDS[name]
    rng, delta, truth = np.random.default_rng(1), 0.2, np.array(mix)
    repeats = 600 if len(truth) == 2 else 200
    missed = 0
    for _ in range(repeats):
        confusion, target = draw(rng, rates, np.array(source), truth, n_source, n_target)
        if len(truth) == 2:  # at the share itself: the test at its sharpest
            missed += ShareTest(confusion, target, delta).excludes(truth[1], truth[1])
            continue
        try:
            missed += not share_region(confusion, target, delta=delta).prevalence.contains(truth).all()
        except AssumptionError:
            missed += 1
    assert binomtest(missed, repeats, delta, alternative="greater").pvalue > 1e-3
    assert name != "many rows" or missed > 0.3 * delta * repeats  # and hardly anything is given away


@pytest.mark.parametrize(
    ("world", "at_most"),
    [
        ((two(0.9, 0.7), [0.5, 0.5], [0.5, 0.5], 200, 1000), 0.75),
        ((two(0.95, 0.7), [0.1, 0.9], [0.1, 0.9], 100, 1000), 0.7),
        ((two(0.7, 0.97), [0.98, 0.02], [0.98, 0.02], 1000, 10_000), 0.7),
        ((two(0.65, 0.65), [0.5, 0.5], [0.5, 0.5], 1000, 2000), 1.0),
        ((two(0.9, 0.9), [0.5, 0.5], [0.5, 0.5], 10**6, 10**6), 1.03),
        ((even(3, 0.8), [0.9, 0.05, 0.05], [0.5, 0.3, 0.2], 200, 2000), 0.93),
        ((even(6, 0.8), np.full(6, 1 / 6), np.full(6, 1 / 6), 600, 3000), 0.85),
    ],
)
def test_they_are_narrower_than_the_box_of_the_region(world: Any, at_most: float) -> None:
    rates, source, mix, n_source, n_target = world
    rng, sharp, plain = np.random.default_rng(2), 0.0, 0.0
    for _ in range(8):
        counts = draw(rng, rates, np.array(source), np.array(mix), n_source, n_target)
        box, other = share_region(*counts, delta=0.05).prevalence, prevalence_region(*counts, delta=0.05)
        whole = exact_box(*other.all_rows)
        sharp += float((box.upper - box.lower).sum())
        plain += float((whole.upper - whole.lower).sum())
    assert sharp < at_most * plain


@pytest.mark.parametrize("n_classes", [2, 4])
def test_classes_without_rows_known_bounds_and_counts_that_refute(n_classes: int) -> None:
    confusion = 200 * np.eye(n_classes, dtype=int)
    confusion[:, 0] = 0  # of the first class nothing is known
    target = np.full(n_classes, 100)
    free = share_region(confusion, target, delta=0.05)
    assert free.prevalence.upper[0] > 0.99
    known = Interval(np.zeros(n_classes), np.append(0.6, np.ones(n_classes - 1)))
    told = share_region(confusion, target, delta=0.05, known=known)
    assert told.prevalence.upper[0] <= 0.6
    assert (told.prevalence.lower >= free.prevalence.lower - 0.01).all()
    exactly = Interval(*[np.full(n_classes, 1 / n_classes)] * 2)
    box = share_region(300 * np.eye(n_classes, dtype=int), target, delta=0.05, known=exactly).prevalence
    np.testing.assert_allclose([box.lower, box.upper], 1 / n_classes)
    # Every class is predicted in equal parts, but the target is all of one.
    spread, one = np.full((n_classes, n_classes), 300), np.append(900, np.zeros(n_classes - 1, int))
    with pytest.raises(AssumptionError, match="label shift is rejected: "):
        share_region(spread, one, delta=0.05)
    with pytest.raises(AssumptionError, match="known bounds"):
        share_region(300 * np.eye(n_classes, dtype=int), one, delta=0.05, known=exactly)


@given(seeds)
@settings(deadline=None, max_examples=15)
def test_a_lying_solver_can_only_widen_the_box(seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = draw(rng, even(4, 0.8), np.full(4, 0.25), rng.dirichlet(np.ones(4)), 800, 1000)
    honest = share_region(*counts, delta=0.05).prevalence
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lp, "solver", lambda: Liar)
        lied_to = share_region(*counts, delta=0.05).prevalence
    assert (lied_to.lower <= honest.lower + 1e-6).all()
    assert (lied_to.upper >= honest.upper - 1e-6).all()
