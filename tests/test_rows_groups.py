"""One row of each group of a table: the same whatever the files, the batches, the order and the format."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from commands import good, run
from pacshift import Certificate, InputError, Rows, Tally, calibrate, check, read, write_sets
from pacshift.files.codec import seal
from pacshift.monitor.periods import Period
from pacshift.monitor.tables import PeriodRule, count_periods
from pacshift.rows.arrow.find import ReadOptions
from pacshift.rows.arrow.table import read_rows
from pacshift.rows.columns import Columns
from pacshift.tally.inputs import Grouped

N_ROWS = 3000
RNG = np.random.default_rng(5)
LABELS = RNG.integers(0, 2, N_ROWS)
LAST = np.round(1 / (1 + np.exp(-RNG.normal(3 * LABELS - 1.5))), 2)  # some rows of one patient are alike
SCORES = np.column_stack([1 - LAST, LAST])
PATIENTS = np.array([f"{number:03d}" for number in RNG.integers(0, 700, N_ROWS)])
N_GROUPS = len(set(PATIENTS.tolist()))
TABLE = pa.table({"p_0": SCORES[:, 0], "p_1": SCORES[:, 1], "label": LABELS, "patient": PATIENTS})


def in_memory() -> Tally:
    return Rows(SCORES, LABELS, groups=PATIENTS).tally(grid=True)


def counted(table: Any, **options: Any) -> Tally:
    return read(table, label="label", group="patient", **options).tally()


def save(table: Any, path: Path) -> Path:
    {".parquet": pq.write_table, ".feather": pa.feather.write_feather, ".csv": pa.csv.write_csv}[path.suffix](
        table, path
    )
    return path


def test_files_batches_and_order_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pacshift.rows.arrow.source.BATCH_VALUES", 300)
    mixed = TABLE.take(np.random.default_rng(1).permutation(N_ROWS))
    for part, first in enumerate(range(0, N_ROWS, 1100)):
        save(mixed.slice(first, 1100), tmp_path / f"{part}.parquet")
    assert counted(tmp_path) == in_memory()
    unlabelled = read(tmp_path, group="patient", scores="p_*").bind(name="target", role="target")
    assert unlabelled.tally() == Rows(SCORES, groups=PATIENTS).tally()
    assert (unlabelled.last_scan.n_given, unlabelled.last_scan.n_rows) == (N_GROUPS, N_ROWS)
    assert unlabelled.columns == Columns(("p_0", "p_1"), None, "patient")


def test_frames_and_archives_give_the_same(tmp_path: Path) -> None:
    np.savez(tmp_path / "rows.npz", probs=SCORES, labels=LABELS, patient=PATIENTS)
    assert read(tmp_path / "rows.npz", label="labels", group="patient").tally() == in_memory()
    as_pandas = TABLE.to_pandas()
    coded = TABLE.set_column(3, "patient", TABLE.column("patient").dictionary_encode())
    for frame in (TABLE, as_pandas, pl.from_arrow(TABLE), as_pandas.astype({"patient": "category"}), coded):
        assert counted(frame) == in_memory()


def test_whole_numbers_and_texts_name_the_same_groups() -> None:
    numbers = np.arange(N_ROWS) % 500
    named = [pa.table({**columns(), "patient": pa.array(numbers, kind)}) for kind in (pa.int32(), pa.float64())]
    named.append(pa.table({**columns(), "patient": [str(number) for number in numbers]}))
    first, *others = [counted(table) for table in named]
    assert all(other == first for other in others)
    assert first.n_source == 500


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32(), pa.dictionary(pa.int16(), pa.float64())])
def test_ids_that_floats_cannot_hold_exactly_are_refused(kind: Any, tmp_path: Path) -> None:
    """2**53 and 2**53 + 1 were one group: two thirds of the rows were not counted, without a word."""
    plain = kind if pa.types.is_floating(kind) else pa.float64()
    numbers = 2.0 ** (24 if kind == pa.float32() else 53) + np.arange(N_ROWS) // 4
    for bad in (numbers, np.where(np.arange(N_ROWS) == 9, 0.5, numbers // 2**33)):
        ids = pa.array(bad, plain)
        table = pa.table({**columns(), "patient": ids if plain == kind else ids.dictionary_encode()})
        for given in (save(table, tmp_path / "a.parquet"), table.to_pandas(), table):
            with pytest.raises(InputError, match=r"floats must be whole numbers below .* in row \d of .*texts"):
                counted(given)


def columns() -> dict[str, Any]:
    return {name: TABLE.column(name) for name in ("p_0", "p_1", "label")}


def test_rows_without_a_group_are_refused_or_left_out_aloud() -> None:
    ids = [None if place % 100 == 7 else name for place, name in enumerate(PATIENTS.tolist())]
    table = pa.table({**columns(), "patient": ids})
    with pytest.raises(InputError, match=r"30 rows? cannot be used \(30 with no group id\), the first is row 7"):
        counted(table)
    table = read(table, label="label", group="patient", drop_invalid=1.0)
    found = table.bind(name="source", role="source")
    kept = np.array([name is not None for name in ids])
    assert found.tally() == Rows(SCORES[kept], LABELS[kept], groups=PATIENTS[kept]).tally(grid=True)
    assert (found.last_scan.n_rows, found.last_scan.faults.n_rows) == (N_ROWS, 30)


def test_rows_that_cannot_be_used_are_not_chosen() -> None:
    scores = SCORES.copy()
    scores[::3, 0] = np.nan
    table = pa.table({**columns(), "p_0": scores[:, 0], "patient": PATIENTS})
    with pytest.raises(InputError, match=r"1,000 rows cannot be used"):
        counted(table)
    usable = np.arange(N_ROWS) % 3 != 0
    expected = Rows(SCORES[usable], LABELS[usable], groups=PATIENTS[usable]).tally(grid=True)
    assert counted(table, drop_invalid=1.0) == expected


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ("person", "no column 'person'. Name the column that says to which group"),
        ("label", "column 'label' cannot hold the labels and name the groups"),
        ("p_0", "column 'p_0' cannot hold the scores and name the groups"),
        ("born", "group column 'born' holds date32.*must be text"),
    ],
)
def test_columns_that_cannot_name_groups_are_refused(group: str, message: str) -> None:
    born = pa.array(np.zeros(N_ROWS, "M8[D]"))
    with pytest.raises(InputError, match=message):
        read(TABLE.append_column("born", born), label="label", scores="p_0,p_1", group=group).tally()


def test_a_target_that_is_read_like_its_source_has_its_groups(tmp_path: Path) -> None:
    """Every row of such a target counted, without a word."""
    path, other = save(TABLE, tmp_path / "a.parquet"), save(TABLE.drop(["patient"]), tmp_path / "b.parquet")
    source = read(path, label="label", group="patient")
    assert read(path, like=source).tally() == read(path, group="patient", scores="p_*").tally()
    assert read(path, label="label", like=read(path, group="patient")).tally() == source.tally()
    turned = read(path, like=source, group="label").bind(name="target", role="target").columns
    assert turned == Columns(("p_0", "p_1"), None, "label")
    named = TABLE.rename_columns(["p_0", "p_1", "label", "person"])
    assert read(named, like=source, group="person").tally() == read(path, like=source).tally()
    with pytest.raises(InputError, match=r"one row of each 'patient'.*no column 'patient'.*group=NAME"):
        read(other, like=source)
    made = calibrate(source, read(path, like=source), method="PS-LW", epsilon=0.3)
    assert made.columns == Columns(("p_0", "p_1"), "label", "patient")
    assert check(made, read(path, label="label", like=made)).evaluation.n == N_GROUPS
    assert read(path, like=made).tally().n_target == N_GROUPS
    with pytest.warns(UserWarning, match=r"one row of each 'patient'.*every row counts by itself.*group=NAME"):
        assert read(other, like=made).tally().n_target == N_ROWS
    assert write_sets(made, other, tmp_path / "sets.csv").n_rows == N_ROWS


def test_a_group_column_is_never_taken_for_a_score() -> None:
    table = pa.table({**columns(), "p_id": np.arange(N_ROWS) // 4})
    assert read(table, label="label", group="p_id").tally().classes == (0, 1)


class Shuffled:
    """A stream whose rows come in another order every time, as those of a query without an order may."""

    def __init__(self) -> None:
        self.seed = 0

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        self.seed += 1
        return TABLE.take(np.random.default_rng(self.seed).permutation(N_ROWS)).__arrow_c_stream__()


def test_rows_that_come_in_another_order_when_read_again_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pacshift.rows.arrow.table.MAX_KEPT_BYTES", 0)
    with pytest.raises(InputError, match="came in another order when they were read again"):
        counted(Shuffled())


def test_periods_choose_one_row_per_group_and_period(tmp_path: Path) -> None:
    days = np.datetime64("2026-01-01") + RNG.integers(0, 59, N_ROWS).astype("m8[D]")
    file = save(TABLE.append_column("day", pa.array(days)), tmp_path / "rows.parquet")

    def counted(rule: PeriodRule) -> Mapping[str, Period]:
        rows = read_rows(file, ReadOptions(scores="p_*", group="patient", classes=(0, 1)), within=rule.keys)
        return count_periods(rows, rule).periods

    found = counted(PeriodRule("month", "day"))
    for name, month in (("2026-01", 1), ("2026-02", 2)):
        own = pd.DatetimeIndex(days).month == month
        assert found[name].target.n_target == len(set(PATIENTS[own]))
        alone = Rows(SCORES[own], groups=PATIENTS[own]).tally(soft=False)
        assert found[name].target == alone
        assert found[name].target.target_grouped == Grouped(int(own.sum()))
    assert counted(PeriodRule(name="all"))["all"].target.n_target == N_GROUPS


def test_what_is_left_out_with_groups_is_said_by_every_command(tmp_path: Path) -> None:
    """Rows that cannot be used are found in the pass that chooses rows of groups; nobody may forget them."""
    rng = np.random.default_rng(8)

    def table(n_rows: int, n_bad: int, name: str) -> Path:
        labels = rng.integers(0, 2, n_rows)
        scores = rng.beta(np.where(labels == 1, 9, 2), np.where(labels == 1, 2, 9))
        bad = np.sort(rng.permutation(n_rows)[:n_bad])
        names = pa.array(labels, mask=np.isin(np.arange(n_rows), bad[::2]))
        scores[bad[1::2]] = np.nan
        columns = {"p_0": 1 - scores, "p_1": scores, "label": names, "patient": np.arange(n_rows) // 3}
        return save(pa.table(columns), tmp_path / name)

    first, _, target = table(3000, 48, "part-1.csv"), table(1500, 6, "part-2.csv"), table(3000, 20, "target.csv")
    made, options = tmp_path / "c.json", ("--group", "patient", "--drop-invalid", "0.05")
    scores = ("--scores", "p_*", "--label", "label")
    result = good("calibrate", tmp_path / "part-*.csv", target, *scores, *options, "-o", made, "--delta", 0.1)
    assert "source: 54 of 4,500 rows left out (27 with no label, 27 with scores" in result.stderr
    provenance: Any = Certificate.load(made).provenance
    assert [(one.left_out, one.rows_read) for one in provenance.inputs] == [(48, 3000), (6, 1500), (10, 3000)]
    assert [sum(dict(one.left_out_why).values()) for one in provenance.inputs] == [48, 6, 10]
    said = "Left out: 48 of 3,000 rows (24 with no label, 24 with scores"
    assert said in Certificate.load(made).explain(full=True)
    verify = ("verify", made, tmp_path / "part-*.csv", target)
    assert good(*verify).stdout.startswith("matches: ")
    forged = json.loads(made.read_text())
    forged["provenance"]["inputs"][0] |= {"left_out": 0, "left_out_why": {}}
    forged_file = tmp_path / "forged.json"
    forged_file.write_text(json.dumps(seal(forged)))
    said = run("verify", forged_file, *verify[2:]).stdout
    assert "source: other files, or other rows of them, than those on record" in said
    result = run("check", made, first, *scores, *options)
    assert result.exit_code == 4
    assert "These are the source's rows" in result.stdout  # its SHA-256 is known, whatever rows were chosen
    assert "table: 48 of 3,000 rows left out (24 with no label, 24 with scores" in result.stderr
    result = good("tally", first, *scores, *options, "-o", tmp_path / "s.tally", "--json")
    (one,) = Tally.load(tmp_path / "s.tally").inputs
    assert (json.loads(result.stdout)["dropped"], one.left_out, one.rows_read) == (48, 48, 3000)
    result = good("label", target, "--scores", "p_*", *options, "--budget", 100, "-o", tmp_path / "l.csv")
    assert "target: 10 of 3,000 rows left out (10 with scores" in result.stderr
    rows = read_rows(target, ReadOptions(scores="p_*", group="patient", classes=(0, 1), drop_invalid=1.0))
    counted = count_periods(rows, PeriodRule(name="t"))
    assert (counted.n_dropped, counted.n_rows) == (10, 3000)
