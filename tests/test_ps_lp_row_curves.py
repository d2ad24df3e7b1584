"""Curves from score rows: sharper than those from counts, fixed by held-out rows and target, and as valid."""

from collections.abc import Sequence
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
    verify,
)
from pacshift.arrays import FloatArray, IntArray
from pacshift.bounds import Interval
from pacshift.mix.region import prevalence_region
from pacshift.paths.sample import RowSample
from pacshift.ps_lp.theorem import MANY_ROWS, TUNED, certified_thresholds, plan_for
from pacshift.ps_lp.tuned import (
    MIN_HELD_OUT,
    PATH_STEPS,
    HeldOut,
    HeldOutRows,
    Tuning,
    enough_rows,
    held_out_rows,
    hold_out,
    tune,
    tuned_path,
)
from paper.experiments.datasets import load_dataset
from paper.experiments.panels import PANELS
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
    "rare class": make_world(2, strength=2, shift=0.3, rare=0.06),
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
    rows = draw(WORLDS["strong shift"], 12_000, np.random.default_rng(1))  # where tuned sets are clearly smaller
    on_rows, on_counts = certificate(rows), calibrate(counted(rows), epsilon=0.1, delta=0.05)
    assert on_rows.facts.tuned_on == "score rows"
    assert on_counts.facts.tuned_on == "counts"
    assert not np.array_equal(on_rows.thresholds, on_counts.thresholds)
    assert on_rows.provenance.counting is not None
    assert on_rows.provenance.counting.sample
    assert verify(on_rows, *rows).verdict == "equal"
    assert verify(on_counts, counted(rows)).verdict == "equal"
    assert verify(on_rows, counted(rows)).verdict == "different"  # counts alone do not give it
    order = np.random.default_rng(2).permutation(12_000)
    again = certificate((rows[0][order], rows[1][order], rows[2][order[::-1]]))
    assert np.array_equal(again.thresholds, on_rows.thresholds)
    other_kind = certificate((np.log(rows[0]), rows[1], np.log(rows[2])))
    assert other_kind.facts.tuned_on == ""  # scores that are not probabilities are not tuned


def certified(
    rows: Rows,
    n_classes: int,
    delta: float,
    epsilon: float = 0.1,
    *,
    on_rows: Sequence[bool] = (True, False),
    known: Interval | None = None,
) -> dict[bool, FloatArray] | None:
    """Tuned thresholds from rows and from counts; None where the region misses."""
    tally = counted(rows)
    try:
        region = prevalence_region(tally.confusion, tally.target, delta=MANY_ROWS.region * delta, known=known)
    except AssumptionError:
        return None
    plan, nobody = plan_for(tally, epsilon=epsilon, delta=delta), np.zeros(n_classes, bool)
    found = {}
    for wanted in on_rows:
        tuning = tuned(rows, tally, on_rows=wanted, epsilon=epsilon)
        assert tuning.on_rows == wanted
        found[wanted] = certified_thresholds(tally, region, plan, included=nobody, tuning=tuning)[TUNED]
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
        found = certified(rows, len(mix), 0.1, on_rows=[True], known=Interval(mix, mix))
        failed += found is None or truth.error(found[True], mix) > 0.1
    return failed


@pytest.mark.montecarlo
@pytest.mark.parametrize("decimals", [None, 2])
@pytest.mark.parametrize("name", WORLDS)
def test_the_target_error_is_kept(name: str, decimals: int | None) -> None:
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
        found = certified(draw(world, 12_000, np.random.default_rng([seed, 9])), 13, 0.05, epsilon=panel.epsilon)
        assert found is not None
        ratios.append(world.size(found[True]) / world.size(found[False]))
    assert np.exp(np.log(ratios).mean()) < 0.99
