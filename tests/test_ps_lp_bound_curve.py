"""The curve: computed when asked for, from plain data; it grows and passes through the chosen point."""

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pacshift import PSLP, AssumptionError, Certificate, Tally, calibrate
from pacshift.bounds import BoundCurve
from pacshift.methods import Task
from pacshift.mix.region import prevalence_region
from pacshift.ps_lp.theorem import (
    EQUAL_MISS_RATE,
    FEW_ROWS,
    MANY_ROWS,
    ONE_THRESHOLD,
    TUNED,
    CurveOnDemand,
    certified_thresholds,
    plan_for,
    shares_for,
)
from strategies import drawn_scores, tallies
from worlds import make_world


@pytest.mark.slow
@given(tallies(), st.sampled_from([0.02, 0.1, 0.4]), st.sampled_from([0.2, 5e-4]))
@settings(deadline=None, max_examples=25)
def test_it_grows_and_passes_through_the_chosen_point(tally: Tally, epsilon: float, delta: float) -> None:
    try:
        found = PSLP().solve(tally, Task(epsilon, delta))
    except AssumptionError:
        return
    if found.curve is None:
        return
    curve = found.curve()
    assert curve is not None
    assert (np.diff(curve.bounds) >= 0).all()
    assert (np.diff(curve.source_errors) >= 0).all()
    assert curve.bounds[curve.source_errors <= curve.chosen].max(initial=0.0) <= epsilon
    assert curve.chosen in curve.source_errors


@pytest.mark.parametrize("kind", [ONE_THRESHOLD, TUNED, EQUAL_MISS_RATE])
def test_every_kind_has_one_that_survives_a_pickle(kind: str) -> None:
    tally = make_world(3, strength=3, shift=0.3).draw(3000, 3000, np.random.default_rng(0))
    tally = replace(tally, bins=None) if kind == ONE_THRESHOLD else tally
    region, included = prevalence_region(tally.confusion, tally.target, delta=0.005), np.zeros(3, bool)
    plan = plan_for(tally, epsilon=0.1, delta=0.05)
    kinds = certified_thresholds(tally, region, plan, included=included)
    compute = CurveOnDemand(tally, region, plan, kind, kinds[kind], included)
    here, there = compute(), pickle.loads(pickle.dumps(compute))()
    assert np.array_equal(here.bounds, there.bounds)
    assert here.chosen == tally.misses(kinds[kind]).sum() / tally.n_source


@pytest.fixture(scope="module")
def fifty_one() -> Tally:
    """So many classes and rows that the bound for many classes replaces bets, but few rows per class."""
    world = make_world(51, strength=6, shift=0.1, members=100)
    source, labels = world.population.draw(np.full(51, 1 / 51), 51 * 200, rng=0)
    return Tally.from_scores(source, labels) + Tally.from_target(
        world.population.draw(world.target_mix, 20_000, 1)[0]
    )


@pytest.mark.parametrize("kind", [EQUAL_MISS_RATE, ONE_THRESHOLD])
def test_above_50_classes_it_runs_along_the_family_that_was_certified_or_there_is_none(
    kind: str, fifty_one: Tally, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shares_for(fifty_one.class_counts, epsilon=0.2) is FEW_ROWS
    assert plan_for(fifty_one, epsilon=0.2, delta=0.05).correction is not None
    monkeypatch.setattr("pacshift.methods.ps_lp.smallest_kind", lambda *_: kind)
    found = PSLP().solve(fifty_one, Task(0.2, 0.05))
    if kind == ONE_THRESHOLD:
        assert found.curve is None
        return
    chosen = fifty_one.misses(found.thresholds) + 1  # ranks
    asked: list[tuple[float, float]] = []
    monkeypatch.setattr(
        "pacshift.ps_lp.theorem.error_bound",
        lambda _mixes, _box, counts, ranks, *, delta: asked.append((delta, float(np.ptp(ranks / counts)))) or 0.5,  # type: ignore[func-returns-value]
    )
    assert isinstance(found.curve, CurveOnDemand)
    found.curve()
    certified = float(np.ptp(chosen / fifty_one.class_counts))
    assert {delta for delta, _ in asked} == {MANY_ROWS.equal_miss_rate * 0.05}
    assert max(spread for _, spread in asked) <= certified + 2 / fifty_one.class_counts.min()  # no class is spared
    assert found.curve.plan.shares.caution == 0


def made(monkeypatch: pytest.MonkeyPatch, curve: BoundCurve) -> tuple[Certificate, list[int]]:
    """A certificate whose curve is counted when it is computed."""
    looks: list[int] = []

    def look(_self: CurveOnDemand) -> BoundCurve:
        looks.append(1)
        return curve

    monkeypatch.setattr(CurveOnDemand, "__call__", look)
    rng = np.random.default_rng(0)
    scores, labels = drawn_scores(rng, 3, 3000, 4.0)
    target = drawn_scores(rng, 3, 3000, 4.0)[0]
    return calibrate(scores, labels, target, epsilon=0.1, delta=0.05).with_set_sizes(target), looks


def test_with_curves_computes_it_and_saving_and_pickling_do_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    curve = BoundCurve(np.array([0.1]), np.array([0.2]), 0.1)
    certificate, looks = made(monkeypatch, curve)
    certificate.explain()
    repr(certificate)
    certificate.save(tmp_path / "without.json")
    pickled = pickle.loads(pickle.dumps(certificate))
    for without in (certificate, pickled.with_curves(), Certificate.load(tmp_path / "without.json").with_curves()):
        assert (without.curve, without.sensitivity) == (None, None)
    assert not looks
    drawn = certificate.with_curves()
    drawn.with_curves().save(tmp_path / "with.json")
    for back in (drawn, pickle.loads(pickle.dumps(drawn)), Certificate.load(tmp_path / "with.json")):
        assert back.curve is not None
        assert back.curve.bounds.tolist() == [0.2]
        assert back.sensitivity is not None
    assert len(looks) == 1


def test_a_certificate_takes_a_curve_or_none_as_well() -> None:
    tally = make_world(3, strength=3, shift=0.3).draw(3000, 3000, np.random.default_rng(0))
    certificate = calibrate(tally, epsilon=0.1, delta=0.05)
    curve = BoundCurve(np.array([0.1]), np.array([0.2]), 0.1)
    taken = replace(certificate, curve=curve).with_curves().curve
    assert taken is not None
    assert taken.bounds.tolist() == [0.2]
    assert calibrate(tally, epsilon=0.1, delta=0.05, method="PS").with_curves().curve is None
