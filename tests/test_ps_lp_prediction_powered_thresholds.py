"""Corrected misses: plans, validity and sharpness of the thresholds, and of the box."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

from benchmarks.many import draw_source
from pacshift import PSLP, AssumptionError, Interval, Population, Tally
from pacshift.arrays import IntArray
from pacshift.methods import Task
from pacshift.progress import Steps
from pacshift.ps_lp import prediction_powered as options
from pacshift.ps_lp.equal_miss_rate import ranks_for_any_mix, thresholds_at_ranks
from pacshift.ps_lp.prediction_powered import (
    CorrectionPlan,
    CorrectionShares,
    ErrorBound,
    Evidence,
    best_tilt,
    corrected_thresholds,
    correction_plan,
    detected_shares,
    options_for,
    sparse_classes,
)
from pacshift.ps_lp.theorem import certify_many_classes
from worlds import World, make_world

SHARES = CorrectionShares(box=0.15, one_threshold=0.15, rescaled=0.4)


# Plans


def test_plans_depend_on_numbers_of_rows() -> None:
    def plan(counts: IntArray, n_target: int, epsilon: float = 0.1) -> CorrectionPlan | None:
        return correction_plan(counts, n_target, epsilon=epsilon, delta=0.05, shares=SHARES)

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
        plan = correction_plan(tally.class_counts, tally.n_target, epsilon=0.1, delta=delta, shares=SHARES)
        assert plan is not None
        one, rescaled, _ = corrected_thresholds(tally, plan, anything, steps=Steps())
        failures += any(world.error(each, world.target_mix) > 0.1 for each in (one, rescaled))
        sizes.append(world.size(rescaled))
        ranks = ranks_for_any_mix(tally.class_counts, epsilon=0.1, delta=delta)
        any_mix.append(world.size(thresholds_at_ranks(tally, ranks)))
    assert binomtest(failures, runs, delta, alternative="greater").pvalue > 1e-3
    best = world.size(np.full(24, world.population.best_threshold(0.1, world.target_mix)))
    assert np.mean(sizes) < min(1.5 * best, float(np.mean(any_mix)))


@pytest.mark.montecarlo
def test_a_long_tail_keeps_the_promise_with_either_choice_of_classes_in_every_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(options, "PROMISING", 1.0)
    world, delta, runs, failures, sizes = many_world(24, seed=5, strength=8.0), 0.2, 6, 0, []
    counts = np.array([8, 13, 14] + [300] * 21)
    for seed in range(runs):
        rng = np.random.default_rng([seed, 7])
        tally = draw_source(world.population, counts, rng)
        tally = tally + Tally.from_target(world.population.draw(world.target_mix, 6000, rng)[0])
        plan = correction_plan(counts, 6000, epsilon=0.1, delta=delta, shares=SHARES)
        assert plan is not None
        one, rescaled, _ = corrected_thresholds(tally, plan, np.ones(24), steps=Steps())
        failures += any(world.error(each, world.target_mix) > 0.1 for each in (one, rescaled))
        assert (plan.sparse.sum(), plan.sparsest.sum()) == (3, 1)
        assert (rescaled == -np.inf).sum() in (1, 3)  # something passes with one choice or the other
        sizes.append(world.size(rescaled))
    assert binomtest(failures, runs, delta, alternative="greater").pvalue > 1e-3
    best = world.size(np.full(24, world.population.best_threshold(0.1, world.target_mix)))
    assert np.mean(sizes) < 1.5 * best + 3  # labels of classes in every set


@pytest.mark.montecarlo
def test_known_bounds_sharpen_the_bound_and_keep_its_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "PROMISING", 1.0)
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
    monkeypatch.setattr(options, "PROMISING", 1.0)
    world = many_world(24, seed=5)
    tally = draw(world, 60, 4000, 1)
    for nudge in (0.0, 1e-12):
        known = Interval(world.target_mix, world.target_mix * (1 - nudge))
        found, _ = certify_many_classes(tally, epsilon=0.1, delta=0.2, known=known)
        assert world.error(found["rescaled"], world.target_mix) <= 0.1


@pytest.mark.slow
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
    one, other = (certify_many_classes(tally, epsilon=0.1, delta=0.05)[0] for tally in tallies)
    assert all(np.array_equal(one[kind], other[kind]) for kind in one)
    assert np.isfinite(one["rescaled"]).all()


def test_classes_with_few_rows_are_in_every_set_and_others_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "PROMISING", 1.0)
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
