"""Rows in memory and in tables are one plane: the same counts, sizes, samples and groups, whatever the batches."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pacshift import InputError, Rows, calibrate, label_sheet, prevalence, read, verify
from pacshift.rows import fold
from pacshift.rows.arrow.find import ReadOptions
from pacshift.rows.arrow.table import read_rows
from pacshift.rows.base import Batch, CheckedRows
from pacshift.rows.memory import check_arrays
from pacshift.rows.rule import SetRule
from pacshift.scores.transforms import TRANSFORMS
from pacshift.tally.inputs import Role
from score_tables import save

CLASSES = ("a", "b", "c")
N_ROWS = 900
KINDS = ("memory", "frame", "parquet", "two files", "csv", "feather")
Maker = Callable[..., CheckedRows]


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    scores = np.round(rng.dirichlet([1, 1, 1], N_ROWS) * 1024) / 1024  # the same as text, float32 and float64
    scores[1::7] = scores[::7][: len(scores[1::7])]  # equal rows
    labels = np.array(CLASSES, object)[rng.integers(0, 3, N_ROWS)]
    table = pd.DataFrame(scores, columns=[f"p_{name}" for name in CLASSES]).assign(label=labels)
    patient = rng.integers(0, 200, N_ROWS)
    return table.assign(some=table["label"].where(patient % 3 == 0), patient=patient)  # labels of whole groups


@pytest.fixture(params=KINDS)
def make(request: Any, table: pd.DataFrame, tmp_path: Path, monkeypatch: Any) -> Maker:
    """Rows of one kind; tables in batches of 100 rows."""
    monkeypatch.setattr("pacshift.rows.arrow.source.BATCH_VALUES", 300)
    if request.param == "memory":
        return partial(_in_memory, table)
    if request.param == "frame":
        return partial(_in_table, table)
    suffix = request.param if request.param in ("csv", "feather") else "parquet"
    halves = [table[:350], table[350:]] if request.param == "two files" else [table]
    paths = [tmp_path / f"{place}.{suffix}" for place in range(len(halves))]
    for path, half in zip(paths, halves, strict=True):
        save(pa.Table.from_pandas(half, preserve_index=False), path)
    return partial(_in_table, paths)


def _in_memory(
    table: pd.DataFrame, *, label: str | None = None, group: bool = False, target: bool = False, **how: Any
) -> CheckedRows:
    known = None if label is None else [None if pd.isna(name) else name for name in table[label]]
    scores = table[[f"p_{name}" for name in CLASSES]].to_numpy()
    role: Role = "target" if target else "source"
    groups = table["patient"] if group else None
    return check_arrays(scores, known, groups, name=role, role=role, classes=CLASSES, **how)


def _in_table(
    table: Any, *, label: str | None = None, group: bool = False, target: bool = False, **how: Any
) -> CheckedRows:
    options = ReadOptions(label, "p_*", group="patient" if group else None, **how)
    role: Role = "target" if target else "source"
    return read_rows(table, options, name=role, role=role)


@pytest.mark.parametrize("group", [False, True])
def test_every_kind_has_the_same_counts(make: Maker, table: pd.DataFrame, group: bool) -> None:
    ways: list[dict[str, Any]] = [{"label": "label"}, {"target": True}, {"target": True, "label": "some"}]
    for how in ways:
        wanted = _in_memory(table, group=group, **how).tally(grid=True)
        found = make(group=group, **how).tally(grid=True)
        assert found == wanted
        assert found.source_grouped == wanted.source_grouped
        assert found.target_grouped == wanted.target_grouped
    for how in ({"grid": False}, {"grid": True, "soft": False}, {"grid": True, "score": "margin"}):
        known = _in_memory(table, label="label", group=group)
        assert make(label="label", group=group).tally(**how) == known.tally(**how)


@pytest.mark.parametrize("group", [False, True])
def test_every_kind_has_the_same_arrays_and_label_sheet(make: Maker, table: pd.DataFrame, group: bool) -> None:
    rows, known = make(label="label", group=group), _in_memory(table, label="label", group=group)
    for found, wanted in zip(rows.arrays(), known.arrays(), strict=True):
        assert found.tolist() == wanted.tolist()
    made, expected = (
        label_sheet(one, budget=120, looks=(100,), rng=5)
        for one in (make(target=True, group=group), _in_memory(table, target=True, group=group))
    )
    assert made.rows.tolist() == expected.rows.tolist()
    assert (made.target_sha256, made.n_pilot) == (expected.target_sha256, expected.n_pilot)


@pytest.mark.parametrize("group", [False, True])
def test_every_kind_has_the_same_sizes_and_misses(make: Maker, table: pd.DataFrame, group: bool) -> None:
    plain, aps = TRANSFORMS["probability"], TRANSFORMS["aps"]
    level = np.array([0.2, 0.3, 0.4])
    pairs = [(SetRule(level), plain), (SetRule(level / 2), plain), (SetRule(-level, never_empty=True), aps)]
    makers = [fold.SetMaker(*pair) for pair in pairs]

    rows, known = make(label="label", group=group), _in_memory(table, label="label", group=group)
    assert np.array_equal(fold.sizes(rows, makers), fold.sizes(known, makers))
    assert fold.mean_sizes(rows, [level, level / 2]) == fold.mean_sizes(known, [level, level / 2])
    (found,), (wanted,) = fold.misses(rows, [makers[0].sets]), fold.misses(known, [makers[0].sets])
    assert found.evaluation().error == wanted.evaluation().error
    assert np.array_equal(found.rows, wanted.rows)


@pytest.mark.parametrize("group", [False, True])
def test_every_kind_has_the_same_samples(make: Maker, table: pd.DataFrame, group: bool, monkeypatch: Any) -> None:
    monkeypatch.setattr("pacshift.paths.sample.SOURCE_ROWS", 100)
    monkeypatch.setattr("pacshift.paths.sample.TARGET_ROWS", 100)
    how: Any = {"target": True, "label": "some", "group": group}
    pairs = [(make(label="label", group=group), make(**how))]
    pairs.append((_in_memory(table, label="label", group=group), _in_memory(table, **how)))
    found, wanted = (fold.sample(*pair, fold.both(*pair, soft=False, bins=False)) for pair in pairs)
    for name in ("source", "labels", "target"):
        assert np.array_equal(getattr(found, name), getattr(wanted, name))
    for one, other in zip(fold.read_labelled_rows(pairs[0][1]), fold.read_labelled_rows(pairs[1][1]), strict=True):
        assert np.array_equal(np.sort(one, axis=0), np.sort(other, axis=0))  # samples have an order of their own
    planned, expected = (fold.plan_after_refusal(*pair) for pair in pairs)
    assert len(planned.source) == len(expected.source)
    assert np.array_equal(planned.target, expected.target)


@pytest.mark.parametrize("group", [False, True])
def test_rows_are_picked_by_their_number(make: Maker, table: pd.DataFrame, group: bool) -> None:
    rows, seen = make(target=True, group=group), list[int]()
    numbers = np.array([4, 250, 3, 880]) if rows.numbers is None else rows.numbers[[7, 100, 3]]
    found, others = fold.pick(rows, numbers, lambda batch: seen.append(batch.n_rows))
    assert np.array_equal(found, table[[f"p_{name}" for name in CLASSES]].to_numpy()[numbers])
    assert sum(seen) == (N_ROWS if rows.numbers is None else len(rows.numbers))
    assert len(others) == sum(seen) - len(numbers)


def test_rows_that_cannot_be_used_are_counted_by_file(table: pd.DataFrame, tmp_path: Path) -> None:
    bad = table.copy()
    bad.loc[[3, 500], "p_a"], bad.loc[501, "label"], bad.loc[600, "patient"] = np.nan, None, np.nan
    paths = [tmp_path / "one.parquet", tmp_path / "two.parquet"]
    bad[:400].to_parquet(paths[0])
    bad[400:].to_parquet(paths[1])
    for group, left_out in ((False, [1, 2]), (True, [1, 3])):
        rows = _in_table(paths, label="label", group=group, drop_invalid=True)
        for counted in (rows.tally(soft=False), rows.tally(soft=False)):  # a second pass says the same
            assert [one.left_out for one in counted.inputs] == left_out
            assert [one.rows_read for one in counted.inputs] == [400, 500]
        with pytest.raises(InputError, match=r"rows? cannot be used .*, the first is row 3 of .*one.parquet"):
            _in_table(paths, label="label", group=group).tally(soft=False)


def test_a_view_without_labels_shares_what_was_read_and_chosen(table: pd.DataFrame, monkeypatch: Any) -> None:
    rows: Any = _in_table(table, target=True, label="some", group=True)
    view = rows.without_labels()
    assert view.choice is rows.choice
    assert view.rows.kept is rows.rows.kept
    seen = list(view.fold(lambda batch: batch.labels, "measuring the sets"))
    assert all(labels is None for labels in seen)


def test_a_small_table_is_read_once(table: pd.DataFrame, tmp_path: Path, monkeypatch: Any) -> None:
    table.to_parquet(tmp_path / "rows.parquet")
    rows: Any = _in_table(tmp_path / "rows.parquet", label="label")
    opened: list[Any] = []
    monkeypatch.setattr(type(rows.source), "batches", _counting(type(rows.source).batches, opened))

    def n_rows(batch: Batch) -> int:
        return batch.n_rows

    for _ in range(3):
        assert sum(rows.map(n_rows)) == N_ROWS
    assert len(opened) == 1
    assert sum(rows.map(n_rows, keep=["patient"])) == N_ROWS
    assert len(opened) == 2  # other columns were not kept


@pytest.mark.parametrize("group", [None, "patient"])
def test_verbs_take_tables_arrays_and_counts(table: pd.DataFrame, tmp_path: Path, group: str | None) -> None:
    path = tmp_path / "rows.parquet"
    table.to_parquet(path)
    source = read(path, label="label", scores="p_*", group=group)
    target = read(path, like=source, group=group)
    made = calibrate(source, target, method="PS-LW", epsilon=0.3)
    assert verify(made, source, target).verdict == "match"
    counts = source.tally(soft=False) + target.tally(soft=False, bins=False)
    again = calibrate(counts, method="PS-LW", epsilon=0.3)
    assert np.array_equal(made.thresholds, again.thresholds)
    shares = [prevalence(*data, delta=0.5).mix.lower.tolist() for data in ((source, target), (counts,))]
    assert shares[0] == shares[1]
    if group is None:  # a source in a file beside a target in memory
        scores = table[[f"p_{name}" for name in CLASSES]].to_numpy()
        mixed = calibrate(source, None, scores, method="PS-LW", epsilon=0.3)
        assert np.array_equal(made.thresholds, mixed.thresholds)
        some = read(path, label="some", like=source)
        with pytest.raises(InputError, match="labelled target rows are in the source too"):
            calibrate(source, some, method="PS-T", epsilon=0.5, delta=0.2)


def test_what_is_said_of_other_data_is_refused(table: pd.DataFrame) -> None:
    source = read(table, label="label", scores="p_*")
    target = read(table, like=source)
    counts = source.tally(soft=False) + target.tally(soft=False)
    turned = read(table, scores="p_*", classes=CLASSES[::-1])
    wrong: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
        ((source, table["label"], target), {}, "the source has its labels in its rows"),
        ((target, target), {}, "the source has no labels"),
        ((target, table["label"]), {}, "labels of a table are one of its columns"),
        ((source, source), {}, "labelled target rows are in the source too"),
        ((source, turned), {}, r"both must be the same, in the same order. Name them once: classes=, or like="),
        ((source, target), {"classes": CLASSES[::-1]}, "the source has the classes"),
        ((counts, table["label"]), {}, "labels is about rows"),
        ((counts, None, target), {}, "target is about rows"),
        ((table[["p_a", "p_b", "p_c"]],), {}, "labels is missing"),
    ]
    for data, options, said in wrong:
        with pytest.raises(InputError, match=said):
            calibrate(*data, **options)
    with pytest.raises(InputError, match="arrays do not say their columns"):
        read(table, label="label", like=Rows(table[["p_a", "p_b", "p_c"]]))


def _counting(function: Any, calls: list[Any]) -> Any:
    def counted(*args: Any, **options: Any) -> Any:
        calls.append(args)
        return function(*args, **options)

    return counted
