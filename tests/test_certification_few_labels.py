"""A few target labels: lemmas and theorem of docs/methods/few-labels.md, and how they reach the certificate."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression

from commands import NAMES, Data, bad, good, make_tables
from pacshift import (
    AssumptionError,
    Certificate,
    InputError,
    Interval,
    PACClassifier,
    Population,
    Tally,
    calibrate,
)
from pacshift.assumption.inequalities import known_box
from pacshift.bounds import clean_shares
from pacshift.certification.certify import certify, one_candidate, two_candidates
from pacshift.certification.counted import Data as Counts
from pacshift.certification.labelled import both_bounds, mix_bounds
from pacshift.certification.request import check_request
from pacshift.certification.trust import class_miss
from pacshift.methods import PSC, PSLP, Oracle, Solution, Task, resolve_method
from pacshift.mix.region import known_rows
from pacshift.paths.labelled import LabelledTarget
from pacshift.report import render_report
from pacshift.rows.memory import split_labels

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
@given(st.integers(1, 200), st.floats(0.0, 1.0), st.floats(1e-4, 0.3))
def test_lemma_1_each_class_is_bounded_at_its_share(n_rows: int, rate: float, delta: float) -> None:
    """Exactly: the probability of all counts whose interval does not hold the rate is at most δ / K."""
    counts = np.arange(n_rows + 1)
    bounds = [mix_bounds(tally_of([int(count), n_rows - int(count)]), delta=delta) for count in counts]
    wrong = [not bound.contains([rate, 1 - rate])[0] for bound in bounds]
    assert binom.pmf(counts[wrong], n_rows, rate).sum() <= delta / 2 * (1 + 1e-9)


@pytest.mark.montecarlo
@pytest.mark.parametrize("n_labels", [40, 400])
def test_theorem_certificates_with_labels_keep_their_promise(n_labels: int, weak: Population) -> None:
    """Failures are at most δ, with δ so large that a broken share would show."""
    failed, direct, trials, delta = 0, 0, 60, 0.5
    for seed in range(trials):
        source, source_labels, target, truth = drawn(weak, seed, 600, 600)
        made = calibrate(
            source, source_labels, target, epsilon=0.2, delta=delta, target_labels=first(truth, n_labels)
        )
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
        made = calibrate(
            source, source_labels, target, epsilon=0.2, delta=delta, contamination=share, target_labels=labels
        )
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
        both_bounds(of_all, of_labelled, (0, 1), level=0.1)
    both = both_bounds(of_all, of_labelled, (0, 1), level=0.1, contamination=0.05)
    assert clean_shares(both, 0.05).contains([0.5 / 0.95, 0.45 / 0.95]).all()


def test_labels_make_sets_smaller_where_the_classifier_is_weak(weak: Population) -> None:
    source, source_labels, target, truth = drawn(weak, 4, 3000, 4000)
    made = [
        calibrate(source, source_labels, target, epsilon=0.1, delta=0.05, target_labels=labels)
        for labels in (None, first(truth, 1000))
    ]
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
            shares = two_candidates(request, resolve_method(name))
            spent = shares.method + 2 * shares.cap + shares.labels + shares.mix
            assert spent + 0.1 * 0.1 == pytest.approx(0.1)
            assert min(shares.method, shares.labels) > 0
            # Bounds of the misses: of both candidates, of limits (PS-T's after a refusal by the method has two
            # caps), and of PS-T after a refusal by the test. A method may refuse with its whole share.
            assert 2 * shares.misses + 3 * shares.cap + 0.1 * 0.1 == pytest.approx(0.1)
        for by_labels in (True, False):
            alone = one_candidate(request, by_labels=by_labels)
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
        request = check_request(delta=0.1, known_mix={0: (0.1, 1)}).for_classes((0, 1))
        certify(Counts(tally, LabelledTarget.of_tally(tally_of([20, 10]))), method(), request)
        task = tasks.pop()
        assert task.delta == pytest.approx(share * 0.1)
        assert task.known is not None
        assert (task.known.upper[0] < 1) == (method is PSLP)


def test_bounds_of_misses_gain_nothing_from_a_refusal_by_the_method(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be as likely as the method's whole share, which pays for the promise and not for these bounds."""
    tally = Tally.from_scores([[0.9, 0.1], [0.2, 0.8]] * 50, [0, 1] * 50) + Tally.from_target([[0.9, 0.1]] * 50)
    spent: list[float] = []

    def refuses(*_: Any) -> Solution:
        raise AssumptionError("no mix fits.")

    def counted(rows: Tally, thresholds: Any, *, delta: float, **more: Any) -> Interval:
        spent.append(delta)
        return class_miss(rows, thresholds, delta=delta, **more)

    monkeypatch.setattr(PSLP, "solve", refuses)
    monkeypatch.setattr("pacshift.certification.certify.class_miss", counted)
    for class_epsilon, share in ((None, 0.45), (0.2, 0.3)):
        request = check_request(delta=0.1, class_epsilon=class_epsilon).for_classes((0, 1))
        made = certify(Counts(tally, LabelledTarget.of_tally(tally_of([25, 23]))), PSLP(), request)
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
    made = calibrate(
        source, source_labels, target, epsilon=0.2, delta=0.1, target_labels=[2] * 100 + [None] * 1900
    )
    assert made.assumption is not None
    assert made.assumption.refuted
    assert "but the labelled target rows say at" in made.assumption.finding
    assert made.method == "PS-T"
    assert made.notes[0] == (
        "PS-LP was asked for, but label shift was refuted. This certificate rests on 100 labelled target rows "
        "alone."
    )


def test_labels_refute_what_was_said_to_be_known(weak: Population) -> None:
    source, source_labels, target, truth = drawn(weak, 7)
    with pytest.raises(
        AssumptionError,
        match=r"the labelled target rows contradict known_mix: by the labels 5\d\.\d to [\d.]+ % of the target",
    ):
        calibrate(
            source,
            source_labels,
            target,
            epsilon=0.2,
            delta=0.1,
            known_mix={2: (0, 0.2)},
            target_labels=first(truth, 1000),
        )
    half = Interval(np.array([0.5, 0.0]), np.array([0.6, 1.0]))
    both = both_bounds(half, Interval(np.array([0.4, 0.3]), np.array([0.55, 0.7])), (0, 1), level=0.1)
    assert (both.lower.tolist(), both.upper.tolist()) == ([0.5, 0.3], [0.55, 0.7])


@pytest.mark.parametrize(
    ("given", "places", "labels"),
    [
        ([1, None, 0], [0, 2], [1, 0]),
        (np.array([np.nan, 1.0, 0.0]), [1, 2], [1, 0]),
        (np.array(["0", None, "1"], object), [0, 2], ["0", "1"]),
    ],
)
def test_missing_labels_in_all_their_forms(given: Any, places: list[int], labels: list[Any]) -> None:
    found = split_labels(given, (0, 1), 3)
    assert (found[0].tolist(), found[1]) == (places, labels)


def test_frames_mark_missing_labels_in_their_own_ways() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for series in (
        pandas.Series([1, None, 0]),
        pandas.Series([1, None, 0], dtype="Int64"),
        polars.Series([1, None, 0]),
    ):
        found = split_labels(series, (0, 1), 3)
        assert (found[0].tolist(), found[1]) == ([0, 2], [1, 0])


@pytest.mark.parametrize(
    ("labels", "options", "said"),
    [
        ([0, 1], {}, r"one entry per target row \(2,000\).* got shape \(2,\)"),
        ([None] * 2000, {}, "no row has a label"),
        ([7] + [None] * 1999, {}, "1 label.s. have no score column"),
        ([0] * 2000, {"method": "PS-LW"}, "PS-LW: what it promises is for every label mix"),
        ([0] * 2000, {"method": "PS"}, "is not PAC on the target"),
        ([0] * 2000, {"method": "WCP"}, "is not PAC on the target"),
    ],
)
def test_labels_of_no_use_are_refused(labels: Any, options: dict[str, Any], said: str, weak: Population) -> None:
    source, source_labels, target, _ = drawn(weak, 8)
    with pytest.raises(InputError, match=said):
        calibrate(source, source_labels, target, epsilon=0.2, delta=0.1, target_labels=labels, **options)


def test_labels_without_target_scores_are_refused(weak: Population) -> None:
    source, source_labels, _, _ = drawn(weak, 8)
    with pytest.raises(InputError, match="target_scores is None"):
        calibrate(source, source_labels, None, epsilon=0.2, delta=0.1, method="PS-LP", target_labels=[1])


def test_a_note_says_that_the_labels_certify(weak: Population) -> None:
    source, source_labels, target, truth = drawn(weak, 0, 600, 600)
    made = calibrate(source, source_labels, target, epsilon=0.2, delta=0.5, target_labels=truth, class_epsilon=0.4)
    assert made.method == "PS-T"
    assert made.notes[0] == (
        "the labelled target rows give smaller sets than PS-LP does under label shift. This certificate rests on "
        "600 labelled target rows alone."
    )
    assert [made.prevalence, made.weights, made.accuracy, made.with_curves().sensitivity] == [None] * 4
    words = made.explain()
    assert "The source may be anything that does not hold these rows" in words
    assert "Test of label shift: not refuted." in words
    assert "Implied change" not in words


def test_a_limit_per_class_of_the_labels_is_about_cases_that_have_a_class(weak: Population) -> None:
    """With contamination the label-shifted part of a class may all be missed; every text says so alike."""
    source, source_labels, target, truth = drawn(weak, 0, 600, 600)
    limit: dict[str, Any] = {"class_epsilon": 0.4, "contamination": 0.05}
    made = calibrate(source, source_labels, target, epsilon=0.2, delta=0.5, target_labels=truth, **limit)
    assert made.method == "PS-T"
    assert "misses at most 40 % of every class among cases that have one" in made.explain()
    assert "They are about the cases that have a class" in made.explain()
    page = render_report(made)
    assert "They are about the cases that have a class." in page
    assert "label-shifted part" not in page
    for documented in (calibrate, calibrate, PACClassifier):
        text = " ".join((documented.__doc__ or "").split())
        assert "here target labels certify instead (PS-T)," in text
        assert "for the cases that have a class" in text


def test_words_file_page_and_estimator(weak: Population, tmp_path: Path) -> None:
    source, source_labels, target, truth = drawn(weak, 9)
    made = calibrate(source, source_labels, target, epsilon=0.2, delta=0.1, target_labels=first(truth, 700))
    words = made.explain()
    assert "2,000 target examples, 700 of them labelled" in words
    assert "pays for one sample of target labels, looked at as planned: another sample, or another look" in words
    assert "he labelled target examples are a random sample of the target" in words
    made.save(tmp_path / "c.json")
    assert Certificate.load(tmp_path / "c.json").n_target_labels == 700
    assert "700 of them labelled" in render_report(made)
    document = json.loads((tmp_path / "c.json").read_text())
    (tmp_path / "c.json").write_text(json.dumps({**document, "n_target_labels": 2001}))
    with pytest.raises(InputError, match="more target rows have labels than there are"):
        Certificate.load(tmp_path / "c.json")
    model = PACClassifier(LogisticRegression(), epsilon=0.2, delta=0.1).fit(source, source_labels)
    model.calibrate(source, source_labels, target, target_labels=first(truth, 300))
    assert model.certificate_.n_target_labels == 300


def test_the_command_reads_a_column_with_nulls(tmp_path: Path) -> None:
    data: Data = make_tables(tmp_path)
    table = pa.parquet.read_table(data.labelled)
    truth = table.column("label").to_pylist()
    some = pa.array([name if place < 400 else None for place, name in enumerate(truth)])
    pa.parquet.write_table(table.drop_columns("label").append_column("seen", some), tmp_path / "target.parquet")
    out = tmp_path / "with.json"
    start = ("calibrate", data.source, tmp_path / "target.parquet")
    good(*start, "--target-label", "seen", "-o", out, "--exact")
    made = Certificate.load(out)
    assert made.n_target_labels == 400
    scores = [
        pa.parquet.read_table(path).select([f"p_{name}" for name in NAMES])
        for path in (data.source, data.labelled)
    ]
    labels = pa.parquet.read_table(data.source).column("label").to_pylist()
    same = calibrate(
        *(np.column_stack([column.to_numpy() for column in scores[0].columns]), labels),
        np.column_stack([column.to_numpy() for column in scores[1].columns]),
        epsilon=0.1,
        delta=0.05,
        classes=NAMES,
        target_labels=some.to_pylist(),
    )
    assert made.method == same.method
    assert np.array_equal(made.thresholds, same.thresholds)
    assert "no column" in bad(*start, "--target-label", "nope", "-o", tmp_path / "x.json").lower()
    own = tmp_path / "own.parquet"  # the labelled rows as the source
    pa.parquet.write_table(table.slice(0, 400), own)
    said = bad("calibrate", own, tmp_path / "target.parquet", "--target-label", "seen", "-o", tmp_path / "x.json")
    assert "labelled target rows are in the source too" in said
    assert "use --method 'PS' with the labelled rows as the source and no target" in said
    good("calibrate", own, "--method", "PS", "-o", tmp_path / "alone.json")
    counts = ("calibrate", "a.tally")
    assert "tallies hold no rows" in bad(*counts, "--target-label", "seen", "-o", tmp_path / "x.json")
