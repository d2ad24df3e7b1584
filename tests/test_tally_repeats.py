"""Rows that are there several times are told from real ties: copies are found, and honest rows never are."""

import itertools
import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from commands import NAMES, Data, bad, good
from pacshift import (
    Certificate,
    InputError,
    Monitor,
    Population,
    Rows,
    Tally,
    accept,
    calibrate,
    check,
    compare,
    prevalence,
    read,
)
from pacshift.scores.check import ScoreMatrix
from pacshift.tally import repeats
from pacshift.tally.counter import Counter, CountOptions
from pacshift.tally.repeats import Repeats, find_repeats, find_source_repeats

POPULATION = Population.synthetic(3, strength=4, rows_per_class=100_000, rng=0)
MIX = [0.5, 0.3, 0.2]
TARGET, _ = POPULATION.draw([0.2, 0.3, 0.5], 1000, rng=2)

FORMS: dict[str, Any] = {
    "as they are": lambda scores: scores,
    "4 digits": lambda scores: scores.round(4),
    "3 digits": lambda scores: scores.round(3),
    "2 digits": lambda scores: scores.round(2),
    "half precision": lambda scores: scores.astype(np.float16).astype(np.float32),
    "0 or 1": lambda scores: (scores == scores.max(axis=-1, keepdims=True)).astype(float),
}

COPIES: dict[str, Any] = {
    "every row twice": lambda labels, rng: np.full(len(labels), 2),
    "every row five times": lambda labels, rng: np.full(len(labels), 5),
    "a class twice": lambda labels, rng: 1 + (labels == 2),
    "30 % twice": lambda labels, rng: 1 + (rng.random(len(labels)) < 0.3),
}


def drawn(n_rows: int, seed: int) -> Any:
    return POPULATION.draw(MIX, n_rows, rng=seed)


def copied(kind: str, n_rows: int, seed: int) -> Any:
    scores, labels = drawn(n_rows, seed)
    places = np.repeat(np.arange(n_rows), COPIES[kind](labels, np.random.default_rng(seed)))
    return scores[places], labels[places]


def raw_tally(scores: Any, labels: Any) -> Tally:
    """Counts for a method that asks for true-label scores alone: nobody has sorted them."""
    names = tuple(range(scores.shape[1]))
    counter = Counter(len(names), CountOptions(predicted=False), labelled=True)
    counter.count_matrix(ScoreMatrix(scores, names), labels, name="source")
    return Tally.from_counter(counter, names)


@pytest.mark.parametrize(
    ("kind", "times", "found"),
    [
        ("every row twice", 2, {100: 1.0, 1000: 1.0, 10_000: 1.0}),
        ("every row five times", 5, {100: 1.0, 1000: 1.0, 10_000: 1.0}),
        ("a class twice", 2, {100: 0.0, 1000: 1.0, 10_000: 1.0}),
        ("30 % twice", 1, {100: 0.0, 1000: 1.0, 10_000: 1.0}),
    ],
)
def test_copies_are_found(kind: str, times: int, found: dict[int, float]) -> None:
    for n_rows, share in found.items():
        seen = [find_source_repeats(Tally.from_scores(*copied(kind, n_rows, seed))) for seed in range(10)]
        label = 2 if kind == "a class twice" else None
        right = np.mean([one is not None and (one.times, one.label) == (times, label) for one in seen])
        assert right >= share, f"{right:.0%} of {n_rows:,}"


@pytest.mark.parametrize("n_rows", [500, 5000, 50_000])
@pytest.mark.parametrize("form", ["2 digits", "half precision"])
def test_copies_of_rows_with_real_ties_are_found_too(form: str, n_rows: int) -> None:
    scores, labels = copied("every row twice", n_rows, 1)
    for made in (Tally.from_scores(FORMS[form](scores), labels), raw_tally(FORMS[form](scores), labels)):
        assert getattr(find_source_repeats(made), "times", 1) == 2
        assert getattr(find_source_repeats(made + Tally.from_target(TARGET, soft=False)), "times", 1) == 2


def test_what_is_not_sorted_is_looked_at_in_part() -> None:
    scores, labels = copied("30 % twice", 60_000, 1)
    for part in (scores, scores.astype(np.float32), scores[:3000]):
        found = find_source_repeats(raw_tally(part, labels[: len(part)]))
        assert found is not None
        assert found.times == 1
        assert found.n_rows < 1.2 * repeats.MOST_ROWS
    assert find_source_repeats(raw_tally(*drawn(60_000, 2))) is None


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n_rows", [50, 1000, 10_000])
def test_independent_rows_are_never_called_copies(form: str, n_rows: int) -> None:
    for seed in range(10):
        scores, labels = drawn(n_rows, seed)
        for tally in (Tally.from_scores(FORMS[form](scores), labels), raw_tally(FORMS[form](scores), labels)):
            assert find_source_repeats(tally) is None
        again = np.random.default_rng(seed).integers(n_rows, size=n_rows)  # draws from few rows are independent
        assert find_source_repeats(Tally.from_scores(FORMS[form](scores)[again], labels[again])) is None


def test_as_many_rows_of_every_class_are_no_copies() -> None:
    labels = np.repeat(np.arange(200), 50)  # by design
    assert find_source_repeats(Tally.from_scores(np.eye(200)[labels], labels)) is None


def test_returns_of_the_bets_are_fair_whatever_the_population() -> None:
    """Lemma 3: E g(N) is at most 1 for Poisson counts of any mean."""
    means = np.geomspace(1e-6, 200, 4000)
    counts = np.arange(600)
    log_law = counts * np.log(means)[:, None] - means[:, None] - np.array([math.lgamma(one + 1) for one in counts])
    law = np.exp(log_law)
    for returned in 2**repeats._BETS.T:
        by_count = np.concatenate([returned, np.ones(600 - len(returned))])
        assert returned.min() >= 0
        assert (law @ by_count).max() <= 1 + 1e-12
    for times in range(2, 60):
        assert (law @ np.where(counts % times == 0, np.where(counts == 0, 1.0, 2.0), 0.0)).max() <= 1 + 1e-12


@pytest.mark.parametrize(("n_kinds", "expected"), [(46, None), (52, Repeats(2, None, 104, 52))])
def test_few_rows_may_be_alike_by_chance(n_kinds: int, expected: Repeats | None) -> None:
    """The edge: 2 to the number of kinds against e √m, two groups that were looked at, and 2^40."""
    counts = np.full(n_kinds, 2)
    price = math.log2(math.e * math.sqrt(2 * n_kinds)) + 1 + 1
    assert (n_kinds - price >= repeats.NO_CHANCE) == (expected is not None)
    found = find_repeats(np.zeros(n_kinds, int), counts)
    assert found == expected if expected else found is None or found.times == 1


@pytest.fixture
def thrice() -> Any:
    return [np.repeat(one, 3, axis=0) for one in drawn(500, 1)]


VERBS: dict[str, Any] = {
    "calibrate": calibrate,
    "PS": partial(calibrate, method="PS"),
    "accept": accept,
    "compare": partial(compare, methods=["PS", "PS-LW"]),
    "prevalence": prevalence,
    "tally": lambda scores, labels, target: calibrate(
        Tally.from_scores(scores, labels, grid=True) + Tally.from_target(target)
    ),
    "monitor": lambda scores, labels, target: Monitor(Tally.from_scores(scores, labels)),
    "labelled target": lambda scores, labels, target: calibrate(
        POPULATION.scores[::700], POPULATION.index[::700], Rows(scores, [*labels[:1200], *[None] * 300])
    ),
}


@pytest.mark.filterwarnings("ignore:target. every row")
@pytest.mark.parametrize("verb", VERBS)
def test_a_source_of_copies_is_refused(verb: str, thrice: Any) -> None:
    rows = verb if verb == "labelled target" else "source"
    with pytest.raises(InputError, match=rf"^{rows}: every row is there 3 times: .* by their id, not by their"):
        VERBS[verb](*thrice, TARGET)


def test_copies_are_no_evidence_for_a_check(thrice: Any, tmp_path: Path) -> None:
    scores, labels = drawn(1000, 1)
    made = calibrate(scores, labels, TARGET)
    with pytest.raises(InputError, match=r"^check: every row is there 3 times"):
        check(made, *thrice)
    table = pa.table({f"p_{place}": column for place, column in enumerate(thrice[0].T)})
    pa.parquet.write_table(table.append_column("label", pa.array(thrice[1])), tmp_path / "t.parquet")
    with pytest.raises(InputError, match="every row is there 3 times"):
        check(made, read(tmp_path / "t.parquet", label="label", like=made))
    units = np.repeat(np.arange(len(thrice[1]) // 3), 3)
    assert check(made, Rows(*thrice, groups=units)).n_judged == len(units) // 3


def test_a_class_of_copies_is_named_and_groups_are_the_way_out(thrice: Any) -> None:
    scores, labels = drawn(1000, 1)
    places = np.repeat(np.arange(1000), 1 + (labels == 2))
    with pytest.raises(InputError, match=r"every row of class 'c' is there 2 times"):
        calibrate(scores[places], np.array(["a", "b", "c"])[labels[places]], TARGET, classes=["a", "b", "c"])
    made = calibrate(Rows(thrice[0], thrice[1], groups=np.repeat(np.arange(500), 3)), TARGET)
    assert (made.n_source, made.notes) == (500, ())


def test_some_copies_are_warned_of_and_remembered() -> None:
    scores, labels = copied("30 % twice", 1000, 1)
    with pytest.warns(UserWarning, match=r"^source: some rows seem to be copies: \d+ of 1,\d+ rows") as seen:
        made = calibrate(scores, labels, TARGET)
    assert [one.filename for one in seen] == [__file__]
    assert made.notes == (str(seen[0].message),)


def test_a_target_of_copies_is_warned_of_and_a_monitor_goes_on() -> None:
    scores, labels = drawn(1000, 1)
    with pytest.warns(UserWarning, match=r"^target: every row is there 5 times: .* name their groups"):
        made = calibrate(scores, labels, np.repeat(TARGET, 5, axis=0))
    assert "every row is there 5 times" in made.notes[0]
    monitor = Monitor(Tally.from_scores(scores, labels))
    with pytest.warns(UserWarning, match=r"^target: every row is there 2 times"):
        monitor.update(np.repeat(TARGET, 2, axis=0), "May")
    monitor.update(POPULATION.draw(MIX, 500, rng=5)[0], "June")
    assert [report.rows for report in monitor.history] == [2000, 500]


COLUMNS = [*(f"p_{name}" for name in NAMES), "label"]


@pytest.mark.filterwarnings("default::UserWarning")
def test_commands_refuse_copies_and_say_a_note_once(data: Data, tmp_path: Path) -> None:
    table, out = pa.parquet.read_table(data.source, columns=COLUMNS), tmp_path / "c.json"
    twice, some = tmp_path / "twice.parquet", tmp_path / "some.parquet"
    pa.parquet.write_table(pa.concat_tables([table, table]), twice)
    assert "source: every row is there 2 times" in bad("calibrate", twice, data.target, "-o", out)
    assert "or name their groups if" in bad("accept", twice, data.target, "-o", out)
    for command in ("compare", "prevalence"):
        assert "source: every row is there 2 times" in bad(command, twice, data.target)
    pa.parquet.write_table(pa.concat_tables([table, table[: len(table) // 2]]), some)
    shown = good("calibrate", some, data.target, "-o", out)
    assert shown.output.count("some rows seem to be copies") == 1
    assert "some rows seem to be copies" in Certificate.load(out).notes[0]
    shown = good("calibrate", some, data.target, "-o", out, "--force", "--json")
    assert "some rows seem to be copies" in shown.stderr


def test_no_false_alarms_on_real_scores(shared_data: Path) -> None:
    """All score files, as they are and rounded, whole and in parts, for sorted scores and others."""
    seen = 0
    for path in sorted(shared_data.glob("*/*.npz")):
        with np.load(path) as file:
            if "probs" not in file:
                continue
            labels = file["labels"].astype(np.int64)
            true = file["probs"][np.arange(len(labels)), labels]
        rng = np.random.default_rng(0)
        for n_rows, form in itertools.product((50, 100, 300, 1000, 3000, 10_000, len(labels)), FORMS):
            rows = rng.permutation(len(labels))[:n_rows]
            scores, own = FORMS[form](np.column_stack([true, 1 - true]))[rows, 0], labels[rows]
            kinds, counts = np.unique(own + 1j * scores, return_counts=True)
            assert find_repeats(kinds.real.astype(int), counts) is None, (path, form, n_rows)
            seen += 1
    assert seen > 900
