"""After a refusal: how many labels give sets of which size, and lines that work as they are printed."""

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pacshift
from flat import flat
from pacshift import AssumptionError, InputError, Rows, Tally, UninformativeWarning, calibrate, compare
from pacshift.errors import MissingExtraError, PacshiftError, UnfinishedSheetError
from pacshift.labels.labelled import mix_bounds
from pacshift.labels.refusal import sheet_plan
from refused import NAMES, world

SOURCE, SOURCE_LABELS = world(4000, 1, shifted=False)
TARGET, TRUTH = world(3000, 2, shifted=True)
FAR = 0.2 + 0.4 * TARGET  # never sure of anything: few rows are enough to refute
CLASSES: dict[str, Any] = {"classes": NAMES}


def refused(target: Any = TARGET, **options: Any) -> AssumptionError:
    with pytest.raises(AssumptionError) as refusal:
        flat(calibrate, SOURCE, np.array(NAMES)[SOURCE_LABELS], target, **{**CLASSES, **options})
    return refusal.value


def run_lines(error: AssumptionError, target: Any, **options: Any) -> Any:
    """Do what the error says, word by word, in the folder where we are."""
    eval(error.attempt.draw, {"pacshift": pacshift, "target": target})
    sheet = pacshift.LabelSheet.load("to_label.csv")
    sheet.with_labels(np.array(NAMES)[TRUTH[sheet.rows]].tolist()).save("to_label.csv", overwrite=True)

    def again(_rest: Any, **more: Any) -> Any:
        asked = {**CLASSES, **options, **more}
        return calibrate(SOURCE, np.array(NAMES)[SOURCE_LABELS], target, **asked)

    return eval(error.attempt.again, {"calibrate": again})


ASKED: list[dict[str, Any]] = [
    {},
    *({"method": name} for name in ("PS-W", "PS-LW", "LWCP", "WCP")),
    {"epsilon": 0.03, "delta": 0.01},
    {"contamination": 0.02},
    {"known_mix": {"owl": (0.0, 0.9)}},
    {"class_epsilon": 0.3},
    {"method": "PS-LW", "contamination": 0.01},
]


@pytest.mark.parametrize("options", ASKED, ids=str)
def test_the_lines_of_a_refusal_work_as_they_are_printed(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    error = refused(**options)
    made = run_lines(error, TARGET, **options)
    assert made.method == "PS-T"
    assert not made.trivial
    assert error.attempt.draw in str(error)
    assert error.attempt.again in str(error)
    assert error.attempt.method == options.get("method", "PS-LP")
    assert (error.attempt.with_method is None) == (options.get("method") not in ("PS-LW", "LWCP", "WCP"))


@pytest.mark.parametrize("n_target", [250, 130, 60])
def test_no_sheet_is_larger_than_the_target(n_target: int, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    error = refused(FAR[:n_target])
    assert error.attempt.looks == tuple(sorted({min(count, n_target) for count in (100, 200, 400)}))
    assert [count for count, _ in error.expected_sizes] == list(error.attempt.looks)
    assert not run_lines(error, FAR[:n_target]).trivial


def test_a_target_that_is_too_small_is_said_to_be() -> None:
    error = refused(FAR[:250], epsilon=0.001)
    assert "But the 250 target rows are too few for any promise at epsilon 0.001 and delta 0.05" in str(error)
    assert (error.expected_sizes, error.attempt.looks, error.attempt.draw) == ((), (), "")
    assert "label_sheet" not in str(error)


@pytest.mark.parametrize(
    ("epsilon", "delta", "n_target", "looks"),
    [
        (0.1, 0.05, 10**7, (100, 200, 400)),
        (0.01, 0.05, 10**7, (1000, 2000, 4000)),
        (0.1, 1e-30, 10**7, (1000, 2000, 4000)),
        (0.001, 0.05, 15_000, (10_000, 15_000)),
        (1e-5, 0.05, 10**7, (1_000_000,)),
        (1e-8, 0.05, 10**9, None),
        (0.9, 0.5, 10**7, (100, 200, 400)),
        (0.1, 0.05, 10, None),
    ],
)
def test_sheets_of_every_rate_can_be_made(epsilon: float, delta: float, n_target: int, looks: Any) -> None:
    plan = sheet_plan(epsilon, delta, n_target)
    assert (None if plan is None else plan.looks) == looks


def test_expected_sizes_fall_with_labels_and_come_near_the_truth() -> None:
    """Here the scores of the target are not what they were on the source, and sets are somewhat larger."""
    error = refused()
    sizes = [size for _, size in error.expected_sizes]
    assert sizes == sorted(sizes, reverse=True)
    sheet = pacshift.label_sheet(TARGET, budget=400, looks=(100, 200), rng=1, classes=NAMES)
    for count, size in error.expected_sizes:
        labels = np.array(NAMES)[TRUTH[sheet.rows][:count]].tolist()
        asked = CLASSES | {"labelled": sheet.with_labels(labels)}
        made = calibrate(SOURCE, np.array(NAMES)[SOURCE_LABELS], TARGET, **asked)
        assert 0.5 < size / made.sets(TARGET).sum(axis=1).mean() < 1.2


def test_counts_alone_give_an_estimate_too() -> None:
    source = Tally.from_scores(SOURCE, np.array(NAMES)[SOURCE_LABELS], **CLASSES)
    tally = source + Tally.from_target(TARGET, **CLASSES)
    with pytest.raises(AssumptionError) as counted:
        calibrate(tally)
    by_rows = dict(refused().expected_sizes)
    assert [count for count, _ in counted.value.expected_sizes] == [100, 200, 400]
    for count, size in counted.value.expected_sizes:
        assert 0.7 < size / by_rows[count] < 1.4
    with pytest.raises(AssumptionError) as without:
        calibrate(replace(tally, bins=None))
    assert without.value.expected_sizes == ()  # nothing tells the sizes
    assert "budget=400, looks=(100, 200)" in str(without.value)


@pytest.mark.parametrize("score", ["margin", "aps"])
def test_other_scores_and_logits_are_estimated_too(score: str) -> None:
    sizes = [size for _, size in refused(score=score).expected_sizes]
    assert len(sizes) == 3
    assert all(0.9 < size < 3 for size in sizes)
    with pytest.raises(AssumptionError) as logits:
        calibrate(np.log(SOURCE) + 2, SOURCE_LABELS, np.log(TARGET) + 2, softmax=True)
    plain = [size for _, size in refused().expected_sizes]
    assert [size for _, size in logits.value.expected_sizes] == pytest.approx(plain, rel=1e-6)


def test_contamination_costs_and_a_limit_per_class_is_not_estimated() -> None:
    plain, dear = dict(refused().expected_sizes), dict(refused(contamination=0.04).expected_sizes)
    assert all(dear[count] > plain[count] for count in dear)
    assert refused(class_epsilon=0.2).expected_sizes == ()


def test_labels_that_contradict_known_mix_get_no_advice_to_label() -> None:
    labels = [*np.array(NAMES)[TRUTH[:300]].tolist(), *[None] * (len(TRUTH) - 300)]
    error = refused(target_labels=labels, known_mix={"wren": (0.0, 0.05)})
    assert "the labelled target rows contradict known_mix=" in str(error)
    assert "Ways on" not in str(error)
    assert error.attempt is None


def test_labels_that_contradict_known_mix_just_so_get_no_advice_either() -> None:
    """A bound that the test of label shift, at its level, lets pass, and the method's share of delta does not."""
    rng = np.random.default_rng(0)
    source, target = (rng.dirichlet([1, 1, 1], 3000) for _ in range(2))  # of which nothing can be learned
    labels, truth = (rng.choice(3, 3000, p=[0.5, 0.4, 0.1]) for _ in range(2))
    counted = Tally.from_scores(target[:300], truth[:300])
    strict, loose = (mix_bounds(counted, delta=share * 0.05).lower[1] for share in (0.1, 0.05))
    known, some = {1: (0.0, float(strict + loose) / 2)}, [*truth[:300].tolist(), *[None] * 2700]
    with pytest.raises(AssumptionError, match="the labelled target rows contradict known_mix=") as refusal:
        calibrate(source, labels, Rows(target, some), known_mix=known)
    assert "Ways on" not in str(refusal.value)


def test_methods_compared_say_why_they_refuse() -> None:
    made = compare(SOURCE, np.array(NAMES)[SOURCE_LABELS], TARGET, methods=["PS-LP", "PS"], **CLASSES)
    assert "label shift is rejected" in made.rows[0].note


def test_errors_can_be_pickled() -> None:
    error = refused()
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert (again.next_steps, again.expected_sizes) == (error.next_steps, error.expected_sizes)
    assert (again.attempt.draw, again.attempt.looks) == (error.attempt.draw, error.attempt.looks)
    assert again.assumption.finding == error.assumption.finding
    others: list[PacshiftError] = [
        InputError("no"),
        UnfinishedSheetError("not yet"),
        AssumptionError("no", "label", ((100, 1.2),)),
        MissingExtraError("pacshift.plots", ModuleNotFoundError(name="matplotlib.axes"), "plots"),
    ]
    for each in others:
        copy = pickle.loads(pickle.dumps(each))
        assert (type(copy), str(copy)) == (type(each), str(each))
    assert isinstance(pickle.loads(pickle.dumps(UninformativeWarning("all"))), UninformativeWarning)
