"""The building blocks give what the methods use, and refuse what they would turn into NaN."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pacshift import Tally, blocks
from pacshift.blocks import Interval
from pacshift.errors import AssumptionError, InputError
from pacshift.methods import PS, Task
from pacshift.methods.point_weights import estimate_weights
from pacshift.methods.ps_w import split_delta
from pacshift.methods.weight_box import weight_box
from strategies import Counts, counts, drawn_tally, seeds


@given(seeds, st.sampled_from([0.02, 0.1, 0.3]))
def test_blocks_are_what_the_methods_are_made_of(seed: int, epsilon: float) -> None:
    tally = drawn_tally(np.random.default_rng(seed), 3, 400, 3.0)
    share = blocks.split_delta(0.05, 3)
    assert share == split_delta(0.05, 3)
    cells = blocks.clopper_pearson(tally.confusion, tally.n_source, delta=share)
    target = blocks.clopper_pearson(tally.target, tally.n_target, delta=share)
    box = weight_box(tally, delta=share, intervals="hull")
    np.testing.assert_array_equal(blocks.hull(cells, target).upper, box.upper)
    assert (blocks.eliminate(cells, target).upper >= box.upper - 1e-6).all()
    np.testing.assert_allclose(blocks.bbse(tally.confusion, tally.target), estimate_weights(tally, "bbse"))
    with_ridge = blocks.bbse(tally.confusion, tally.target, ridge=1 / 400)
    np.testing.assert_allclose(with_ridge, estimate_weights(tally, "bbse-ridge"))
    own = np.repeat(tally.values, tally.counts)
    found = PS().solve(tally, Task(epsilon=epsilon, delta=0.05)).thresholds[0]
    assert blocks.pac_threshold(own, epsilon=epsilon, delta=0.05) == found


@given(counts(), st.sampled_from([1e-6, 0.05]))
def test_the_region_is_inside_what_its_intervals_say(drawn: Counts, delta: float) -> None:
    try:
        region = blocks.prevalence_region(drawn.confusion, drawn.target, delta=delta)
    except AssumptionError:
        return
    assert (region.prevalence.lower <= region.prevalence.upper).all()


def test_rejection_turns_the_source_mix_into_the_target_mix() -> None:
    labels, weights = np.repeat([0, 1, 2], [5000, 3000, 2000]), np.array([0.4, 0.8, 2.8])
    for envelope in (None, 4.0):
        kept = blocks.rejection_sample(labels, weights, envelope=envelope, rng=3)
        wanted = np.array([5000, 3000, 2000]) * weights
        seen = np.bincount(labels[kept], minlength=3)
        assert stats.chisquare(seen, wanted / wanted.sum() * seen.sum()).pvalue > 0.01
        assert kept.mean() == pytest.approx(1 / (envelope or 2.8), rel=0.05)


EVERYTHING, THREE = Interval(np.zeros((2, 2)), np.ones((2, 2))), Interval(np.zeros(3), np.ones(3))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: blocks.clopper_pearson(5, 3, delta=0.05), r"count must be at most total, got 5 of 3\. Give"),
        (lambda: blocks.clopper_pearson([1, -1], 3, delta=0.05), r"count must be whole numbers.*got \[1, -1\]"),
        (lambda: blocks.clopper_pearson(0.3, 3, delta=0.05), "Count rows, do not give shares"),
        (lambda: blocks.clopper_pearson("a", 3, delta=0.05), "count must be whole numbers"),
        (lambda: blocks.clopper_pearson(1, 3, delta=1.5), "delta must lie strictly between 0 and 1, got 1.5"),
        (lambda: blocks.binomial_cut(100, epsilon=0, delta=0.1), "epsilon must lie strictly"),
        (lambda: blocks.split_delta(0.1, 1), "n_classes must be 2 or more, got 1"),
        (lambda: blocks.eliminate(EVERYTHING, THREE), r"\(K, K\).*got \(2, 2\) and \(3,\)"),
        (lambda: blocks.hull(EVERYTHING, Interval(np.ones(2), np.zeros(2))), "0 <= lower <= upper"),
        (lambda: blocks.hull(np.eye(2), np.ones(2)), "must be an Interval, got ndarray: make one"),
        (lambda: blocks.eliminate(EVERYTHING, EVERYTHING, form="other"), "form must be"),
        (lambda: blocks.bbse([[1, 2]], [1]), r"shape \(K, K\)"),
        (lambda: blocks.bbse_soft([[1.0, np.nan], [0.0, 1.0]], [1.0, 0.0]), "must be finite"),
        (lambda: blocks.bbse(np.eye(2), [1, 1], ridge=-1), "ridge must be 0 or more, got -1"),
        (lambda: blocks.rejection_sample([0, 2], [1.0, 2.0]), "column numbers below 2.*got 2"),
        (lambda: blocks.rejection_sample([0, 1], [1.0, 2.0], envelope=1.5), "largest weight, 2, got 1.5"),
        (lambda: blocks.rejection_sample([0, 1], [0.0, 0.0]), "weights"),
        (lambda: blocks.pac_threshold([0.1, np.nan], epsilon=0.1, delta=0.1), "finite number per row, got NaN"),
        (lambda: blocks.prevalence_region([[1, 2], [3]], [1, 1], delta=0.1), "numbers, in rows of one length"),
        (lambda: blocks.bbse(np.full((2, 2), 1e300), [1, 1]), "whole numbers, 0 to 1e"),
        (lambda: blocks.bbse(np.eye(2), [1, 1], ridge=[0, 1]), "ridge must be 0 or more"),  # type: ignore[arg-type]
        (lambda: blocks.bbse_soft({}, [1, 1]), "confusion must be numbers"),
        (lambda: blocks.clopper_pearson([1, 2], [3, 4, 5], delta=0.1), r"shapes \(2,\) and \(3,\)"),
        (lambda: blocks.split_delta(0.1, "ab"), "n_classes must be whole numbers"),
        (lambda: blocks.pac_threshold("ab", epsilon=0.1, delta=0.1), "scores must be numbers"),
        (lambda: blocks.rejection_sample([0, 1], "ab"), "weights must be numbers"),
        (lambda: blocks.prevalence_region([[1.5, 0.0], [0.0, 1.0]], [1, 1], delta=0.1), "whole numbers"),
    ],
)  # fmt: skip
def test_mistakes_are_named(wrong: Callable[[], Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        wrong()


def test_a_class_without_rows_has_no_upper_weight() -> None:
    tally = Tally.from_scores([[0.9, 0.1]] * 5, [0] * 5, classes=[0, 1])
    cells = blocks.clopper_pearson(tally.confusion, 5, delta=0.01)
    target = blocks.clopper_pearson([3, 0], 3, delta=0.01)
    assert np.isinf(blocks.hull(cells, target).upper).tolist() == [False, True]
    with pytest.raises(blocks.NoBox):
        blocks.eliminate(cells, target)
