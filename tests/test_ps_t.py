"""PS-T: lemmas of docs/methods/ps-t.md, and that the program is what they are about."""

import tracemalloc
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression
from scipy.stats import binom

from flat import flat
from pacshift import Certificate, InputError, Rows, Tally, UninformativeWarning, calibrate, label_sheet
from pacshift.arrays import FloatArray, IntArray
from pacshift.bounds import binomial_cut
from pacshift.certification.counting import count
from pacshift.certification.request import check_request
from pacshift.labels.labelled import split_at_random
from pacshift.methods import METHODS, PST, Task
from pacshift.paths.labelled import (
    EQUAL_STEPS,
    LEVEL_ENDS,
    LEVEL_STEPS,
    Forecast,
    LabelledTarget,
    RowsToPlan,
    choose_pilot,
    equal_miss_thresholds,
    families,
    planning_rows,
    tuned_path,
)
from pacshift.paths.path import ThresholdPath, fit_isotonic, isotonic, last_passing
from pacshift.paths.posterior import Posterior, fit_posterior, log_evidence, move_posterior
from pacshift.rows.rows import bind_pair
from pacshift.scores.transforms import resolve_transform
from refused import world
from strategies import seeds

PROBABILITY = resolve_transform("probability")

SOURCE, SOURCE_LABELS = world(3000, 1, shifted=False)
TARGET, TRUTH = world(40_000, 2, shifted=True)
SOURCE_TALLY = Tally.from_scores(SOURCE, SOURCE_LABELS)


def test_rows_to_plan_with_are_chosen_without_a_copy_of_the_target() -> None:
    rng = np.random.default_rng(5)
    target = np.asfortranarray(rng.random((100_000, 40), np.float32))  # as a frame has it
    unlabelled = np.sort(rng.choice(len(target), 99_000, replace=False))
    tracemalloc.start()
    found = RowsToPlan.of(SOURCE, SOURCE_LABELS, target, unlabelled).target
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < target.nbytes
    assert np.array_equal(found, RowsToPlan.of(SOURCE, SOURCE_LABELS, target[unlabelled]).target)


def some_labels(
    n_labels: int, rng: np.random.Generator, n_rows: int = 1500
) -> tuple[FloatArray, list[Any], IntArray]:
    """A target drawn from the population, with the labels of a random sample of it."""
    rows = rng.choice(len(TRUTH), n_rows, replace=False)
    known = set(rng.choice(n_rows, n_labels, replace=False).tolist())
    labels = [int(label) if place in known else None for place, label in enumerate(TRUTH[rows])]
    return TARGET[rows], labels, TRUTH[rows]


def error(thresholds: FloatArray) -> float:
    """The target error, of the whole population."""
    return float((TARGET[np.arange(len(TRUTH)), TRUTH] < thresholds[TRUTH]).mean())


def size(thresholds: FloatArray) -> float:
    return float((thresholds <= TARGET).sum(axis=1).mean())


def labelled_rows(n_labels: int, seed: int) -> LabelledTarget:
    rng = np.random.default_rng(seed)
    rows, plan = (rng.integers(len(TRUTH), size=n) for n in (n_labels, 1000))
    to_plan = RowsToPlan.of(SOURCE, SOURCE_LABELS, TARGET[plan])
    request = check_request(epsilon=0.1, delta=0.1, rng=0)
    return split_at_random(TARGET[rows], TRUTH[rows], to_plan, PROBABILITY, SOURCE_TALLY, request)


def by_labels(target: Any, labels: Any, *, source: Any = SOURCE, **asked: Any) -> Certificate:
    asked = {"method": "PS-T", "epsilon": 0.1, "delta": 0.1, "target_labels": labels} | asked
    made: Certificate = flat(calibrate, source, SOURCE_LABELS, target, **asked)
    return made


RATES = [TARGET[label == TRUTH, label] for label in range(3)]
"""True-label scores of each class of the target."""


@pytest.mark.montecarlo
@pytest.mark.parametrize(("n_labels", "tuned"), [(60, False), (240, True)])
def test_lemma_1_no_label_shift_is_needed(n_labels: int, tuned: bool) -> None:
    """Failures are at most δ, and close to it: the binomial test is exact but for whole numbers."""
    trials, delta, epsilon = 250, 0.2, 0.1
    rng, failed, sizes = np.random.default_rng(3), 0, []
    for _ in range(trials):
        made = by_labels(*some_labels(n_labels, rng)[:2], delta=delta)
        assert ("aim at missing" in made.notes[0]) == tuned
        failed += error(made.thresholds) > epsilon
        sizes.append(size(made.thresholds))
    assert binom.sf(failed - 1, trials, delta) > 1e-3
    assert binom.cdf(failed, trials, 0.4 * delta) > 1e-3  # sharp: hardly anything of δ is wasted
    best = np.quantile(TARGET[np.arange(len(TRUTH)), TRUTH], epsilon, method="lower")
    assert np.mean(sizes) < (1.05 if tuned else 1.25) * size(np.full(3, best))


@pytest.mark.montecarlo
@pytest.mark.parametrize("method", ["PS-LP", "PS-C"])
def test_where_label_shift_is_refuted_the_labels_keep_the_promise(method: str) -> None:
    """Nothing is refused, and failures are at most δ. The classes' misses are bounded without label shift too."""
    trials, delta, failed, wrong, refuted = 60, 0.3, 0, 0, 0
    rng = np.random.default_rng(4)
    for _ in range(trials):
        made = by_labels(*some_labels(200, rng, 3000)[:2], delta=delta, method=method)
        refuted += made.assumption is not None and made.assumption.refuted
        failed += error(made.thresholds) > 0.1
        truth = [float((scores < cut).mean()) for scores, cut in zip(RATES, made.thresholds, strict=True)]
        assert made.class_miss is not None
        wrong += not made.class_miss.contains(np.array(truth)).all()
    assert refuted > 0.9 * trials
    assert binom.sf(failed - 1, trials, delta) > 1e-3
    assert binom.sf(wrong - 1, trials, delta) > 1e-3


@pytest.mark.montecarlo
def test_a_limit_per_class_is_kept_by_the_labels_alone() -> None:
    trials, delta, wrong = 60, 0.5, 0
    rng = np.random.default_rng(5)
    for _ in range(trials):
        made = by_labels(*some_labels(300, rng)[:2], delta=delta, class_epsilon=0.15)
        wrong += any((scores < cut).mean() > 0.15 for scores, cut in zip(RATES, made.thresholds, strict=True))
    assert binom.sf(wrong - 1, trials, delta) > 1e-3
    assert wrong > 0  # sharp


@settings(max_examples=60)
@given(
    st.integers(0, 10_000),
    st.integers(1, 60),
    st.sampled_from(["probabilities", "logits", "ties", "constant", "extreme"]),
    st.booleans(),
)
def test_paths_are_nested(seed: int, n_rows: int, kind: str, grid: bool) -> None:
    """No class's threshold falls from step to step, whatever the rows: all that Lemma 1 needs of a path."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet([0.3] * 3, n_rows)
    scores = {
        "probabilities": shares,
        "logits": rng.normal(0, 50, (n_rows, 3)),
        "ties": shares.round(1),
        "constant": np.full((n_rows, 3), 0.25),
        "extreme": np.where(shares > 0.5, 1.0, 0.0),
    }[kind]
    curves = fit_isotonic(scores, rng.dirichlet([0.5] * 3, n_rows))
    path = ThresholdPath(curves, np.array([0.3, np.inf, 0.9]), LEVEL_ENDS, LEVEL_STEPS, grid)
    some = rng.integers(0, LEVEL_STEPS, 200)
    steps = np.unique([*some, 0, 1, LEVEL_STEPS - 2, LEVEL_STEPS - 1])
    cuts = np.array([path.thresholds(int(step)) for step in steps])
    assert (np.diff(cuts, axis=0) >= 0).all()
    assert not np.isnan(cuts).any()
    assert (cuts[0] <= scores.min(axis=0)).all()  # the first step misses nothing


@given(st.integers(0, EQUAL_STEPS - 1), st.integers(1, 50))
def test_the_family_of_equal_miss_rates_is_nested(step: int, more: int) -> None:
    rng = np.random.default_rng(step)
    tally = Tally.from_scores(rng.dirichlet([1, 1, 1], 60).round(2), rng.integers(0, 2, 60), classes=range(3))
    low, high = (equal_miss_thresholds(tally, min(one, EQUAL_STEPS) / EQUAL_STEPS) for one in (step, step + more))
    assert (low <= high).all()
    assert np.isneginf(low[2])  # a class without source rows is never missed
    assert np.isneginf(equal_miss_thresholds(tally, 0)).all()


def test_the_last_step_that_passes_is_found() -> None:
    labelled, source = labelled_rows(300, 1), Tally.from_scores(SOURCE, SOURCE_LABELS)
    cut = binomial_cut(labelled.test.n_source, epsilon=0.1, delta=0.1)
    assert labelled.cut(epsilon=0.1, delta=0.1) == cut
    (family,) = families(labelled, source, epsilon=0.1)
    assert labelled.is_tuned
    thresholds = family(labelled.test, cut)
    assert labelled.test.misses(thresholds).sum() == cut  # continuous scores: nothing is given away
    steps = ThresholdPath(fit_isotonic(SOURCE, SOURCE), np.full(3, np.inf), LEVEL_ENDS, 50, False)
    for last in (-1, 0, 17, 49):  # the first steps are alike
        highest = steps.thresholds(last)
        room = partial(_room, highest)
        assert np.array_equal(steps.thresholds(last_passing(steps, room)), highest)
        # Margins that tell nothing but their sign.
        assert last_passing(steps, partial(_sign, highest)) == last_passing(steps, room)
        assert last_passing(steps, room, before=18) == min(last_passing(steps, room), 17)
    assert np.isneginf(steps.thresholds(-1)).all()


def _room(highest: FloatArray, thresholds: FloatArray) -> float:
    """Below 0 where a threshold is above the highest."""
    return float((highest - thresholds).min())


def _sign(highest: FloatArray, thresholds: FloatArray) -> float:
    return float(np.copysign(1.0, _room(highest, thresholds)))


def test_rows_of_the_test_have_no_part_in_planning() -> None:
    """Whatever stands in the rows of the test, unlabelled rows are planned with; the pilot is not tested."""
    target, labels, _ = some_labels(200, np.random.default_rng(6))
    places = np.array([place for place, label in enumerate(labels) if label is not None])
    request, planned = check_request(epsilon=0.1, delta=0.1), []
    for change in (False, True):
        changed = target.copy()
        if change:
            changed[places] = np.roll(changed[places], 1, axis=1)
        rows = bind_pair(SOURCE, SOURCE_LABELS, Rows(changed, labels))
        found = count(*rows, METHODS["PS-T"](), request, PROBABILITY).labelled
        assert found is not None
        assert found.planning is not None
        planned.append(found.planning.rows.target)
        assert len(found.planning.pilot) + found.test.n_source == found.counted.n_source == 200
        assert found.looks == (found.test.n_source,)
        tested = found.counted.values.tolist()
        for row, label in zip(found.planning.pilot, found.planning.pilot_labels, strict=True):
            tested.remove(row[label])
        assert sorted(found.test.values.tolist()) == sorted(tested)
    assert np.array_equal(planned[0], planned[1])
    labelled = {tuple(row) for row in target[places].tolist()}
    assert not any(tuple(row) in labelled for row in planned[0].tolist())


def own_source(
    how: str, target: FloatArray, labels: list[Any]
) -> tuple[FloatArray, IntArray, FloatArray, list[Any]]:
    """Source, its labels, target and target labels, where labelled rows of the target are in the source too."""
    known = np.array([place for place, label in enumerate(labels) if label is not None])
    rows, own = target[known], np.array([labels[place] for place in known])
    if how == "no other rows at all":
        return rows, own, rows, own.tolist()
    if how == "the source":
        return rows, own, target, labels
    if how == "stored as float32":
        return rows.astype(np.float32), own, target, labels
    if how == "half of them":
        rows, own = rows[::2], own[::2]
    return np.vstack([SOURCE, rows]), np.append(SOURCE_LABELS, own), target, labels


@pytest.mark.parametrize(
    "how", ["the source", "added to the source", "half of them", "no other rows at all", "stored as float32"]
)
@pytest.mark.parametrize("method", ["PS-T", "PS-LP"])
def test_lemma_3_labelled_rows_that_are_in_the_source_too_are_refused(how: str, method: str) -> None:
    target, labels, _ = some_labels(200, np.random.default_rng(3))
    source, own, rows, given = own_source(how, target, labels)
    with pytest.raises(InputError, match=r"labelled target rows are in the source too: .* Leave these rows out"):
        calibrate(source, own, Rows(rows, given), method=method)
    places = [place for place, label in enumerate(given) if label is not None]
    instead = calibrate(rows[places], [given[place] for place in places], None, method="PS")
    assert (instead.guarantee, instead.trivial) == ("pac-source", False)


def test_lemma_3_sheets_pilots_and_counts() -> None:
    """The pilot may be in the source, which plans too. Of counts alone it is seen where all rows are the same."""
    target, truth = world(1500, 5, shifted=True)
    sheet = label_sheet(target, budget=300, looks=(200,), rng=1)
    sheet = sheet.with_labels(truth[sheet.rows])
    rows, own = target[sheet.rows], truth[sheet.rows]
    pilot = (np.vstack([SOURCE, rows[: sheet.n_pilot]]), np.append(SOURCE_LABELS, own[: sheet.n_pilot]))
    assert calibrate(*pilot, target, method="PS-T", labelled=sheet).method == "PS-T"
    earlier_look = (np.vstack([SOURCE, rows[:200]]), np.append(SOURCE_LABELS, own[:200]))
    for source, labels in (earlier_look, (rows, own)):
        with pytest.raises(InputError, match="labelled target rows are in the source too"):
            calibrate(source, labels, target, method="PS-T", labelled=sheet)
    counted = Tally.from_scores(rows, own)
    with pytest.raises(InputError, match="labelled target rows are in the source too"):
        calibrate(counted + Tally.from_target(target), method="PS-T", labelled=counted)


def test_lemma_3_the_bound_of_counts_by_hand() -> None:
    """Where all of 30 tested rows are alike: e times the root of the number of source rows times e ** -30."""
    source = Tally.from_scores([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]], [0, 0, 0, 0], classes=[0, 1])
    rows = Tally.from_scores([[0.9, 0.1], [0.8, 0.2], [0.75, 0.25]], [0, 0, 0], classes=[0, 1])
    found = LabelledTarget.of_tally(rows).chance_to_match(source + source)
    assert found == 1.0  # every row of the source comes twice, none of these does
    found = LabelledTarget.of_tally(rows + rows + rows + rows).chance_to_match(source)
    assert found == 1.0
    many = Tally.sum([Tally.from_scores([[1 - k / 64, k / 64]], [0], classes=[0, 1]) for k in range(1, 31)])
    alike = LabelledTarget.of_tally(many).chance_to_match(many)
    assert alike == pytest.approx(np.e * np.sqrt(30) * np.exp(-30))


def _tied(kind: str, n_rows: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
    """Two classes whose scores repeat."""
    p = rng.beta(0.6, 0.6, n_rows)
    if kind == "one decimal":
        p = p.round(1)
    elif kind == "three decimals":
        p = p.round(3)
    elif kind == "a finite population":
        p = np.random.default_rng(0).beta(0.6, 0.6, 600)[rng.integers(0, 600, n_rows)]
    elif kind == "half are sure":
        p = np.where(rng.random(n_rows) < 0.5, 1.0, p)
    return np.column_stack([1 - p, p]), (rng.random(n_rows) < p).astype(int)


TIES = ("one decimal", "three decimals", "a finite population", "half are sure", "none")


@pytest.mark.montecarlo
@pytest.mark.parametrize("kind", TIES)
@pytest.mark.parametrize("sizes", [(300, 150, 1000), (2000, 150, 6000), (150, 150, 0)])
def test_lemma_3_rows_that_only_look_alike_are_unlikely(kind: str, sizes: tuple[int, int, int]) -> None:
    """Samples of the target are cut off above 4,000 rows, where a frequent row may be the last."""
    n_source, n_labels, n_others = sizes
    chances = []
    for seed in range(100):
        rng = np.random.default_rng([seed, 1])
        source, labels = _tied(kind, n_source, rng)
        target, truth = _tied(kind, n_labels + n_others, rng)
        to_plan = RowsToPlan.of(source, labels, target, np.arange(n_labels, n_labels + n_others))
        counted = Tally.from_scores(target[:n_labels], truth[:n_labels], classes=[0, 1])
        tested = Tally.from_scores(target[30:n_labels], truth[30:n_labels], classes=[0, 1])
        by_rows = to_plan.chance_to_see(target[30:n_labels])
        tally = Tally.from_scores(source, labels, classes=[0, 1])
        by_counts = LabelledTarget(counted, tested).chance_to_match(tally)
        chances.append((by_rows, by_counts))
    for level in (0.02, 0.1):
        assert (np.array(chances) < level).sum(axis=0).max() <= binom.isf(1e-6, 100, level)


@pytest.mark.parametrize("kind", TIES)
def test_scores_that_repeat_are_not_taken_for_the_same_rows(kind: str) -> None:
    rng = np.random.default_rng(8)
    source, labels = _tied(kind, 400, rng)
    target, truth = _tied(kind, 1200, rng)
    some = [int(label) if place < 400 else None for place, label in enumerate(truth)]
    asked: dict[str, Any] = {"method": "PS-T", "epsilon": 0.2, "delta": 0.1}
    assert calibrate(source, labels, Rows(target, some), **asked).n_target_labels == 400
    assert calibrate(source, labels, Rows(target[:400], some[:400]), **asked).n_target_labels == 400
    with pytest.raises(InputError, match="labelled target rows are in the source too"):  # also with one decimal
        calibrate(target[:400], truth[:400], Rows(target, some), **asked)


def test_the_same_rows_in_any_order_give_the_same_certificate() -> None:
    rng = np.random.default_rng(7)
    target, labels, _ = some_labels(150, rng)
    first = by_labels(target, labels)
    order, other = rng.permutation(len(target)), rng.permutation(len(SOURCE))
    again = calibrate(
        SOURCE[other],
        SOURCE_LABELS[other],
        Rows(target[order], [labels[k] for k in order]),
        epsilon=0.1,
        delta=0.1,
        method="PS-T",
    )
    assert np.array_equal(first.thresholds, again.thresholds)
    assert not np.array_equal(first.thresholds, by_labels(target, labels, rng=1).thresholds)


def test_the_pilot_is_a_random_choice_also_of_equal_rows() -> None:
    """Every row is as likely in the pilot as any other, whatever it holds: over many samples, and with ties."""
    counts, trials = np.zeros(4), 400
    for trial in range(trials):
        rng = np.random.default_rng(trial)
        values = rng.choice([0.1, 0.4, 0.6, 0.9], 40)
        chosen = choose_pilot(np.column_stack([values, 1 - values]), (values > 0.5).astype(np.int64), 10, 0)
        assert len(set(chosen.tolist())) == 10
        counts += [np.mean(values[chosen] == value) - np.mean(values == value) for value in (0.1, 0.4, 0.6, 0.9)]
    assert (np.abs(counts / trials) < 4 * 0.5 / np.sqrt(10 * trials)).all()


def test_planning_rows_are_the_same_in_any_order_and_not_too_many() -> None:
    order = np.random.default_rng(8).permutation(len(TARGET))
    one, other = TARGET[planning_rows(TARGET, None, 100)], TARGET[order][planning_rows(TARGET[order], None, 100)]
    assert len(one) == 100
    assert np.array_equal(one, other)


def test_of_rows_that_are_alike_every_label_gets_its_share_in_any_order() -> None:
    rng = np.random.default_rng(9)
    values = rng.choice([0.1, 0.4, 0.9], 5000)
    scores, labels = np.column_stack([values, 1 - values]), (rng.random(5000) < 0.3).astype(np.int64)
    order = rng.permutation(5000)
    for most in (10, 700, 2500):
        one, other = planning_rows(scores, labels, most), order[planning_rows(scores[order], labels[order], most)]
        assert len(set(one.tolist())) == most
        assert np.array_equal(scores[one], scores[other])
        assert np.array_equal(labels[one], labels[other])
        assert abs(labels[one].mean() - labels.mean()) < 0.05 + 1 / most


def test_lemma_2_rows_that_nobody_can_label_count_as_missed() -> None:
    # A step of the path may let in two rows at once; here none of the last does.
    labelled, source = labelled_rows(300, 11), Tally.from_scores(SOURCE, SOURCE_LABELS)
    rows = labelled.looks[0]
    unsure = replace(labelled, n_unknown=4, looks=(rows + 4,))
    cut = binomial_cut(rows + 4, epsilon=0.1, delta=0.1)
    thresholds = PST().solve(source, Task(0.1, 0.1, labelled=unsure)).thresholds
    assert unsure.test.misses(thresholds).sum() == cut - 4
    hopeless = replace(labelled, n_unknown=60, looks=(rows + 60,))
    solution = PST().solve(source, Task(0.1, 0.1, labelled=hopeless))
    assert np.isneginf(solution.thresholds).all()
    assert "60 of the" in solution.reasons[0]
    assert "could not be labelled, and count as missed" in solution.reasons[0]


def test_the_aim_caps_every_class() -> None:
    source = Tally.from_scores(SOURCE, SOURCE_LABELS, classes=range(3))
    caps = tuned_path(Forecast(SOURCE, SOURCE), source, epsilon=0.1).caps  # twice epsilon
    missed = source.misses(caps) / source.class_counts
    assert (missed <= 0.2).all()
    assert (missed > 0.19).all()
    few = Tally.from_scores([[0.9, 0.1], [0.2, 0.8]] * 2, [0, 1] * 2)
    caps = tuned_path(Forecast(SOURCE[:, :2], SOURCE[:, :2]), few, epsilon=0.1).caps
    assert np.isposinf(caps).all()  # two rows cannot say what a fifth is


def test_counts_alone_are_enough() -> None:
    """Two families at half of δ each; the smaller sets are kept."""
    rng = np.random.default_rng(10)
    target, labels, truth = some_labels(400, rng)
    places = np.array([place for place, label in enumerate(labels) if label is not None])
    tally = Tally.from_scores(SOURCE, SOURCE_LABELS) + Tally.from_target(target)
    counted = Tally.from_scores(target[places], truth[places])
    made = calibrate(tally, epsilon=0.1, delta=0.1, method="PS-T", labelled=counted)
    missed = counted.misses(made.thresholds).sum()
    assert missed <= binomial_cut(400, epsilon=0.1, delta=0.05) < missed + 8
    assert made.n_target_labels == 400


def test_too_few_labels_give_all_labels_with_the_number_needed() -> None:
    target, labels, _ = some_labels(20, np.random.default_rng(11))
    with pytest.warns(UninformativeWarning, match="20 labelled target rows cannot promise .* at least 29"):
        assert by_labels(target, labels, delta=0.05).trivial


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"target_labels": None}, "method PS-T needs labelled target rows"),
        ({"contamination": 0.01}, "contamination is about label shift, of which method PS-T assumes nothing"),
        ({"known_mix": {0: (0, 0.5)}}, "known_mix is about label shift, of which method PS-T assumes nothing"),
    ],
)
def test_what_does_not_fit_is_refused(options: dict[str, Any], said: str) -> None:
    target, labels, _ = some_labels(100, np.random.default_rng(12))
    with pytest.raises(InputError, match=said):
        by_labels(target, labels, **options)


@pytest.mark.parametrize("score", ["margin", "aps", "raps"])
def test_other_scores_and_logits_are_planned_with_too(score: str) -> None:
    target, labels, _ = some_labels(300, np.random.default_rng(13))
    made, rows = by_labels(target, labels, score=score), np.log(target) + 7
    assert not made.trivial
    logits = by_labels(rows, labels, source=np.log(SOURCE) + 7)
    sizes = [one.sets(each).sum(axis=1).mean() for one, each in ((made, target), (logits, rows))]
    assert max(sizes) < 2.0


def test_the_posterior_finds_what_was_put_in() -> None:
    """Labels drawn from softmax(2 z + offsets), moved by a few rows of a population with other offsets."""
    rng = np.random.default_rng(14)
    evidence = rng.normal(0, 1, (20_000, 3))
    truth = Posterior(np.full(3, 2.0), np.array([1.0, 0.0, -1.0]))

    def draw(posterior: Posterior) -> IntArray:
        return np.asarray((posterior.of(evidence).cumsum(axis=1) < rng.random((len(evidence), 1))).sum(axis=1))

    found = fit_posterior(evidence, draw(truth))
    assert np.allclose(found.slopes, truth.slopes, atol=0.1)
    assert np.allclose(found.offsets - found.offsets.mean(), truth.offsets, atol=0.1)
    other = Posterior(np.full(3, 1.0), np.array([-1.0, 0.0, 1.0]))
    near = move_posterior(found, evidence[:80], draw(other)[:80])
    gap = [np.abs(one.of(evidence) - other.of(evidence)).mean() for one in (found, near)]
    assert gap[1] < 0.4 * gap[0]
    assert move_posterior(found, evidence[:0], np.zeros(0, np.int64)) is found


def test_evidence_of_any_scale() -> None:
    for scores in (SOURCE, SOURCE * 255, np.log(SOURCE)):
        found = fit_posterior(log_evidence(scores[:2000]), SOURCE_LABELS[:2000]).of(log_evidence(scores[2000:]))
        right = (found.argmax(axis=1) == SOURCE_LABELS[2000:]).mean()
        assert right > 0.75


@given(seed=seeds)
def test_isotonic_regression_is_that_of_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values, weights = rng.normal(size=30).round(1) + np.arange(30) * 0.1, rng.integers(1, 9, 30)
    expected = isotonic_regression(values, weights=weights).x
    assert isotonic(values, weights) == pytest.approx(expected, abs=1e-12)
