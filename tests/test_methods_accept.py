"""What the proof of accept takes for granted: which rows plan, which test, at which level, and when testing stops.

Spies look at the arguments, because certificates have slack: a break of the proof seldom shows in their errors.
"""

from collections.abc import Callable, Iterator
from itertools import chain, repeat
from typing import Any

import numpy as np
import pytest

from pacshift import Population, Tally, accept, label_sheet
from pacshift.acceptance.plan import N_RULES
from pacshift.acceptance.tops import TopScoreTable
from pacshift.acceptance.wealth import WealthTest, label_loss, loss
from pacshift.bounds import clopper_pearson
from pacshift.methods import RowAccess, Task
from pacshift.methods import accept as module
from pacshift.methods.accept import LIMITS, REGION_SHARE, Accept, AcceptByLabels, few_are_wrong, table_by_labels
from pacshift.methods.base import Solution
from pacshift.paths.labelled import Blanks, LabelledTarget
from pacshift.tally.grid import single_cuts

KINDS = ("bill", "order", "other")
LETTERS = Population.synthetic(KINDS, strength=4, rng=0)
SOURCE, SOURCE_KINDS = LETTERS.draw([0.6, 0.3, 0.1], 3000, rng=1)
TARGET, TRUTH = LETTERS.draw([0.3, 0.3, 0.4], 2000, rng=2)
PLACES, TRUE_PLACES = (np.array([KINDS.index(name) for name in names]) for names in (SOURCE_KINDS, TRUTH))
TALLY = Tally.from_scores(SOURCE, SOURCE_KINDS, classes=KINDS) + Tally.from_target(TARGET, classes=KINDS)
EPSILON, DELTA = 0.05, 0.2
LIMITED = np.array([0.2, 1.0, 0.1])


class Spy:
    """Calls a function and remembers its arguments and answers; ``answers`` are given instead, while they last."""

    def __init__(self, function: Callable[..., Any], answers: Iterator[Any] | None = None) -> None:
        self.function, self.answers = function, answers
        self.calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
        self.returned: list[Any] = []

    def __call__(self, *args: Any, **options: Any) -> Any:
        self.calls.append((args, options))
        self.returned.append(self.function(*args, **options) if self.answers is None else next(self.answers))
        return self.returned[-1]

    def options(self, name: str) -> list[Any]:
        """One option of all calls."""
        return [options[name] for _, options in self.calls]


def spy_on(monkeypatch: pytest.MonkeyPatch, name: str, answers: Iterator[Any] | None = None) -> Spy:
    """A spy in place of what ``pacshift.methods.accept`` calls."""
    spy = Spy(getattr(module, name), answers)
    monkeypatch.setattr(module, name, spy)
    return spy


def spy_on_tests(monkeypatch: pytest.MonkeyPatch, answers: Iterator[bool] | None = None) -> Spy:
    """A spy in place of ``WealthTest.passes``; the first argument of each call is the test."""
    spy = Spy(WealthTest.passes, answers)
    monkeypatch.setattr(WealthTest, "passes", lambda *args, **options: spy(*args, **options))
    return spy


def tops() -> tuple[TopScoreTable, TopScoreTable]:
    return TopScoreTable.of_rows(SOURCE, PLACES), TopScoreTable.of_rows(TARGET)


def solve(method: Any = Accept(), *, limits: Any = None, **more: Any) -> Solution:  # noqa: B008
    found: Solution = method.solve(
        TALLY, Task(EPSILON, DELTA, rows=RowAccess(top_scores=tops), limits=limits, **more)
    )
    return found


def labelled(looks: tuple[int, ...] = (300,), look: int = 0, **more: Any) -> LabelledTarget:
    """The first rows of the target with their labels, all of them tested."""
    n_rows = looks[look]
    counts = Tally.from_scores(TARGET[:n_rows], TRUTH[:n_rows], classes=KINDS)
    own = TopScoreTable.of_rows(TARGET[:n_rows], TRUE_PLACES[:n_rows])
    return LabelledTarget(counts, counts, looks=looks, look=look, tops=own, **more)


# Under label shift


def test_every_row_either_plans_or_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """The theorem needs held-out rows to be others than those that test, on both sides."""
    paths, mixes, bets = (spy_on(monkeypatch, name) for name in ("planned_path", "planned_mix", "plan_bet"))
    tests = spy_on_tests(monkeypatch)
    found: Any = solve(limits=LIMITED)
    found.by_label(DELTA)
    (held, _, held_target, *_), _ = paths.calls[0]
    assert mixes.calls[0][0][:2] == (held, held_target)
    for (wealth, _, source, target), _ in tests.calls:
        assert source.sum() + held.n_rows == len(SOURCE)
        assert target.sum() + held_target.n_rows == len(TARGET)
        assert wealth.rows.tolist() == source.sum(axis=0).tolist()
        assert wealth.n_target == target.sum()
    for (_, table, *_), _ in bets.calls:
        assert table.sum() == held.n_rows
    assert 0 < held.n_rows < len(SOURCE)
    assert 0 < held_target.n_rows < len(TARGET)


def test_rows_that_test_are_those_that_do_not_plan_entry_by_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    paths, tests = spy_on(monkeypatch, "planned_path"), spy_on_tests(monkeypatch)
    solve()
    (held, _, held_target, *_), _ = paths.calls[0]
    path = paths.returned[0]
    (source, target), n_kinds = tops(), len(KINDS)
    others = source.tables(path, n_kinds) - held.tables(path, n_kinds)
    target_others = (target.tables(path, 1) - held_target.tables(path, 1))[:, :, 0]
    for (_, _, seen, seen_target), _ in tests.calls:
        rules = [rule for rule in range(len(path)) if np.array_equal(seen, others[rule])]
        assert rules
        assert any(np.array_equal(seen_target, target_others[rule]) for rule in rules)


def test_testing_stops_at_the_first_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lemma 4: a rule behind one that failed is not tested, however well it would do."""
    paths = spy_on(monkeypatch, "planned_path")
    tests = spy_on_tests(monkeypatch, chain([True, True, False], repeat(True)))
    found = solve()
    path, kept = paths.returned[0], tests.calls[1][0]
    assert len(tests.calls) == 3
    accepting = np.array([np.array_equal(single_cuts(rule), found.thresholds) for rule in path])
    assert accepting.any()
    everything = [side.tables(path, len(KINDS)) for side in tops()]
    held = paths.calls[0][0][0].tables(path, len(KINDS))
    assert any(np.array_equal(kept[2], rule) for rule in (everything[0] - held)[accepting])


def test_limits_of_labels_are_tested_for_every_rule_at_its_level(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lemma 6: of one rule all tests are at one level, and all must pass."""
    regions, tests = spy_on(monkeypatch, "prevalence_region"), spy_on_tests(monkeypatch, repeat(True))
    used = solve(limits=LIMITED).thresholds < np.inf
    assert set(tests.options("delta")) == {(1 - REGION_SHARE) * DELTA}
    assert regions.options("delta")[0] + tests.options("delta")[0] == pytest.approx(DELTA)
    wanted = [loss(3, EPSILON), label_loss(3, 0, 0.2), label_loss(3, 2, 0.1)]
    assert used[[0, 2]].all()
    for expected, ((_, bet, *_), _) in zip(wanted, tests.calls[-3:], strict=True):
        assert np.array_equal(bet.loss, expected)


@pytest.mark.parametrize("failing", range(3))
def test_a_rule_of_which_one_test_fails_is_not_kept(failing: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def passes(_test: WealthTest, bet: Any, *_: Any, **__: Any) -> bool:
        losses = (loss(3, EPSILON), label_loss(3, 0, 0.2), label_loss(3, 2, 0.1))
        return not np.array_equal(bet.loss, losses[failing])

    monkeypatch.setattr(WealthTest, "passes", passes)
    monkeypatch.setattr(module, "within_limits", lambda path, _sure: path)  # all labels from the first rule on
    assert np.isposinf(solve(limits=LIMITED).thresholds).all()


def test_errors_of_labels_stop_at_the_first_limit_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    found: Any = solve()
    tests = spy_on_tests(monkeypatch, chain(*([True, True, False] for _ in KINDS), repeat(True)))
    intervals = spy_on(monkeypatch, "clopper_pearson")
    bounds: Any = found.by_label(DELTA)
    errors = bounds.error
    assert len(tests.calls) == 3 * len(KINDS)
    assert (errors.upper == LIMITS[1]).all()
    # Four families, of all rules and predicted labels, beside the region that they rest on.
    deltas = {*tests.options("delta"), *intervals.options("delta")}
    assert len(intervals.calls) == 3
    assert 4 * len(KINDS) * N_RULES * max(deltas) + REGION_SHARE * DELTA == pytest.approx(DELTA)


# By labels


@pytest.mark.parametrize(("looks", "look"), [((300,), 0), ((200, 300), 1)])
def test_by_labels_each_look_has_its_share_and_all_limits_are_tested(
    looks: tuple[int, ...], look: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lemmas 5 and 6: exact tests of what is accepted, rows that nobody can label being accepted and wrong."""
    tests = spy_on(monkeypatch, "few_are_wrong", repeat(True))
    monkeypatch.setattr(module, "within_limits", lambda path, _sure: path)  # all labels from the first rule on
    blanks = Blanks(np.asarray(TARGET[300:320], float))
    limits = np.array([0.2, 1.0, 0.03])  # one below epsilon, one above
    found = solve(AcceptByLabels(), limits=limits, labelled=labelled(looks, look, n_unknown=7, blanks=blanks))
    assert set(tests.options("delta")) == {DELTA / len(looks)}
    assert (found.thresholds[[0, 2]] < np.inf).all()
    assert tests.options("error")[-3:] == [EPSILON, 0.2, 0.03]
    own = TopScoreTable.of_rows(TARGET[:300], TRUE_PLACES[:300]).tables(found.thresholds[None], 3)[0, 1::2]
    blank = TopScoreTable.of_rows(TARGET[300:320]).tables(found.thresholds[None], 1)[0, 1::2, 0]
    total, wrong = own.sum(axis=1) + blank, own.sum(axis=1) + blank - np.diag(own)
    expected = [(wrong.sum() + 7, total.sum() + 7), *((wrong[label] + 7, total[label] + 7) for label in (0, 2))]
    assert [args for args, _ in tests.calls[-3:]] == expected


def test_by_labels_testing_stops_at_the_first_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = spy_on(monkeypatch, "planned_by_labels")
    tests = spy_on(monkeypatch, "few_are_wrong", chain([True, True, False], repeat(True)))
    found = solve(AcceptByLabels(), labelled=labelled())
    assert len(tests.calls) == 3
    assert np.array_equal(found.thresholds, single_cuts(paths.returned[0][1]))


@pytest.mark.parametrize("failing", [EPSILON, 0.1, 0.2])
def test_by_labels_a_rule_that_fails_one_test_is_not_kept(failing: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "few_are_wrong", lambda *_, error, delta: error != failing)
    monkeypatch.setattr(module, "within_limits", lambda path, _sure: path)
    found = solve(AcceptByLabels(), limits=LIMITED, labelled=labelled())
    assert np.isposinf(found.thresholds).all()


def test_few_are_wrong_at_exactly_its_level() -> None:
    """With none wrong of 10 the chance is exactly 0.5 ** 10: this level passes, the next lower one does not."""
    assert few_are_wrong(0, 10, error=0.5, delta=0.5**10)
    assert not few_are_wrong(0, 10, error=0.5, delta=np.nextafter(0.5**10, 0))
    assert not few_are_wrong(0, 0, error=0.5, delta=0.5)


def test_by_labels_rows_without_a_class_widen_the_table_of_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that nobody could label, or was asked about, may be of any label, accepted or not, wrong or not."""
    tables = spy_on(monkeypatch, "table_by_labels")
    monkeypatch.setattr(module, "few_are_wrong", lambda *_, **__: True)
    blanks = Blanks(np.asarray(TARGET[300:320], float))
    found: Any = solve(AcceptByLabels(), labelled=labelled(n_unknown=7, blanks=blanks))
    found.by_label(0.1)
    ((_, unknown, delta),) = [args for args, _ in tables.calls]
    assert (unknown, delta) == (27, 0.1)


def test_by_labels_the_table_is_what_counts_say_at_its_level() -> None:
    """Two families of bounds for every rule and label: accepted among predicted, and wrong among accepted."""
    table = np.array([[4, 2], [30, 3], [1, 5], [2, 40]])  # cells: bill asked, accepted; order asked, accepted
    each, unknown = 0.1 / (2 * 2 * N_RULES), 3
    found = table_by_labels(table, unknown, 0.1)
    predicted, accepted, wrong = np.array([39, 48]), np.array([33, 42]), np.array([3, 2])
    families = (found.share, accepted, predicted + unknown), (found.error, wrong, accepted + unknown)
    for bounds, least, total in families:
        assert bounds.lower == pytest.approx(clopper_pearson(least, total, delta=each).lower)
        assert bounds.upper == pytest.approx(clopper_pearson(least + unknown, total, delta=each).upper)


def test_by_labels_what_is_said_of_labels_pays_for_the_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = spy_on(monkeypatch, "table_by_labels")
    target, truth = np.roll(TARGET, 1, axis=1), np.array(KINDS)[(TRUE_PLACES + 1) % 3]  # no label shift
    asked: dict[str, Any] = {"delta": DELTA, "classes": KINDS}
    sheet = label_sheet(target, budget=600, looks=(300, 450), epsilon=EPSILON, rng=1, **asked)
    filled = sheet.with_labels(truth[sheet.rows][:320])
    found = accept(SOURCE, SOURCE_KINDS, target, error=EPSILON, labelled=filled, **asked)
    assert found.method == "ACCEPT-T"
    assert [args[2] for args, _ in tables.calls] == [DELTA / 3]
