"""The long table of a monitor's history."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

from hospital import PANDEMIC, USUAL, patients, source_tally
from pacshift import InputError, Monitor, calibrate
from pacshift.monitor import history_rows, write_history

COLUMNS = ["period", "start", "end", "metric", "value", "lower", "upper", "alert", "epsilon"]


@pytest.fixture(scope="module")
def monitor() -> Monitor:
    source = source_tally(20_000)
    old = calibrate(source, epsilon=0.06, delta=0.05, method="PS")
    made = Monitor(source, epsilon=0.1, delta=0.05, certificate=old)
    for name, mix, bias in (("April", USUAL, 0.0), ("May", PANDEMIC, 0.0), ("September", USUAL, -9.0)):
        made.update(patients(3000, mix, np.random.default_rng(1), bias=bias)[0], name)
    return made


def test_one_row_per_period_and_metric(monitor: Monitor) -> None:
    rows = history_rows(monitor.history)
    assert [list(row) for row in rows] == [COLUMNS] * len(rows)
    found = {(row["period"], row["metric"]): row for row in rows}
    assert len(found) == len(rows)
    april, may = monitor.history[:2]
    assert found["April", "rows"]["value"] == 3000
    assert found["April", "size"]["value"] == april.size
    assert (found["May", "error"]["lower"], found["May", "error"]["upper"]) == may.error
    assert found["May", "error"]["value"] is None
    assert may.prevalence is not None
    assert found["May", "share: covid"]["lower"] == may.prevalence.lower[2]
    epsilons = {metric: found["May", metric]["epsilon"] for metric in ("size", "empty", "fresh size", "error")}
    assert epsilons == {"size": 0.06, "empty": 0.06, "fresh size": 0.1, "error": 0.1}
    alerts = [key for key, row in found.items() if row["alert"]]
    assert alerts == [("May", "error"), ("September", "assumption")]


@pytest.mark.parametrize("ending", ["parquet", "feather", "csv", "json"])
def test_every_format_holds_the_same(monitor: Monitor, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"monitor.{ending}"
    rows = history_rows(monitor.history)
    assert write_history(monitor.history, path) == len(rows)
    if ending == "json":
        assert json.loads(path.read_text()) == rows
        return
    readers = {"parquet": pyarrow.parquet.read_table, "feather": pyarrow.feather.read_table}
    read = readers.get(ending, pyarrow.csv.read_csv)(path).to_pylist()
    blank = {None: None, "": None}
    assert [{key: blank.get(value, value) for key, value in row.items()} for row in read] == rows


def test_the_newest_period_in_the_text_format_of_prometheus(monitor: Monitor, tmp_path: Path) -> None:
    may, path = monitor.history[1], tmp_path / "pacshift.prom"
    write_history(monitor.history[:2], path)
    lines = path.read_text().splitlines()
    values = {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if line[0] != "#")}
    assert may.error is not None
    assert may.prevalence is not None
    assert values["pacshift_rows"] == 3000  # of May alone
    assert values['pacshift_error{bound="lower"}'] == may.error[0]
    assert values['pacshift_share{class="covid",bound="upper"}'] == may.prevalence.upper[2]
    assert values['pacshift_alert{kind="error"}'] == 1
    assert values['pacshift_alert{kind="assumption"}'] == 0
    assert values["pacshift_periods_without_rows"] == 0
    kinds = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(kinds) == len(set(kinds)) == len({name.partition("{")[0] for name in values})  # each in one piece
    assert path.read_text().endswith("\n")


def test_prometheus_learns_which_period_it_is_and_what_is_missing(
    monitor: Monitor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(int(datetime(2026, 6, 20, tzinfo=UTC).timestamp())))
    spans = {"2026-02": ("2026-02-01", "2026-02-28"), "2026-05": ("2026-05-01", "2026-05-31")}
    history = [replace(monitor.history[0], period=name, start=a, end=b) for name, (a, b) in spans.items()]
    write_history(history, tmp_path / "pacshift.prom")
    lines = (tmp_path / "pacshift.prom").read_text().splitlines()
    assert "pacshift_periods_without_rows 2" in lines
    assert f"pacshift_period_end_seconds {datetime(2026, 6, 1, tzinfo=UTC).timestamp()}" in lines
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(int(datetime(2026, 9, 20, tzinfo=UTC).timestamp())))
    write_history(history, tmp_path / "pacshift.prom", not_counted=["07.parquet"])
    lines = (tmp_path / "pacshift.prom").read_text().splitlines()
    assert "pacshift_periods_without_rows 4" in lines  # June and July should have come by now
    assert "pacshift_last_run_success 0" in lines


def test_every_gauge_is_explained(monitor: Monitor, tmp_path: Path) -> None:
    dated = [replace(report, start="2026-05-01", end="2026-05-31") for report in monitor.history[:1]]
    write_history(dated, tmp_path / "pacshift.prom")
    text = (tmp_path / "pacshift.prom").read_text()
    page = (Path(__file__).resolve().parents[1] / "docs" / "watch.md").read_text("utf-8")
    names = re.findall(r"^# TYPE (\w+) gauge\n\1[{ ]", text, re.MULTILINE)
    rows = re.findall(r"^\| `pacshift_.*? \|", page, re.MULTILINE)
    assert set(re.findall(r"pacshift_\w+", "".join(rows))) == set(names)


def test_names_of_periods_are_no_formulas_in_a_spreadsheet(monitor: Monitor, tmp_path: Path) -> None:
    """A period may be called like its file."""
    names = ["=1+1", "+x", "-x", "@SUM(A1)", "\t=1", "2026-05"]
    history = [replace(monitor.history[0], period=name) for name in names]
    write_history(history, tmp_path / "monitor.csv")
    read = pyarrow.csv.read_csv(tmp_path / "monitor.csv").column("period").to_pylist()
    assert list(dict.fromkeys(read)) == ["'=1+1", "'+x", "'-x", "'@SUM(A1)", "'\t=1", "2026-05"]
    write_history(history, tmp_path / "monitor.parquet")
    kept = pyarrow.parquet.read_table(tmp_path / "monitor.parquet")["period"].to_pylist()
    assert names == list(dict.fromkeys(kept))
    assert write_history([], tmp_path / "monitor.csv") == 0


def test_other_endings_and_existing_files_are_refused(monitor: Monitor, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must end in \.parquet"):
        write_history(monitor.history, tmp_path / "monitor.xlsx")
    write_history(monitor.history, tmp_path / "monitor.csv")
    with pytest.raises(InputError, match="exists already"):
        write_history(monitor.history, tmp_path / "monitor.csv", overwrite=False)
