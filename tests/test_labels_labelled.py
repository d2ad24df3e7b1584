"""A few target labels: the lemmas of docs/methods/few-labels.md, and a sheet that comes back, look by look."""

from collections.abc import Iterable
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binom

from flat import flat
from pacshift import (
    AssumptionError,
    Certificate,
    InputError,
    Interval,
    LabelSheet,
    Population,
    Rows,
    Tally,
    UnfinishedSheetError,
    UninformativeWarning,
    calibrate,
    verify,
)
from pacshift import label_sheet as make_sheet
from pacshift.arrays import FloatArray
from pacshift.assumption.inequalities import known_box
from pacshift.bounds import binomial_cut, clean_shares
from pacshift.certification.certify import certify as certify_counts
from pacshift.certification.class_bounds import class_miss
from pacshift.certification.counting import CalibrationData
from pacshift.certification.delta import split_delta_one, split_delta_two
from pacshift.certification.request import check_request
from pacshift.labels.labelled import intersect_bounds, mix_bounds, split_by_sheet
from pacshift.labels.sheet import RowDraw
from pacshift.methods import PSC, PSLP, Oracle, Solution, Task, resolve_method
from pacshift.methods.ps import limit_classes
from pacshift.mix.region import known_rows
from pacshift.paths.labelled import LabelledTarget
from pacshift.paths.looks import look_cuts
from pacshift.report import render_report
from pacshift.rows.fold import both
from pacshift.rows.memory import split_labels
from pacshift.rows.rows import bind_pair
from pacshift.scores.transforms import resolve_transform
from pacshift.tally.grid import class_threshold, single_cuts
from refused import NAMES, world

SOURCE_MIX, TARGET_MIX = [0.6, 0.3, 0.1], [0.1, 0.3, 0.6]


@pytest.fixture(scope="module")
def weak() -> Population:
    return Population.synthetic(3, strength=1.5, rng=0)


def drawn(population: Population, seed: int, n_source: int = 2000, n_target: int = 2000) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    return *population.draw(SOURCE_MIX, n_source, rng), *population.draw(TARGET_MIX, n_target, rng)


def first(truth: Any, n_labels: int) -> list[int | None]:
    return [label if place < n_labels else None for place, label in enumerate(truth.tolist())]


def tally_of(counts: list[int]) -> Tally:
    """Labelled rows of some classes; their scores do not matter."""
    labels = np.repeat(np.arange(len(counts)), counts)
    return Tally.from_scores(np.full((len(labels), len(counts)), 0.5), labels, classes=range(len(counts)))


@pytest.mark.montecarlo
@settings(max_examples=30)
@given(st.integers(1, 200), st.integers(0, 1000).map(lambda part: part / 1000), st.floats(1e-4, 0.3))
def test_lemma_1_each_class_is_bounded_at_its_share(n_rows: int, rate: float, delta: float) -> None:
    """Exactly: the probability of all counts whose interval does not hold the rate is at most δ / K.

    Of two classes the second interval is the mirror image of the first: both are wrong at once, at most δ.
    """
    counts = np.arange(n_rows + 1)
    for others, level in (([], delta), ([0], delta / 3)):
        drawn = [tally_of([int(count), n_rows - int(count), *others]) for count in counts]
        bounds = [mix_bounds(each, delta=delta) for each in drawn]
        wrong = [not bound.contains([rate, 1 - rate, *others])[: 1 if others else 2].all() for bound in bounds]
        assert binom.pmf(counts[wrong], n_rows, rate).sum() <= level * (1 + 1e-9)


@pytest.mark.montecarlo
@pytest.mark.parametrize("n_labels", [40, 400])
def test_theorem_certificates_with_labels_keep_their_promise(n_labels: int, weak: Population) -> None:
    """Failures are at most δ, with δ so large that a broken share would show."""
    failed, direct, trials, delta = 0, 0, 60, 0.5
    for seed in range(trials):
        source, source_labels, target, truth = drawn(weak, seed, 600, 600)
        made = calibrate(source, source_labels, Rows(target, first(truth, n_labels)), epsilon=0.2, delta=delta)
        failed += weak.error(made.thresholds, TARGET_MIX) > 0.2
        direct += made.method == "PS-T"
    assert binom.sf(failed - 1, trials, delta) > 1e-3
    assert 0 < direct < trials  # both ways of certifying were chosen


def with_a_new_kind(truth: Any, target: Any, share: float, rng: np.random.Generator) -> list[int | None]:
    """Rows of a new kind look like any other row. They have no class, so they stay unlabelled."""
    new = rng.random(len(truth)) < share
    target[new] = target[rng.permutation(len(truth))[: int(new.sum())]]
    return [None if strange else int(label) for strange, label in zip(new, truth, strict=True)]


@pytest.mark.montecarlo
def test_lemma_4_rows_of_a_new_kind_are_allowed_for(weak: Population) -> None:
    """All rows that have a class are labelled. The others are always missed."""
    failed, direct, errors, trials, delta, share = 0, 0, [], 40, 0.5, 0.1
    for seed in range(trials):
        source, source_labels, target, truth = drawn(weak, seed, 600, 600)
        labels = with_a_new_kind(truth, target, share, np.random.default_rng([seed, 1]))
        known = Rows(target, labels)
        made = calibrate(source, source_labels, known, epsilon=0.2, delta=delta, contamination=share)
        errors.append(share + (1 - share) * weak.error(made.thresholds, TARGET_MIX))
        failed += errors[-1] > 0.2
        direct += made.method == "PS-T"
    assert binom.sf(failed - 1, trials, delta) > 1e-3
    assert direct > trials / 2
    assert np.mean(errors) > 0.17  # sharp: nearly all that is allowed is used


@settings(max_examples=200)
@given(
    st.floats(0, 0.9),
    st.lists(st.floats(0, 1), min_size=3, max_size=3),
    st.lists(st.floats(0, 1), min_size=4, max_size=4),
    st.floats(0, 0.1),
)
def test_lemma_3_bounds_of_either_mix_hold_the_clean_one(
    share: float, clean: list[float], strange: list[float], slack: float
) -> None:
    """The last of ``strange`` has no class. A box around the shares of all rows, or of those with a class."""
    mix, other = (np.array(some) + 1e-3 for some in (clean, strange))
    mix, other = mix / mix.sum(), other / other.sum()
    whole = (1 - share) * mix + share * other[:3]
    for shares in (whole, whole / whole.sum()):
        box = clean_shares(Interval(shares - slack, shares + slack), share)
        assert (box.lower <= mix + 1e-12).all()
        assert (mix <= box.upper + 1e-12).all()


def test_lemma_3_is_sharp_and_the_region_and_the_test_use_the_same_bounds() -> None:
    """All contaminated rows are of the class, or none of them is: both ends are reached."""
    share, mix = 0.1, np.array([0.3, 0.7])
    for contaminated in (0, 1):
        whole = (1 - share) * mix + share * np.eye(2)[contaminated]
        box = clean_shares(Interval(whole, whole), share)
        assert box.lower[contaminated] == pytest.approx(mix[contaminated])
        assert box.upper[1 - contaminated] == pytest.approx(mix[1 - contaminated])
    known = Interval(np.array([0.2, 0.05]), np.array([0.5, 1.0]))
    box = known_box(np.ones(2), known, share)
    rows, limits = known_rows(known, share, n_classes=2)
    for t in np.linspace(0, 1, 101):
        candidate = np.array([t, 1 - t])
        inside = bool(((box.lower <= candidate + 1e-12) & (candidate <= box.upper + 1e-12)).all())
        assert inside == bool((rows @ candidate <= limits + 1e-12).all())


def test_known_mix_and_labels_may_be_about_different_rows() -> None:
    """5 % of the target is of a new kind: class 0 is half of all rows, and 52.6 % of those with a class."""
    of_all, of_labelled = (Interval(np.array([s, 0.0]), np.array([s, 1.0])) for s in (0.5, 0.526))
    with pytest.raises(AssumptionError, match="contradict known_mix"):
        intersect_bounds(of_all, of_labelled, (0, 1), level=0.1)
    both = intersect_bounds(of_all, of_labelled, (0, 1), level=0.1, contamination=0.05)
    assert clean_shares(both, 0.05).contains([0.5 / 0.95, 0.45 / 0.95]).all()


def test_labels_make_sets_smaller_where_the_classifier_is_weak(weak: Population) -> None:
    source, source_labels, target, truth = drawn(weak, 4, 3000, 4000)
    known = Rows(target), Rows(target, first(truth, 1000))
    made = [calibrate(source, source_labels, rows, epsilon=0.1, delta=0.05) for rows in known]
    sizes = [weak.size(one.thresholds, TARGET_MIX) for one in made]
    assert sizes[1] < 0.97 * sizes[0]
    assert made[0].n_target_labels == 0
    assert made[1].n_target_labels == 1000
    widths = [(one.prevalence.upper - one.prevalence.lower).sum() for one in made if one.prevalence is not None]
    assert widths[1] < widths[0]


def test_the_shares_add_up() -> None:
    """With the level of the test of label shift, after which PS-T has all of δ."""
    for class_epsilon in (None, 0.2):
        request = check_request(delta=0.1, class_epsilon=class_epsilon)
        for name in ("PS-LP", "PS-W"):
            shares = split_delta_two(request, resolve_method(name))
            spent = shares.method + 2 * shares.cap + shares.labels + shares.mix
            assert spent + 0.1 * 0.1 == pytest.approx(0.1)
            assert min(shares.method, shares.labels) > 0
            # Bounds of the misses: of both candidates, of limits (PS-T's after a refusal by the method has two
            # caps), and of PS-T after a refusal by the test. A method may refuse with its whole share.
            assert 2 * shares.misses + 3 * shares.cap + 0.1 * 0.1 == pytest.approx(0.1)
        for by_labels in (True, False):
            alone = split_delta_one(request, by_labels=by_labels)
            assert alone.method + alone.labels + alone.cap == pytest.approx(0.1)
            assert alone.misses + alone.cap == pytest.approx(0.1)


def test_only_methods_that_use_the_mix_pay_for_its_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    tally = Tally.from_scores([[0.9, 0.1], [0.2, 0.8]] * 50, [0, 1] * 50) + Tally.from_target([[0.9, 0.1]] * 50)
    tasks: list[Task] = []

    def asked(_method: Any, _tally: Any, task: Task) -> Solution:
        tasks.append(task)
        return Solution(np.array([0.5, 0.5]))

    for method, share in ((PSLP, 0.5), (PSC, 0.6), (Oracle, 0.6)):
        monkeypatch.setattr(method, "solve", asked)
        request = check_request(delta=0.1, known_mix={0: (0.1, 1)})
        certify_counts(CalibrationData(tally, LabelledTarget.of_tally(tally_of([20, 10]))), method(), request)
        task = tasks.pop()
        assert task.delta == pytest.approx(share * 0.1)
        assert task.known is not None
        assert (task.known.upper[0] < 1) == (method is PSLP)


def test_bounds_of_misses_gain_nothing_from_a_refusal_by_the_method(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be as likely as the method's whole share, which pays for the promise and not for these bounds."""
    rows = [[0.9, 0.1], [0.2, 0.8]]
    tally = Tally.from_scores(rows * 50, [0, 1] * 50) + Tally.from_target(rows * 25)
    spent: list[float] = []

    def refuses(*_: Any) -> Solution:
        raise AssumptionError("no mix fits.")

    def counted(rows: Tally, thresholds: Any, *, delta: float, **more: Any) -> Interval:
        spent.append(delta)
        return class_miss(rows, thresholds, delta=delta, **more)

    monkeypatch.setattr(PSLP, "solve", refuses)
    monkeypatch.setattr("pacshift.certification.certify.class_miss", counted)
    for class_epsilon, share in ((None, 0.45), (0.2, 0.3)):
        request = check_request(delta=0.1, class_epsilon=class_epsilon)
        made = certify_counts(CalibrationData(tally, LabelledTarget.of_tally(tally_of([25, 23]))), PSLP(), request)
        assert made.method == "PS-T"
        assert spent.pop() == pytest.approx(share * 0.1)


def test_rows_that_nobody_can_label_widen_the_bounds_of_the_mix() -> None:
    bounds, wider = (mix_bounds(tally_of([30, 10]), unknown, delta=0.1) for unknown in (0, 5))
    assert (wider.lower < bounds.lower).all()
    assert (wider.upper > bounds.upper).all()
    for place, count in enumerate((30, 10)):  # whatever they are, the interval holds that of the full count
        for more in range(6):
            full = mix_bounds(tally_of([count + more, 45 - count - more]), delta=0.1)
            assert wider.lower[place] <= full.lower[0]
            assert full.upper[0] <= wider.upper[place]


def test_labels_refute_label_shift_that_predictions_cannot(weak: Population) -> None:
    """All rows look like class 0, so predictions say: all of class 0. The labels say otherwise, and certify."""
    source, source_labels, _, _ = drawn(weak, 5)
    target, _ = weak.draw([1, 0, 0], 2000, 6)
    calibrate(source, source_labels, target, epsilon=0.2, delta=0.1)
    made: Any = calibrate(source, source_labels, Rows(target, [2] * 100 + [None] * 1900), epsilon=0.2, delta=0.1)
    assert made.assumption.refuted
    assert "but the labelled rows say at" in made.assumption.finding
    assert made.method == "PS-T"
    assert made.notes[0] == (
        "you asked for PS-LP, but label shift was rejected. This certificate rests on the 100 labelled rows alone."
    )


def test_labels_refute_what_was_said_to_be_known(weak: Population) -> None:
    source, source_labels, target, truth = drawn(weak, 7)
    asked: dict[str, Any] = {"epsilon": 0.2, "delta": 0.1, "known_mix": {2: (0, 0.2)}}
    said = r"the labelled target rows contradict known_mix=: by the labels 5\d\.\d to [\d.]+ % of the target"
    with pytest.raises(AssumptionError, match=said):
        calibrate(source, source_labels, Rows(target, first(truth, 1000)), **asked)
    half = Interval(np.array([0.5, 0.0]), np.array([0.6, 1.0]))
    both = intersect_bounds(half, Interval(np.array([0.4, 0.3]), np.array([0.55, 0.7])), (0, 1), level=0.1)
    assert (both.lower.tolist(), both.upper.tolist()) == ([0.5, 0.3], [0.55, 0.7])


@pytest.mark.parametrize(
    ("given", "places", "labels"),
    [
        ([1, None, 0], [0, 2], [1, 0]),
        (np.array([np.nan, 1.0, 0.0]), [1, 2], [1, 0]),
        (np.array(["0", None, "1"], object), [0, 2], ["0", "1"]),
        (pd.Series([1, None, 0]), [0, 2], [1, 0]),
        (pd.Series([1, None, 0], dtype="Int64"), [0, 2], [1, 0]),
        (pl.Series([1, None, 0]), [0, 2], [1, 0]),
    ],
)
def test_missing_labels_in_all_their_forms(given: Any, places: list[int], labels: list[Any]) -> None:
    found = split_labels(given, (0, 1), 3)
    assert (found[0].tolist(), found[1]) == (places, labels)


@pytest.mark.parametrize(
    ("labels", "options", "said"),
    [
        ([0, 1], {}, r"one entry per target row \(2,000\).*; got 2\."),
        ([None] * 2000, {}, "no row has one"),
        ([7] + [None] * 1999, {}, "1 label not among the classes"),
        ([0] * 2000, {"method": "PS-LW"}, "PS-LW: what it promises is for every label mix"),
        ([0] * 2000, {"method": "PS"}, "is not PAC on the target"),
    ],
)
def test_labels_of_no_use_are_refused(labels: Any, options: dict[str, Any], said: str, weak: Population) -> None:
    source, source_labels, target, _ = drawn(weak, 8)
    with pytest.raises(InputError, match=said):
        calibrate(source, source_labels, Rows(target, labels), epsilon=0.2, delta=0.1, **options)


def test_a_note_says_that_the_labels_certify(weak: Population) -> None:
    source, source_labels, target, truth = drawn(weak, 0, 600, 600)
    made = calibrate(source, source_labels, Rows(target, truth), epsilon=0.2, delta=0.5, class_epsilon=0.4)
    assert made.method == "PS-T"
    assert made.notes[0] == (
        "the labelled rows give smaller sets than PS-LP. This certificate rests on the 600 labelled rows alone."
    )
    assert [made.prevalence, made.weights, made.accuracy] == [None] * 3
    words = made.explain()
    assert "if the 600 labelled rows are a random sample of the target. Label shift is not needed." in words
    assert "Test: label shift was not rejected; this certificate does not need it." in words
    assert "Implied change" not in words
    assert "the source may be anything that does not hold these rows" in made.explain(full=True)


def test_a_limit_per_class_of_the_labels_is_about_cases_that_have_a_class(weak: Population) -> None:
    """With contamination the label-shifted part of a class may all be missed; every text says so alike."""
    source, source_labels, target, truth = drawn(weak, 0, 600, 600)
    limit: dict[str, Any] = {"class_epsilon": 0.4, "contamination": 0.05}
    made = calibrate(source, source_labels, Rows(target, truth), epsilon=0.2, delta=0.5, **limit)
    assert made.method == "PS-T"
    assert "at most 40 % of any one class among cases that have one" in made.explain()
    assert "Cases without a class are always missed." in made.explain(full=True)
    page = render_report(made)
    assert "Cases without a class are always missed." in page
    assert "outside those" not in page


SOURCE, SOURCE_LABELS = world(3000, 1, shifted=False)
TARGET, TRUTH = world(1500, 2, shifted=True)
PEOPLE, THEIR_LABELS = world(30_000, 3, shifted=True)
PROBABILITY = resolve_transform("probability")
SEED = 7
SHEET = make_sheet(TARGET, budget=400, looks=(100, 200), rng=SEED)
LABELS = TRUTH[SHEET.rows].tolist()


def filled(n_labels: int, sheet: LabelSheet = SHEET, *, unknown: Iterable[int] = ()) -> LabelSheet:
    """The first labels of a sheet, with ``?`` at the places that are ``unknown``."""
    labels: list[Any] = TRUTH[sheet.rows][:n_labels].tolist()
    for place in unknown:
        labels[place] = "?"
    return sheet.with_labels(labels)


@pytest.fixture
def same_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    """The seed draws the same rows of all targets."""

    def rows(draw: RowDraw) -> NDArray[np.int64]:
        return np.random.default_rng(draw.seed).permutation(draw.n_rows)[: draw.budget]

    monkeypatch.setattr(RowDraw, "rows", property(rows))


def drawn_by_seed(target: FloatArray) -> LabelSheet:
    return make_sheet(target, budget=400, looks=(100, 200), rng=SEED)


def certify(sheet: Any, **options: Any) -> Certificate:
    asked = {"labelled": sheet, "method": "PS-T"} | options
    made: Certificate = flat(calibrate, SOURCE, SOURCE_LABELS, TARGET, **asked)
    return made


def split(sheet: LabelSheet, target: FloatArray = TARGET, **options: Any) -> LabelledTarget:
    source, seen = bind_pair(SOURCE, SOURCE_LABELS, target)
    assert seen is not None
    request = check_request(**{"epsilon": sheet.epsilon, "delta": sheet.delta} | options)
    return split_by_sheet(source, seen, sheet, PROBABILITY, both(source, seen, soft=False, bins=True), request)


def test_before_the_first_look_nothing_is_certified() -> None:
    with pytest.raises(UnfinishedSheetError) as early:
        certify(filled(0))
    assert str(early.value) == (
        "the label sheet: 0 rows are filled in, and the first look is after 100. "
        "Label 100 more rows from the top. Nothing is certified yet."
    )
    with pytest.raises(UnfinishedSheetError, match=r"23 rows are filled in, .*Nothing is certified yet\.$"):
        certify(filled(23))
    with pytest.raises(UnfinishedSheetError, match=r"By the 24 labels of the pilot, sets of about .* after 400\."):
        certify(filled(24))
    with pytest.raises(UnfinishedSheetError, match="Label 1 more row from the top"):
        certify(filled(99))


def test_what_the_pilot_expects_is_about_what_comes() -> None:
    with pytest.raises(UnfinishedSheetError) as after_pilot:
        certify(filled(24))
    said = str(after_pilot.value).rpartition("expected: ")[2]
    expected = {int(part.split()[2].rstrip(".")): float(part.split()[0]) for part in said.split(", ")}
    assert list(expected) == [100, 200, 400]
    for look, size in expected.items():
        true_size = certify(filled(look)).sets(TARGET).sum(axis=1).mean()
        assert 0.7 * true_size < size < 1.4 * true_size


@pytest.mark.parametrize(("n_labels", "look"), [(100, 0), (101, 0), (199, 0), (200, 1), (399, 1), (400, 2)])
def test_the_last_complete_look_counts(n_labels: int, look: int) -> None:
    found = split(filled(n_labels))
    assert (found.look, found.looks) == (look, (76, 176, 376))
    assert found.test.n_source == found.looks[look]
    assert found.cut(epsilon=0.1, delta=0.05) == look_cuts(found.looks, epsilon=0.1, delta=0.05)[look]
    made = certify(filled(n_labels))
    assert made.n_target_labels == SHEET.looks[look]
    assert made.method == "PS-T"
    assert np.array_equal(made.thresholds, certify(filled(SHEET.looks[look])).thresholds)
    missed = found.test.misses(made.thresholds).sum()
    assert missed == found.cut(epsilon=0.1, delta=0.05)  # nothing is given away
    assert any("labels of the sheet" in note for note in made.notes) == (look < 2)


@pytest.mark.usefixtures("same_draw")
def test_planning_knows_neither_the_rows_of_the_sheet_nor_the_look() -> None:
    """Whatever stands in the rows and labels of the test, and whichever look it is, the same is planned."""
    changed = TARGET.copy()
    tested = drawn_by_seed(TARGET).rows[24:]
    changed[tested] = np.roll(changed[tested], 1, axis=1)
    sheet, again = drawn_by_seed(TARGET), drawn_by_seed(changed)
    assert again.rows.tolist() == sheet.rows.tolist()
    wrong = again.with_labels([*TRUTH[sheet.rows[:24]], *[0] * 376])
    found = [split(filled(look, sheet)) for look in sheet.looks] + [split(wrong, changed)]
    first: Any = found[0].planning
    for each in found:
        planning = each.planning
        assert planning is not None
        for name in ("rows.source", "rows.source_labels", "rows.target", "pilot", "pilot_labels"):
            assert np.array_equal(attrgetter(name)(first), attrgetter(name)(planning)), name
    assert len(first.rows.target) == 1100
    drawn = {tuple(row) for row in TARGET[sheet.rows]}
    assert not drawn & {tuple(row) for row in first.rows.target}
    assert {tuple(row) for row in first.pilot} == {tuple(row) for row in TARGET[sheet.rows[:24]]}


def test_rows_nobody_can_label_are_missed_in_the_test_and_left_out_of_the_pilot() -> None:
    plain, unknown = split(filled(100)), split(filled(100, unknown=[3, 30, 99]))
    assert (unknown.n_unknown, unknown.n_unknown_pilot, unknown.n_without_class, unknown.n_rows) == (2, 1, 3, 100)
    assert (unknown.counted.n_source, unknown.test.n_source) == (97, 74)
    assert unknown.cut(epsilon=0.1, delta=0.2) == plain.cut(epsilon=0.1, delta=0.2) - 2
    assert plain.planning is not None
    assert unknown.planning is not None
    assert (len(plain.planning.pilot), len(unknown.planning.pilot)) == (24, 23)
    made = certify(filled(400, unknown=[300, 301]))
    assert made.n_target_labels == 400
    assert "were missed, with 2 that nobody could label" in made.notes[0]
    known = certify(filled(400))
    assert made.sets(TARGET).sum() > known.sets(TARGET).sum()


def test_too_many_unknown_rows_leave_all_labels() -> None:
    with pytest.warns(UninformativeWarning, match="76 of the 76 rows of the test could not be labelled"):
        made = certify(filled(100, unknown=range(24, 100)))
    assert made.trivial
    with pytest.raises(InputError, match="no row of the label sheet has a class"):
        certify(filled(100, unknown=range(100)))


def test_a_pilot_that_nobody_can_label_tunes_nothing() -> None:
    made = certify(filled(200, unknown=range(24)))
    assert not made.trivial
    assert len(set(made.thresholds.tolist())) == 1  # one threshold for all classes
    with pytest.raises(UnfinishedSheetError, match=r"Nothing is certified yet\.$"):
        certify(filled(30, unknown=range(24)))


@pytest.mark.parametrize("unknown", [0, 5])
def test_what_is_said_of_classes_holds_at_all_looks_and_whatever_the_unknown_rows_are(unknown: int) -> None:
    sheet = filled(400, unknown=[3, 100, 150, 200, 250][:unknown])
    limit, made, counted = 0.15, certify(sheet, class_epsilon=0.15), split(sheet).counted
    assert made.class_miss is not None
    share = 0.2 * 0.05 / 3 / 3  # of three looks and three classes
    totals = (counted.class_counts + unknown).tolist()
    allowed = [binomial_cut(n, epsilon=limit, delta=share) - unknown for n in totals]
    cap = single_cuts([class_threshold(counted, label, cut) for label, cut in enumerate(allowed)])
    assert (made.thresholds <= cap).all()
    assert (made.thresholds == cap).any()  # it binds
    found = class_miss(counted, made.thresholds, delta=0.8 * 0.05 / 3, n_unknown=unknown)
    assert np.allclose(made.class_miss.upper, np.minimum(found.upper, limit), rtol=1e-9)
    assert np.allclose(made.class_miss.lower, np.minimum(found.lower, limit), rtol=1e-9)


def test_blank_rows_may_be_of_any_class_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said of classes, and their limit, count rows that nobody was asked about like unknown ones."""
    capping: list[dict[str, Any]] = []

    def remember(*args: Any, **options: Any) -> Solution:
        capping.append(options)
        return limit_classes(*args, **options)

    monkeypatch.setattr("pacshift.certification.certify.limit_classes", remember)
    blank, unknown, limit = {100, 150, 200, 250, 300}, [110, 160], 0.2
    sheet = filled(400, unknown=unknown)
    sheet = sheet.with_labels(None if row in blank else label for row, label in enumerate(sheet.labels))
    made, rows = certify(sheet, class_epsilon=limit), split(sheet)
    assert made.class_miss is not None
    assert (rows.n_blank, rows.n_without_class, rows.counted.n_source) == (5, 7, 393)
    assert [(each["class_epsilon"], each["n_unknown"]) for each in capping] == [(limit, 7)]
    assert capping[0]["delta"] == pytest.approx(0.2 * 0.05 / 3)  # of three looks
    found = class_miss(rows.counted, made.thresholds, delta=0.8 * 0.05 / 3, n_unknown=7)
    assert np.allclose(made.class_miss.upper, np.minimum(found.upper, limit), rtol=1e-9)
    assert np.allclose(made.class_miss.lower, np.minimum(found.lower, limit), rtol=1e-9)


def test_unknown_rows_of_any_class_stay_within_the_bounds() -> None:
    """However the unknown rows are given to classes, missed or not, bounds that know their class are narrower."""
    counted, rng = split(filled(400)).counted, np.random.default_rng(0)
    thresholds = np.array([0.2, 0.25, 0.1])
    wide = class_miss(counted, thresholds, delta=0.05, n_unknown=6)
    for _ in range(30):
        classes, scores = rng.integers(0, 3, 6), rng.dirichlet([1, 1, 1], 6)
        known = split(filled(400)).counted
        more = known + type(known).from_scores(scores, classes, classes=range(3), soft=False)
        true = class_miss(more, thresholds, delta=0.05)
        assert (wide.lower <= true.lower).all()
        assert (true.upper <= wide.upper).all()


def test_a_class_with_too_few_labels_is_said_to_lack_target_labels() -> None:
    with pytest.warns(UninformativeWarning, match="class 0 is in every set: [0-9]+ labelled target rows"):
        made = certify(filled(100), class_epsilon=0.05)
    assert any("labelled target rows, at least" in reason for reason in made.reasons)
    assert not any("source examples" in reason for reason in made.reasons)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"epsilon": 0.05},
            r"was made for epsilon=0.1, but epsilon=0.05 .* pass epsilon=0\.1\. A second sheet would spend",
        ),
        ({"delta": 0.01}, r"was made for delta=0.05, but delta=0.01 was asked for"),
        ({"target_labels": [0] * 1500}, "the target has labels, and labelled is a sheet"),
        ({"labelled": "nothing.csv"}, "nothing.csv"),
        (
            {"labelled": SHEET.with_labels(["0"] * 99 + ["cat"])},
            "1 label.* no class, the first is 'cat' at order 100",
        ),
    ],
)
def test_what_cannot_be_is_said(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        certify(options["labelled"] if "labelled" in options else filled(100), **options)


def test_another_target_is_refused() -> None:
    for target, said in (
        (TARGET[::-1], "has other scores or another order"),
        (TARGET[:-1], "of 1,500 rows; the target has 1,499"),
        (np.vstack([TARGET[1:2], TARGET[1:]]), "has other scores or another order"),
    ):
        with pytest.raises(InputError, match=said):
            calibrate(SOURCE, SOURCE_LABELS, target, labelled=filled(100))
    with pytest.raises(InputError, match="labelled is a sheet of target rows, but there is no target"):
        calibrate(SOURCE, SOURCE_LABELS, None, labelled=filled(100))


def _easiest(sheet: LabelSheet) -> LabelSheet:
    sure = np.argsort(-np.take_along_axis(TARGET, TRUTH[:, None], 1)[:, 0], kind="stable")[: len(sheet.rows)]
    return replace(sheet, rows=sure)


@pytest.mark.parametrize(
    "forged",
    [
        _easiest(SHEET),
        replace(SHEET, seed=SEED + 1),
        replace(SHEET, rows=SHEET.rows[[1, 0, *range(2, 400)]]),
        replace(SHEET, n_pilot=40),
    ],
    ids=["easiest rows", "another seed", "another order", "another pilot"],
)
def test_rows_that_the_seed_does_not_draw_are_refused(forged: LabelSheet, tmp_path: Path) -> None:
    """The file's checksum is right: whoever changes the rows can compute it again."""
    honest = certify(filled(400), method="PS-T")
    filled(400, forged).save(tmp_path / "sheet.csv")
    said = rf"not those that its seed {forged.seed} draws from the target.* Use the sheet as it was made"
    with pytest.raises(InputError, match=said):
        certify(tmp_path / "sheet.csv")
    with pytest.raises(InputError, match=said):
        verify(honest, SOURCE, SOURCE_LABELS, TARGET, labelled=tmp_path / "sheet.csv")


def test_what_verify_cannot_know_of_labels_is_listed() -> None:
    found = verify(certify(filled(200)), SOURCE, SOURCE_LABELS, TARGET, labelled=filled(200))
    assert found.verdict == "match"
    said = "the target's labels, and how their rows, or the seed of their sheet, were chosen: the maker's word"
    assert said in found.unverified
    unlabelled = calibrate(SOURCE, SOURCE_LABELS, None, method="PS-LW")
    assert said not in verify(unlabelled, SOURCE, SOURCE_LABELS, None).unverified


def test_a_larger_sheet_of_the_same_seed_begins_with_the_same_rows() -> None:
    """So it is a look that the smaller sheet has not paid for: "Sheets" of docs/methods/ps-t.md."""
    larger = make_sheet(TARGET, budget=800, looks=(100, 200), rng=SEED)
    assert larger.rows[:400].tolist() == SHEET.rows.tolist()


@pytest.mark.usefixtures("same_draw")
def test_a_sheet_of_logits_is_about_the_logits() -> None:
    logits = [np.log(SOURCE) + 3, np.log(TARGET) + 3]
    sheet = drawn_by_seed(logits[1])
    made = calibrate(logits[0], SOURCE_LABELS, logits[1], labelled=filled(200, sheet), method="PS-T", softmax=True)
    same = certify(filled(200, drawn_by_seed(TARGET)))
    assert np.allclose(made.thresholds, same.thresholds, rtol=1e-6)  # logits are rounded to single precision
    with pytest.raises(InputError, match="has other scores or another order"):
        calibrate(logits[0], SOURCE_LABELS, logits[1], labelled=filled(200), method="PS-T", softmax=True)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_frames_whose_columns_stand_in_another_order(kind: Any, tmp_path: Path) -> None:
    source = kind({name: SOURCE[:, place] for place, name in enumerate(NAMES)})
    target = kind({NAMES[place]: TARGET[:, place] for place in (2, 0, 1)})
    sheet = make_sheet(target, budget=400, looks=(100, 200), rng=SEED)
    assert sheet.rows.tolist() == SHEET.rows.tolist()
    sheet = sheet.with_labels([NAMES[label] for label in LABELS[:200]])
    made = calibrate(source, np.array(NAMES)[SOURCE_LABELS], target, labelled=sheet, method="PS-T")
    assert np.array_equal(made.thresholds, certify(filled(200)).thresholds)
    sheet.save(tmp_path / "sheet.csv")
    read = calibrate(
        source, np.array(NAMES)[SOURCE_LABELS], target, labelled=tmp_path / "sheet.csv", method="PS-T"
    )
    assert np.array_equal(made.thresholds, read.thresholds)
    sheet.with_labels(["owl"] * 50).save(tmp_path / "sheet.csv", overwrite=True)
    with pytest.raises(UnfinishedSheetError, match=r"sheet\.csv: 50 rows are filled in"):
        calibrate(source, np.array(NAMES)[SOURCE_LABELS], target, labelled=tmp_path / "sheet.csv")


def test_where_label_shift_is_refuted_the_sheet_has_all_of_delta() -> None:
    made, alone = certify(filled(400), method="PS-LP"), certify(filled(400))
    assert made.assumption is not None
    assert made.assumption.refuted
    assert made.method == "PS-T"
    assert np.array_equal(made.thresholds, alone.thresholds)
    assert any("This certificate rests on the 400 labelled rows alone." in note for note in made.notes)


def error(thresholds: FloatArray) -> float:
    """The target error, of the whole population."""
    return float((PEOPLE[np.arange(len(THEIR_LABELS)), THEIR_LABELS] < thresholds[THEIR_LABELS]).mean())


@pytest.mark.montecarlo
def test_all_looks_hold_together_without_label_shift() -> None:
    """In at most δ of the draws any look errs above ε, and in nearly δ of them one does; the sets are small."""
    trials, delta, epsilon, failed, sizes = 100, 0.3, 0.1, 0, []
    single = np.zeros(3)
    for seed in range(trials):
        rows = np.random.default_rng([9, seed]).choice(len(THEIR_LABELS), 900, replace=False)
        target, truth = PEOPLE[rows], THEIR_LABELS[rows]
        sheet = make_sheet(target, budget=400, looks=(100, 200), epsilon=epsilon, delta=delta, rng=seed)
        labels = truth[sheet.rows].tolist()
        made = [
            calibrate(
                SOURCE, SOURCE_LABELS, target, epsilon=epsilon, delta=delta, method="PS-T",
                labelled=sheet.with_labels(labels[:look]),
            )
            for look in sheet.looks
        ]  # fmt: skip
        wrong = np.array([error(each.thresholds) > epsilon for each in made])
        failed, single = failed + bool(wrong.any()), single + wrong
        sizes.append([(each.thresholds <= PEOPLE).sum(axis=1).mean() for each in made])
    assert binom.sf(failed - 1, trials, delta) > 1e-3
    assert binom.cdf(failed, trials, 0.5 * delta) > 1e-3  # sharp: hardly anything of δ is wasted
    assert single.max() < failed  # several looks have their part in it
    best = np.quantile(PEOPLE[np.arange(len(THEIR_LABELS)), THEIR_LABELS], epsilon, method="lower")
    mean, oracle = np.mean(sizes, axis=0), (best <= PEOPLE).sum(axis=1).mean()
    assert (np.diff(mean) < 0).all()
    assert mean[2] < 1.05 * oracle
