"""Curves from score rows: sharper than those from counts, fixed by held-out rows and target, and as valid."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from pacshift import (
    AssumptionError,
    Certificate,
    Population,
    Tally,
    calibrate,
    calibrate_tally,
    verify,
    verify_tally,
)
from pacshift.arrays import FloatArray, IntArray
from pacshift.experiments.datasets import load_dataset
from pacshift.experiments.panels import PANELS
from pacshift.mix.region import prevalence_region
from pacshift.paths.sample import RowSample
from pacshift.ps_lp.held_out import HeldOutRows, held_out_rows, hold_out
from pacshift.ps_lp.kinds import MANY_ROWS, TUNED, certified_thresholds
from pacshift.ps_lp.row_curves import MIN_HELD_OUT, enough_rows
from pacshift.ps_lp.tuned import PATH_STEPS, Tuning, tune, tuned_path
from strategies import labelled, seeds
from worlds import World, make_world

Rows = tuple[FloatArray, IntArray, FloatArray]


def draw(world: World, rows: int, rng: np.random.Generator, *, decimals: int | None = None) -> Rows:
    """Source, labels and target of a world."""
    drawn, labels = world.population.draw(world.source_mix, rows, rng)
    source = np.asarray(drawn, float)
    target = np.asarray(world.population.draw(world.target_mix, rows, rng)[0], float)
    if decimals is not None:
        source, target = source.round(decimals), target.round(decimals)
    return source, labels.astype(np.int64), target


def counted(rows: Rows) -> Tally:
    return Tally.from_scores(*rows[:2]) + Tally.from_target(rows[2])


def tuned(rows: Rows, tally: Tally, *, on_rows: bool = True, epsilon: float = 0.1) -> Tuning:
    return tune(tally, epsilon=epsilon, sample=(lambda: RowSample.of(*rows)) if on_rows else None)


def bent(world: World) -> World:
    """The scores of one class are far from calibrated."""
    scores = world.population.scores.copy()
    scores[:, 0] = scores[:, 0] ** 3 / (scores[:, 0] ** 3 + 0.02 * (1 - scores[:, 0]) ** 0.3)
    return replace(
        world, population=Population(scores / scores.sum(axis=1, keepdims=True), world.population.index)
    )


WORLDS = {
    "bent scores": bent(make_world(4, strength=3, shift=0.3)),
    "rare class": make_world(2, strength=2, shift=0.3, rare=0.02),
    "strong shift": make_world(4, strength=3, shift=0.7),
    "weak classifier": make_world(3, strength=1, shift=0.3),
}


@given(seeds, st.sampled_from([0.02, 0.1, 0.4]), st.sampled_from([1, 2, None]))
@settings(deadline=None, max_examples=6)
def test_no_threshold_falls_along_the_path(seed: int, epsilon: float, decimals: int | None) -> None:
    rows = draw(WORLDS["bent scores"], 1500, np.random.default_rng(seed), decimals=decimals)
    tally = counted(rows)
    found = held_out_rows(tally, hold_out(tally), RowSample.of(*rows))
    assert enough_rows(found)
    path = tuned_path(tally, hold_out(tally).counts, epsilon=epsilon, rows=found)
    cuts = np.array([path.thresholds(step) for step in range(0, PATH_STEPS, 41)])
    assert not np.isnan(cuts).any()
    assert (np.diff(cuts, axis=0) >= 0).all()


@given(labelled())
@settings(deadline=None, max_examples=15)
def test_any_scores_have_a_path(given_rows: tuple[FloatArray, IntArray]) -> None:
    scores, labels = given_rows
    shares = np.abs(scores) / np.maximum(np.abs(scores).sum(axis=1, keepdims=True), 1e-300)
    rows = np.tile(shares, (60, 1)), np.tile(labels, 60), np.tile(shares, (60, 1))
    tally = counted(rows)
    path = tuned(rows, tally).path
    assert not np.isnan([path.thresholds(step) for step in (0, 1000, PATH_STEPS - 1)]).any()


def test_the_path_does_not_depend_on_the_rows_that_certify() -> None:
    """Other scores beside the own ones in rows that certify: the same path. In held-out rows: another one."""
    rng = np.random.default_rng(0)
    source, target = rng.dirichlet(np.full(4, 0.5), 4000), rng.dirichlet(np.full(4, 0.5), 4000)  # no row repeats
    labels = np.array([rng.choice(4, p=row) for row in source])
    tally = counted((source, labels, target))
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
    tally = counted(rows)
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
    rows = draw(WORLDS["bent scores"], 6000, np.random.default_rng(3))  # a draw where tuned thresholds win
    on_rows, on_counts = certificate(rows), calibrate_tally(counted(rows), epsilon=0.1, delta=0.05)
    assert on_rows.facts.tuned_on == "score rows"
    assert on_counts.facts.tuned_on == "counts"
    assert not np.array_equal(on_rows.thresholds, on_counts.thresholds)
    assert on_rows.provenance is not None
    assert on_rows.provenance.counting is not None
    assert on_rows.provenance.counting.sample
    assert verify(on_rows, *rows).verdict == "equal"
    assert verify_tally(on_counts, counted(rows)).verdict == "equal"
    assert verify_tally(on_rows, counted(rows)).verdict == "different"  # counts alone do not give it
    order = np.random.default_rng(2).permutation(6000)
    again = certificate((rows[0][order], rows[1][order], rows[2][order[::-1]]))
    assert np.array_equal(again.thresholds, on_rows.thresholds)
    other_kind = certificate((np.log(rows[0]), rows[1], np.log(rows[2])))
    assert other_kind.facts.tuned_on == ""  # scores that are not probabilities are not tuned


def certified(rows: Rows, n_classes: int, delta: float, epsilon: float = 0.1) -> dict[bool, FloatArray] | None:
    """Tuned thresholds from rows and from counts; None where the region misses."""
    tally = counted(rows)
    try:
        region = prevalence_region(tally.confusion, tally.target, delta=MANY_ROWS.region * delta)
    except AssumptionError:
        return None
    asked: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "included": np.zeros(n_classes, bool)}
    found = {}
    for on_rows in (True, False):
        tuning = tuned(rows, tally, on_rows=on_rows, epsilon=epsilon)
        assert tuning.on_rows == on_rows
        found[on_rows] = certified_thresholds(tally, region, **asked, tuning=tuning)[TUNED]
    return found


@pytest.mark.montecarlo
@pytest.mark.parametrize("decimals", [None, 2])
@pytest.mark.parametrize("name", WORLDS)
def test_the_target_error_is_kept(name: str, decimals: int | None) -> None:
    """True error of thresholds that rows have tuned, at δ = 0.2; scores as they are, and with many ties."""
    world, delta, repeats, failed = WORLDS[name], 0.2, 20, 0
    truth = world.population
    if decimals is not None:
        truth = Population(truth.scores.round(decimals), truth.index)
    for seed in range(repeats):
        found = certified(
            draw(world, 2500, np.random.default_rng([seed, 31]), decimals=decimals), len(world.source_mix), delta
        )
        failed += found is None or truth.error(found[True], world.target_mix) > 0.1
    assert binomtest(failed, repeats, delta, alternative="greater").pvalue > 1e-3


@pytest.mark.montecarlo
def test_rows_give_smaller_sets_than_counts() -> None:
    """Scores like those of a real network on 13 groups of pictures, which the package ships."""
    panel = next(panel for panel in PANELS if panel.name == "entity13-0.05")
    data, ratios = load_dataset(panel.dataset, None), []
    world = World(Population(data.probs, data.labels), np.array(panel.source_mix), np.array(panel.target_mix))
    for seed in range(3):
        found = certified(draw(world, 12_000, np.random.default_rng([seed, 9])), 13, 0.05, epsilon=panel.epsilon)
        assert found is not None
        ratios.append(world.size(found[True]) / world.size(found[False]))
    assert np.exp(np.log(ratios).mean()) < 0.98
