"""PS-LP from tally to thresholds: valid in hard worlds, sharp in tame ones, the same whatever the order."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from benchmarks.sharpness import only
from pacshift import PSLP, PSLW, PSW, AssumptionError, InputError, Oracle, Population, Tally, calibrate, resample
from pacshift.bounds import Interval
from pacshift.methods import Method, Solution, Task
from pacshift.mix.region import prevalence_region, weight_bounds
from pacshift.ps_lp.theorem import (
    EQUAL_MISS_RATE,
    MANY_ROWS,
    MAX_LP_CLASSES,
    ONE_THRESHOLD,
    TUNED,
    betting_test,
    plan_for,
)
from pacshift.tally.grid import largest_threshold
from strategies import tallies
from worlds import make_world, proven, run


def solve(tally: Tally, epsilon: float = 0.1, delta: float = 0.05, method: Method | None = None) -> Solution:
    return (method or PSLP()).solve(tally, Task(epsilon, delta))


@pytest.mark.slow
@given(tallies(), st.sampled_from([0.02, 0.1, 0.4]), st.sampled_from([0.2, 5e-4]))
@settings(deadline=None, max_examples=40)
def test_any_tally_gets_an_answer_that_hangs_together(tally: Tally, epsilon: float, delta: float) -> None:
    if tally.n_source == 0 or tally.n_target == 0:
        return
    try:
        found: Any = solve(tally, epsilon, delta)
    except AssumptionError:
        return
    assert found.accuracy is not None
    assert (found.prevalence.lower >= 0).all()
    assert (found.prevalence.lower <= found.prevalence.upper).all()
    assert (found.prevalence.upper <= 1).all()
    assert (found.weights.lower <= found.weights.upper).all()
    assert 0 <= found.accuracy <= 1
    if (found.thresholds == -np.inf).all():
        assert found.reasons


def test_the_same_counts_give_the_same_answer_in_any_order() -> None:
    world = make_world(4, strength=3, shift=0.4)
    rng = np.random.default_rng(3)
    scores, labels = world.population.draw(world.source_mix, 3000, rng)
    target = Tally.from_target(world.population.draw(world.target_mix, 2000, rng)[0])
    order = rng.permutation(3000)
    one = solve(Tally.from_scores(scores, labels) + target)
    other = solve(target + Tally.from_scores(scores[order], labels[order]))
    assert np.array_equal(one.thresholds, other.thresholds)


def test_an_unseen_class_may_be_put_into_every_set() -> None:
    world = make_world(3, strength=5, shift=0.2, seed=5)
    source = np.array([world.source_mix[0], world.source_mix[1], 0.0])
    tally = replace(world, source_mix=source / source.sum()).draw(4000, 4000, np.random.default_rng(1))
    for method in (PSLP(), PSLP(unseen="include")):
        found = solve(tally, method=method)
        assert found.thresholds[2] == -np.inf
        assert found.thresholds[:2].min() > 0
        assert world.error(found.thresholds, world.target_mix) <= 0.1
        assert "no source row" in found.reasons[0]
    # It may be all of the target, so that no single threshold passes unless it is in every set.
    for kind, counts in ((TUNED, tally), (ONE_THRESHOLD, replace(tally, bins=None))):
        plain, included = proven(counts), proven(counts, included=np.array([False, False, True]))
        assert (plain[kind] == -np.inf).all()
        assert included[kind][2] == -np.inf
        assert included[kind][:2].min() > 0
    with pytest.raises(InputError, match="unseen"):
        PSLP(unseen="some")  # type: ignore[arg-type]


@pytest.mark.slow
def test_very_many_classes_and_few_target_rows_get_thresholds_for_any_mix_and_it_is_said() -> None:
    size = MAX_LP_CLASSES + 1
    rng = np.random.default_rng(0)
    scores = rng.dirichlet(np.full(size, 0.05), 30_000)
    tally = Tally.from_scores(scores, scores.argmax(axis=1), soft=False)
    tally += Tally.from_target(scores[:20], soft=False)
    found, plain = solve(tally, epsilon=0.2), solve(tally, epsilon=0.2, method=PSLW())
    assert "whatever the target's label mix" in found.reasons[0]
    assert found.prevalence is None
    # Classes of similar size: a fixed mix needs no union over classes.
    assert (found.thresholds >= plain.thresholds).all()
    assert (found.thresholds > plain.thresholds).mean() > 0.9
    informed: Any = solve(tally + Tally.from_target(scores[:20_000], soft=False), epsilon=0.2)
    assert informed.reasons == ()
    assert informed.prevalence.contains(np.bincount(scores[:20_000].argmax(axis=1), minlength=size) / 20_000).all()


def test_where_no_single_threshold_passes_equal_miss_rate_may() -> None:
    world = make_world(3, strength=4, shift=0.0, rare=0.002, seed=2)
    tally = world.draw(3000, 300, np.random.default_rng(4))
    kinds, found = proven(tally, epsilon=0.02), solve(tally, epsilon=0.02)
    assert (kinds[TUNED] == -np.inf).all()
    assert np.array_equal(found.thresholds, kinds[EQUAL_MISS_RATE])
    assert found.thresholds.max() > -np.inf
    assert world.error(found.thresholds, world.target_mix) <= 0.02
    rare = f"class 2 is in every set: {tally.class_counts[2]} source rows are too few."
    assert found.reasons == (rare,)


def test_weights_are_prevalence_over_priors() -> None:
    world = make_world(3, strength=4, shift=0.3)
    found: Any = solve(world.draw(20_000, 20_000, np.random.default_rng(0)))
    assert found.weights.contains(world.weights).all()
    assert (found.weights.upper - found.weights.lower < 0.5).all()
    assert found.prevalence is not None
    unseen = weight_bounds(found.prevalence, np.array([10, 10, 0]), delta=0.05)
    assert np.isinf(unseen.upper[2])
    # Neither the source nor the target has the class: no number is known to bound its weight.
    absent = Interval(np.array([0.5, 0.3, 0.0]), np.array([0.6, 0.4, 0.0]))
    weights = weight_bounds(absent, np.array([10, 10, 0]), delta=0.05)
    assert not np.isnan([weights.lower, weights.upper]).any()
    assert (weights.lower[2], weights.upper[2]) == (0, np.inf)


@pytest.mark.montecarlo
def test_the_power_of_the_assumption_test_grows_with_the_change() -> None:
    """On the target, more and more of the main class's scores are those that were predicted rightly."""
    world, rng, delta, repeats = make_world(3, strength=2, shift=0.9), np.random.default_rng(5), 0.1, 40
    scores, main = world.population.scores, world.population.index == 2
    right = main & (scores.argmax(axis=1) == 2)
    refused = []
    for change in (0.0, 0.25, 0.5, 1.0):
        row_weights = np.where(main, 1 - change + change * right * main.sum() / right.sum(), 1.0)
        changed = replace(world, population=Population(scores, world.population.index, row_weights=row_weights))
        refused.append(0)
        for _ in range(repeats):
            source, target = world.draw(2000, 1, rng), changed.draw(1, 2000, rng)
            try:
                prevalence_region(source.confusion, target.target, delta=MANY_ROWS.region * delta)
            except AssumptionError:
                refused[-1] += 1
    assert binomtest(refused[0], repeats, delta, alternative="greater").pvalue > 1e-3
    assert refused == sorted(refused)
    assert 0 < refused[2] < refused[3] == repeats


HARD = {
    "rare class": (make_world(2, strength=2, shift=0.3, rare=0.01), 800, 0.1),
    "weak classifier": (make_world(3, strength=0.5, shift=0.3), 1500, 0.3),
    "many classes": (make_world(20, strength=5, shift=0.2), 4000, 0.2),
    "strong shift": (make_world(4, strength=3, shift=0.7), 1200, 0.1),
}
LONG = (pytest.param(delta, 500, marks=pytest.mark.long) for delta in (0.2, 0.02))
DRAWS = [pytest.param(0.2, 25, marks=pytest.mark.montecarlo), *LONG]


@pytest.mark.parametrize(("delta", "repeats"), DRAWS)
@pytest.mark.parametrize("name", HARD)
def test_the_target_error_is_kept_in_hard_worlds(name: str, delta: float, repeats: int) -> None:
    world, size, epsilon = HARD[name]
    repeats = 6 if (name, repeats) == ("many classes", 25) else repeats
    rng = np.random.default_rng(11)
    tallies = (world.draw(size, size, rng) for _ in range(repeats))
    found = (run(PSLP(), world, tally, epsilon, delta, seed) for seed, tally in enumerate(tallies))
    failed = sum(one.failed(world, epsilon) for one in found)
    assert binomtest(failed, repeats, delta, alternative="greater").pvalue > 1e-3


def failures_of_kinds(name: str, delta: float, repeats: int, *, bins: bool = True) -> dict[str, int]:
    """How often each kind of sets by itself misses more than ε, or label shift is rejected where it holds."""
    world, size, epsilon = HARD[name]
    failed = dict.fromkeys((TUNED if bins else ONE_THRESHOLD, EQUAL_MISS_RATE), 0)
    rng = np.random.default_rng([13, repeats])
    for _ in range(repeats):
        try:
            tally = world.draw(size, size, rng)
            kinds = proven(tally if bins else replace(tally, bins=None), epsilon, delta)
        except AssumptionError:
            kinds = dict.fromkeys(failed, np.full(len(world.source_mix), np.inf))
        for kind, thresholds in kinds.items():
            failed[kind] += world.error(thresholds, world.target_mix) > epsilon
    return failed


@pytest.mark.parametrize("bins", [True, False])  # without bins: one threshold instead of tuned ones
@pytest.mark.parametrize(("delta", "repeats"), DRAWS[:2])
@pytest.mark.parametrize("name", HARD)
def test_every_kind_keeps_its_error_in_hard_worlds(name: str, delta: float, repeats: int, bins: bool) -> None:
    """Each kind has less than δ for itself: the shares of both kinds and of the region are all of δ."""
    repeats = 6 if (name, repeats) == ("many classes", 25) else repeats
    for kind, count in failures_of_kinds(name, delta, repeats, bins=bins).items():
        assert binomtest(count, repeats, delta, alternative="greater").pvalue > 1e-3, kind


@pytest.mark.montecarlo
@pytest.mark.parametrize("n_classes", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("size", [500, 2000])
def test_small_samples_never_larger_than_ps_w_and_seldom_uninformative(n_classes: int, size: int) -> None:
    world = make_world(n_classes, strength=4, shift=0.3)
    rng = np.random.default_rng(size)
    sizes: dict[str, list[float]] = {"PS-LP": [], "PS-W": [], "ORACLE": []}
    for seed in range(5):
        tally = world.draw(size, size, rng)
        for method in (PSLP(), PSW(), Oracle()):
            found = run(method, world, tally, 0.1, 0.05, seed).thresholds
            sizes[method.name].append(n_classes if found is None else world.size(found))
    mean = {name: float(np.mean(values)) for name, values in sizes.items()}
    assert mean["PS-LP"] <= mean["PS-W"]
    assert mean["ORACLE"] == n_classes or mean["PS-LP"] < n_classes
    if size == 2000:
        assert mean["PS-LP"] < 1.6 * mean["ORACLE"]


@pytest.mark.montecarlo
def test_large_samples_come_close_to_the_oracle() -> None:
    world = make_world(3, strength=3, shift=0.4)
    rng = np.random.default_rng(1)
    sizes = []
    for seed in range(6):
        tally = world.draw(40_000, 40_000, rng)
        answers = [run(method, world, tally, 0.1, 5e-4, seed).thresholds for method in (PSLP(), Oracle())]
        sizes.append([world.size(found) for found in answers if found is not None])
    ours, oracle = np.mean(sizes, axis=0)
    assert ours < 1.01 * oracle


@pytest.mark.montecarlo
@pytest.mark.parametrize("file", ["heart/scores_natural.npz", "agnews/scores_gpt2_zeroshot.npz"])
def test_nearly_singular_confusion_keeps_the_error(file: str, shared_data: Path) -> None:
    data = np.load(shared_data / file)
    probs, labels = data["probs"].astype(float), data["labels"].astype(int)
    n_classes = probs.shape[1]
    rng = np.random.default_rng(2)
    mix = np.full(n_classes, 0.2 / (n_classes - 1))
    mix[-1] = 0.8 if n_classes > 2 else 0.3
    mix /= mix.sum()
    even = np.bincount(labels) / len(labels)
    for _ in range(3):
        source, target = resample(labels, even, 6000, rng), resample(labels, mix, 6000, rng)
        tally = Tally.from_scores(probs[source], labels[source]) + Tally.from_target(probs[target])
        thresholds = calibrate(tally, epsilon=0.1, delta=0.05).thresholds
        own = probs[np.arange(len(labels)), labels] < thresholds[labels]
        error = float(np.bincount(labels, own) / np.bincount(labels) @ mix)
        assert error <= 0.1


@pytest.mark.montecarlo
def test_one_threshold_lies_between_ps_w_and_the_one_that_knows_the_mix() -> None:
    """Sharpness: most of the distance to the best threshold is the tail that every rule pays for."""
    world, rng, epsilon, delta = make_world(3, strength=3, shift=0.4), np.random.default_rng(6), 0.1, 5e-4
    sizes = []
    for seed in range(4):
        tally = world.draw(20_000, 20_000, rng)
        plan = plan_for(tally, epsilon=epsilon, delta=delta)
        test = betting_test(tally, only(world.target_mix), plan, included=np.zeros(3, bool))
        known = np.full(3, largest_threshold(tally, test.passes))
        published = run(PSW(), world, tally, epsilon, delta, seed).thresholds
        assert published is not None
        kinds = proven(replace(tally, bins=None), epsilon, delta)
        sizes.append([world.size(cuts) for cuts in (known, kinds[ONE_THRESHOLD], published)])
    known_size, single, published_size = np.mean(sizes, axis=0)
    assert known_size <= single < published_size
    assert single - known_size < 0.5 * (published_size - known_size)
