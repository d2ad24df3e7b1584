"""The command ``monitor``: periods, exit codes, runs that continue."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from commands import bad, good, run
from hospital import USUAL, month_days, patients, table
from pacshift.monitor.state import State
from pacshift.rows.arrow.formats import FileSource

pytestmark = pytest.mark.slow

OUTBREAK = [0.05, 0.94, 0.01]  # of pneumonia, which certificates for the usual mix miss most


BY_MONTH = ("--label", "diagnosis", "--timestamp", "seen", "--period", "month", "--state", "watch", "--force")


def monitored(*words: object, code: int = 0) -> Any:
    result = run("monitor", "source.parquet", "visits", *BY_MONTH, "--json", *words)
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def deliver(name: str, month: int, mix: list[float], n: int = 2500, bias: float = 0.0) -> None:
    rng = np.random.default_rng([month, n])
    rows = table(patients(n, mix, rng, bias=bias)[0], days=month_days(month, n, rng))
    pa.parquet.write_table(rows, Path("visits", name))


def left_out(*words: object) -> str:
    """What is said of the one file that cannot be counted, by a run that has an answer about the others."""
    result = run(*words)
    assert result.exit_code == 2, result.output
    assert "Written: monitor.html" in result.stdout
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == result.stderr.count(" is not counted: ") == 1
    return result.stderr


def test_months_continue_and_alarm(folder: Path) -> None:
    first = monitored("--table", "monitor.parquet")
    assert [period["period"] for period in first["periods"]] == ["2026-03", "2026-04"]
    assert first["periods"][0]["verdict"] == "kept"
    assert first["periods"][0]["empty"] is None  # there was no certificate whose sets could be counted
    assert Path("monitor.html").read_text().startswith("<!doctype html>")
    assert pa.parquet.read_table("monitor.parquet").column_names[0] == "period"
    assert monitored()["periods"] == first["periods"]  # nothing new: nothing is counted or spent again
    deliver("05.parquet", 5, OUTBREAK)
    found = monitored(code=4)
    assert found["failed"] == ["2026-05"]
    assert found["periods"][:2] == first["periods"]
    assert found["periods"][2]["empty"] is not None
    assert found["periods"][2]["number"] == 3
    deliver("06.parquet", 6, OUTBREAK)
    adopted = monitored("--adopt", "2026-05")
    assert adopted["failed"] == []
    assert adopted["periods"][3]["verdict"] in ("kept", "not-proven")
    deliver("late.parquet", 5, OUTBREAK, n=300)
    late = monitored()
    counts = [(period["rows"], period["number"]) for period in late["periods"]]
    assert counts == [(2500, 1), (2500, 2), (2800, 5), (2500, 4)]


def test_files_are_read_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    batches, write = FileSource.batches, State.write

    def watched(source: FileSource, *layout: Any) -> Any:
        opened.append(source.files[0].name)
        return batches(source, *layout)

    def written(state: State, folder: Path) -> None:
        opened.append("state")
        write(state, folder)

    monkeypatch.setattr(FileSource, "batches", watched)
    monkeypatch.setattr(State, "write", written)
    monitored()
    counting = ["source.parquet", "03.parquet", "04.parquet"]
    assert opened == [*counting, "state", "state"]  # rows with reports; then that they were delivered


def test_fail_on_not_proven(folder: Path) -> None:
    words = ("monitor", "source.parquet", "visits", *BY_MONTH, "--forever", "--fail-on", "not-proven", "-q")
    assert run(*words).exit_code == 4  # at half of delta the second month is not proven


def test_a_certificate_of_ones_own_sets_epsilon(folder: Path) -> None:
    good("calibrate", "source.parquet", "-m", "PS", "-e", "0.06", "--label", "diagnosis", "-o", "old.json")
    found = monitored("--certificate", "old.json")
    assert [period["epsilon"] for period in found["periods"]] == [0.06, 0.06]
    shown = good("monitor", "source.parquet", "visits", *BY_MONTH, "--certificate", "old.json").stdout
    assert "labels per set at 6 %" in shown
    assert "with new certificate at 6 %" in shown
    with_slack = run("monitor", "source.parquet", "visits", "--label", "diagnosis", "--certificate", "old.json",
                     "--epsilon", "0.12", "--timestamp", "seen", "--json", "-f")  # fmt: skip
    slack = json.loads(with_slack.stdout)["periods"]
    assert [period["verdict"] for period in slack] == ["kept", "kept"]
    assert [(period["in_use_epsilon"], period["epsilon"]) for period in slack] == [(0.06, 0.12)] * 2
    page = Path("monitor.html").read_text()
    assert "labels per set at 6 %" in page
    assert "with new certificate at 12 %" in page


def test_files_and_tallies_as_periods(folder: Path) -> None:
    plain = ("--label", "diagnosis", "--json", "--force")
    files = "visits/03.parquet", "visits/04.parquet"
    by_file = json.loads(good("monitor", "source.parquet", *files, *plain).stdout)
    assert [period["period"] for period in by_file["periods"]] == ["03", "04"]
    assert by_file["periods"][0]["start"] is None
    good("tally", "source.parquet", "--label", "diagnosis", "-o", "source.tally", "--leave-out", "soft")
    for month in ("03", "04"):
        good("tally", f"visits/{month}.parquet", "-o", f"{month}.tally", "--leave-out", "soft")
    tallies = json.loads(good("monitor", "source.tally", "03.tally", "04.tally", "--json", "--force").stdout)
    assert [period["error"] for period in tallies["periods"]] == [period["error"] for period in by_file["periods"]]
    assert tallies["periods"][0]["empty"] is None


def test_an_expired_certificate_and_another_model_are_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1600000000")  # 2020
    good("calibrate", "source.parquet", "visits/03.parquet", "--label", "diagnosis", "-o", "old.json",
         "--valid-until", "2021-01-01", "--model-id", "net 3")  # fmt: skip
    start = ("monitor", "source.parquet", "visits/04.parquet", "--label", "diagnosis", "-f")
    done = run(*start, "--certificate", "old.json", "--model-id", "net 3", "--json")
    (expired,) = json.loads(done.stdout)["warnings"]
    assert "valid until 2021-01-01" in expired
    assert expired in " ".join(done.stderr.split())
    other = (*start, "--certificate", "old.json", "--model-id", "net 4", "--state", "other")
    said = run(*other)
    assert said.exit_code == 5
    assert said.stderr.startswith("error: this certificate is for model 'net 3', but these scores are from")
    assert not Path("other", "manifest.json").exists()  # scores of another model are not counted
    fresh = run(*start, "--state", "watch", "--model-id", "net 4", "--json")
    assert json.loads(fresh.stdout)["warnings"] == []  # fresh certificates remember the model


def test_what_is_printed(folder: Path) -> None:
    deliver("05.parquet", 5, OUTBREAK)
    shown = run("monitor", "source.parquet", "visits", *BY_MONTH)
    assert shown.exit_code == 4
    assert re.search(r"2026-05: broken\. [0-9.]+ to [0-9.]+ % are missed; 10 % are allowed\.", shown.stdout)
    assert "Written: monitor.html" in shown.stdout


def test_bad_input(folder: Path) -> None:
    start = ("monitor", "source.parquet", "visits", "--label", "diagnosis", "-f")
    assert "needs --timestamp" in bad(*start, "--period", "month")
    assert "Name a folder: --state DIR" in bad(*start, "--forever")
    assert "'year' is not one of 'day', 'week', 'month'" in bad(*start, "--timestamp", "seen", "--period", "year")
    assert "no column 'when'" in bad(*start, "--timestamp", "when")
    assert "must end in" in bad(*start, "--table", "monitor.xlsx")
    assert "needs a method with a promise about the target, PS has none" in bad(*start, "--method", "PS")
    assert "--adopt 2030-01: no report" in bad(*start, "--adopt", "2030-01")
    assert "no such file" in bad("monitor", "source.parquet", "nowhere", "--label", "diagnosis", "-f")
    good(*start, "--timestamp", "seen", "--state", "watch", "-q")
    assert "other settings" in bad(*start, "--timestamp", "seen", "--state", "watch", "--epsilon", "0.2")
    deliver("03.parquet", 3, USUAL, n=100)
    message = left_out(*start, "--timestamp", "seen", "--state", "watch")
    assert "counted before with other content" in message
    assert "exists already" in bad("monitor", "source.parquet", "visits", "--label", "diagnosis")


def test_columns_are_found_by_name_and_remembered(folder: Path) -> None:
    """Columns called as the classes, in another order in the target; the fresh certificate predicts with them."""
    for path in (Path("source.parquet"), *Path("visits").iterdir()):
        rows = pa.parquet.read_table(path)
        names = [name.removeprefix("p_") for name in rows.column_names]
        renamed = rows.rename_columns(names)
        pa.parquet.write_table(renamed.select(names if path.stem == "source" else names[::-1]), path)
    assert monitored()["periods"][0]["verdict"] == "kept"
    shutil.copy("watch/current.json", "in-use.json")
    found = monitored("--certificate", "in-use.json", "--state", "counted")
    shown = good("predict", "watch/current.json", "visits/03.parquet", "-o", "sets.parquet").stdout
    assert f"{found['periods'][0]['size']:.3f} labels on average" in shown
