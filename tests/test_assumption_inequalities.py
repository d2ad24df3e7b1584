"""Bounds of rates and shares: exact where they can be enumerated, right often enough where not."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_matrix
from scipy.stats import binom, binomtest

from cell_worlds import cell_counts, make_world
from pacshift.assumption.cells import join_folds, split
from pacshift.assumption.inequalities import (
    box_rows,
    box_sets,
    chernoff_lower,
    largest_shares,
    shares_by_sets,
    suggested_sets,
)
from pacshift.bounds import binomial_lower, binomial_upper


@given(st.integers(1, 60), st.floats(1e-4, 1 - 1e-4), st.floats(0.1, 12.0))
@settings(max_examples=150)
def test_the_lower_bound_exceeds_the_rate_as_rarely_as_it_says(total: int, rate: float, exponent: float) -> None:
    counts = np.arange(total + 1)
    bound = chernoff_lower(counts.astype(float), np.array(float(total)), exponent)
    assert binom.pmf(counts[bound > rate], total, rate).sum() <= np.exp(-exponent) * (1 + 1e-9)
    assert (np.diff(bound) >= 0).all()
    assert bound[0] == 0


def test_the_lower_bound_is_not_much_below_the_exact_one() -> None:
    counts, total = np.array([3.0, 50.0, 900.0, 1000.0]), np.array(1000.0)
    ours, exact = chernoff_lower(counts, total, 9.0), binomial_lower(counts, 1000, delta=np.exp(-9.0))
    assert (ours <= exact + 1e-12).all()
    assert (ours >= 0.6 * exact).all()


@pytest.mark.parametrize("n_classes", [2, 7])
def test_how_many_bounds_are_paid_for_depends_on_the_number_of_classes_alone(n_classes: int) -> None:
    rng = np.random.default_rng(0)
    found = {len(box_sets(make_world(rng, n_classes, (50, 50)).draw(rng))) for _ in range(10)}
    assert found == {24 + 26 * n_classes}


@pytest.mark.montecarlo
@pytest.mark.parametrize("contamination", [0.0, 0.2])
def test_the_true_mix_keeps_boxes_and_largest_shares_often_enough(contamination: float) -> None:
    rng, delta, repeats, broken = np.random.default_rng(5), 0.3, 80, np.zeros(3, int)
    for _ in range(repeats):
        sizes = (int(rng.choice([30, 300, 3000])), int(rng.choice([30, 300, 3000])))
        world = make_world(rng, int(rng.integers(2, 6)), sizes, contamination=contamination)
        counts = world.draw(rng)
        folds = split(counts)
        rows, limits = box_rows(counts, delta=delta, contamination=contamination)
        by_sets = shares_by_sets(
            suggested_sets(folds[0]), join_folds(folds[1:]), delta=delta, contamination=contamination
        )
        tops = largest_shares(counts, delta=delta, contamination=contamination)
        broken += [(rows @ world.mix > limits).any(), (world.mix > tops).any(), (world.mix > by_sets).any()]
    for count in broken.tolist():
        assert binomtest(count, repeats, delta, alternative="greater").pvalue > 1e-3


def test_largest_shares_are_near_the_truth_where_a_class_shows_itself() -> None:
    rng = np.random.default_rng(6)
    world = make_world(rng, 3, (60_000, 60_000))
    own = np.arange(len(world.rates))[:, None] // world.n_bins == np.arange(3)
    tops = largest_shares(world.draw(rng), delta=0.01)
    shown = (world.rates * own).sum(axis=0) > 0.9
    enough = shown & (world.class_counts > 2000)
    assert enough.any()
    assert (tops[enough] < 1.3 * world.mix[enough] + 0.15).all()


def test_bounds_are_the_ones_of_the_page() -> None:
    source = np.array([[30.0, 5.0], [60.0, 5.0], [10.0, 90.0]])
    target = np.array([40.0, 50.0, 110.0])
    counts = replace(cell_counts(source, target, 1), predicted=np.array([0, 0, 1]), confidence=np.array([3, 8, 0]))
    clean = 0.8
    tops = largest_shares(counts, delta=0.1, contamination=0.2)
    each = 0.1 / (2 * 2 * 13)
    best = min(  # predicted 0 with any confidence, or with a high one
        binomial_upper(seen, 200, delta=each) / clean / binomial_lower(inside, 100, delta=each)
        for seen, inside in ((90, 90), (50, 60))
    )
    assert np.isclose(tops[0], best)
    sets = csc_matrix(np.eye(2))
    by_sets = shares_by_sets(sets, counts, delta=0.1, contamination=0.2)
    upper, lower = binomial_upper(90, 200, delta=0.1 / 4), binomial_lower(90, 100, delta=0.1 / 4)
    assert np.isclose(by_sets[0], upper / clean / lower)
    rows, limits = box_rows(counts, delta=0.1, contamination=0.2)
    exponent = np.log((24 + 26 * 2) * 3 / 0.1)
    expected = chernoff_lower(np.array([90.0, 10.0]), np.array([100.0, 100.0]), exponent)
    limit = (1 - chernoff_lower(np.array(110.0), np.array(200.0), exponent)) / clean
    pairs = zip(rows, limits, strict=True)
    assert any(np.allclose(row, expected) and np.isclose(end, limit) for row, end in pairs)


def test_rare_on_one_side_and_rarer_on_the_other_is_seen_by_boxes() -> None:
    source = np.array([[990.0, 0.0], [10.0, 0.0], [0.0, 500.0], [0.0, 500.0]])
    target = np.array([29_000.0, 1.0, 500.0, 499.0])
    rows, limits = box_rows(cell_counts(source, target, 2), delta=0.001, contamination=0.0)
    assert (rows @ np.array([0.97, 0.03]) > limits).any()
