"""The hunt: worlds that once broke a promise, a small search for others, and whether it would find them.

python -m benchmarks hunt          # the whole search
"""

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
import pytest
from scipy.stats import binomtest

from benchmarks.hunt import Effort, groups, hunt
from benchmarks.hunt_laws import NEW_KIND, Atoms, Pieces
from benchmarks.hunt_routes import ROUTES
from benchmarks.hunt_runs import (
    ACCEPT,
    DEFAULT,
    NAMED,
    SCAN,
    Result,
    all_cores,
    nearby,
    random_options,
    random_try,
    run_draws,
    try_of,
)
from benchmarks.hunt_tries import (
    CLASS_MISS,
    DESIGNS,
    ERROR,
    NOT_JUDGED,
    OF_OTHERS,
    OPTIONS,
    PREVALENCE,
    Subject,
    Try,
    class_misses,
    judge,
    promised_error,
    subjects,
)
from benchmarks.hunt_worlds import GEOMETRIC, LAWS, SIZES, World
from certificates import alter
from pacshift import Tally, calibrate
from pacshift.arrays import FloatArray, IntArray
from pacshift.methods import METHODS, Method, Solution, Task
from pacshift.methods.base import one_threshold
from pacshift.paths.labelled import LabelledTarget
from pacshift.ps_lp.tuned import HeldOut

SURE = 0.01
"""Failures that are less likely than this, if they came in a share δ of draws, are too many."""

IN_TESTS = 4
"""The draws of tests have nothing in common with those of the hunt."""

REFUTED = "labels, refuted"
BY_LABELS = "accepted, labels", "accepted, a label, labels"
"""The named worlds in which the test of label shift must run."""

DRAWS = {
    "coins 6697/500": 150,
    "coins 64888/500": 40,
    "coins 67951/1000": 30,
    "coins 6550/2000": 100,
    "coins 19484/2000": 60,
    "coins, independent rows": 60,
    "coins, ties 3416/500": 40,
    "coins, score rows 19423/2000": 60,
    "long tail, 201 classes": 4,
    "classes swapped": 60,
    "classes swapped, elimination": 60,
    "known weights": 40,
    "aps in order": 30,
    "raps in order": 30,
    "labels, rows": 100,
    "labels, sheet": 100,
    "labels, few": 100,
    "labels, counts": 60,
    "labels, refuted": 25,
    "ids, 0 to 598": 60,
    "ids, 0 to 598, PS-LP": 40,
    "ids, patient_0 to 1130": 60,
    "ids, alike on both sides": 120,
    "labels of whole patients": 20,
    "looks, largest thresholds": 20,
    "blank rows of a sheet": 60,
    "shares and labels": 60,
    "accepted, knife": 40,
    "accepted, knife, counts": 30,
    "accepted, labels": 40,
    "accepted, a label": 40,
    "accepted, a label, labels": 40,
    "accepted, ties, used in float32": 10,
    "trees, used in float32": 10,
    "trees, made in float32": 10,
}
"""Draws of the named worlds that are enough to find fixed coins, wrong cuts, and what designs break."""


def chance(result: Result, promise: str = ERROR) -> float:
    """How likely so many failures are, if they came in a share δ of draws."""
    if not result.draws:
        return 1.0
    delta = try_of(result.name).delta
    return float(binomtest(result.wrong[promise], result.draws, delta, alternative="greater").pvalue)


def drawn(name: str, draws: int) -> Result:
    return Result.of(name, run_draws(name, IN_TESTS, range(draws)))


@pytest.mark.montecarlo
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMED)
def test_named_worlds_keep_their_promise(name: str, request: pytest.FixtureRequest) -> None:
    """Enough draws, and not too many failures."""
    if name not in (REFUTED, *BY_LABELS):
        request.getfixturevalue("untested")
    result = drawn(name, DRAWS[name])
    assert result.draws == DRAWS[name], result.not_offered
    assert chance(result) > SURE, f"{result.wrong[ERROR]} of {result.draws}"
    assert not name.startswith("labels") or result.wrong[ERROR], "labels use all of delta, or nearly"
    assert name != REFUTED or result.refusals == 0


@pytest.mark.montecarlo
@pytest.mark.usefixtures("untested")
@pytest.mark.parametrize(
    ("name", "draws", "on_rows"), [("coins 67951/1000", 25, False), ("coins, score rows 19423/2000", 40, True)]
)
def test_coins_that_pick_fixed_ranks_are_found(
    name: str, draws: int, on_rows: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Break the coins on purpose: one fixed stream over the sorted scores, whatever the counts are."""

    def fixed(tally: Tally, *_: Any, **__: Any) -> HeldOut:
        rng, counts = np.random.default_rng(15), tally.counts
        held = (rng.random(len(counts)) < 0.15).astype(np.int64)
        repeated = counts != 1
        held[repeated] = rng.binomial(counts[repeated], 0.15)
        return HeldOut(held, rng)

    monkeypatch.setattr("pacshift.ps_lp.tuned.hold_out", fixed)
    if not on_rows:
        monkeypatch.setattr("pacshift.ps_lp.tuned.enough_rows", lambda rows: False)
    assert chance(drawn(name, draws)) < SURE


@pytest.mark.usefixtures("untested")
def test_the_world_of_score_rows_is_tuned_on_them() -> None:
    """Else fixed coins would be found there on counts."""
    case, rng = NAMED["coins, score rows 19423/2000"], np.random.default_rng(0)
    sample = case.world.draw(rng)
    asked = {"epsilon": case.world.epsilon, "delta": case.delta} | OPTIONS["known_mix"](case, sample, rng)
    assert ROUTES[case.route](sample, case.method, asked).facts.tuned_on == "score rows"


def sorted_pilot(scores: FloatArray, labels: IntArray, n_pilot: int, seed: int) -> IntArray:
    """The first rows by class and score."""
    return np.lexsort((scores[np.arange(len(labels)), labels], labels))[:n_pilot]


def in_given_precision(scores: FloatArray) -> tuple[IntArray, FloatArray]:
    """The top label by the scores as they come, the first on ties."""
    return scores.argmax(axis=1), scores.max(axis=1)


NO_LIMITS = (("pacshift.certification.request.check_limits", lambda asked, classes: np.ones(len(classes))),)
"""No label is limited, whatever was asked."""

BREAKS: dict[str, tuple[tuple[str, Any], ...]] = {
    "accepted, knife": (  # what is seen is taken for the truth
        ("pacshift.acceptance.wealth.psi", lambda bet: 0.0 * np.asarray(bet)),
        ("pacshift.acceptance.wealth.WealthTest.passes", lambda test, *given, delta: test.excess(*given) <= 0),
    ),
    "accepted, labels": (
        ("pacshift.methods.accept.few_are_wrong", lambda wrong, n, error, delta: n and wrong <= error * n),
    ),
    "accepted, a label": NO_LIMITS,
    "accepted, a label, labels": NO_LIMITS,
    "blank rows of a sheet": (("pacshift.paths.labelled.Blanks.count_misses", lambda blanks, cuts: 0),),
    "accepted, ties, used in float32": (
        ("pacshift.acceptance.tops.top_labels", in_given_precision),
        ("pacshift.rows.rule.top_labels", in_given_precision),
    ),
}


@pytest.mark.montecarlo
@pytest.mark.parametrize("name", BREAKS)
def test_what_breaks_a_promise_on_purpose_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for what, broken in BREAKS[name]:
        monkeypatch.setattr(what, broken)
    assert chance(drawn(name, DRAWS[name])) < SURE


@pytest.mark.montecarlo
@pytest.mark.slow
@pytest.mark.parametrize("broken", ["a pilot of the first of sorted rows", "one miss too many"])
def test_what_breaks_the_promise_of_labels_is_found(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if broken == "one miss too many":
        exact = LabelledTarget.cut
        monkeypatch.setattr(LabelledTarget, "cut", lambda self, **asked: exact(self, **asked) + 1)
    else:
        monkeypatch.setattr("pacshift.labels.labelled.choose_pilot", sorted_pilot)
    assert chance(drawn("labels, rows", 100 if broken == "one miss too many" else 40)) < SURE


SMALL_HUNT = Effort(worlds=30, scan=2, neighbours=0, again=3, at_small_delta=0, max_classes=3)


def significant(results: list[Result]) -> dict[str, float]:
    """Worlds in which a promise was broken too often for chance, all worlds and promises considered."""
    promises = ERROR, CLASS_MISS, PREVALENCE
    found = {
        f"{one.name}: {promise}: {try_of(one.name)}": chance(one, promise) * len(results) * len(promises)
        for one in results
        for promise in promises
    }
    return {name: p for name, p in found.items() if p < 1e-4}


@pytest.mark.montecarlo
@pytest.mark.slow
def test_small_hunt_finds_nothing_in_any_world_nor_in_all_together() -> None:
    """All worlds together: failures come at most at a rate of the largest δ, in truth at a fraction of it."""
    with all_cores(lambda line: None, n_workers=1) as run_tries:
        bag = hunt(run_tries, SMALL_HUNT, lambda line: None)
    assert significant(bag.scanned) == {}
    assert significant(bag.again) == {}
    for group in (group for part in groups().values() for group in part if not group.on_average):
        members = group.members(bag.scanned)
        failures, draws = sum(one.wrong[group.promise] for one in members), sum(one.draws for one in members)
        if draws:
            assert binomtest(failures, draws, 0.2, alternative="greater").pvalue > SURE, group.title


@dataclass(frozen=True)
class Liar(Method):
    """Promises PAC on the target, and takes the plain quantile of the source."""

    how: Literal["openly", "secretly"] = "openly"

    name = "LIAR"
    guarantee = "pac-target"

    def solve(self, tally: Tally, task: Task) -> Solution:
        return Solution(one_threshold(tally, float(np.quantile(tally.values, min(3 * task.epsilon, 1.0)))))


@pytest.fixture
def liar(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Subject]]:
    """The liar among the methods; random worlds depend on which there are."""
    monkeypatch.setitem(METHODS, "LIAR", Liar)
    try_of.cache_clear()
    yield [one for one in subjects() if one.method == "LIAR"]
    try_of.cache_clear()


@pytest.mark.montecarlo
def test_new_methods_are_hunted_too(liar: list[Subject]) -> None:
    assert [one.name for one in liar] == ["LIAR", "LIAR, how=secretly"]
    names = [str(number) for number in range(160) if random_try(number).subject in liar]
    small = [name for name in names if try_of(name).world.law.n_classes <= 10]
    assert significant([drawn(name, 8) for name in small])


@pytest.fixture(scope="module")
def tries() -> list[Try]:
    return [random_try(number) for number in range(300)]


@pytest.mark.slow
def test_every_promise_has_its_turn(tries: list[Try]) -> None:
    assert {case.subject for case in tries} == set(subjects())
    assert {case.route for case in tries} == set(ROUTES)
    assert {design for case in tries for design in case.designs} == set(DESIGNS)
    assert {case.world.kind for case in tries} == set(LAWS)
    assert {len(case.world.mix) for case in tries} >= {2, 3, 5, 10, 25, 60, 250}
    assert {case.world.in_order for case in tries} == {True, False}
    assert {case.seed is None for case in tries} == {True, False}
    assert min(min(case.world.counts) for case in tries if not case.world.iid) == 0


@pytest.mark.parametrize(
    ("subject", "options"),
    [(DEFAULT, OPTIONS.keys() - {"label_error"}), (ACCEPT, OF_OTHERS[ACCEPT.name])],
    ids=["calibrate", "accept"],
)
def test_every_pair_of_options_has_its_turn(subject: Subject, options: set[str]) -> None:
    rng = np.random.default_rng(0)
    asked = [random_options(subject, rng) for _ in range(700)]
    pairs = {frozenset(pair) for chosen in asked for pair in combinations(chosen, 2)}
    possible = {frozenset(pair) for pair in combinations(options, 2)}
    assert pairs == {pair for pair in possible if sum(name.startswith("score=") for name in pair) < 2}


def test_every_option_of_calibrate_is_tried_or_changes_no_promise() -> None:
    elsewhere = {"label_error", "never_empty"}  # an option of accept, and a view of a certificate
    asked = {option.split("=")[0] for option in OPTIONS} - elsewhere
    fixed = {"epsilon", "delta", "method", "rng", "classes", "progress"}
    # How rows are given, and which of them have a label, is a design.
    data = {"source", "labels", "target", "labelled"}
    asked -= {"groups", "target_groups", "target_labels"}  # of rows
    assert asked | fixed | data == set(inspect.signature(calibrate).parameters)


def test_every_method_that_promises_something_is_tried_or_said_not_to_be() -> None:
    tried = {subject.method for subject in subjects()}
    promising = {name for name, method in METHODS.items() if method.guarantee != "none"}
    assert promising - tried == set(NOT_JUDGED)


def test_a_try_is_the_same_every_time() -> None:
    for name in ("3", "3.1"):
        one, two = (Result.of(name, run_draws(name, SCAN, range(2))) for _ in range(2))
        assert one == two
    assert nearby(random_try(3), 1).world.counts != random_try(3).world.counts


def random_thresholds(n_classes: int) -> Any:
    """A certificate with other thresholds for each class."""
    rng = np.random.default_rng(0)
    certificate = calibrate(
        rng.dirichlet(np.ones(n_classes), 200), rng.integers(n_classes, size=200), None, method="PS-LW"
    )
    return alter(certificate, thresholds=rng.uniform(0.3, 0.9, n_classes))


LAW = Pieces(
    (((0.2, 0.2, 0.3), (0.4, 1.0, 0.7)), ((0.5, 1.0, 1.0),), ((0.1, 0.9, 0.5), (0.9, 0.9, 0.5))), others=(1, 2, 0)
)


@pytest.mark.parametrize("law", [LAW, LAW.atoms(), LAW.atoms(3)])
def test_misses_are_those_of_many_rows(law: Pieces | Atoms) -> None:
    certificate, rng = random_thresholds(3), np.random.default_rng(1)
    table = law.missed(certificate)
    for looks in range(3):
        rows = law.draw(np.full(100_000, looks), rng.random(100_000))
        counted_misses = (~certificate.sets(rows)).mean(axis=0)
        assert np.abs(table[:, looks] - counted_misses).max() < 0.007


@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize("sizes", SIZES)
def test_a_random_row_of_a_random_group_has_the_law_of_its_class(sizes: tuple[int, ...], alike: bool) -> None:
    """So a world with groups is judged as one without."""
    law, rng = LAW.atoms(3), np.random.default_rng(0)
    sample = World("", law, (3000, 3000, 3000), (0.2, 0.3, 0.5), 100, sizes=sizes, alike=alike).draw(rng)
    order = rng.permutation(len(sample.labels))
    _, first = np.unique(sample.groups[order], return_index=True)
    rows = order[first]
    assert len(rows) == 9000
    members = [sample.source[rows[sample.labels[rows] == k], k] for k in range(3)]
    shares = np.array([[(part <= cut).mean() for cut in (0.3, 0.6)] for part in members])
    assert shares == pytest.approx(np.array([[0.3, 0.533], [0, 0.333], [0.167, 0.333]]), abs=0.03)
    for label in range(3):  # groups of a class have one size, or a mean of 4
        rows_of_class, wide = (sample.labels == label).sum(), 0.05 if sizes == (GEOMETRIC,) else 0
        assert rows_of_class == pytest.approx(3000 * (sizes[label % len(sizes)] or 4), rel=wide)


USUAL = 0.75 * 0.1 + 0.25 * 0.2
MORE = (0.96 * 0.75 * 0.1 + 0.04 * 0.9) / (0.96 * 0.75 + 0.04)
"""The misses of class 0, if a share of .04 are of class 0 and look like class 1."""


@pytest.mark.parametrize(
    ("stranger", "options", "error", "misses"),
    [
        ((0, 1), (), USUAL, [0.1, 0.2]),
        ((0, 1), ("contamination",), 0.96 * USUAL + 0.04 * 0.9, [MORE, 0.2]),
        ((NEW_KIND, 1), ("contamination",), 0.96 * USUAL + 0.04, [0.1, 0.2]),
    ],
)
def test_strangers_count_where_they_are_asked_for(
    stranger: tuple[int, int], options: tuple[str, ...], error: float, misses: list[float]
) -> None:
    """Two classes, the sets of which miss .1 and .2, and label 0 in .9 of rows that look like class 1."""
    world = World("", LAW.atoms(), (10, 10), (0.75, 0.25), 10, stranger=stranger)
    case, table = Try("", world, Subject("PS-LP", "PS-LP"), 0.1, options), np.array([[0.1, 0.9], [0.3, 0.2]])
    assert promised_error(case, np.diag(table), table) == pytest.approx(error)
    assert class_misses(case, table) == pytest.approx(misses)


@pytest.mark.parametrize("by_labels", [True, False])
def test_without_label_shift_only_labels_promise_something(by_labels: bool) -> None:
    """Thresholds that miss everything break a promise only if there is one."""
    case = NAMED[REFUTED]
    facts = replace(random_thresholds(2).facts, assumes_label_shift=not by_labels)
    certificate = alter(random_thresholds(2), thresholds=[2.0, 2.0], facts=facts, class_miss=None)
    found = judge(case, certificate)
    assert found.error == pytest.approx(1 / 0.3)
    assert (ERROR in found.broken) == by_labels


def test_label_shift_is_false_only_where_there_are_labels(tries: list[Try]) -> None:
    differing = [case for case in tries if case.world.other_law is not None]
    assert all("target_labels" in case.options and case.subject.method for case in differing)
    assert {case.subject.method for case in differing} >= {"PS-LP", "PS-T", "PS-W"}
    assert all("target_labels" in case.options for case in tries if case.subject.method == "PS-T")
    assert any(case.world.other_law is None for case in tries if case.subject.method == "PS-T")


def test_the_recall_of_a_law_is_that_of_its_rows() -> None:
    tied = Pieces([[(0.5, 0.5, 0.3), (0.6, 1.0, 0.7)], [(0.5, 0.5, 0.3), (0.2, 0.8, 0.7)]], [1, 0])
    for law in (tied, tied.atoms(4000)):
        rows = law.draw(np.repeat([0, 1], 20_000), np.random.default_rng(0).random(40_000))
        right = rows.argmax(axis=1) == np.repeat([0, 1], 20_000)
        assert law.recall == pytest.approx([1.0, 0.35], abs=1e-3)  # of a tie the first label is predicted
        assert [part.mean() for part in np.split(right, 2)] == pytest.approx(law.recall.tolist(), abs=0.02)
