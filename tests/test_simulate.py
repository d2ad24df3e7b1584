"""Label shifts made on purpose, and populations whose true error is known."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from benchmarks.sharpness import best_class_thresholds
from pacshift import InputError, Population, resample, tweak_one
from pacshift.arrays import FloatArray
from strategies import seeds


def test_tweak_one_adds_up() -> None:
    for share in (0.0, 0.3, 1.0):
        mix = tweak_one(7, 4, share)
        assert mix.sum() == pytest.approx(1)
        assert mix[4] == share
        assert len(set(mix[[0, 1, 2, 3, 5, 6]])) == 1


def test_resample_draws_the_mix_and_rows_of_a_label_equally() -> None:
    labels = np.array([2, 0, 1, 0, 2, 2])
    rows = resample(labels, [1, 2, 5], 80_000, np.random.default_rng(0))
    drawn = np.bincount(labels[rows], minlength=3)
    assert stats.chisquare(drawn, [10_000, 20_000, 50_000]).pvalue > 1e-3
    within = np.bincount(rows, minlength=6)
    assert stats.chisquare(within[[0, 4, 5]]).pvalue > 1e-3
    assert stats.chisquare(within[[1, 3]]).pvalue > 1e-3


def test_classes_that_are_not_asked_for_may_be_absent() -> None:
    assert set(resample(np.array([0, 0, 2]), [1, 0, 1], 100, np.random.default_rng(0))) == {0, 1, 2}


@pytest.mark.parametrize(
    ("labels", "mix", "size", "message"),
    [
        ([0, 1], [1, 1, 1], 5, "the mix asks for class 2, of which there are no rows"),
        ([0, 3], [1, 1], 5, "labels must be column indices 0 to 1"),
        ([0, -1], [1, 1], 5, "labels must be column indices"),
        ([], [1, 1], 5, "resample needs"),
        (["a", "b"], [1, 1], 5, "resample needs a list of column indices and a size >= 1"),
        ([[0, 1]], [1, 1], 5, "resample needs"),
        ([0, 1], [1, 1], 0, "resample needs"),
        ([0, 1], [0, 0], 5, "a label mix needs 2 finite shares >= 0, not all 0"),
        ([0, 1], [1, -1], 5, "a label mix needs"),
        ([0, 1], [1, np.nan], 5, "a label mix needs"),
        ([0, 1], ["a", "b"], 5, "a label mix needs"),
        ([0, 1], 3, 5, "a label mix needs"),
    ],
)
def test_bad_input(labels: Any, mix: Any, size: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        resample(labels, mix, size, np.random.default_rng(0))


@pytest.mark.parametrize("arguments", [(1, 0, 0.5), (3, 3, 0.5), (3, -1, 0.5), (3, 0, 1.5), (3, 0, np.nan)])
def test_tweak_one_refuses(arguments: Any) -> None:
    with pytest.raises(InputError, match="tweak_one needs"):
        tweak_one(*arguments)


def brute_population(seed: int = 0) -> tuple[Population, FloatArray]:
    """A small population and its weights by row."""
    rng = np.random.default_rng(seed)
    labels = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2, 2])
    weights = rng.integers(1, 5, len(labels)).astype(float)
    return Population(rng.random((len(labels), 3)), labels, row_weights=weights), weights


@given(seeds, st.lists(st.floats(0, 1), min_size=3, max_size=3))
def test_error_size_and_empty_sets_are_expectations_over_the_rows(seed: int, thresholds: list[float]) -> None:
    population, weights = brute_population(seed)
    mix, index = np.array([0.5, 0.2, 0.3]), population.index
    error = size = empty = 0.0
    for row, (scores, label) in enumerate(zip(population.scores, index, strict=True)):
        chance = mix[label] * weights[row] / weights[index == label].sum()
        held = [score >= cut for score, cut in zip(scores, thresholds, strict=True)]
        missed, members = not held[label], sum(held)
        error, size, empty = error + chance * missed, size + chance * members, empty + chance * (not members)
    assert population.error(thresholds, mix) == pytest.approx(error)
    assert population.size(thresholds, mix) == pytest.approx(size)
    assert population.empty(thresholds, mix) == pytest.approx(empty)
    assert population.row_shares(mix).sum() == pytest.approx(1)


def test_counts_are_exact_without_weights() -> None:
    population = Population(np.linspace(0, 1, 20).reshape(10, 2), np.zeros(10, int))
    for missed in range(10):
        assert population.class_error(population.scores[missed, 0])[0] == missed / 10


def test_draws_without_weights_are_those_of_resample() -> None:
    population = Population.synthetic(4, rows_per_class=50, rng=0)
    rows = resample(population.index, [1, 2, 3, 4], 500, 7)
    scores, labels = population.draw([1, 2, 3, 4], 500, 7)
    assert np.array_equal(scores, population.scores[rows])
    assert np.array_equal(labels, population.index[rows])


@given(seeds, st.sampled_from([0.02, 0.1, 0.3, 0.6]))
@settings(max_examples=30)
def test_no_single_threshold_beats_the_best(seed: int, epsilon: float) -> None:
    population, mix = Population.synthetic(3, strength=2, rows_per_class=40, rng=seed), [0.5, 0.3, 0.2]
    best = population.best_threshold(epsilon, mix)
    assert population.error(best, mix) <= epsilon + 1e-12
    assert population.error(np.nextafter(best, 2), mix) > epsilon


@pytest.mark.slow
@given(seeds, st.sampled_from([0.05, 0.1, 0.3]), st.sampled_from([1.5, 3.0, np.inf]))
@settings(max_examples=30)
def test_thresholds_per_class_are_about_the_best_of_all_also_under_a_limit_per_class(
    seed: int, epsilon: float, times: float
) -> None:
    population, mix = Population.synthetic(2, strength=2, rows_per_class=12, rng=seed), [0.3, 0.7]
    most = min(times * epsilon, 1.0)
    found = best_class_thresholds(population, epsilon, mix, class_epsilon=most)
    assert population.error(found, mix) <= epsilon + 1e-12

    def most_missed(cuts: Any) -> float:
        return max(population.error(cuts, unit) for unit in np.eye(2))

    assert most_missed(found) <= most + 1e-12
    columns = [np.append(np.unique(column), np.inf) for column in population.scores.T]
    within = (pair for pair in itertools.product(*columns) if population.error(pair, mix) <= epsilon)
    allowed = [pair for pair in within if most_missed(pair) <= most]
    best = min(population.size(pair, mix) for pair in allowed)
    assert best - 1e-12 <= population.size(found, mix) <= best + 0.7 / 12 + 1e-12


@pytest.mark.parametrize("epsilon", [0.02, 0.1, 0.3])
def test_the_allowed_error_is_used_up_where_rows_are_many(epsilon: float) -> None:
    population, mix = Population.synthetic(3, strength=2, rows_per_class=3000, rng=0), [0.5, 0.3, 0.2]
    single, several = (population.best_threshold(epsilon, mix), best_class_thresholds(population, epsilon, mix))
    for thresholds in (single, several):
        assert 0.97 * epsilon < population.error(thresholds, mix) <= epsilon + 1e-12
    assert population.size(several, mix) <= population.size(single, mix)


def test_names_of_any_kind_survive_a_draw() -> None:
    population = Population(np.eye(2), ["x", 1], classes=["x", 1])
    assert set(population.draw([1, 1], 50, rng=0)[1].tolist()) == {"x", 1}


def test_a_class_without_rows_has_no_error_and_may_have_no_share() -> None:
    population = Population(np.eye(3)[:2], [0, 1])
    assert np.isnan(population.class_error(0.5)[2])
    assert population.error(0.5, [1, 1, 0]) == 0
    for ask in (
        lambda: population.error(0.5, [1, 1, 1]),
        lambda: population.draw([1, 1, 1], 5),
        lambda: population.best_threshold(0.1, [1, 1, 1]),
    ):
        with pytest.raises(InputError, match="class 2, of which there are no rows"):
            ask()


@pytest.mark.parametrize(
    ("scores", "labels", "options", "message"),
    [
        ([[0.5, np.nan]], [0], {}, "NaN"),
        ([[0.5, 0.5]], [2], {}, "1 label not among the classes"),
        ([[0.5, 0.5]], [0, 1], {}, "2 labels for 1 rows"),
        ([[0.5, 0.5]], [0], {"row_weights": [1, 2]}, "row_weights must be 1 finite numbers"),
        ([[0.5, 0.5]], [0], {"row_weights": [-1]}, "row_weights"),
    ],
)
def test_bad_populations_are_refused(scores: Any, labels: Any, options: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Population(scores, labels, **options)
