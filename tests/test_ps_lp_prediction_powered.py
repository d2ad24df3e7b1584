"""Corrected misses: each inequality of docs/methods/many-classes.md, and thresholds that are valid and sharp."""

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from benchmarks.many import draw_source
from pacshift import PSLP, AssumptionError, Interval, Population, Tally
from pacshift.arrays import FloatArray, IntArray
from pacshift.methods import Task
from pacshift.progress import Steps
from pacshift.ps_lp import prediction_powered
from pacshift.ps_lp.equal_miss_rate import ranks_for_any_mix, thresholds_at_ranks
from pacshift.ps_lp.prediction_powered import (
    OWN_WEIGHT,
    CorrectionPlan,
    CorrectionShares,
    ErrorBound,
    Evidence,
    Option,
    _Smooth,
    best_tilt,
    corrected_thresholds,
    correction_plan,
    critical_level,
    detected_shares,
    detector_counts,
    excess,
    largest_ratio,
    options_for,
    sign_cost,
    sparse_classes,
)
from pacshift.ps_lp.theorem import certify_many_classes
from worlds import World, make_world

SEEDS = st.integers(0, 2**32 - 1)


# One row


@given(SEEDS, st.floats(0.01, 0.95), st.floats(0.1, 3.0))
def test_the_expectation_for_one_row_is_at_most_one(seed: int, bet: float, largest: float) -> None:
    rng = np.random.default_rng(seed)
    values = largest - rng.exponential(rng.choice([0.01, 1.0, 10.0]), 5) * rng.integers(0, 2, 5)
    chances = rng.dirichlet(np.full(5, rng.choice([0.1, 1.0])))
    theta, mean = bet / largest, float(values @ chances)
    exponents = theta * (mean - values) - excess(bet) / largest**2 * values**2
    assert chances @ np.exp(exponents) <= 1 + 1e-12


def test_the_inequality_for_one_row_is_nearly_reached() -> None:
    """A smaller square would be wrong: rare large values around a centre at the mean."""
    bet, rare = 0.5, 1e-4
    values, chances = np.array([1.0, -rare / (1 - rare)]), np.array([rare, 1 - rare])
    for factor, holds in ((1.0, True), (0.97, False)):
        exponents = bet * (values @ chances - values) - factor * excess(bet) * values**2
        assert (chances @ np.exp(exponents) <= 1) == holds


# The box


@pytest.mark.parametrize(("n_source", "n_target"), [(5, 8), (12, 40), (30, 10)])
def test_the_statistic_of_two_tests_has_the_stated_tail(n_source: int, n_target: int) -> None:
    hits, found = np.arange(n_source + 1), np.arange(n_target + 1)
    for rate, share in product([0.05, 0.5, 0.93], repeat=2):
        by_source = -binom.logsf(hits - 1, n_source, rate)
        by_target = -binom.logcdf(found, n_target, share)
        chance = np.outer(binom.pmf(hits, n_source, rate), binom.pmf(found, n_target, share))
        statistic = by_source[:, None] + by_target[None, :]
        for level in np.linspace(0, 20, 81):
            assert chance[statistic >= level].sum() <= (1 + level) * np.exp(-level) + 1e-12


@given(SEEDS)
@settings(max_examples=200)
def test_no_pair_of_rates_below_the_level_has_a_larger_ratio(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_source, n_target = int(rng.integers(1, 300)), int(rng.integers(1, 3000))
    hits, found, level = rng.integers(0, n_source + 1), rng.integers(0, n_target + 1), rng.uniform(1, 25)
    counts = (np.array([[hits]]), np.array([n_source]), np.array([[found]]), n_target)
    ratio = largest_ratio(*counts, level=level)[0, 0]
    rate, share = rng.random(400) ** 2, rng.random(400) ** 2 * rng.choice([1.0, 0.05])
    statistic = -binom.logsf(hits - 1, n_source, rate) - binom.logcdf(found, n_target, share)
    below = statistic < level
    assert (np.minimum(share[below] / rate[below], 1.0) <= ratio * (1 + 1e-9)).all()


def test_the_ratio_is_not_much_larger_than_it_must_be() -> None:
    counts = (np.array([[40]]), np.array([50]), np.array([[60]]), 50_000)
    level = critical_level(1e-6)
    rate, share = np.meshgrid(np.linspace(0.01, 1, 400), np.linspace(0, 0.006, 400)[1:])
    statistic = -binom.logsf(39, 50, rate) - binom.logcdf(60, 50_000, share)
    needed = (share / rate)[statistic < level].max()
    assert needed <= largest_ratio(*counts, level=level)[0, 0] <= 1.05 * needed


def test_detectors_count_scores_exactly_on_both_sides() -> None:
    scores = np.array([[0.25, 0.75], [0.2499, 0.7501], [0.0625, 0.9375], [0.0156, 0.9844]])
    tally = Tally.from_scores(scores, [0, 0, 0, 0]) + Tally.from_target(scores)
    source, target = detector_counts(tally)
    assert source.tolist() == [[0, 0], [1, 0], [3, 0], [3, 0]]
    assert target.tolist() == [[0, 4], [1, 4], [3, 4], [3, 4]]


# The bound


def random_bound(seed: int) -> tuple[ErrorBound, IntArray, FloatArray, np.random.Generator]:
    """A bound, the misses and predictions of its rows one by one, and a true mix inside its box."""
    rng = np.random.default_rng(seed)
    n_classes, option = 3, Option(rng.choice([2.0, 30.0, 300.0]), rng.choice([0.05, 0.5, 2.0]))
    counts = rng.integers(1, 6, n_classes)
    rows = np.array([
        (j, rng.integers(n_classes), rng.integers(2)) for j, count in enumerate(counts) for _ in range(count)
    ])  # fmt: skip
    predictions = np.zeros((n_classes, n_classes))
    np.add.at(predictions, (rows[:, 0], rows[:, 1]), 1 / counts[rows[:, 0]])
    mix = rng.dirichlet(np.ones(n_classes))
    in_every_set = rng.random(n_classes) < 0.2
    rows[in_every_set[rows[:, 0]], 2] = 0
    n_target = 1000
    evidence = Evidence(
        class_counts=counts,
        predictions=scipy.sparse.csr_array(predictions),
        recall=predictions.diagonal(),
        target_shares=rng.multinomial(n_target, rng.dirichlet(np.ones(n_classes))) / n_target,
        n_target=n_target,
        largest_shares=np.minimum(1.0, mix * rng.uniform(1, 4, n_classes)),
        in_every_set=in_every_set,
    )
    return ErrorBound(evidence, option, rng.uniform(0.01, 0.49), rng.uniform(0, 5)), rows, mix, rng


def log_wealth(bound: ErrorBound, rows: IntArray, mix: FloatArray, signs: FloatArray, truth: "Truth") -> float:
    """W(h) of "All corrections at once", term by term from its definition."""
    evidence, stake, spread = bound.evidence, bound.option.stake, bound.option.spread
    n_target = evidence.n_target
    target = stake * float(signs @ (truth.target - evidence.target_shares))
    total = target - n_target * float(excess(stake * spread / n_target))
    largest = 1 - bound.epsilon + (1 + OWN_WEIGHT) * spread
    bets = np.where(evidence.in_every_set, 0.0, np.minimum(stake * mix / evidence.class_counts, 0.9 / largest))
    for label, predicted, missed in rows:
        value, centre = missed - signs[predicted], bound.epsilon - OWN_WEIGHT * signs[label]
        mean = truth.miss_rates[label] - truth.predictions[label] @ signs
        square = excess(bets[label] * largest) / largest**2 * (value - centre) ** 2
        total += float(bets[label] * (mean - value) - square)
    return total


class Truth:
    """True miss rates and predictions, any at all, and what they imply for the target."""

    def __init__(self, rng: np.random.Generator, evidence: Evidence, mix: FloatArray) -> None:
        self.miss_rates = np.where(evidence.in_every_set, 0.0, rng.random(len(mix)))
        self.predictions = rng.dirichlet(np.full(len(mix), 0.3), len(mix))
        self.target, self.error = mix @ self.predictions, float(mix @ self.miss_rates)


@given(SEEDS)
@settings(max_examples=150)
def test_the_bound_follows_from_the_wealth_of_every_correction(seed: int) -> None:
    """Squares, chords, limits of bets, the worst mix: R <= U(z) + (E_z W - L - KL) / λ for any truth at all."""
    bound, rows, mix, rng = random_bound(seed)
    truth = Truth(rng, bound.evidence, mix)
    tilt = rng.uniform(-0.95, 0.95, len(mix)) * rng.choice([0.1, 1.0])
    wealth = 0.0
    for signs in product([-1.0, 1.0], repeat=len(mix)):
        chance = float(np.prod((1 + np.array(signs) * tilt) / 2))
        wealth += chance * log_wealth(bound, rows, mix, bound.option.spread * np.array(signs), truth)
    misses = np.bincount(rows[:, 0], weights=rows[:, 2], minlength=len(mix)).astype(np.int64)
    slack = (wealth - bound.log_cost - sign_cost(tilt)) / bound.option.stake
    assert truth.error <= bound.value(tilt, misses) + slack + 1e-9


def mean_squares(bound: ErrorBound, rows: IntArray, tilt: FloatArray) -> FloatArray:
    """The posterior mean of (X - c)², averaged over the rows of each class, sign by sign."""
    total = np.zeros(len(tilt))
    for signs in product([-1.0, 1.0], repeat=len(tilt)):
        chance, drawn = float(np.prod((1 + np.array(signs) * tilt) / 2)), bound.option.spread * np.array(signs)
        for label, predicted, missed in rows:
            value = missed - bound.epsilon - drawn[predicted] + OWN_WEIGHT * drawn[label]
            assert value <= bound.largest_value + 1e-12
            total[label] += chance * value**2 / bound.evidence.class_counts[label]
    return total


@given(SEEDS, st.sampled_from([0.0, 0.05, 1.0]))
@settings(max_examples=100)
def test_squares_are_bounded_whatever_misses_go_with_predictions(seed: int, size: float) -> None:
    bound, rows, mix, rng = random_bound(seed)
    tilt = size * rng.uniform(-0.95, 0.95, len(mix))
    correction = bound.option.spread * tilt
    centred = correction[rows[:, 1]] - OWN_WEIGHT * correction[rows[:, 0]]
    rows[:, 2] = (centred < 0) & ~bound.evidence.in_every_set[rows[:, 0]]  # the worst misses there are
    rates = np.bincount(rows[:, 0], weights=rows[:, 2], minlength=len(mix)) / bound.evidence.class_counts
    predictions = bound.evidence.predictions
    moving = bound.moving_squares(correction, predictions @ correction, predictions @ correction**2)
    exact = mean_squares(bound, rows, tilt)
    assert (exact <= bound.fixed_squares(rates) + moving + 1e-9).all()
    if size == 0.0:  # then only the share α for mixed terms is given away
        misses = rates * (1 - 2 * bound.epsilon) + bound.epsilon**2
        assert bound.fixed_squares(rates) == pytest.approx(exact + 0.25 * misses)


def test_the_parts_of_the_bound_that_are_seldom_felt() -> None:
    bound, _, mix, _ = random_bound(3)
    stake, spread, rows = bound.option.stake, bound.option.spread, bound.evidence.n_target
    scaled = stake * spread / rows
    assert bound.constant * stake == pytest.approx(bound.log_cost + rows * (-np.log(1 - scaled) - scaled))
    assert bound.largest_value == pytest.approx(1 - bound.epsilon + 1.7 * spread)
    everywhere = replace(bound.evidence, in_every_set=np.ones(len(mix), bool))
    never_missed = ErrorBound(everywhere, bound.option, bound.epsilon, bound.log_cost)
    correction = np.array([0.3, -0.2, 0.1])
    assert never_missed.coefficients(correction, np.zeros(3)) == pytest.approx([0.2, 0.2, 0.2])


@given(SEEDS)
def test_the_divergence_of_signs(seed: int) -> None:
    tilt = np.random.default_rng(seed).uniform(-0.99, 0.99, 3)
    total = 0.0
    for signs in product([-1.0, 1.0], repeat=3):
        chance = float(np.prod((1 + np.array(signs) * tilt) / 2))
        total += chance * np.log(chance * 8)
    assert sign_cost(tilt) == pytest.approx(total, abs=1e-12)


@given(SEEDS)
@settings(max_examples=30)
def test_the_gradient_of_the_smooth_bound(seed: int) -> None:
    bound, _, mix, rng = random_bound(seed)
    problem = _Smooth(bound, rng.integers(0, bound.evidence.class_counts + 1))
    point = np.append(rng.uniform(-0.8, 0.8, len(mix)), rng.uniform(0, 0.5))
    problem.width = 0.3
    gradient = problem(point)[1]
    steps = 1e-6 * np.eye(len(point))
    slopes = [(problem(point + step)[0] - problem(point - step)[0]) / 2e-6 for step in steps]
    assert gradient == pytest.approx(slopes, rel=1e-4, abs=1e-5)


@given(SEEDS)
@settings(max_examples=50)
def test_the_bound_of_one_correction_grows_with_the_misses(seed: int) -> None:
    """So the largest threshold that passes with it is found by halving."""
    bound, _, mix, rng = random_bound(seed)
    more = rng.integers(0, bound.evidence.class_counts + 1)
    fewer, tilt = rng.integers(0, more + 1), rng.uniform(-0.9, 0.9, len(mix))
    assert bound.value(tilt, fewer) <= bound.value(tilt, more) + 1e-12


SHARES = CorrectionShares(box=0.15, one_threshold=0.15, rescaled=0.4)


# Plans


def test_plans_depend_on_numbers_of_rows() -> None:
    def plan(counts: IntArray, n_target: int, epsilon: float = 0.1) -> CorrectionPlan | None:
        return correction_plan(counts, n_target, epsilon=epsilon, delta=0.05, shares=SHARES)

    enough: Any = plan(np.full(300, 200), 50_000)
    assert len(enough.options) == 6
    assert not enough.sparse.any()
    assert all(0 < each.stake * each.spread < 0.9 * 50_000 for each in enough.options)
    tailed: Any = plan(np.append(np.full(299, 200), 3), 50_000)
    assert np.flatnonzero(tailed.sparse).tolist() == [299]
    assert plan(np.full(300, 200), 100) is None  # a target that says nothing
    assert plan(np.full(300, 20), 50_000) is None  # no class has enough rows
    assert plan(np.full(300, 200), 50_000, 0.5) is None  # not monotone


# Validity and sharpness


def many_world(n_classes: int, *, seed: int = 0, strength: float = 5.0) -> World:
    """A target mix far from the source's, and classes that are unequally hard."""
    world = make_world(n_classes, strength=strength, shift=0.0, seed=seed, members=300)
    mix = np.random.default_rng([seed, 7]).dirichlet(np.full(n_classes, 0.5))
    return replace(world, source_mix=np.full(n_classes, 1 / n_classes), target_mix=mix)


def draw(world: World, per_class: int, n_target: int, seed: int) -> Tally:
    rng = np.random.default_rng([seed, 99])
    return world.draw(per_class * len(world.source_mix), n_target, rng)


@pytest.mark.montecarlo
def test_a_threshold_that_errs_by_epsilon_seldom_passes_and_a_safer_one_often_does() -> None:
    """The hardest case: the box is the true mix itself, and the error is exactly ε."""
    world, delta, runs = many_world(24, seed=3), 0.2, 40
    threshold = world.population.best_threshold(0.12, world.target_mix)
    error = world.error(np.full(24, threshold), world.target_mix)
    passed = {error: 0, error + 0.05: 0}
    for seed in range(runs):
        tally = draw(world, 150, 4000, seed)
        nobody = np.zeros(24, bool)
        evidence = Evidence.of_tally(tally, world.target_mix, nobody)
        tried = options_for(tally.class_counts, nobody, tally.n_target, epsilon=error, delta=delta)
        for epsilon in passed:
            bounds = [ErrorBound(evidence, each, epsilon, np.log(len(tried) / delta)) for each in tried]
            misses = tally.misses(threshold)
            tilts = [(bound, best_tilt(bound, misses, np.zeros(24))) for bound in bounds]
            passed[epsilon] += any(bound.value(tilt, misses) <= epsilon for bound, tilt in tilts)
    assert binomtest(passed[error], runs, delta, alternative="greater").pvalue > 1e-3
    assert passed[error + 0.05] > 0.9 * runs


@pytest.mark.montecarlo
@pytest.mark.parametrize(("tail", "strength", "in_every_set"), [([150] * 3, 5.0, [0]), ([8, 13, 14], 8.0, [1, 3])])
def test_errors_above_epsilon_are_rare_and_sets_are_smaller_than_for_any_mix(
    tail: list[int], strength: float, in_every_set: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with a long tail: something passes with one choice of classes in every set or with the other."""
    monkeypatch.setattr(prediction_powered, "PROMISING", 1.0)  # small worlds are quick, and hard
    world, delta, runs = many_world(24, seed=5, strength=strength), 0.2, 10
    counts, failures, sizes, any_mix = np.array(tail + [300 if tail[0] < 150 else 150] * 21), 0, [], []
    ranks = ranks_for_any_mix(counts, epsilon=0.1, delta=delta)
    for seed in range(runs):
        rng = np.random.default_rng([seed, 7])
        tally = draw_source(world.population, counts, rng)
        tally = tally + Tally.from_target(world.population.draw(world.target_mix, 6000, rng)[0])
        plan = correction_plan(counts, 6000, epsilon=0.1, delta=delta, shares=SHARES)
        assert plan is not None
        assert sorted({plan.sparsest.sum(), plan.sparse.sum()}) == in_every_set
        one, rescaled, _ = corrected_thresholds(tally, plan, np.ones(24), steps=Steps())
        failures += any(world.error(each, world.target_mix) > 0.1 for each in (one, rescaled))
        assert (rescaled == -np.inf).sum() in in_every_set
        sizes.append(world.size(rescaled))
        any_mix.append(world.size(thresholds_at_ranks(tally, ranks)))
    assert binomtest(failures, runs, delta, alternative="greater").pvalue > 1e-3
    best = world.size(np.full(24, world.population.best_threshold(0.1, world.target_mix)))
    assert np.mean(sizes) < 1.5 * best + max(in_every_set)
    assert in_every_set != [0] or np.mean(sizes) < np.mean(any_mix)


@pytest.mark.montecarlo
def test_known_bounds_sharpen_the_bound_and_keep_its_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction_powered, "PROMISING", 1.0)
    world, delta, runs, failures, sizes = many_world(24, seed=5), 0.2, 6, 0, []
    known = Interval(0.95 * world.target_mix, 1.05 * world.target_mix)
    for seed in range(runs):
        found, shares = certify_many_classes(draw(world, 60, 4000, seed), epsilon=0.1, delta=delta, known=known)
        failures += any(world.error(each, world.target_mix) > 0.1 for each in found.values())
        sizes.append(world.size(found["rescaled"]))
        assert shares is not None
        assert shares.contains(world.target_mix).all()
    assert binomtest(failures, runs, delta, alternative="greater").pvalue > 1e-3
    plain, _ = certify_many_classes(draw(world, 60, 4000, 0), epsilon=0.1, delta=delta)
    assert sizes[0] < 0.95 * world.size(plain["rescaled"])
    assert np.mean(sizes) < 0.95 * world.size(plain["rescaled"])


def test_shares_that_are_known_exactly_are_not_refuted_by_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction_powered, "PROMISING", 1.0)
    world = many_world(24, seed=5)
    tally = draw(world, 60, 4000, 1)
    for nudge in (0.0, 1e-12):
        known = Interval(world.target_mix, world.target_mix * (1 - nudge))
        found, _ = certify_many_classes(tally, epsilon=0.1, delta=0.2, known=known)
        assert world.error(found["rescaled"], world.target_mix) <= 0.1


def test_classes_with_few_rows_are_in_every_set_and_others_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction_powered, "PROMISING", 1.0)
    population = Population.synthetic(30, strength=6, rows_per_class=300, rng=1)
    counts = np.where(np.arange(30) < 3, 6, 200)
    rows = np.repeat(np.arange(30) * 300, counts) + np.concatenate([np.arange(count) for count in counts])
    tally = Tally.from_scores(population.scores[rows], population.index[rows])
    tally = tally + Tally.from_target(population.draw(np.full(30, 1 / 30), 9000, rng=2)[0])
    found, _ = certify_many_classes(tally, epsilon=0.1, delta=0.05)
    assert sparse_classes(tally.class_counts, delta=0.15 * 0.05)[:4].tolist() == [True, True, True, False]
    assert (found["one threshold"] > -np.inf).tolist() == (counts > 6).tolist()


def test_a_target_whose_scores_no_mix_explains_is_refused() -> None:
    population = Population.synthetic(200, strength=9, rows_per_class=60, rng=1)
    tally = Tally.from_scores(population.scores, population.index)
    flat = np.full((20_000, 200), 1 / 200)
    with pytest.raises(AssumptionError, match="cannot exceed"):
        certify_many_classes(tally + Tally.from_target(flat), epsilon=0.1, delta=0.05)


@pytest.mark.montecarlo
def test_the_box_holds_the_true_mix() -> None:
    world, failures, widths = many_world(20, seed=1), 0, []
    for seed in range(80):
        largest = detected_shares(draw(world, 40, 2000, seed), delta=0.2)
        failures += int((world.target_mix > largest).any())
        widths.append(largest.sum())
    assert binomtest(failures, 80, 0.2, alternative="greater").pvalue > 1e-3
    assert np.mean(widths) < 3.5


@pytest.mark.montecarlo
def test_real_scores_of_a_hundred_classes(shared_data: Path) -> None:
    with np.load(shared_data / "cifar100" / "scores_repvgg_a2.npz") as file:
        population = Population(file["probs"], file["labels"].astype(int))
    rng = np.random.default_rng(4)
    mix = rng.dirichlet(np.full(100, 0.5))
    tally = Tally.from_scores(*population.draw(np.full(100, 0.01), 20_000, rng), soft=False)
    tally = tally + Tally.from_target(population.draw(mix, 20_000, rng)[0], soft=False)
    thresholds = PSLP().solve(tally, Task(0.1, 0.01)).thresholds
    best = population.size(population.best_threshold(0.1, mix), mix)
    assert population.error(thresholds, mix) <= 0.1
    assert population.size(thresholds, mix) < 1.35 * best
