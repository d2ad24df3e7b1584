"""Tuned thresholds: rows are held out as by coins, the path is nested, and no class is abandoned."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, chisquare

from pacshift import AssumptionError, Population, Tally
from pacshift.arrays import FloatArray, IntArray
from pacshift.mix.region import prevalence_region
from pacshift.paths.path import ThresholdPath
from pacshift.ps_lp.theorem import MANY_ROWS, TUNED, betting_test, certified_thresholds, plan_for
from pacshift.ps_lp.tuned import (
    CLASS_BALANCE,
    HELD_OUT_SHARE,
    PATH_STEPS,
    HeldOutScores,
    certified_on_path,
    expected_size,
    hold_out,
    per_class,
    tuned_path,
)
from pacshift.tally.grid import mean_binned_size, to_grid
from strategies import labelled, tallies
from worlds import World, make_world


def tied_tally(rng: np.random.Generator, rows: int, *, grid: bool = False) -> Tally:
    """Scores rounded so that many repeat."""
    population = Population.synthetic(3, strength=2, rng=1)
    source, labels = population.draw([0.5, 0.3, 0.2], rows, rng)
    target = population.draw([0.2, 0.3, 0.5], rows, rng)[0]
    return Tally.from_scores(source.round(2), labels, grid=grid) + Tally.from_target(target.round(2))


def uneven_world() -> World:
    """The scores of one class of four are far too low."""
    world = make_world(4, strength=3, shift=0.3)
    odds = world.population.scores * np.array([0.05, 1.0, 1.0, 1.0])
    return replace(world, population=Population(odds / odds.sum(axis=1, keepdims=True), world.population.index))


def test_as_many_rows_are_held_out_as_coins_would_hold_out() -> None:
    """Binomial counts, for scores that occur once and for repeated ones."""
    once, often = np.ones(1000, np.int64), np.full(1000, 7, np.int64)
    for counts in (once, often):
        tally = replace(Tally.from_target([[0.5, 0.5]]), counts=counts)
        seen = np.zeros(counts[0] + 1)
        for seed in range(20):
            seen += np.bincount(hold_out(tally, seed).counts, minlength=len(seen))
        expected = binom.pmf(np.arange(len(seen)), counts[0], HELD_OUT_SHARE) * seen.sum()
        enough = expected > 5
        observed = np.append(seen[enough], seen[~enough].sum())
        wanted = np.append(expected[enough], expected[~enough].sum())
        assert chisquare(observed[wanted > 0], wanted[wanted > 0]).pvalue > 1e-3


@given(tallies(), st.sampled_from([0.02, 0.1, 0.4]))
@settings(deadline=None, max_examples=30)
def test_no_threshold_falls_along_the_path(tally: Tally, epsilon: float) -> None:
    held = hold_out(tally).counts
    assert ((held >= 0) & (held <= tally.counts)).all()
    path = tuned_path(tally, held, epsilon=epsilon)
    cuts = np.array([path.thresholds(step) for step in range(0, PATH_STEPS, 41)])
    assert not np.isnan(cuts).any()
    assert (np.diff(cuts, axis=0) >= 0).all()


@given(labelled())
@settings(deadline=None, max_examples=30)
def test_any_scores_have_a_path(rows: tuple[FloatArray, IntArray]) -> None:
    scores, labels = rows
    shares = np.abs(scores) / np.maximum(np.abs(scores).sum(axis=1, keepdims=True), 1e-300)
    tally = Tally.from_scores(shares, labels) + Tally.from_target(shares)
    path = tuned_path(tally, hold_out(tally).counts, epsilon=0.1)
    assert not np.isnan([path.thresholds(step) for step in (0, 1000, PATH_STEPS - 1)]).any()


@pytest.mark.parametrize("grid", [False, True])
def test_the_path_does_not_depend_on_the_rows_that_certify(grid: bool) -> None:
    """Other certifying rows, other predictions, the same held-out scores: the same path."""
    tally = tied_tally(np.random.default_rng(0), 4000, grid=grid)
    held = hold_out(tally).counts
    other = replace(tally, counts=np.where(tally.counts > held, held + 1, tally.counts))
    path, again = tuned_path(tally, held, epsilon=0.1), tuned_path(other, held, epsilon=0.1)
    for step in (0, 700, PATH_STEPS - 1):
        assert np.array_equal(path.thresholds(step), again.thresholds(step))
        if grid:
            assert np.array_equal(path.thresholds(step), to_grid(path.thresholds(step)))


def test_the_confusion_is_not_looked_at() -> None:
    tally = uneven_world().draw(6000, 6000, np.random.default_rng(0))
    held = hold_out(tally).counts
    cells = replace(tally.source_cells, counts=np.roll(tally.source_cells.counts, 5))
    shuffled = replace(tally, source_cells=cells)
    assert not np.array_equal(tally.confusion, shuffled.confusion)
    assert np.ptp(tuned_path(tally, held, epsilon=0.1).thresholds(2000)) > 0.01  # not one threshold for all
    one, other = (tuned_path(each, held, epsilon=0.1).thresholds(2000) for each in (tally, shuffled))
    assert np.array_equal(one, other)


def test_the_search_counts_only_rows_that_were_not_held_out() -> None:
    tally = tied_tally(np.random.default_rng(1), 4000)
    held = hold_out(tally).counts
    path = tuned_path(tally, held, epsilon=0.1)
    rest = tally.class_counts - per_class(tally, held)
    asked: list[IntArray] = []

    def passes(misses: IntArray) -> bool:
        asked.append(misses)
        return bool(misses.sum() <= 150)

    found = certified_on_path(tally, held, path, passes)
    assert (np.array(asked) <= rest).all()
    first = path.thresholds((PATH_STEPS - 1) // 2)
    assert np.array_equal(asked[0], replace(tally, counts=tally.counts - held).misses(first))
    assert asked[0].sum() < tally.misses(first).sum()
    assert replace(tally, counts=tally.counts - held).misses(found).sum() <= 150
    assert (certified_on_path(tally, held, path, lambda _: False) == -np.inf).all()


def test_no_class_is_abandoned() -> None:
    """The last class is rare and hard: without the cap nearly all of its rows would be missed."""
    population, rng, mix = (
        Population.synthetic(3, strength=1.5, rng=3),
        np.random.default_rng(0),
        [0.49, 0.49, 0.02],
    )
    tally = Tally.from_scores(*population.draw([0.4, 0.4, 0.2], 9000, rng))
    tally = tally + Tally.from_target(population.draw(mix, 9000, rng)[0])
    path = tuned_path(tally, hold_out(tally).counts, epsilon=0.1)
    worst = population.class_error(path.thresholds(PATH_STEPS - 1)).max()
    assert worst < 1.4 * CLASS_BALANCE * 0.1
    free = replace(path, caps=np.full(3, np.inf))
    assert population.class_error(free.thresholds(PATH_STEPS - 1)).max() > 1.5 * worst


def test_quantiles_and_misses_of_held_out_rows() -> None:
    tally = Tally.from_scores([[0.1, 0.9], [0.4, 0.6], [0.4, 0.6], [0.8, 0.2], [0.7, 0.3]], [0, 0, 0, 0, 1])
    scores = HeldOutScores.of(tally, tally.counts)
    assert scores.totals.tolist() == [4, 1]
    assert scores.missed(np.array([0.4, 0.9])).tolist() == [0.25, 1.0]
    assert scores.quantiles(0.5).tolist() == [0.4, np.inf]  # too few rows of the second class for a cap
    assert scores.quantiles(0.75).tolist() == [0.8, np.inf]
    assert scores.quantiles(1.0).tolist() == [
        np.inf,
        np.inf,
    ]  # all may be missed: no cap, in the last class either


def test_tuning_makes_sets_smaller_where_classes_differ() -> None:
    """The scores of one class are far too low: one threshold for all classes suits nobody."""
    world = uneven_world()
    tally = world.draw(12_000, 12_000, np.random.default_rng(2))
    region = prevalence_region(tally.confusion, tally.target, delta=MANY_ROWS.region * 0.05)
    plan, nobody = plan_for(tally, epsilon=0.1, delta=0.05), np.zeros(4, bool)
    kinds = certified_thresholds(tally, region, plan, included=nobody)
    single = certified_thresholds(replace(tally, bins=None), region, plan, included=nobody)["one threshold"]
    assert world.size(kinds[TUNED]) < 0.9 * world.size(single)
    assert world.error(kinds[TUNED], world.target_mix) <= 0.1


def test_sizes_next_to_1_are_expected_as_the_sources_scores_are_spread() -> None:
    """Nine of ten scores of the last bin below 1 lie above 0.99; an even spread would say one of six."""
    rng = np.random.default_rng(0)
    top = np.where(rng.random(5000) < 0.9, rng.uniform(0.99, 0.9999, 5000), rng.uniform(0.94, 0.99, 5000))
    scores = np.column_stack([top, 1 - top])
    tally = Tally.from_scores(scores, np.zeros(5000, int)) + Tally.from_target(scores)
    assert tally.bins is not None
    cuts = np.array([0.99, 0.5])
    assert expected_size(tally, tally.bins, cuts) == pytest.approx(
        float((scores >= cuts).sum(axis=1).mean()), abs=0.01
    )
    assert mean_binned_size(tally.bins, cuts) < 0.3


@pytest.mark.montecarlo
@pytest.mark.parametrize("grid", [False, True])
def test_tied_scores_keep_the_target_error(grid: bool) -> None:
    """True error of the tuned kind with rounded scores, its wealth at nearly the whole of δ."""
    population = Population.synthetic(3, strength=2, rng=1)
    tied = Population(population.scores.round(2), population.index)
    delta, repeats, failed = 0.2, 60, 0
    for seed in range(repeats):
        tally = tied_tally(np.random.default_rng([seed, 7]), 2500, grid=grid)
        try:
            region = prevalence_region(tally.confusion, tally.target, delta=MANY_ROWS.region * delta)
        except AssumptionError:
            failed += 1
            continue
        kinds = certified_thresholds(
            tally, region, plan_for(tally, epsilon=0.1, delta=delta), included=np.zeros(3, bool)
        )
        failed += tied.error(kinds[TUNED], [0.2, 0.3, 0.5]) > 0.1
    assert binomtest(failed, repeats, delta, alternative="greater").pvalue > 1e-3


ONE_FAMILY = MANY_ROWS.region + MANY_ROWS.miss_rates + MANY_ROWS.wealth
"""Share of delta that one path of thresholds may use up, its region included."""

CRITICAL = {
    "uneven scores": (uneven_world(), 3000),
    "rare class": (make_world(2, strength=2, shift=0.3, rare=0.02), 3000),
    "strong shift": (make_world(4, strength=3, shift=0.7), 3000),
    "weak classifier": (make_world(3, strength=1, shift=0.3), 3000),
}


def first_step_above(world: World, path: ThresholdPath, epsilon: float) -> FloatArray | None:
    """Thresholds of the first step whose true error exceeds ε: to pass there is to break the promise."""
    low, high = -1, PATH_STEPS
    while high - low > 1:
        middle = (low + high) // 2
        too_much = world.error(path.thresholds(middle), world.target_mix) > epsilon
        low, high = (low, middle) if too_much else (middle, high)
    return path.thresholds(high) if high < PATH_STEPS else None


def passes_at_critical_step(name: str, delta: float, repeats: int) -> int:
    """How often the first step of the path with an error above ε passes, or the region misses the true mix."""
    (world, rows), epsilon, passed = CRITICAL[name], 0.1, 0
    rng, included = np.random.default_rng([21, repeats]), np.zeros(len(world.source_mix), bool)
    for _ in range(repeats):
        tally = world.draw(rows, rows, rng)
        try:
            region = prevalence_region(tally.confusion, tally.target, delta=MANY_ROWS.region * delta)
        except AssumptionError:
            passed += 1
            continue
        held = hold_out(tally).counts
        critical = first_step_above(world, tuned_path(tally, held, epsilon=epsilon), epsilon)
        if critical is not None:
            test = betting_test(
                tally, region, plan_for(tally, epsilon=epsilon, delta=delta), included=included, held=held
            )
            passed += test.passes(replace(tally, counts=tally.counts - held).misses(critical))
    return passed


@pytest.mark.parametrize(
    ("delta", "repeats"),
    [
        *(pytest.param(*case, marks=pytest.mark.montecarlo) for case in ((0.2, 30), (5e-4, 15))),
        *(pytest.param(*case, marks=pytest.mark.long) for case in ((0.2, 500), (0.02, 500), (5e-4, 1000))),
    ],
)
@pytest.mark.parametrize("name", CRITICAL)
def test_the_first_step_with_too_many_errors_rarely_passes(name: str, delta: float, repeats: int) -> None:
    passed = passes_at_critical_step(name, delta, repeats)
    assert binomtest(passed, repeats, ONE_FAMILY * delta, alternative="greater").pvalue > 1e-3
