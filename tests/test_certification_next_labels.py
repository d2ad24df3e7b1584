"""Lazy labels: any half-filled sheet is valid, rows that cannot matter are not asked for, the path is frozen."""

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from commands import good
from pacshift import (
    Certificate,
    InputError,
    LabelSheet,
    Rows,
    UnfinishedSheetError,
    UninformativeWarning,
    accept,
    calibrate,
    label_sheet,
    next_labels,
)
from pacshift.arrays import FloatArray, IntArray
from pacshift.methods import PST, Solution, Task
from pacshift.paths.labelled import Blanks, LabelledTarget, families, largest_single
from pacshift.tally import Tally

warnings.filterwarnings("ignore", category=UninformativeWarning)


class World:
    """Scores of a weak classifier, whose source differs from the target by more than its mix."""

    def __init__(
        self, seed: int, n_classes: int = 2, *, budget: int = 200, looks: tuple[int, ...] = (), **rates: float
    ):
        self.rng = np.random.default_rng(seed)
        self.rates: Any = {"epsilon": 0.1, "delta": 0.05, **rates}
        self.centres = 1.6 * np.eye(n_classes)
        self.labels, self.truth = (self.rng.integers(0, n_classes, size) for size in (600, 1500))
        self.source, self.target = self.scores(self.labels), self.scores(self.truth, noise=1.3)
        self.sheet = label_sheet(self.target, budget=budget, looks=looks, rng=seed, **self.rates)
        self.answers = self.truth[self.sheet.rows]

    def scores(self, labels: IntArray, noise: float = 1.0) -> FloatArray:
        logits = self.centres[labels] + noise * self.rng.normal(size=(len(labels), len(self.centres)))
        found = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        return np.asarray(np.round(found, 6))

    def filled(self, asked: IntArray) -> LabelSheet:
        """The sheet with the labels of its pilot and of the rows ``asked``."""
        names: list[int | None] = [None] * len(self.answers)
        for place in [*range(self.sheet.n_pilot), *asked.tolist()]:
            names[place] = int(self.answers[place])
        return self.sheet.with_labels(names)

    def certify(self, sheet: LabelSheet) -> Certificate:
        made = calibrate(self.source, self.labels, self.target, labelled=sheet, method="PS-T", **self.rates)
        return made

    def error(self, made: Certificate) -> float:
        """The share that is missed of a large sample of the target."""
        hidden = self.rng.integers(0, len(self.centres), 20_000)
        return float((~made.sets(self.scores(hidden, noise=1.3))[np.arange(len(hidden)), hidden]).mean())


@given(st.integers(0, 10_000), st.sampled_from([(2, 200, 0.1), (2, 60, 0.1), (3, 200, 0.1), (2, 200, 0.05)]))
@settings(deadline=None, max_examples=25)
def test_lemma_4_blanks_never_raise_a_threshold_whatever_they_are(seed: int, case: tuple[int, int, float]) -> None:
    n_classes, budget, epsilon = case
    world = World(seed, n_classes, budget=budget, epsilon=epsilon)
    whole = world.certify(world.filled(np.arange(budget)))
    missed = ~whole.sets(world.target[world.sheet.rows])[np.arange(budget), world.answers]
    left = world.rng.random(budget) < world.rng.choice([0.1, 0.5])
    left |= missed & (world.rng.random() < 0.5)  # by the labels themselves
    left[world.sheet.n_pilot] = False  # one of the test has a label
    left[-1] = left[world.sheet.n_pilot + 1] = True
    left[-2] = False
    found = world.certify(world.filled(np.flatnonzero(~left)))
    assert (found.thresholds <= whole.thresholds).all()
    assert any("left blank" in note for note in found.notes) or found.trivial


@pytest.mark.parametrize(("seed", "epsilon", "most"), [(1, 0.05, 0.9), (2, 0.1, 1.0), (3, 0.05, 0.9)])
def test_labels_that_are_asked_for_give_the_certificate_of_all(seed: int, epsilon: float, most: float) -> None:
    world = World(seed, budget=400, epsilon=epsilon)
    whole, sheet = world.certify(world.filled(np.arange(400))), world.filled(np.arange(0))
    asked = np.empty(0, np.int64)
    before = np.full(2, -np.inf)
    while True:
        found = next_labels(world.source, world.labels, world.target, labelled=sheet)
        if not len(found.rows):
            break
        asked = np.append(asked, found.rows[:20])
        sheet = LabelSheet(**{**fields(found.sheet), "labels": world.filled(asked).labels})
        now = world.certify(sheet).thresholds
        assert (now >= before).all()  # a label that is asked for never costs anything
        before = now
    np.testing.assert_array_equal(world.certify(found.sheet).thresholds, whole.thresholds)
    assert sheet.n_filled <= most * 400
    assert found.n_spared == 400 - sheet.n_filled
    assert set(found.sheet.kept["needed"]) <= {"", "no"}


def fields(sheet: LabelSheet) -> dict[str, Any]:
    return {name: getattr(sheet, name) for name in LabelSheet.__slots__}


@pytest.mark.montecarlo
def test_the_promise_is_kept_whatever_is_left_blank() -> None:
    """At δ = .2: half of the rows that the whole sheet misses are left out, chosen by their labels."""
    broken, repeats = 0, 80
    for seed in range(repeats):
        world = World(seed, budget=150, delta=0.2, epsilon=0.1)
        whole = world.certify(world.filled(np.arange(150)))
        missed = ~whole.sets(world.target[world.sheet.rows])[np.arange(150), world.answers]
        left = missed & (np.arange(150) % 2 == 0)
        left[-1] = False
        broken += world.error(world.certify(world.filled(np.flatnonzero(~left)))) > 0.1
    assert binomtest(broken, repeats, 0.2, alternative="greater").pvalue > 1e-3


def test_the_path_is_frozen_with_the_first_marks(tmp_path: Path) -> None:
    world = World(5)
    sheet = world.filled(np.arange(0))
    marked = next_labels(world.source, world.labels, world.target, labelled=sheet).sheet
    marked.save(tmp_path / "s.csv")
    again = LabelSheet.load(tmp_path / "s.csv")
    assert again.path == marked.path != ""
    assert again.kept["needed"] == marked.kept["needed"]
    answers = [*again.labels[: again.n_pilot]]
    answers[0] = "1" if answers[0] == "0" else "0"
    changed = again.with_labels([*answers, *map(str, world.answers[again.n_pilot :])])
    with pytest.raises(InputError, match="a label of the pilot, the source"):
        world.certify(changed)
    with pytest.raises(InputError, match="a label of the pilot, the source"):
        next_labels(world.source[1:], world.labels[1:], world.target, labelled=again)
    with pytest.raises(UnfinishedSheetError, match="are the pilot"):
        next_labels(world.source, world.labels, world.target, labelled=world.sheet.with_labels([0]))


@pytest.mark.parametrize("verb", ["calibrate", "accept"])
def test_the_first_certificate_of_a_sheet_fixes_what_plans_later_looks(verb: str, tmp_path: Path) -> None:
    """Otherwise rows that were seen to miss could choose the source, or the score, that they test next."""
    world, path = World(5, budget=400, looks=(200,)), tmp_path / "s.csv"
    half, whole = world.filled(np.arange(200)), world.filled(np.arange(400))

    def certify(labelled: LabelSheet | Path, n: int = 600, **asked: Any) -> Certificate:
        more = {"error" if verb == "accept" else "epsilon": 0.1, "delta": 0.05, **asked}
        way: Any = accept if verb == "accept" else calibrate
        made: Certificate = way(world.source[:n], world.labels[:n], world.target, labelled=labelled, **more)
        return made

    half.save(path)
    path.write_bytes(path.read_bytes().replace(b",", b";").replace(b"\n", b"\r\n"))  # as a spreadsheet saves it
    before = path.read_bytes()
    first = certify(path)
    fixed = LabelSheet.load(path).path
    assert fixed
    assert path.read_bytes().splitlines()[1:] == before.splitlines()[1:]
    assert b" path=" + fixed.encode() in path.read_bytes().splitlines()[0]
    again = path.read_bytes()
    assert np.array_equal(certify(path).thresholds, first.thresholds)
    assert path.read_bytes() == again
    whole.save(tmp_path / "plain.csv")
    later = LabelSheet.load(path).with_labels(whole.labels)
    expected = certify(tmp_path / "plain.csv")
    assert np.array_equal(certify(later).thresholds, expected.thresholds)
    other_score: dict[str, Any] = {} if verb == "accept" else {"score": "margin"}
    for changed in ({"n": 599}, other_score):
        if changed:
            with pytest.raises(InputError, match="since it was first used, a label of the pilot, the source"):
                certify(later, **changed)


def test_a_sheet_that_is_read_only_certifies_with_a_warning(tmp_path: Path, monkeypatch: Any) -> None:
    """One that is seen without logging, and on the command line, which leaves out a ``UserWarning``."""
    world, path = World(5), tmp_path / "s.csv"
    world.filled(np.arange(200)).save(path)

    def refuse(*_: Any, **__: Any) -> None:
        raise InputError("cannot write s.csv: Read-only file system.")

    sheet = LabelSheet.load(path)
    monkeypatch.setattr("pacshift.labels.sheet_file.atomic_write", refuse)
    said = "It should say what its thresholds are planned with"
    with pytest.warns(RuntimeWarning, match=rf"Read-only file system\. {said}"):
        assert not world.certify(sheet).trivial
    path.unlink()
    os.mkfifo(path)
    with pytest.warns(RuntimeWarning, match=rf"s\.csv: it is no regular file\. {said}"):
        assert not world.certify(sheet).trivial


def test_later_looks_come_into_reach_and_never_cost_anything() -> None:
    world = World(6, budget=300, looks=(150,), epsilon=0.1)
    first = world.certify(world.filled(np.arange(150)))
    gap = np.delete(np.arange(230), 200)
    found = world.certify(world.filled(gap))
    assert (found.thresholds >= first.thresholds - 1e-12).all()
    whole = world.certify(world.filled(np.arange(300)))
    assert (found.thresholds <= np.maximum(whole.thresholds, first.thresholds)).all()


def test_one_threshold_with_blanks_is_the_largest_that_passes() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random((40, 3)).round(2)
    test = Tally.from_scores(scores, rng.integers(0, 3, 40), classes=[0, 1, 2])
    for hopeful in (False, True):
        blanks = Blanks(rng.random((25, 3)).round(2), hopeful)
        for cut in (-1, 0, 5, 20, 64, 65):
            (found,) = set(largest_single(test, cut, blanks).tolist())
            cuts = [np.full(3, each) for each in (found, found + 1e-9)]
            counts = [test.misses(cut).sum() + blanks.count_misses(cut) for cut in cuts]
            assert counts[0] <= max(cut, 0) if cut < 0 else counts[0] <= cut
            assert cut < 0 or found == np.inf or counts[1] > cut


def test_with_a_sheet_contamination_is_taken_off_epsilon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blank rows may have no class: then ε - η is tested, not (ε - η) / (1 - η)."""
    world, levels, solve = World(7), list[float](), PST.solve

    def remembered(self: PST, tally: Tally, task: Task) -> Solution:
        levels.append(task.epsilon)
        return solve(self, tally, task)

    monkeypatch.setattr(PST, "solve", remembered)
    some = np.full(len(world.truth), np.nan)
    some[:200] = world.truth[:200]
    data = world.source, world.labels, world.target
    calibrate(*data, labelled=world.filled(np.arange(200)), contamination=0.02, **world.rates)
    calibrate(*data[:2], Rows(data[2], some), contamination=0.02, **world.rates)
    assert levels == pytest.approx([0.08, 0.08 / 0.98])


def test_rows_are_marked_for_the_epsilon_that_is_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    world, asked = World(7), list[float]()

    def remember(*args: Any, epsilon: float) -> Any:
        asked.append(epsilon)
        return families(*args, epsilon=epsilon)

    monkeypatch.setattr("pacshift.certification.next_labels.families", remember)

    def cut(_self: LabelledTarget, *, epsilon: float, delta: float) -> int:
        asked.append(epsilon)
        return round(100 * delta)

    monkeypatch.setattr(LabelledTarget, "cut", cut)
    data = world.source, world.labels, world.target
    next_labels(*data, labelled=world.filled(np.arange(0)), contamination=0.02)
    assert asked == pytest.approx([0.08] * len(asked))


def test_the_command_marks_the_rows_of_the_sheet(tmp_path: Path) -> None:
    world = World(8, epsilon=0.05)
    for name, scores, labels in (("s", world.source, world.labels), ("t", world.target, None)):
        lines = ["p_0,p_1" + ("" if labels is None else ",label")]
        for place, row in enumerate(scores.tolist()):
            lines.append(",".join(map(str, row)) + ("" if labels is None else f",{labels[place]}"))
        (tmp_path / f"{name}.csv").write_text("\n".join(lines))
    source, target, sheet = (tmp_path / name for name in ("s.csv", "t.csv", "sheet.csv"))
    good("label", target, "--budget", "200", "--epsilon", "0.05", "--seed", "1", "-o", sheet)
    made = LabelSheet.load(sheet)
    made.with_labels(world.truth[made.rows[: made.n_pilot]]).save(sheet, overwrite=True)
    assert "labels can still matter" in good("label", "--next", sheet, source, target).stdout
    marked = LabelSheet.load(sheet)
    assert marked.path
    needed = [place for place, mark in enumerate(marked.kept["needed"]) if mark not in ("", "no")]
    answers: list[object] = list(marked.labels)
    for place in needed:
        answers[place] = world.truth[marked.rows[place]]
    marked.with_labels(answers).save(sheet, overwrite=True)
    made_of = tmp_path / "c.json"
    good("calibrate", source, target, "--labelled", sheet, "-m", "PS-T", "-e", "0.05", "-o", made_of)
    n_blank = 200 - made.n_pilot - len(needed)
    assert not n_blank or any("left blank" in note for note in Certificate.load(made_of).notes)
    whole = made.with_labels(world.truth[made.rows])
    whole.save(sheet, overwrite=True)  # without the fingerprint
    words = [
        "calibrate",
        source,
        target,
        "--labelled",
        sheet,
        "-m",
        "PS-T",
        "-e",
        "0.05",
        "--force",
        "-o",
        made_of,
    ]
    written = [good(*words).stdout.count(f"Written: {sheet}") for _ in range(2)]
    assert written == [1, 0]
