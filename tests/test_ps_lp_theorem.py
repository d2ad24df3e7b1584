"""All together: shares of δ, the choice of the smallest kind, repeated scores, many classes, the curve."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from pacshift import PSLP, Tally, calibrate
from pacshift.arrays import FloatArray, IntArray
from pacshift.methods import Task
from pacshift.mix.region import PrevalenceRegion
from pacshift.ps_lp.betting import BettingTest
from pacshift.ps_lp.theorem import (
    EQUAL_MISS_RATE,
    FEW_ROWS,
    MANY_ROWS,
    ONE_THRESHOLD,
    TUNED,
    Shares,
    shares_for,
    smallest_kind,
)
from pacshift.ps_lp.tuned import per_class, tune
from pacshift.tally.grid import single_cuts
from strategies import drawn_scores
from worlds import make_world, proven


@pytest.mark.parametrize("shares", [MANY_ROWS, FEW_ROWS])
def test_the_shares_of_delta_add_up(shares: Shares) -> None:
    events = (shares.equal_miss_rate, shares.wealth, shares.region, shares.priors, shares.miss_rates)
    assert sum(events) == pytest.approx(1)


def test_held_out_rows_do_not_certify(monkeypatch: pytest.MonkeyPatch) -> None:
    """The theorem needs bets on other rows than those that a path is made from."""
    certifying: list[IntArray] = []

    def remember(region: PrevalenceRegion, class_counts: IntArray, *args: Any, **options: Any) -> BettingTest:
        certifying.append(class_counts)
        return BettingTest(region, class_counts, *args, **options)

    monkeypatch.setattr("pacshift.ps_lp.theorem.BettingTest", remember)
    tally = make_world(4, strength=3, shift=0.6).draw(6000, 6000, np.random.default_rng(0))
    PSLP().solve(tally, Task(epsilon=0.1, delta=0.1))
    held = per_class(tally, tune(tally, epsilon=0.1).held)
    assert held.min() > 0
    assert [each.tolist() for each in certifying] == [(tally.class_counts - held).tolist()]


def test_few_rows_give_nearly_all_of_delta_to_equal_miss_rate() -> None:
    assert shares_for(np.full(10, 100), epsilon=0.1) is FEW_ROWS
    assert shares_for(np.full(10, 2000), epsilon=0.1) is MANY_ROWS
    assert shares_for(np.full(10, 600), epsilon=0.03) is FEW_ROWS  # fewer rows are missed, so more are needed
    assert shares_for(np.array([0, 0]), epsilon=0.1) is FEW_ROWS
    assert FEW_ROWS.equal_miss_rate > 3 * MANY_ROWS.equal_miss_rate


def test_without_bins_or_for_other_scores_one_threshold_is_tested() -> None:
    tally = make_world(4, strength=3, shift=0.6).draw(6000, 6000, np.random.default_rng(0))
    assert set(proven(tally)) == {TUNED, EQUAL_MISS_RATE}
    for blind in (replace(tally, bins=None), replace(tally, score="margin")):
        others = proven(blind)
        assert set(others) == {ONE_THRESHOLD, EQUAL_MISS_RATE}
        assert smallest_kind(blind, others) == ONE_THRESHOLD


def test_the_kind_with_the_smallest_sets_on_the_target_is_kept() -> None:
    chosen = set()
    for seed, (strength, shift) in enumerate([(5.0, 0.0), (3.0, 0.6), (1.0, 0.4), (4.0, 0.9), (2.0, 0.0)]):
        world = make_world(4, strength=strength, shift=shift, seed=seed)
        tally = world.draw(6000, 6000, np.random.default_rng(seed))
        kinds = proven(tally)
        sizes = {kind: world.size(thresholds) for kind, thresholds in kinds.items()}
        kind = smallest_kind(tally, kinds)
        assert sizes[kind] <= 1.02 * min(sizes.values())
        assert np.array_equal(calibrate(tally, epsilon=0.1, delta=0.05).thresholds, single_cuts(kinds[kind]))
        chosen.add(kind)
    assert len(chosen) > 1


def test_rows_are_counted_only_where_bins_do_not_settle_the_choice() -> None:
    tally = make_world(3, strength=3, shift=0.3).draw(2000, 2000, np.random.default_rng(0))
    asked: list[int] = []

    def count(cuts: object) -> list[float]:
        assert isinstance(cuts, list)
        asked.append(len(cuts))
        return [float(-place) for place in range(len(cuts))]

    clear = {TUNED: np.full(3, 0.9), EQUAL_MISS_RATE: np.full(3, 1e-5)}
    assert smallest_kind(tally, clear, count) == TUNED
    assert not asked
    close = clear | {EQUAL_MISS_RATE: np.full(3, 0.901)}
    assert smallest_kind(tally, close, count) == EQUAL_MISS_RATE
    assert asked == [2]


def repeated_scores(rng: np.random.Generator, rows: int, mix: FloatArray) -> tuple[FloatArray, IntArray]:
    """13 classes, where one row in twelve has the same score for every label, 1/13."""
    labels = rng.choice(13, rows, p=mix)
    logits = 5 * np.eye(13)[labels] + rng.gumbel(size=(rows, 13))
    logits[rng.random(rows) < 1 / 12] = 0
    odds = np.exp(logits)
    scores = odds / odds.sum(axis=1, keepdims=True)
    return scores.round(6), labels  # rounded: the same bits on every processor


def test_repeated_scores_do_not_mislead_the_choice() -> None:
    """A threshold at 1/13 lets all labels of the repeated rows in; half of its bin lies above it."""
    rng = np.random.default_rng(0)
    shifted = np.full(13, 0.8 / 12)
    shifted[0] = 0.2
    source, labels = repeated_scores(rng, 20_000, np.full(13, 1 / 13))
    target = repeated_scores(rng, 20_000, shifted)[0]
    tally = Tally.from_scores(source, labels) + Tally.from_target(target)
    kinds = proven(tally, epsilon=0.06) | {ONE_THRESHOLD: proven(replace(tally, bins=None), 0.06)[ONE_THRESHOLD]}
    sizes = {kind: float((target >= cuts).sum(axis=1).mean()) for kind, cuts in kinds.items()}
    best = min(sizes.values())
    assert sizes[ONE_THRESHOLD] > 1.2 * best
    assert sizes[smallest_kind(tally, kinds)] == best
    exact = calibrate(source, labels, target, epsilon=0.06, delta=0.05)
    assert exact.sets(target).sum(axis=1).mean() < 0.95 * best  # curves from rows know where scores repeat


def test_scores_beyond_0_and_1_are_compared_where_rows_are_at_hand() -> None:
    rng = np.random.default_rng(3)
    scores, labels = drawn_scores(rng, 4, 6000, 2.0)
    bias = np.array([0.0, 3.0, 0.0, 0.0])  # one class has far larger scores, so that one threshold suits nobody
    source, target = np.log(scores) + bias, np.log(drawn_scores(rng, 4, 6000, 2.0)[0]) + bias
    tally = Tally.from_scores(source, labels) + Tally.from_target(target)
    kinds = proven(tally)
    sizes = {kind: float((target >= cuts).sum(axis=1).mean()) for kind, cuts in kinds.items()}
    assert sizes[EQUAL_MISS_RATE] < sizes[ONE_THRESHOLD]
    found = calibrate(source, labels, target, epsilon=0.1, delta=0.05)
    assert found.sets(target).sum(axis=1).mean() == min(sizes.values())
    assert np.array_equal(calibrate(tally, epsilon=0.1, delta=0.05).thresholds, single_cuts(kinds[ONE_THRESHOLD]))


@pytest.mark.slow
@pytest.mark.parametrize(("n_classes", "rows"), [(100, 3000), (100, 20_000), (150, 6000)])
def test_many_classes_raise_no_warning(n_classes: int, rows: int) -> None:
    world = make_world(n_classes, strength=6, shift=0.1, members=40)
    tally = world.draw(rows, rows, np.random.default_rng(0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        calibrate(tally, epsilon=0.1, delta=0.05)
