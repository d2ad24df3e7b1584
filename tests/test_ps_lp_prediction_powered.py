"""Corrected misses: each inequality of docs/methods/many-classes.md, the bound by its definition, and validity."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from pacshift import AssumptionError, Population, Tally
from pacshift.arrays import FloatArray, IntArray
from pacshift.ps_lp.equal_miss_rate import thresholds_at_ranks
from pacshift.ps_lp.many_classes import certify_many_classes, ranks_for_any_mix
from pacshift.ps_lp.prediction_powered import options
from pacshift.ps_lp.prediction_powered.bound import (
    OWN_WEIGHT,
    ErrorBound,
    Option,
    excess,
    largest_mean,
    sign_cost,
)
from pacshift.ps_lp.prediction_powered.box import critical_level, detector_counts, largest_ratio, largest_shares
from pacshift.ps_lp.prediction_powered.correction import _Smooth, best_tilt
from pacshift.ps_lp.prediction_powered.evidence import Evidence
from pacshift.ps_lp.prediction_powered.options import CorrectionShares, Plan, options_for, plan_for, sparse_classes
from pacshift.ps_lp.prediction_powered.thresholds import corrected_thresholds
from worlds import World, make_world

SEEDS = st.integers(0, 2**32 - 1)
SHARES = CorrectionShares(box=0.15, one_threshold=0.15, rescaled=0.4)


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


@pytest.mark.montecarlo
def test_the_box_holds_the_true_mix() -> None:
    world, failures, widths = many_world(20, seed=1), 0, []
    for seed in range(80):
        largest = largest_shares(draw(world, 40, 2000, seed), delta=0.2)
        failures += int((world.target_mix > largest).any())
        widths.append(largest.sum())
    assert binomtest(failures, 80, 0.2, alternative="greater").pvalue > 1e-3
    assert np.mean(widths) < 3.5


# The bound


def random_bound(seed: int) -> tuple[ErrorBound, np.ndarray, FloatArray, np.random.Generator]:
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


def log_wealth(bound: ErrorBound, rows: np.ndarray, mix: FloatArray, signs: FloatArray, truth: "Truth") -> float:
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


@given(SEEDS)
@settings(max_examples=60)
def test_the_bound_grows_with_the_misses(seed: int) -> None:
    bound, _, mix, rng = random_bound(seed)
    tilt, misses = rng.uniform(-0.9, 0.9, len(mix)), rng.integers(0, bound.evidence.class_counts)
    more = misses + np.eye(len(mix), dtype=np.int64)[rng.integers(len(mix))]
    assert bound.value(tilt, misses) <= bound.value(tilt, more) + 1e-12


@given(SEEDS)
def test_the_divergence_of_signs(seed: int) -> None:
    tilt = np.random.default_rng(seed).uniform(-0.99, 0.99, 3)
    total = 0.0
    for signs in product([-1.0, 1.0], repeat=3):
        chance = float(np.prod((1 + np.array(signs) * tilt) / 2))
        total += chance * np.log(chance * 8)
    assert sign_cost(tilt) == pytest.approx(total, abs=1e-12)


@given(SEEDS)
def test_the_worst_mix_is_the_one_a_linear_program_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values, largest = rng.normal(size=6), rng.uniform(0.1, 1, 6)
    largest *= max(1.0, 1.01 / largest.sum())
    found = scipy.optimize.linprog(
        -values, A_eq=np.ones((1, 6)), b_eq=[1.0], bounds=[(0, min(top, 1.0)) for top in largest]
    )
    assert largest_mean(values, largest) == pytest.approx(float(values @ np.asarray(found.x)), abs=1e-9)


@given(SEEDS)
@settings(max_examples=30)
def test_the_gradient_of_the_smooth_bound(seed: int) -> None:
    bound, _, mix, rng = random_bound(seed)
    problem = _Smooth(bound, rng.random(len(mix)))
    point = np.append(rng.uniform(-0.8, 0.8, len(mix)), rng.uniform(0, 0.5))
    problem.width = 0.3
    gradient = problem(point)[1]
    steps = 1e-6 * np.eye(len(point))
    slopes = [(problem(point + step)[0] - problem(point - step)[0]) / 2e-6 for step in steps]
    assert gradient == pytest.approx(slopes, rel=1e-4, abs=1e-5)


# Plans


def test_plans_depend_on_numbers_of_rows() -> None:
    def plan(counts: IntArray, n_target: int, epsilon: float = 0.1) -> Plan | None:
        return plan_for(counts, n_target, epsilon=epsilon, delta=0.05, shares=SHARES)

    enough = plan(np.full(300, 200), 50_000)
    assert enough is not None
    assert len(enough.options) == 6
    assert not enough.sparse.any()
    assert all(0 < each.stake * each.spread < 0.9 * 50_000 for each in enough.options)
    tailed = plan(np.append(np.full(299, 200), 3), 50_000)
    assert tailed is not None
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
        evidence = Evidence.of_tally(tally, world.target_mix, np.zeros(24, bool))
        nobody = np.zeros(24, bool)
        tried = options_for(tally.class_counts, nobody, tally.n_target, epsilon=error, delta=delta)
        for epsilon in passed:
            bounds = [ErrorBound(evidence, each, epsilon, np.log(len(tried) / delta)) for each in tried]
            misses = tally.misses(threshold)
            passed[epsilon] += any(
                bound.value(best_tilt(bound, misses, np.zeros(24)), misses) <= epsilon for bound in bounds
            )
    assert binomtest(passed[error], runs, delta, alternative="greater").pvalue > 1e-3
    assert passed[error + 0.05] > 0.9 * runs


@pytest.mark.montecarlo
def test_errors_above_epsilon_are_rare_and_sets_are_smaller_than_for_any_mix(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(options, "PROMISING", 1.0)  # small worlds are quick, and hard
    world, delta, runs = many_world(24, seed=5), 0.2, 12
    anything, failures, sizes, any_mix = np.ones(24), 0, [], []
    for seed in range(runs):
        tally = draw(world, 150, 4000, seed)
        plan = plan_for(tally.class_counts, tally.n_target, epsilon=0.1, delta=delta, shares=SHARES)
        assert plan is not None
        found = corrected_thresholds(tally, plan, anything, epsilon=0.1, delta=delta, shares=SHARES)
        kinds = (found.one_threshold, found.rescaled)
        failures += any(world.error(each, world.target_mix) > 0.1 for each in kinds)
        sizes.append(world.size(found.rescaled))
        ranks = ranks_for_any_mix(tally.class_counts, epsilon=0.1, delta=delta)
        any_mix.append(world.size(thresholds_at_ranks(tally, ranks)))
    assert binomtest(failures, runs, delta, alternative="greater").pvalue > 1e-3
    best = world.size(np.full(24, world.population.best_threshold(0.1, world.target_mix)))
    assert np.mean(sizes) < min(1.5 * best, float(np.mean(any_mix)))


def test_the_same_counts_give_the_same_thresholds_and_rows_may_come_in_any_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(options, "PROMISING", 1.0)
    world = many_world(30)
    rng = np.random.default_rng(4)
    source, labels = world.population.draw(world.source_mix, 4500, rng)
    target = world.population.draw(world.target_mix, 4000, rng)[0]
    order = rng.permutation(len(labels))
    tallies = (
        Tally.from_scores(source, labels) + Tally.from_target(target),
        Tally.from_scores(source[order], np.asarray(labels)[order]) + Tally.from_target(target[::-1]),
    )
    one, other = (certify_many_classes(tally, epsilon=0.1, delta=0.05).certified for tally in tallies)
    assert all(np.array_equal(one[kind], other[kind]) for kind in one)
    assert np.isfinite(one["rescaled"]).all()


def test_classes_with_few_rows_are_in_every_set_and_others_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "PROMISING", 1.0)
    population = Population.synthetic(30, strength=6, rows_per_class=300, rng=1)
    counts = np.where(np.arange(30) < 3, 6, 200)
    rows = np.repeat(np.arange(30) * 300, counts) + np.concatenate([np.arange(count) for count in counts])
    tally = Tally.from_scores(population.scores[rows], population.index[rows])
    tally = tally + Tally.from_target(population.draw(np.full(30, 1 / 30), 9000, rng=2)[0])
    found = certify_many_classes(tally, epsilon=0.1, delta=0.05)
    assert sparse_classes(tally.class_counts, delta=0.15 * 0.05)[:4].tolist() == [True, True, True, False]
    assert (found.certified["one threshold"] > -np.inf).tolist() == (counts > 6).tolist()


def test_a_target_whose_scores_no_mix_explains_is_refused() -> None:
    population = Population.synthetic(200, strength=9, rows_per_class=60, rng=1)
    tally = Tally.from_scores(population.scores, population.index)
    flat = np.full((20_000, 200), 1 / 200)
    with pytest.raises(AssumptionError, match="cannot exceed"):
        certify_many_classes(tally + Tally.from_target(flat), epsilon=0.1, delta=0.05)
