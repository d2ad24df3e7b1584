"""Tuned thresholds: held-out rows, a path that only they and the target make, bets that are valid on the others.

Rows are held out as if each had its own coin, the same in any order. Curves from score rows are sharper than those
from counts, and as valid.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, chisquare

import pacshift.paths.sample as sampling
from pacshift import AssumptionError, Certificate, Population, Tally, calibrate, verify
from pacshift.arrays import FloatArray, IntArray
from pacshift.bounds import Interval
from pacshift.mix.region import prevalence_region
from pacshift.paths.path import ThresholdPath
from pacshift.paths.sample import RowSample, order_by_content, places_below, row_numbers
from pacshift.ps_lp.theorem import MANY_ROWS, TUNED, betting_test, plan_for
from pacshift.ps_lp.tuned import (
    CLASS_BALANCE,
    HELD_OUT_SHARE,
    MIN_HELD_OUT,
    PATH_STEPS,
    HeldOut,
    HeldOutRows,
    HeldOutScores,
    Tuning,
    certified_on_path,
    enough_rows,
    expected_size,
    held_out_rows,
    hold_out,
    per_class,
    tune,
    tuned_path,
)
from pacshift.tally.grid import mean_binned_size, to_grid
from paper.experiments.datasets import load_dataset
from paper.experiments.panels import PANELS
from strategies import labelled, seeds
from worlds import World, make_world, proven

MIX = np.array([0.4, 0.3, 0.2, 0.1])
ROUNDED = World(Population.synthetic(4, strength=2, rng=1), MIX, MIX[::-1].copy())
TIED = World(Population.synthetic(3, strength=2, rng=1), np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5]))
"""Drawn with few decimals, many own scores repeat while the other scores differ."""

Rows = tuple[FloatArray, IntArray, FloatArray]


def draw(world: World, rows: int, rng: np.random.Generator, *, decimals: int | None = None) -> Rows:
    """Source, labels and target of a world."""
    drawn, labels = world.population.draw(world.source_mix, rows, rng)
    source = np.asarray(drawn, float)
    target = np.asarray(world.population.draw(world.target_mix, rows, rng)[0], float)
    if decimals is not None:
        source, target = source.round(decimals), target.round(decimals)
    return source, labels.astype(np.int64), target


def counted(source: FloatArray, labels: IntArray, target: FloatArray, *, grid: bool = False) -> Tally:
    return Tally.from_scores(source, labels, grid=grid) + Tally.from_target(target)


def entries(tally: Tally, rows: HeldOutRows) -> IntArray:
    """How many of the rows lie in each entry of the tally."""
    own = rows.scores[np.arange(len(rows.labels)), rows.labels]
    own = to_grid(own) if tally.grid else own
    found = np.zeros(len(tally.values), np.int64)
    for label, (first, last) in enumerate(pairwise(tally.starts)):
        place = first + np.searchsorted(tally.values[first:last], own[rows.labels == label])
        np.add.at(found, place, 1)
    return found


@given(seeds, st.sampled_from([1, 2, 6]), st.booleans())
@settings(deadline=None, max_examples=10)
def test_the_rows_are_those_that_the_counts_leave_out(seed: int, decimals: int, grid: bool) -> None:
    source, labels, target = draw(ROUNDED, 600, np.random.default_rng(seed), decimals=decimals)
    tally = counted(source, labels, target, grid=grid)
    rows = held_out_rows(tally, hold_out(tally), RowSample.of(source, labels, target))
    assert np.array_equal(entries(tally, rows), hold_out(tally).counts)
    given_rows = {(*row, label) for row, label in zip(source.tolist(), labels.tolist(), strict=True)}
    found = {(*row, label) for row, label in zip(rows.scores.tolist(), rows.labels.tolist(), strict=True)}
    assert found <= given_rows


@given(seeds)
@settings(deadline=None, max_examples=8)
def test_a_sample_never_has_more_rows_than_are_held_out(seed: int) -> None:
    source, labels, target = draw(ROUNDED, 600, np.random.default_rng(seed), decimals=1)
    tally = counted(source, labels, target)
    few = places_below(source, 0.4)
    assert 0 < len(few) < len(source)
    rows = held_out_rows(tally, hold_out(tally, seed), RowSample(source[few], labels[few], target))
    assert (entries(tally, rows) <= hold_out(tally, seed).counts).all()


@pytest.mark.parametrize("in_sample", [[0, 1, 2], [0, 2]])
def test_every_row_has_its_own_coin_also_where_scores_repeat(in_sample: list[int]) -> None:
    """Three rows with one label and own score: all subsets of the sample as often as independent coins say.

    A rule that takes the first rows in some order would give the right counts and fail here.
    """
    source = np.array([[0.5, 0.3, 0.2], [0.5, 0.2, 0.3], [0.5, 0.1, 0.4]])
    labels, repeats = np.zeros(3, np.int64), 800
    tally = counted(source, labels, source)
    seen = dict[tuple[float, ...], int]()
    for seed in range(repeats):
        rows = held_out_rows(tally, hold_out(tally, seed), RowSample(source[in_sample], labels[in_sample], source))
        found = tuple(sorted(rows.scores[:, 1].tolist()))
        seen[found] = seen.get(found, 0) + 1
    masks = range(1 << len(in_sample))
    subsets = [[row for bit, row in enumerate(in_sample) if mask >> bit & 1] for mask in masks]
    observed = [seen.get(tuple(sorted(source[rows, 1].tolist())), 0) for rows in subsets]
    sizes = np.array([len(rows) for rows in subsets])
    chances = HELD_OUT_SHARE**sizes * (1 - HELD_OUT_SHARE) ** (len(in_sample) - sizes)
    assert sum(observed) == repeats
    assert chisquare(observed, chances * repeats).pvalue > 1e-3


@pytest.mark.parametrize("decimals", [1, 8])
def test_the_order_of_rows_does_not_matter(decimals: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "SOURCE_ROWS", 400)  # of 600, so that the sample is one
    source, labels, target = draw(ROUNDED, 600, np.random.default_rng(3), decimals=decimals)
    shuffle, other = np.random.default_rng(0).permutation(600), np.random.default_rng(1).permutation(600)
    found = []
    for own, their in ((np.arange(600), np.arange(600)), (shuffle, other)):
        rows = source[own], labels[own], target[their]
        tally = counted(*rows)
        found.append(held_out_rows(tally, hold_out(tally), RowSample.of(*rows)))
    for name in ("scores", "labels", "target"):
        assert np.array_equal(getattr(found[0], name), getattr(found[1], name)), name
    assert 20 < len(found[0].labels) < 90


def test_single_and_double_precision_give_the_same_rows() -> None:
    source = draw(ROUNDED, 600, np.random.default_rng(5), decimals=8)[0].astype(np.float32)
    assert np.array_equal(row_numbers(source), row_numbers(source.astype(np.float64)))
    assert np.array_equal(row_numbers(np.array([[0.0, 1.0]])), row_numbers(np.array([[-0.0, 1.0]])))
    assert np.array_equal(row_numbers(np.asfortranarray(source)), row_numbers(source))


def test_a_sample_has_its_share_of_rows_and_blocks_do_not_matter() -> None:
    rows = np.random.default_rng(0).dirichlet(np.ones(3), 250_000)
    found = places_below(rows, 0.1)
    assert abs(len(found) - 25_000) < 5 * 150
    assert np.array_equal(found, np.flatnonzero(row_numbers(rows) < np.uint64(0.1 * 2.0**64)))
    assert np.array_equal(places_below(rows, 1.0), np.arange(len(rows)))


def test_rows_that_are_alike_are_put_in_order_by_what_they_hold() -> None:
    rows = np.array([[0.2, 0.8], [0.2, 0.8], [0.6, 0.4], [0.2, 0.8]])
    labels = np.array([1, 0, 0, 1])
    order = order_by_content(rows, labels)
    again = order_by_content(rows[::-1], labels[::-1])
    assert np.array_equal(rows[order], rows[::-1][again])
    assert np.array_equal(labels[order], labels[::-1][again])


def uneven_world() -> World:
    """The scores of one class of four are far too low."""
    world = make_world(4, strength=3, shift=0.3)
    odds = world.population.scores * np.array([0.05, 1.0, 1.0, 1.0])
    return replace(world, population=Population(odds / odds.sum(axis=1, keepdims=True), world.population.index))


def test_as_many_rows_are_held_out_as_coins_would_hold_out() -> None:
    """Binomial counts, for scores that occur once and for repeated ones."""
    once, often = np.ones(1000, np.int64), np.full(1000, 7, np.int64)
    for counts in (once, often):
        tally = Tally.from_target([[0.5, 0.5]]).with_counts(counts)
        seen = np.zeros(counts[0] + 1)
        for seed in range(20):
            seen += np.bincount(hold_out(tally, seed).counts, minlength=len(seen))
        expected = binom.pmf(np.arange(len(seen)), counts[0], HELD_OUT_SHARE) * seen.sum()
        enough = expected > 5
        observed = np.append(seen[enough], seen[~enough].sum())
        wanted = np.append(expected[enough], expected[~enough].sum())
        assert chisquare(observed[wanted > 0], wanted[wanted > 0]).pvalue > 1e-3


@pytest.mark.parametrize("grid", [False, True])
def test_the_path_does_not_depend_on_the_rows_that_certify(grid: bool) -> None:
    """Other certifying rows, other predictions, the same held-out scores: the same path."""
    tally = counted(*draw(TIED, 4000, np.random.default_rng(0), decimals=2), grid=grid)
    held = hold_out(tally).counts
    other = tally.with_counts(np.where(tally.counts > held, held + 1, tally.counts))
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
    tally = counted(*draw(TIED, 4000, np.random.default_rng(1), decimals=2))
    held = hold_out(tally).counts
    path = tuned_path(tally, held, epsilon=0.1)
    rest = tally.class_counts - per_class(tally, held)
    asked: list[IntArray] = []

    def margin(misses: IntArray) -> float:
        asked.append(misses)
        return float(160 - misses.sum())

    def passes(misses: IntArray) -> bool:
        asked.append(misses)
        return bool(misses.sum() <= 150)

    found = certified_on_path(tally, held, path, margin, passes)
    assert (np.array(asked) <= rest).all()
    assert path.guess is not None
    first = path.thresholds(path.guess)
    assert np.array_equal(asked[0], tally.with_counts(tally.counts - held).misses(first))
    assert asked[0].sum() < tally.misses(first).sum()
    assert 140 <= tally.with_counts(tally.counts - held).misses(found).sum() <= 150  # scores repeat
    assert (certified_on_path(tally, held, path, margin, lambda _: False) == -np.inf).all()


def test_no_class_is_abandoned() -> None:
    """The last class is rare and hard: without the cap nearly all of its rows would be missed."""
    population, rng = Population.synthetic(3, strength=1.5, rng=3), np.random.default_rng(0)
    tally = Tally.from_scores(*population.draw([0.4, 0.4, 0.2], 9000, rng))
    tally = tally + Tally.from_target(population.draw([0.49, 0.49, 0.02], 9000, rng)[0])
    path = tuned_path(tally, hold_out(tally).counts, epsilon=0.1)
    worst = population.class_error(path.thresholds(PATH_STEPS - 1)).max()
    assert worst < 1.4 * CLASS_BALANCE * 0.1
    free = replace(path, caps=np.full(3, np.inf))
    assert population.class_error(free.thresholds(PATH_STEPS - 1)).max() > 1.5 * worst


def test_quantiles_and_misses_of_held_out_rows() -> None:
    tally = Tally.from_scores([[0.1, 0.9], [0.4, 0.6], [0.4, 0.6], [0.8, 0.2], [0.7, 0.3]], [0, 0, 0, 0, 1])
    scores = HeldOutScores(tally, tally.counts)
    assert scores.totals.tolist() == [4, 1]
    assert scores.miss_rates(np.array([0.4, 0.9])).tolist() == [0.25, 1.0]
    assert scores.quantiles(0.5).tolist() == [0.4, np.inf]  # too few rows of the second class for a cap
    assert scores.quantiles(0.75).tolist() == [0.8, np.inf]
    assert np.isinf(scores.quantiles(1.0)).all()  # all may be missed: no cap, in the last class either


def test_tuning_makes_sets_smaller_where_classes_differ() -> None:
    """The scores of one class are far too low: one threshold for all classes suits nobody."""
    world = uneven_world()
    tally = world.draw(12_000, 12_000, np.random.default_rng(2))
    thresholds, single = proven(tally)[TUNED], proven(replace(tally, bins=None))["one threshold"]
    assert world.size(thresholds) < 0.9 * world.size(single)
    assert world.error(thresholds, world.target_mix) <= 0.1


def test_sizes_next_to_1_are_expected_as_the_sources_scores_are_spread() -> None:
    """Nine of ten scores of the last bin below 1 lie above 0.99; an even spread would say one of six."""
    rng = np.random.default_rng(0)
    top = np.where(rng.random(5000) < 0.9, rng.uniform(0.99, 0.9999, 5000), rng.uniform(0.94, 0.99, 5000))
    scores = np.column_stack([top, 1 - top])
    tally = Tally.from_scores(scores, np.zeros(5000, int)) + Tally.from_target(scores)
    assert tally.bins is not None
    cuts = np.array([0.99, 0.5])
    size = float((scores >= cuts).sum(axis=1).mean())
    assert expected_size(tally, tally.bins, cuts) == pytest.approx(size, abs=0.01)
    assert mean_binned_size(tally.bins, cuts) < 0.3


@pytest.mark.montecarlo
@pytest.mark.parametrize("grid", [False, True])
def test_tied_scores_keep_the_target_error(grid: bool) -> None:
    """True error of the tuned kind with rounded scores, its wealth at nearly the whole of δ."""
    tied = Population(TIED.population.scores.round(2), TIED.population.index)
    delta, repeats, failed = 0.2, 60, 0
    for seed in range(repeats):
        tally = counted(*draw(TIED, 2500, np.random.default_rng([seed, 7]), decimals=2), grid=grid)
        try:
            failed += tied.error(proven(tally, 0.1, delta)[TUNED], TIED.target_mix) > 0.1
        except AssumptionError:
            failed += 1
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
            plan = plan_for(tally, epsilon=epsilon, delta=delta)
            test = betting_test(tally, region, plan, included=included, held=held)
            passed += test.passes(tally.with_counts(tally.counts - held).misses(critical))
    return passed


DRAWS = [pytest.param(*case, marks=pytest.mark.montecarlo) for case in ((0.2, 30), (5e-4, 15))]
DRAWS += [pytest.param(*case, marks=pytest.mark.long) for case in ((0.2, 500), (0.02, 500), (5e-4, 1000))]


@pytest.mark.parametrize(("delta", "repeats"), DRAWS)
@pytest.mark.parametrize("name", CRITICAL)
def test_the_first_step_with_too_many_errors_rarely_passes(name: str, delta: float, repeats: int) -> None:
    passed = passes_at_critical_step(name, delta, repeats)
    assert binomtest(passed, repeats, ONE_FAMILY * delta, alternative="greater").pvalue > 1e-3


def tuned(rows: Rows, tally: Tally, *, on_rows: bool = True, epsilon: float = 0.1) -> Tuning:
    return tune(tally, epsilon=epsilon, sample=(lambda: RowSample.of(*rows)) if on_rows else None)


def bent(world: World) -> World:
    """The scores of one class are far from calibrated."""
    scores = world.population.scores.copy()
    scores[:, 0] = scores[:, 0] ** 3 / (scores[:, 0] ** 3 + 0.02 * (1 - scores[:, 0]) ** 0.3)
    shares = scores / scores.sum(axis=1, keepdims=True)
    return replace(world, population=Population(shares, world.population.index))


WORLDS = {
    "bent scores": bent(make_world(4, strength=3, shift=0.3)),
    "rare class": make_world(2, strength=2, shift=0.3, rare=0.06),
    "strong shift": make_world(4, strength=3, shift=0.7),
    "weak classifier": make_world(3, strength=1, shift=0.3),
}


@pytest.mark.parametrize("times", [1, 60])  # too few rows for curves from rows, and enough of them
@given(labelled(), st.sampled_from([0.02, 0.1, 0.4]))
@settings(deadline=None, max_examples=20)
def test_any_scores_have_a_path_along_which_no_threshold_falls(
    times: int, given_rows: tuple[FloatArray, IntArray], epsilon: float
) -> None:
    scores, labels = given_rows
    shares = np.abs(scores) / np.maximum(np.abs(scores).sum(axis=1, keepdims=True), 1e-300)
    rows = np.tile(shares, (times, 1)), np.tile(labels, times), np.tile(shares, (times, 1))
    tally = counted(*rows)
    found = tuned(rows, tally, epsilon=epsilon)
    assert ((found.held >= 0) & (found.held <= tally.counts)).all()
    cuts = np.array([found.path.thresholds(step) for step in (*range(0, PATH_STEPS, 41), PATH_STEPS - 1)])
    assert not np.isnan(cuts).any()
    assert (np.diff(cuts, axis=0) >= 0).all()


def test_curves_from_rows_do_not_depend_on_the_rows_that_certify() -> None:
    """Other scores beside the own ones in rows that certify: the same path. In held-out rows: another one."""
    rng = np.random.default_rng(0)
    source, target = rng.dirichlet(np.full(4, 0.5), 4000), rng.dirichlet(np.full(4, 0.5), 4000)  # no row repeats
    labels = np.array([rng.choice(4, p=row) for row in source])
    tally = counted(source, labels, target)
    held = held_out_rows(tally, hold_out(tally), RowSample.of(source, labels, target))
    is_held = np.isin(source[:, 0], held.scores[:, 0])
    assert is_held.sum() == len(held.labels)
    paths = []
    for changed in (np.zeros(4000, bool), ~is_held, is_held):
        own = np.eye(4, dtype=bool)[labels]
        other = np.where(changed[:, None] & ~own, source[:, ::-1] * 0.5, source)
        paths.append(tuned((other, labels, target), tally).path.thresholds(2000))
    assert np.array_equal(paths[0], paths[1])
    assert not np.array_equal(paths[0], paths[2])


def test_too_few_rows_of_a_class_leave_the_curves_from_counts() -> None:
    rows = draw(make_world(3, strength=3, shift=0.2, rare=0.004), 4000, np.random.default_rng(0))
    tally = counted(*rows)
    few = held_out_rows(tally, hold_out(tally), RowSample.of(*rows))
    assert np.bincount(few.labels, minlength=3).min() < MIN_HELD_OUT
    found, plain = tuned(rows, tally), tuned(rows, tally, on_rows=False)
    assert not found.on_rows
    assert np.array_equal(found.path.thresholds(2000), plain.path.thresholds(2000))
    assert not enough_rows(HeldOutRows(rows[0], rows[1], rows[2][:50]))


def certificate(rows: Rows, **more: Any) -> Certificate:
    return calibrate(*rows, epsilon=0.1, delta=0.05, **more)


@pytest.mark.slow
def test_the_certificate_says_what_thresholds_were_tuned_on_and_can_be_made_again() -> None:
    rows = draw(WORLDS["strong shift"], 12_000, np.random.default_rng(1))  # where tuned sets are clearly smaller
    on_rows, on_counts = certificate(rows), calibrate(counted(*rows), epsilon=0.1, delta=0.05)
    assert on_rows.facts.tuned_on == "score rows"
    assert on_counts.facts.tuned_on == "counts"
    assert not np.array_equal(on_rows.thresholds, on_counts.thresholds)
    assert on_rows.provenance.counting is not None
    assert on_rows.provenance.counting.sample
    assert verify(on_rows, *rows).verdict == "match"
    assert verify(on_counts, counted(*rows)).verdict == "match"
    assert verify(on_rows, counted(*rows)).verdict == "mismatch"  # counts alone do not give it
    order = np.random.default_rng(2).permutation(12_000)
    again = certificate((rows[0][order], rows[1][order], rows[2][order[::-1]]))
    assert np.array_equal(again.thresholds, on_rows.thresholds)
    other_kind = certificate((np.log(rows[0]), rows[1], np.log(rows[2])))
    assert other_kind.facts.tuned_on == ""  # scores that are not probabilities are not tuned


def certified(
    rows: Rows,
    delta: float,
    epsilon: float = 0.1,
    *,
    on_rows: Sequence[bool] = (True, False),
    known: Interval | None = None,
) -> dict[bool, FloatArray] | None:
    """Tuned thresholds from rows and from counts; None where the region misses."""
    tally, found = counted(*rows), {}
    for wanted in on_rows:
        tuning = tuned(rows, tally, on_rows=wanted, epsilon=epsilon)
        assert tuning.on_rows == wanted
        try:
            found[wanted] = proven(tally, epsilon, delta, known=known, tuning=tuning)[TUNED]
        except AssumptionError:
            return None
    return found


def failures(name: str, decimals: int | None, draws: int) -> int:
    """How often thresholds that rows have tuned err more than ε on the target, or the region misses, at δ = 0.1.

    The mix is known: what allows for an unknown one puts errors four standard deviations below ε, and would hide
    most mistakes on the path.
    """
    world, failed = WORLDS[name], 0
    truth, mix = world.population, world.target_mix
    if decimals is not None:
        truth = Population(truth.scores.round(decimals), truth.index)
    for seed in range(draws):
        rows = draw(world, 2500, np.random.default_rng([seed, 31]), decimals=decimals)
        found = certified(rows, 0.1, on_rows=[True], known=Interval(mix, mix))
        failed += found is None or truth.error(found[True], mix) > 0.1
    return failed


@pytest.mark.montecarlo
@pytest.mark.parametrize("decimals", [None, 2])
@pytest.mark.parametrize("name", WORLDS)
def test_curves_from_rows_keep_the_target_error(name: str, decimals: int | None) -> None:
    """Scores as they are, and with many ties. From 18 failures of 80 on it fails: a failure rate of 3 δ is seen
    with probability 0.95, one of 2 δ with 0.33.
    """
    assert binomtest(failures(name, decimals, 80), 80, 0.1, alternative="greater").pvalue > 1e-3


@pytest.mark.montecarlo
def test_coins_that_prefer_low_scores_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Break the coins on purpose: rows that the classifier finds hard are held out more often than others."""

    def preferring(tally: Tally, seed: int = 0) -> HeldOut:
        coins, rows = hold_out(tally, seed).coins, np.diff(tally.starts)
        rank = (np.arange(len(tally.values)) - np.repeat(tally.starts[:-1], rows)) / np.repeat(rows, rows)
        return HeldOut(coins.binomial(tally.counts, np.where(rank < 0.2, 0.3, 0.1125)), coins)

    monkeypatch.setattr("pacshift.ps_lp.tuned.hold_out", preferring)
    assert binomtest(failures("bent scores", None, 25), 25, 0.1, alternative="greater").pvalue < 1e-3


@pytest.mark.montecarlo
def test_rows_give_smaller_sets_than_counts() -> None:
    """Scores like those of a real network on 13 groups of pictures, which the package ships."""
    panel = next(panel for panel in PANELS if panel.name == "entity13-0.05")
    data, ratios = load_dataset(panel.dataset, None), []
    world = World(Population(data.probs, data.labels), np.array(panel.source_mix), np.array(panel.target_mix))
    for seed in range(3):
        found = certified(draw(world, 12_000, np.random.default_rng([seed, 9])), 0.05, epsilon=panel.epsilon)
        assert found is not None
        ratios.append(world.size(found[True]) / world.size(found[False]))
    assert np.exp(np.log(ratios).mean()) < 0.99
