"""``pacshift monitor`` night after night: nothing is lost, nothing counts twice, no alert is missed."""

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from commands import bad, good, run
from hospital import USUAL
from pacshift import Certificate
from test_cli_monitor import BY_MONTH, OUTBREAK, deliver, left_out, monitored

pytestmark = pytest.mark.thorough  # many whole runs of the monitor


def verdicts(found: Any) -> dict[str, str]:
    return {period["period"]: period["verdict"] for period in found["periods"]}


def rows_of(found: Any) -> dict[str, int]:
    return {period["period"]: period["rows"] for period in found["periods"]}


def test_what_is_adopted_survives_the_nightly_line(folder: Path) -> None:
    good("calibrate", "source.parquet", "visits/03.parquet", "--label", "diagnosis", "-o", "first.json")
    nightly = ("--certificate", "first.json")
    first = monitored(*nightly)
    assert first["in_use"]["choice"] == "given"
    deliver("05.parquet", 5, OUTBREAK)
    assert monitored(*nightly, code=4)["failed"] == ["2026-05"]
    assert monitored(*nightly, code=4)["failed"] == ["2026-05"]  # nothing was done about it
    shown = run("monitor", "source.parquet", "visits", *BY_MONTH, *nightly, "--adopt", "2026-05")
    assert shown.exit_code == 0  # the alert was answered, and nothing is new
    assert "In use: the new certificate of 2026-05, adopted (PS-LP, epsilon 10 %" in shown.stdout
    assert "watch/current.json" in shown.stdout
    later = run("monitor", "source.parquet", "visits", *BY_MONTH, *nightly)
    assert later.exit_code == 0
    assert "note: --certificate was given before, and another one was adopted since." in later.stderr
    found = monitored(*nightly)
    assert (found["in_use"]["choice"], found["in_use"]["period"]) == ("adopted", "2026-05")
    assert found["in_use"]["file"] == "watch/current.json"
    assert found["in_use"]["checksum"] == json.loads(Path("watch/current.json").read_text())["checksum"]
    assert "In use: <bdi>the new certificate of 2026-05, adopted" in Path("monitor.html").read_text()
    good("predict", "watch/current.json", "visits/05.parquet", "-o", "sets.parquet")
    back = monitored(*nightly, "--adopt", "first.json")
    assert back["in_use"]["number"] == 3
    current = Certificate.load("watch/current.json")
    assert current.thresholds.tolist() == Certificate.load("first.json").thresholds.tolist()


def test_a_failed_run_adopts_nothing(folder: Path) -> None:
    monitored()
    assert "no such file" in bad("monitor", "source.parquet", "nowhere", *BY_MONTH, "--adopt", "2026-04")
    assert monitored()["in_use"]["choice"] == "first"


def test_files_of_one_name_are_told_apart_by_their_folders(folder: Path) -> None:
    for place, month in (("a", 3), ("b", 4), ("month=2026-05", 5), ("month=2026-06", 6)):
        Path(place).mkdir()
        deliver(f"../{place}/data.parquet", month, USUAL)
    plain = ("--label", "diagnosis", "--json", "--force", "--state", "watch")
    found = json.loads(run("monitor", "source.parquet", "a", "b/data.parquet", *plain).stdout)
    assert rows_of(found) == {"a": 2500, "b": 2500}
    found = json.loads(run("monitor", "source.parquet", "a", "month=2026-05", "month=2026-06", *plain).stdout)
    assert rows_of(found) == {"a": 2500, "b": 2500, "month=2026-05": 2500, "month=2026-06": 2500}
    pa.csv.write_csv(pa.parquet.read_table("visits/03.parquet"), "04.csv")
    shutil.copy("visits/04.parquet", "04.parquet")
    said = bad("monitor", "source.parquet", "04.csv", "04.parquet", "--label", "diagnosis", "--force")
    assert "would both be the period '04'" in said


def test_other_spellings_copies_and_rewritten_files_count_once(folder: Path) -> None:
    first = monitored()
    os.symlink("visits", "link")
    rows = pa.parquet.read_table("visits/03.parquet")
    Path("more").mkdir()
    pa.csv.write_csv(rows.take(np.arange(2499, -1, -1)), "more/copy.csv")
    pa.parquet.write_table(rows, "visits/03.parquet", compression="zstd")  # other bytes, the same rows
    for place in ("./visits/../visits", "link", folder / "visits", "more"):
        found = json.loads(good("monitor", "source.parquet", place, *BY_MONTH, "--json").stdout)
        assert found["periods"] == first["periods"]
    again = good("monitor", "source.parquet", "more", *BY_MONTH)
    assert again.stderr == ""  # known by now, byte for byte
    deliver("03.parquet", 3, USUAL, n=100)
    said = left_out("monitor", "source.parquet", "link/03.parquet", *BY_MONTH)
    assert "counted before with other content" in said
    assert "--replace" in said


def test_an_export_that_delivers_the_last_month_again_is_told(folder: Path) -> None:
    words = ("monitor", "source.parquet", "--label", "diagnosis", "--state", "by-file", "--force")
    good(*words, "visits/04.parquet")
    Path("new").mkdir()
    shutil.copy("visits/04.parquet", "new/05.parquet")
    said = good(*words, "new/05.parquet").stderr
    assert "new/05.parquet has the same content as" in said
    assert good(*words, "new/05.parquet").stderr == ""
    deliver("05.parquet", 5, USUAL)
    shutil.copy("visits/05.parquet", "new/05.parquet")  # the right one
    found = json.loads(good(*words, "new/05.parquet", "--json").stdout)
    assert rows_of(found) == {"04": 2500, "05": 2500}


def test_a_source_is_no_period(folder: Path) -> None:
    shutil.copy("source.parquet", "visits/source.parquet")
    said = "is SOURCE too, and labelled rows cannot be compared with themselves"
    for source, targets in (("source.parquet", "source.parquet"), ("visits/source.parquet", "visits")):
        shown = run("monitor", source, targets, "--label", "diagnosis", "--force")
        assert (shown.exit_code, said in shown.stderr) == (2, True)


def test_an_alert_whose_page_failed_is_told_next_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deliver("05.parquet", 5, OUTBREAK)
    deliver("06.parquet", 6, USUAL)  # so that the last period is fine

    def full(*_args: Any, **_options: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("pacshift.report.write_history_page", full)
        assert "No space left" in bad("monitor", "source.parquet", "visits", *BY_MONTH)
    assert monitored(code=4)["failed"] == ["2026-05"]
    assert monitored()["failed"] == []  # told once, and the last period is fine


def with_hole(name: str, month: int, n_bad: int) -> None:
    """A month of which some rows have no score."""
    deliver(name, month, USUAL)
    rows = pa.parquet.read_table(Path("visits", name))
    scores = rows.column("p_covid").to_numpy().copy()
    scores[:n_bad] = np.nan
    place = rows.column_names.index("p_covid")
    pa.parquet.write_table(rows.set_column(place, "p_covid", pa.array(scores)), Path("visits", name))


def gauges(file: str = "pacshift.prom") -> dict[str, float]:
    lines = [line.rsplit(" ", 1) for line in Path(file).read_text().splitlines() if line[0] != "#"]
    return {name.removeprefix("pacshift_"): float(value) for name, value in lines}


def deliver_bad(how: str) -> tuple[list[Path], str]:
    """A delivery that cannot be counted: its files, and what is said of the last."""
    file = Path("visits", "05.parquet")
    if how == "nan":
        with_hole("05.parquet", 5, 20)
        return [file], "20 rows"
    if how == "columns":
        pa.parquet.write_table(pa.table({"x": [1.0]}), file)
        return [file], "column"
    if how == "another kind":
        deliver("05.parquet", 5, USUAL)
        return [file.rename("visits/05.pq")], "may hold rows, but would not be counted"
    if how == "dead link":
        file.symlink_to("none")
        return [file], "a link to nothing"
    if how == "copy":
        return [Path(shutil.copy("visits/04.parquet", file))], "have the same content"
    file.write_bytes(b"" if how == "empty" else b"damaged")
    if how == "damaged copies":
        return [file, Path(shutil.copy(file, "visits/05b.parquet"))], "have the same content"
    return [file], "05.parquet"


BAD = ("nan", "columns", "another kind", "dead link", "copy", "empty", "bytes", "damaged copies")


@pytest.mark.parametrize("how", BAD)
def test_a_bad_file_does_not_keep_the_others_waiting(how: str, folder: Path) -> None:
    words = ("--table", "pacshift.prom", "--forever")
    good_run = monitored(*words)
    assert (good_run["not_counted"], gauges()["last_run_success"], gauges()["files_not_counted"]) == ([], 1, 0)
    bad_files, reason = deliver_bad(how)
    deliver("06.parquet", 6, USUAL)
    rows = pa.parquet.read_table("visits/06.parquet")
    Path("visits/06.parquet").unlink()
    pa.csv.write_csv(rows, "visits/06.csv")  # a delivery of another kind is as good
    shown = run("monitor", "source.parquet", "visits", *BY_MONTH, *words, "--json", "--quiet")
    assert (shown.exit_code, shown.stderr[:7], reason in shown.stderr) == (2, "error: ", True)
    found = json.loads(shown.stdout)
    assert rows_of(found) == {"2026-03": 2500, "2026-04": 2500, "2026-06": 2500}
    assert [period["number"] for period in found["periods"]] == [1, 2, 3]  # a bad file costs no delta
    assert {Path(entry["file"]).name for entry in found["not_counted"]} == {file.name for file in bad_files}
    assert all(entry["reason"] in shown.stderr for entry in found["not_counted"])
    page = Path("monitor.html").read_text()
    assert re.search(rf"<title>Monitor: 2026-06, [a-z ]+; {len(bad_files)} files? not counted</title>", page)
    assert '<section id="now" class="verdict limited"' in page
    assert all(file.name in page for file in bad_files)
    assert (gauges()["last_run_success"], gauges()["files_not_counted"]) == (0, len(bad_files))
    assert gauges()["rows"] == 2500
    again = run("monitor", "source.parquet", "visits", *BY_MONTH, *words, "--quiet")
    assert (again.exit_code, again.stdout) == (2, "")  # every night, until somebody does something
    assert reason in again.stderr
    for file in bad_files:
        file.unlink()
    deliver("05.parquet", 5, USUAL)
    assert rows_of(monitored(*words)) == {f"2026-0{month}": 2500 for month in (3, 4, 5, 6)}
    assert (gauges()["last_run_success"], gauges()["files_not_counted"]) == (1, 0)


@pytest.mark.parametrize("cut", ["month", "file"])
def test_a_month_with_many_holes_is_a_bad_file(cut: str, folder: Path) -> None:
    """Of a year in one file the share of each month counts."""
    words = BY_MONTH if cut == "month" else ("--label", "diagnosis", "--state", "watch", "--force")
    with_hole("05.parquet", 5, 800)
    name = "05"
    if cut == "month":
        for month in (6, 7, 8, 9, 10, 11, 12):
            deliver(f"{month:02d}.parquet", month, USUAL)
        parts = [Path("visits", f"{month:02d}.parquet") for month in range(5, 13)]
        pa.parquet.write_table(pa.concat_tables(map(pa.parquet.read_table, parts)), "visits/year.parquet")
        for part in parts:
            part.unlink()
        name = "year"
    run_again = ("monitor", "source.parquet", "visits", *words, "--drop-invalid", "0.05")
    said = left_out(*run_again, *(["--drop-invalid", "0.1"] if cut == "month" else []))
    assert f"{name}.parquet is not counted: 800 rows" in said
    assert "32 % of 2,500 rows" in said
    assert "--drop-invalid SHARE" in said
    shown = good(*run_again, "--drop-invalid", "0.35")
    assert "800 of " in shown.stderr


def test_an_alert_about_the_others_is_graver_than_a_bad_file(folder: Path) -> None:
    monitored()
    with_hole("05.parquet", 5, 20)
    deliver("06.parquet", 6, OUTBREAK)
    found = monitored(code=4)
    assert (found["failed"], len(found["not_counted"])) == (["2026-06"], 1)


def test_a_period_is_not_replaced_by_half(folder: Path) -> None:
    monitored()
    with_hole("05.parquet", 5, 20)
    before = Path("watch/manifest.json").read_bytes()
    bad("monitor", "source.parquet", "visits/04.parquet", "visits/05.parquet", *BY_MONTH, "--replace", "2026-04")
    assert Path("watch/manifest.json").read_bytes() == before


def test_metrics_say_that_a_whole_run_failed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = ("--table", "pacshift.prom")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1786752000")
    bad("monitor", "source.parquet", "nowhere", *BY_MONTH, *table)  # the very first run
    assert gauges() == {"last_run_success": 0, "last_run_timestamp_seconds": 1786752000}
    monitored(*table)
    before = gauges()
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1786752001")
    for words in (
        ("source.parquet", "nowhere", *BY_MONTH),
        ("nothing.parquet", "visits", *BY_MONTH),
        ("source.parquet", "visits", *BY_MONTH, "--epsilon", "0.2"),
    ):
        bad("monitor", *words, *table)
        after = gauges()
        assert (after.pop("last_run_success"), after.pop("last_run_timestamp_seconds")) == (0, 1786752001)
        assert after == {name: value for name, value in before.items() if not name.startswith("last_run")}
        text = Path("pacshift.prom").read_text()
        assert text.count("# TYPE") == len({name.partition("{")[0] for name in gauges()})
    Path("watch/manifest.json").write_text("{}")
    monitored(*table, "--state", "other")
    assert gauges()["last_run_success"] == 1
    bad("monitor", "source.parquet", "visits", *BY_MONTH, *table)
    assert gauges()["last_run_success"] == 0
    with monkeypatch.context() as patched:  # a run that is stopped
        patched.setattr("pacshift.monitor.Monitor.ingest", lambda *_args, **_options: os.kill(os.getpid(), 2))
        stopped = run("monitor", "source.parquet", "visits", *BY_MONTH, *table, "--state", "other")
    assert stopped.exit_code == 130
    assert gauges()["last_run_success"] == 0


def test_a_missing_month_is_seen_and_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monitored()
    deliver("07.parquet", 7, USUAL)
    shown = run("monitor", "source.parquet", "visits", *BY_MONTH, "--fail-on", "gap")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1786752000")  # 2026-08-15: August is not over, nothing is overdue
    assert shown.exit_code == 6
    assert "2026-05 to 2026-06 (2 periods)" in shown.stdout
    found = monitored("--fail-on", "gap")  # it was told
    (gap,) = found["gaps"]
    span = {"first": "2026-05", "last": "2026-06", "periods": 2, "start": "2026-05-01", "end": "2026-06-30"}
    assert gap == {**span, "failed": False}
    assert "2026-05 to 2026-06 (2 periods)</bdi></th>" in Path("monitor.html").read_text()
    deliver("05.parquet", 5, USUAL)
    found = monitored("--fail-on", "gap")
    assert [gap["first"] for gap in found["gaps"]] == ["2026-06"]  # a part of a gap that was told
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1790812800")  # 2026-10-01: nothing has come since July
    found = monitored("--fail-on", "gap", code=6)
    assert [(gap["first"], gap["failed"]) for gap in found["gaps"]] == [("2026-06", False), ("2026-08", True)]
    for words in (["--fail-on", "gap"], []):  # told once, but seen as long as it lasts
        assert [gap["failed"] for gap in monitored("--table", "pacshift.prom", *words)["gaps"]][:1] == [False]
        assert gauges()["periods_without_rows"] == 2  # June and August
    monitored("--fail-on", "gap")
    assert "<bdi>2026-06</bdi>, <bdi>2026-08</bdi>" in Path("monitor.html").read_text()


def test_a_month_is_counted_anew(folder: Path) -> None:
    deliver("late.parquet", 4, USUAL, n=300)
    first = monitored()
    assert rows_of(first) == {"2026-03": 2500, "2026-04": 2800}
    deliver("04.parquet", 4, OUTBREAK)  # corrected: as many rows, under the same name
    assert "--replace" in left_out("monitor", "source.parquet", "visits", *BY_MONTH)
    words = ("monitor", "source.parquet", "visits/04.parquet", *BY_MONTH, "--replace")
    result = run(*words, "2026-04", "--json")
    assert result.exit_code == 4
    assert "late.parquet no longer counts in 2026-04" in result.stderr
    found = json.loads(result.stdout)
    assert [(period["rows"], period["number"]) for period in found["periods"]] == [(2500, 1), (2500, 3)]
    assert verdicts(found)["2026-04"] == "broken"
    assert monitored(code=4)["periods"] == found["periods"]  # the nightly line adds nothing to it
    assert "no period '2026-06' to replace" in bad("monitor", "source.parquet", "visits/04.parquet", "--label",
        "diagnosis", "--replace", "2026-06", "--force")  # fmt: skip
    assert "hold no row of this period" in bad(*words, "2026-09")
    deliver("both.parquet", 5, USUAL)
    mixed = pa.concat_tables([pa.parquet.read_table(f"visits/{name}.parquet") for name in ("04", "both")])
    pa.parquet.write_table(mixed, "mixed.parquet")
    said = bad("monitor", "source.parquet", "mixed.parquet", *BY_MONTH, "--replace", "2026-04")
    assert "also holds rows of '2026-05' that were not counted before" in said
    by_file = ("--label", "diagnosis", "--state", "files", "--force", "--json")
    run("monitor", "source.parquet", "visits/03.parquet", "visits/04.parquet", *by_file)
    again = json.loads(run("monitor", "source.parquet", "visits/late.parquet", *by_file, "--replace", "04").stdout)
    assert rows_of(again) == {"03": 2500, "04": 300}


@pytest.mark.parametrize("group", [[], ["--group", "patient"]])
def test_the_same_rows_cut_otherwise_count_once(group: list[str], folder: Path) -> None:
    """In another time zone; and weeks do not follow months in one folder."""
    for file in ("source.parquet", "visits/03.parquet", "visits/04.parquet"):
        rows = pa.parquet.read_table(file)
        pa.parquet.write_table(rows.append_column("patient", pa.array(np.arange(len(rows)) // 2)), file)
    rows = pa.parquet.read_table("visits/03.parquet")
    times = rows.column("seen").cast(pa.timestamp("s", "UTC"))
    zoned = rows.set_column(rows.column_names.index("seen"), "seen", times)
    pa.parquet.write_table(zoned, "utc.parquet")
    tokyo = zoned.set_column(rows.column_names.index("seen"), "seen", times.cast(pa.timestamp("s", "Asia/Tokyo")))
    pa.parquet.write_table(tokyo, "tokyo.parquet")
    by_day = ("--label", "diagnosis", "--timestamp", "seen", "--period", "day")
    words = (*by_day, "--state", "watch", "--force", "--json", *group)
    first = json.loads(run("monitor", "source.parquet", "utc.parquet", *words).stdout)
    again = run("monitor", "source.parquet", "tokyo.parquet", *words)
    assert "tokyo.parquet holds rows that were counted before" in " ".join(again.stderr.split())
    assert rows_of(json.loads(again.stdout)) == rows_of(first)
    weeks = [word if word != "day" else "week" for word in words]
    said = bad("monitor", "source.parquet", "tokyo.parquet", *weeks)
    assert "watch was begun with --period 'day' and now there is --period 'week'" in said
    said = bad("monitor", "source.parquet", "visits/04.parquet", *words[:2], *words[6:])
    assert "now there is no --timestamp" in said


def test_no_output_replaces_what_the_run_needs(folder: Path) -> None:
    monitored()
    shutil.copy("watch/current.json", "in-use.json")
    start = ("monitor", "source.parquet", "visits", *BY_MONTH, "--certificate", "in-use.json")
    before = {path: path.read_bytes() for path in (*Path("watch").iterdir(), Path("in-use.json"))}
    for words in (
        ("-o", "in-use.json"),
        ("--table", "in-use.json"),
        ("-o", "watch/manifest.json"),
        ("--table", "watch/current.json"),
        ("--table", "watch/new.json"),
        ("-o", "both.json", "--table", "both.json"),
        ("--adopt", "in-use.json", "-o", "in-use.json"),
        ("-o", "both.json", "--table", "./watch/../both.json"),
    ):
        bad(*start, *words)
    assert {path: path.read_bytes() for path in before} == before
