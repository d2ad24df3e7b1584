"""The test of label shift: false alarms are as rare as promised, and what is plainly false is seen."""

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from cell_worlds import make_world
from pacshift import InputError, Population, Tally
from pacshift.arrays import FloatArray
from pacshift.assumption import check_assumption
from pacshift.assumption.check import MAX_SAVED_GROUPS
from pacshift.assumption.inequalities import few_classes, level_shares
from pacshift.bounds import Interval
from pacshift.certification.delta import ASSUMPTION_SHARE
from pacshift.files.codec import record
from pacshift.tally.cells import Cells

LEVEL = ASSUMPTION_SHARE * 0.05
POPULATION = Population.synthetic(["cat", "dog", "owl"], strength=4, rows_per_class=4000, rng=0)
UNSURE = np.array([0.01, 0.0, -0.01])
SOURCE_MIX, TARGET_MIX = [0.5, 0.3, 0.2], [0.2, 0.4, 0.4]


def counted(target: Any, rows: int = 10_000, seed: int = 1) -> Tally:
    source = POPULATION.draw(SOURCE_MIX, rows, rng=seed)
    tally = Tally.from_scores(*source, classes=POPULATION.classes, soft=False)
    return tally + Tally.from_target(target, classes=POPULATION.classes, soft=False, bins=False)


def shifted(rows: int = 10_000, seed: int = 2) -> FloatArray:
    return np.asarray(POPULATION.draw(TARGET_MIX, rows, rng=seed)[0], float)


def powered(scores: FloatArray, power: float) -> FloatArray:
    return np.asarray(scores**power / (scores**power).sum(axis=1, keepdims=True))


@pytest.mark.parametrize("n_classes", [2, 30, 31, 60, 61, 1000])
def test_the_level_is_spent_once(n_classes: int) -> None:
    shares = level_shares(n_classes)
    assert np.isclose(shares.tops + shares.boxes + shares.class_shares + shares.differences, 1)


@pytest.mark.montecarlo
@pytest.mark.parametrize("contamination", [0.0, 0.15])
@pytest.mark.parametrize("known", [False, True])
def test_false_alarms_are_as_rare_as_promised_in_hard_worlds(contamination: float, known: bool) -> None:
    rng, level, repeats = np.random.default_rng(11), 0.3, 150
    alarms = 0
    for _ in range(repeats):
        sizes = (int(rng.choice([40, 400, 4000])), int(rng.choice([40, 400, 4000])))
        world = make_world(rng, int(rng.choice([2, 3, 5, 12])), sizes, contamination=contamination)
        rows_within, bounds = few_classes(world.draw(rng), level=level, contamination=contamination), None
        if known:
            whole = (1 - contamination) * world.mix  # the junk may be of any class, or of none
            slack = rng.random((2, len(whole))) * rng.choice([0.0, 0.1])
            bounds = Interval(np.maximum(whole - slack[0], 0), whole + contamination + slack[1])
        alarms += rows_within(bounds).refuted
    assert binomtest(alarms, repeats, level, alternative="greater").pvalue > 1e-3


def test_bounds_of_the_mix_reuse_the_same_bets_and_only_refute_more() -> None:
    rng = np.random.default_rng(12)
    for _ in range(8):
        world = make_world(rng, 3, (1000, 1000))
        counts = replace(world, mix=world.mix[::-1]).draw(rng)
        rows_within = few_classes(counts, level=0.5, contamination=0.0)
        free = rows_within(None).refuted
        tight = Interval(np.maximum(world.mix - 0.02, 0), world.mix + 0.02)
        assert rows_within(tight).refuted or not free
        assert rows_within(Interval(np.zeros(3), np.ones(3))).refuted == free


def test_label_shift_is_not_refuted_and_the_mix_is_found() -> None:
    found = check_assumption(counted(shifted()), level=LEVEL)
    assert not found.refuted
    assert found.level == LEVEL
    assert np.allclose(found.mix, TARGET_MIX, atol=0.03)
    assert found.allowed.contains(found.observed).all()
    assert np.isclose(found.observed.sum(), 1)
    assert "within sampling error" in found.finding


@pytest.mark.parametrize(
    "change",
    [
        lambda scores: powered(scores, 0.67),
        lambda scores: powered(scores, 1.5),
        lambda scores: powered(scores * np.exp([1.0, 0, 0]), 1),
        lambda scores: powered(scores * np.exp([4.0, 0, 0]), 1),
        lambda scores: np.vstack([scores[:9000], np.full((1000, 3), 1 / 3)]),
        lambda scores: powered(scores * np.exp(np.random.default_rng(0).normal(0, 1.5, scores.shape)), 1),
    ],
)
def test_what_is_plainly_false_is_refuted(change: object) -> None:
    assert callable(change)
    found = check_assumption(counted(change(shifted())), level=LEVEL)
    assert found.refuted
    assert "%" in found.finding


def test_a_class_of_harder_cases_is_refuted() -> None:
    true = POPULATION.scores[np.arange(len(POPULATION.index)), POPULATION.index]
    easy = (POPULATION.index == 2) & (true > np.median(true[POPULATION.index == 2]))
    harder = Population(
        POPULATION.scores, np.array(POPULATION.classes)[POPULATION.index], classes=POPULATION.classes,
        row_weights=np.where(easy, 0.0, 1.0),
    )  # fmt: skip
    assert check_assumption(counted(harder.draw(TARGET_MIX, 10_000, rng=3)[0]), level=LEVEL).refuted


def test_the_finding_names_a_group_and_what_mixes_can_reach() -> None:
    finding = check_assumption(counted(powered(shifted(), 0.3)), level=LEVEL).finding
    share, reached = (float(part.split()[-1]) for part in finding.split(" %")[:2])
    assert "top score" in finding
    assert "mix of the source's classes" in finding
    assert ("explains more than" in finding) == (share > reached)
    assert ("would give at least" in finding) == (share < reached)


def test_known_bounds_refute_and_say_so() -> None:
    tally = counted(shifted())
    wrong = Interval(np.zeros(3), np.array([1.0, 1.0, 0.2]))
    found = check_assumption(tally, level=LEVEL, known=wrong)
    assert found.refuted
    assert "'owl', but you said at most 20 %" in found.finding
    low = check_assumption(tally, level=LEVEL, known=Interval(np.array([0.5, 0, 0]), np.ones(3)))
    assert low.refuted
    assert "'cat', but you said at least 50 %" in low.finding
    right = Interval(np.array([0.1, 0.3, 0.3]), np.array([0.3, 0.5, 0.5]))
    assert not check_assumption(tally, level=LEVEL, known=right).refuted


def test_contamination_allows_for_a_share_of_anything() -> None:
    junk = np.vstack([shifted()[:9000], np.full((1000, 3), 1 / 3) + UNSURE])
    tally = counted(junk)
    assert check_assumption(tally, level=LEVEL).refuted
    assert check_assumption(tally, level=LEVEL, contamination=0.02).refuted
    assert not check_assumption(tally, level=LEVEL, contamination=0.12).refuted


def test_the_same_counts_give_the_same_answer_in_any_order() -> None:
    target = powered(shifted(2000), 0.8)
    one, other = (check_assumption(counted(rows), level=LEVEL) for rows in (target, target[::-1]))
    assert record(type(one)).write(one) == record(type(other)).write(other)


def test_long_lists_are_saved_without_the_smallest_differences() -> None:
    many = MAX_SAVED_GROUPS + 7
    found = check_assumption(counted(shifted()), level=LEVEL)
    size = np.linspace(0, 1, many)
    long = replace(
        found,
        groups=tuple(f"group {number}" for number in range(many)),
        observed=size,
        explained=np.zeros(many),
        allowed=Interval(np.zeros(many), size),
    )
    assert long.with_largest_differences().groups == long.groups[7:]


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e6])
def test_scores_at_any_scale_are_tested_by_their_top_scores(scale: float) -> None:
    source = POPULATION.draw(SOURCE_MIX, 10_000, rng=1)
    tally = Tally.from_scores(scale * np.log(source[0]), source[1], classes=POPULATION.classes)
    same = scale * np.log(shifted())
    for target, refuted in ((same, False), (0.7 * same, True)):  # the same predictions, other top scores
        found = check_assumption(tally + Tally.from_target(target, classes=POPULATION.classes), level=LEVEL)
        assert found.refuted is refuted
        assert any("top score" in name for name in found.groups)
        assert "top score" in found.finding


def test_tallies_without_bins_are_tested_by_their_predictions_alone() -> None:
    source = POPULATION.draw(SOURCE_MIX, 10_000, rng=1)
    tally = Tally.from_scores(np.log(source[0]), source[1], classes=POPULATION.classes)
    tally = tally + Tally.from_target(0.7 * np.log(shifted()), classes=POPULATION.classes)
    plain = {name: getattr(tally, name).without_bins() for name in ("source_cells", "target_cells")}
    old = replace(tally, **plain)
    found = check_assumption(old, level=LEVEL)
    assert not found.refuted
    assert "explains the predicted labels of the" in found.finding
    assert all(name.startswith("predicted") and "," not in name for name in found.groups)
    cats = replace(old, target_cells=Cells(np.array([0]), np.array([9000]), 1, "none"))
    assert check_assumption(cats, level=LEVEL).refuted  # some cats are always taken for dogs


def test_nothing_is_said_without_rows() -> None:
    with pytest.raises(InputError, match="one of them is empty"):
        check_assumption(Tally.from_target([[0.5, 0.5]]), level=LEVEL)


@pytest.mark.parametrize("rows", [1, 2, 9])
def test_a_handful_of_rows_never_refutes(rows: int) -> None:
    source = POPULATION.draw([1, 1, 1], rows, rng=rows)
    tally = Tally.from_scores(*source, classes=POPULATION.classes)
    found = check_assumption(tally + Tally.from_target(shifted(rows), classes=POPULATION.classes), level=LEVEL)
    assert not found.refuted


def test_many_classes_are_tested_without_a_program() -> None:
    population = Population.synthetic(80, strength=7, rows_per_class=200, rng=0)
    rng = np.random.default_rng(1)
    mix = rng.dirichlet(np.full(80, 5.0))
    source = Tally.from_scores(*population.draw(np.ones(80), 20_000, rng), soft=False)
    target = np.asarray(population.draw(mix, 20_000, rng)[0], float)
    shown = check_assumption(source + Tally.from_target(target, bins=False), level=LEVEL)
    assert not shown.refuted
    assert len(shown.groups) < 80
    for power in (0.5, 2.0):
        found = check_assumption(source + Tally.from_target(powered(target, power), bins=False), level=LEVEL)
        assert found.refuted
        assert "%" in found.finding


@pytest.mark.montecarlo
@pytest.mark.parametrize(("n_classes", "rows"), [(2, 1_000), (3, 2_000), (3, 10_000), (10, 4_000)])
def test_what_is_called_noticeable_is_noticed_and_a_third_of_it_rarely(n_classes: int, rows: int) -> None:
    population = Population.synthetic(n_classes, strength=4, rows_per_class=4000, rng=0)

    def both(target: Any, seed: int) -> Tally:
        source = population.draw(np.ones(n_classes), rows, rng=seed)
        tally = Tally.from_scores(*source, classes=range(n_classes), soft=False)
        return tally + Tally.from_target(target, classes=range(n_classes), soft=False, bins=False)

    def scores(size: int, seed: int) -> FloatArray:
        return np.asarray(population.draw(np.arange(1, n_classes + 1), size, rng=seed)[0], float)

    share = check_assumption(both(scores(rows, 1), 2), level=LEVEL).noticeable[0].size
    noticed = {1.0: 0, 0.33: 0}
    for seed, part in product(range(12), noticed):
        new = int(rows * part * share)
        ramp = np.tile(np.linspace(0.01, -0.01, n_classes), (new, 1))
        unsure = 1 / n_classes + np.random.default_rng(seed).permuted(ramp, axis=1)
        target = np.vstack([scores(rows - new, seed + 10), unsure])
        noticed[part] += check_assumption(both(target, seed + 50), level=LEVEL).refuted
    assert noticed[1.0] >= 11
    assert noticed[0.33] <= 5


@pytest.mark.montecarlo
def test_small_violations_are_seen_in_few_rows() -> None:
    """Sharpness: with the union of bets that came before the mixture 5 of these draws were refused."""
    seen = 0
    for seed in range(40):
        target = powered(shifted(2000, seed=seed + 100), (0.92, 1.08)[seed % 2])
        seen += check_assumption(counted(target, 2000, seed=seed + 200), level=LEVEL).refuted
    assert seen >= 24


@pytest.mark.long
@pytest.mark.parametrize("name", ["heart", "cifar10", "agnews", "pathmnist"])
def test_false_alarms_on_real_scores(name: str, shared_data: Path) -> None:
    stored = np.load(shared_data / name / "scores.npz")
    population = Population(stored["probs"], stored["labels"])
    n_classes, level, repeats, alarms = stored["probs"].shape[1], 0.05, 2000, 0
    for trial in range(repeats):
        rng = np.random.default_rng([trial, 13])
        rows = int(rng.choice([300, 3000]))
        source = population.draw(rng.dirichlet(np.full(n_classes, 3.0)), rows, rng)
        target = population.draw(rng.dirichlet(np.full(n_classes, 1.0)), rows, rng)[0]
        tally = Tally.from_scores(*source, soft=False) + Tally.from_target(target, soft=False, bins=False)
        alarms += check_assumption(tally, level=level).refuted
    assert binomtest(alarms, repeats, level, alternative="greater").pvalue > 1e-3
