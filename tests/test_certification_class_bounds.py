"""Bounds of every class's miss rate, right for all thresholds at once; and the error of sets with one label."""

from dataclasses import replace
from math import factorial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from pacshift import Interval, Population, Tally, calibrate
from pacshift.arrays import FloatArray
from pacshift.bounds import clopper_pearson
from pacshift.certification.class_bounds import RANK_STEP, band_ranks, class_miss, rate_bounds
from pacshift.tally.grid import to_grid


def band(total: int, delta: float) -> Interval:
    """Bounds at thresholds with 0, 1, ..., total misses."""
    counts = np.arange(total + 1)
    return rate_bounds(counts, counts, np.full(total + 1, total), level=delta / (2 * len(band_ranks(total))))


def coverage(total: int, delta: float) -> float:
    """Steck's determinant: the probability that all uniform order statistics lie within the band.

    A threshold with k misses has a miss rate between the k-th and the (k+1)-th of them.
    """
    found = band(total, delta)
    low, high = found.lower[1:], found.upper[:-1]
    matrix = np.zeros((total, total))
    for i in range(total):
        for j in range(max(i - 1, 0), total):
            power = j - i + 1
            matrix[i, j] = max(high[i] - low[j], 0.0) ** power / factorial(power) if power else 1.0
    return factorial(total) * float(np.linalg.det(matrix))


@settings(max_examples=60)
@given(st.integers(1, 12), st.sampled_from([0.5, 0.2, 0.05, 1e-3]))
def test_the_band_holds_exactly(total: int, delta: float) -> None:
    assert 1 - delta <= coverage(total, delta) + 1e-9


@given(st.integers(0, 3_000_000))
def test_ranks_of_the_band_ascend_to_the_last(total: int) -> None:
    ranks = band_ranks(total)
    assert (np.diff(ranks) > 0).all()
    if total:
        assert (ranks[0], ranks[-1]) == (1, total)
        assert (np.diff(ranks) <= np.maximum(1, RANK_STEP * np.sqrt(ranks[:-1]))).all()
        assert len(ranks) <= 4.2 * total**0.5 + 16


@pytest.mark.parametrize(("total", "draws"), [(40, 20_000), (1_500, 3_000)])
def test_the_band_holds_for_the_worst_threshold_of_each_draw(total: int, draws: int) -> None:
    delta, rng = 0.2, np.random.default_rng(5)
    found = band(total, delta)
    values = np.sort(rng.random((draws, total)), axis=1)
    too_low = (found.lower[1:] > values).any(axis=1)  # thresholds just above the k-th score
    too_high = (found.upper[:-1] < values).any(axis=1)  # thresholds at the next one
    failures = int((too_low | too_high).sum())
    assert binomtest(failures, draws, delta, alternative="greater").pvalue > 1e-3
    assert failures >= 0.05 * delta * draws  # a band that is merely wide would never fail


def adversarial(tally: Tally, population: Population) -> bool:
    """Whether some thresholds, chosen on the same rows, have a miss rate outside its bounds."""
    cuts = [tally.values[tally.starts[j] : tally.starts[j + 1]] for j in range(tally.n_classes)]
    for share in np.linspace(0, 1, 21):
        for just_above in (False, True):
            chosen = np.array([cut[int(share * (len(cut) - 1))] for cut in cuts])
            chosen = np.nextafter(chosen, np.inf) if just_above else chosen
            if not class_miss(tally, chosen, delta=0.2).contains(rates(population, chosen)).all():
                return True
    return False


def rates(population: Population, thresholds: FloatArray) -> FloatArray:
    mixes = np.eye(len(thresholds))
    return np.array([population.error(thresholds, mix) for mix in mixes])


@pytest.mark.montecarlo
@pytest.mark.parametrize("grid", [False, True])
def test_all_classes_are_right_together_at_thresholds_of_the_same_rows(grid: bool) -> None:
    population = Population.synthetic(3, strength=2, rng=0, rows_per_class=400)
    repeats = 40
    failed = 0
    for seed in range(repeats):
        scores, labels = population.draw([0.5, 0.4, 0.1], 300, rng=seed)
        tally = Tally.from_scores(scores, labels, grid=grid)
        failed += adversarial(tally, population)
    assert binomtest(failed, repeats, 0.2, alternative="greater").pvalue > 1e-3


def test_scores_that_repeat_and_thresholds_between_grid_points() -> None:
    scores = np.repeat([[0.3, 0.7], [0.7001, 0.2999]], 500, axis=0)
    exact = Tally.from_scores(scores, np.zeros(1000, int))
    coarse = Tally.from_scores(scores, np.zeros(1000, int), grid=True)
    for cut in (0.3, np.nextafter(0.3, 1), 0.70005, 0.7001, 0.8):
        thresholds = np.array([cut, -np.inf])
        one, other = class_miss(exact, thresholds, delta=0.05), class_miss(coarse, thresholds, delta=0.05)
        assert other.lower[0] <= one.lower[0] <= one.upper[0] <= other.upper[0]
    assert class_miss(exact, np.array([0.5, -np.inf]), delta=0.05).contains([0.5, 0.0]).all()


def test_ends_that_are_known_without_data() -> None:
    tally = Tally.from_scores([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0]] * 50, [0, 1] * 50)
    found = class_miss(tally, np.array([-np.inf, np.inf, 0.5]), delta=0.05)
    assert found.lower.tolist() == [0.0, 1.0, 0.0]
    assert found.upper.tolist() == [0.0, 1.0, 1.0]  # nothing is known of a class without rows


def uniform_tally(rng: np.random.Generator, counts: tuple[int, int], *, grid: bool = False) -> Tally:
    """True-label scores are uniform, so the miss rate at a threshold is the threshold."""
    labels = np.repeat([0, 1], counts)
    own = rng.random(len(labels))
    scores = np.where(np.eye(2)[labels] == 1, own[:, None], 0.5)
    return Tally.from_scores(scores, labels, grid=grid, soft=False)


def test_the_band_costs_little_more_than_bounds_at_one_fixed_threshold() -> None:
    tally = uniform_tally(np.random.default_rng(1), (20_000, 20_000))
    cut = np.array([0.1, 0.1])
    band = class_miss(tally, cut, delta=0.01)
    fixed = clopper_pearson(tally.misses(cut), 20_000, delta=0.01)
    assert (band.lower <= fixed.lower).all()
    assert ((band.upper - band.lower) < 2.2 * (fixed.upper - fixed.lower)).all()


def test_on_a_grid_a_class_that_is_in_every_set_is_never_missed() -> None:
    """The grid has no point below -inf: the sets in use must not be called broken for a class they always hold."""
    tally = uniform_tally(np.random.default_rng(3), (200, 200), grid=True)
    for cuts in ([-np.inf, 0.5], [-np.inf, -np.inf], [np.inf, -np.inf]):
        band = class_miss(tally, np.array(cuts), delta=0.1)
        exact = class_miss(replace(tally, grid=False), np.array(cuts), delta=0.1)
        assert (band.lower == exact.lower).all()
        assert (band.lower <= band.upper).all()


def test_rounded_scores_never_raise_the_lower_bound() -> None:
    """A threshold just below a grid point: rounding counts the rows up to the point before it as missed."""
    value = float(to_grid(np.array([0.3]))[0])
    point = float(np.nextafter(value, 1))
    labels = np.zeros(200, np.int64)
    scores = np.column_stack([np.full(200, value * (1 + 2e-5)), np.full(200, 0.9)])
    tally = Tally.from_scores(scores, labels, grid=True, soft=False)
    assert tally.misses(np.array([point, 0.0]))[0] == 200  # by rounding only: none of the scores is below
    band = class_miss(tally, np.array([point, 0.0]), delta=0.1)
    assert band.lower[0] == 0


def test_who_pays_on_real_scores_is_said_and_can_be_limited(shared_data: Path) -> None:
    """PathMNIST at epsilon 0.05: one class bears most of the misses."""
    file = np.load(shared_data / "pathmnist" / "scores.npz")
    names = [str(name) for name in file["class_names"]]
    population = Population(file["probs"].astype(float), file["labels"])
    source, labels = population.draw(np.full(9, 1 / 9), 10_000, rng=1)
    target, _ = population.draw(np.random.default_rng(1).dirichlet(np.full(9, 0.7)), 10_000, rng=2)
    request: dict[str, Any] = {"epsilon": 0.05, "delta": 0.05, "classes": names, "method": "PS-W", "rng": 0}
    truth = np.array(names)[labels]
    plain: Any = calibrate(source, truth, target, **request)
    assert "missed (highest bound: 'cancer-associated stroma')" in plain.explain()
    assert plain.class_miss.contains(rates(population, plain.thresholds)).all()
    capped = calibrate(source, truth, target, **request, class_epsilon=0.15)
    assert capped.notes == ()
    assert rates(population, capped.thresholds).max() <= 0.15
    assert (capped.thresholds <= plain.thresholds + 1e-12).sum() >= 8  # the method itself has a little less delta
