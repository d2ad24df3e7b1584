"""``pacshift monitor --labelled``: the labels of a refuted month certify sets, and become the source."""

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from commands import bad, good, run
from hospital import NAMES, USUAL, month_days, patients, table
from pacshift import Certificate, LabelSheet
from test_cli_monitor import BY_MONTH, deliver, monitored

pytestmark = pytest.mark.slow


def label_september(budget: int = 600, mix: Any = USUAL) -> None:
    """A month of a new scanner, and its sheet with all labels."""
    rng = np.random.default_rng(9)
    scores, labels = patients(3000, mix, rng, bias=-9.0)
    pa.parquet.write_table(table(scores, days=month_days(9, 3000, rng)), "visits/09.parquet")
    good("label", "visits/09.parquet", "-b", budget, "--looks", "300", "--seed", "3", "-o", "sheet.csv", "-f")
    sheet = LabelSheet.load("sheet.csv")
    sheet.with_labels([NAMES[each] for each in labels[sheet.rows]]).save("sheet.csv", overwrite=True)


def relabelled(*words: object, target: str = "visits/09.parquet") -> Any:
    return json.loads(
        good("monitor", "source.parquet", target, *BY_MONTH, "--labelled", "sheet.csv", "--json", *words).stdout
    )


def test_a_refuted_month_is_labelled_and_becomes_the_source(folder: Path) -> None:
    label_september()
    refuted = monitored(code=3)
    draw, use = refuted["periods"][-1]["next"]
    september = str(folder / "visits" / "09.parquet")
    assert shlex.split(draw)[:3] == ["pacshift", "label", september]
    assert shlex.split(use) == [
        *("pacshift", "monitor", "source.parquet", september, "--timestamp", "seen", "--period", "month"),
        *("--state", "watch", "--label", "diagnosis", "--force", "--labelled", "to_label.csv"),
    ]
    assert "What to do: draw rows to label" in Path("monitor.html").read_text()
    found = relabelled()
    assert found["source"] == {
        "number": 1, "rows": 600, "looks": 2, "periods": ["2026-09"], "in_words": "600 labelled rows of 2026-09"
    }  # fmt: skip
    assert [one["labelled"] for one in found["periods"]] == [False, False, True]
    assert (found["in_use"]["choice"], found["in_use"]["method"]) == ("labelled", "PS-T")
    assert (found["failed"], found["periods"][-1]["next"]) == ([], [])
    assert Certificate.load("watch/current.json").method == "PS-T"
    manifest = Path("watch/manifest.json").read_bytes()
    assert relabelled()["source"] == found["source"]  # the same again changes nothing
    assert Path("watch/manifest.json").read_bytes() == manifest
    deliver("10.parquet", 10, USUAL, bias=-9.0)
    deliver("late.parquet", 9, USUAL, n=50, bias=-9.0)
    later = run("monitor", "source.parquet", "visits", *BY_MONTH, "--json")
    assert "50 late rows of 2026-09 are left out" in later.stderr
    periods = json.loads(later.stdout)["periods"]
    assert [(one["rows"], one["source_number"]) for one in periods[-2:]] == [(3000, 0), (2500, 1)]
    assert periods[-1]["verdict"] in ("kept", "not-proven")
    assert "late rows" not in run("monitor", "source.parquet", "visits", *BY_MONTH, "--json").stderr
    shown = " ".join(good("monitor", "source.parquet", "visits", *BY_MONTH).stdout.split())
    assert "Compared with: 600 labelled rows of 2026-09" in shown


def test_the_printed_commands_run_as_they_stand(folder: Path) -> None:
    """Score columns that only the labels of the source name, and a key: ``label`` must be told of both."""
    label_september()
    truth = LabelSheet.load("sheet.csv")
    known = dict(zip(truth.rows.tolist(), truth.labels, strict=True))
    for number, file in enumerate((Path("source.parquet"), *sorted(Path("visits").iterdir()))):
        rows = pa.parquet.read_table(file)
        rows = rows.rename_columns([name.removeprefix("p_") for name in rows.column_names])
        visits = pa.array(np.arange(len(rows)) + 100_000 * number)
        pa.parquet.write_table(rows.append_column("visit", visits), file)
    words = ("--known", "covid=0..0.9", "--key", "visit", "--epsilon", "0.12", "--method", "PS-LW")
    shown = run("monitor", "source.parquet", "visits", *BY_MONTH, *words)
    assert shown.exit_code == 3
    draw, use = (line.strip() for line in shown.stdout.splitlines() if line.startswith("    pacshift "))
    assert "--scores healthy,pneumonia,covid --keep visit" in draw
    good(*shlex.split(draw)[1:], "--seed", "3")
    sheet = LabelSheet.load("to_label.csv")
    assert sheet.looks == (400,)
    assert list(sheet.kept) == ["visit"]
    sheet = sheet.with_labels([known.get(row, NAMES[0]) for row in sheet.rows.tolist()])
    sheet.save("to_label.csv", overwrite=True)
    found = json.loads(good(*shlex.split(use)[1:], "--json").stdout)
    assert found["source"]["periods"] == ["2026-09"]


def test_the_way_back(folder: Path) -> None:
    """September was an exception. Another certificate does not answer that a month is refuted; a source does."""
    good("calibrate", "source.parquet", "visits/03.parquet", "--label", "diagnosis", "-o", "first.json")
    label_september(mix=[0.4, 0.3, 0.3])
    monitored(code=3)
    assert monitored("--adopt", "first.json", code=3)["failed"] == ["2026-09"]
    relabelled()
    deliver("10.parquet", 10, USUAL)
    assert monitored(code=3)["failed"] == ["2026-10"]
    back = run("monitor", "source.parquet", "visits", *BY_MONTH, "--source", "first", "--adopt", "first.json")
    assert back.exit_code == 0
    said = " ".join(back.stderr.split())
    assert "later periods are compared with the source that was given (20,000 labelled rows) again" in said
    assert "rejected, labelled" in back.stdout
    assert "Compared with: the source that was given (20,000 labelled rows)" in back.stdout
    again = ("monitor", "source.parquet", "visits/10.parquet", *BY_MONTH, "--replace", "2026-10", "--json")
    found = json.loads(good(*again).stdout)
    assert (found["periods"][-1]["source_number"], found["source"]["number"]) == (0, 0)
    assert found["periods"][-1]["verdict"] in ("kept", "not-proven")
    assert (
        "first source already" in run("monitor", "source.parquet", "visits", *BY_MONTH, "--source", "first").stderr
    )
    words = ("monitor", "source.parquet", "visits/09.parquet", *BY_MONTH, "--labelled", "sheet.csv")
    assert "--labelled does not go with --source" in bad(*words, "--source", "first")
    assert "are no longer the source" in bad(*words)


def test_quiet_is_not_silent_about_an_alert(folder: Path) -> None:
    assert good("monitor", "source.parquet", "visits", *BY_MONTH, "-q").output == ""
    label_september()
    shown = run("monitor", "source.parquet", "visits", *BY_MONTH, "-q", "--fail-on", "gap")
    assert (shown.exit_code, shown.stdout) == (3, "")
    assert shown.stderr.startswith("alert: 2026-09: label shift rejected; 2026-05 to 2026-08 (4 periods)")
    assert shown.stderr.count("\n") == 1


def test_what_cannot_be_a_new_source_leaves_the_state_as_it_was(folder: Path) -> None:
    label_september()
    monitored(code=3)
    manifest = Path("watch/manifest.json").read_bytes()
    words = ("monitor", "source.parquet", "visits/09.parquet", *BY_MONTH, "--labelled", "sheet.csv")
    stateless = [word for word in words if word not in ("--state", "watch")]
    assert "Name the folder: --state DIR" in bad(*stateless)
    assert "--labelled does not go with --adopt" in bad(*words, "--adopt", "2026-08")
    assert "was drawn from another target" in bad(*words[:2], "visits/04.parquet", *words[3:])
    good("label", "visits/09.parquet", "-b", "300", "-e", "0.2", "-o", "other.csv")
    assert "other.csv was made for epsilon=0.2" in bad(*words[:-1], "other.csv")
    good("label", "visits/04.parquet", "-b", "300", "--seed", "3", "-o", "april.csv")
    pa.parquet.write_table(pa.parquet.read_table("visits/09.parquet")[:2000], "part.parquet")
    good("label", "part.parquet", "-b", "300", "--seed", "3", "-o", "part.csv")
    assert "2,000 rows of TARGET are not those of a period" in bad(
        *words[:2], "part.parquet", *BY_MONTH, "--labelled", "part.csv"
    )
    unfinished = run(*words[:2], "visits/04.parquet", *BY_MONTH, "--labelled", "april.csv")
    assert (unfinished.exit_code, "0 rows are filled in" in unfinished.stderr) == (3, True)
    assert Path("watch/manifest.json").read_bytes() == manifest


def test_a_new_source_beside_a_tally(folder: Path) -> None:
    """With counts of the source alone nothing is tuned; the labels certify even so."""
    label_september()
    good("tally", "source.parquet", "--label", "diagnosis", "-o", "source.tally", "--leave-out", "soft")
    words = ("--timestamp", "seen", "--state", "watch", "--force", "--json")
    run("monitor", "source.tally", "visits", *words)
    found = json.loads(
        good("monitor", "source.tally", "visits/09.parquet", *words, "--labelled", "sheet.csv").stdout
    )
    assert found["source"]["periods"] == ["2026-09"]


@pytest.mark.parametrize("grouped", [True, False])
def test_a_new_source_of_one_row_per_patient_and_with_a_limit_per_class(grouped: bool, folder: Path) -> None:
    label_september()
    words = [*BY_MONTH, "--class-epsilon", "0.4", "--known", "covid=0..0.9", "--contamination", "0.01"]
    if grouped:
        for file in ("source.parquet", *Path("visits").iterdir()):
            rows = pa.parquet.read_table(file)
            pa.parquet.write_table(rows.append_column("patient", pa.array(range(len(rows)))), file)
        words += ["--group", "patient"]
        truth = LabelSheet.load("sheet.csv")
        good("label", "visits/09.parquet", "-b", "600", "--looks", "300", "--seed", "3", "-o", "sheet.csv", "-f",
             "--group", "patient")  # fmt: skip
        sheet = LabelSheet.load("sheet.csv")
        known = dict(zip(truth.rows.tolist(), truth.labels, strict=True))
        sheet.with_labels([known.get(row, "?") for row in sheet.rows.tolist()]).save("sheet.csv", overwrite=True)
    run("monitor", "source.parquet", "visits", *words)
    found = run("monitor", "source.parquet", "visits/09.parquet", *words, "--labelled", "sheet.csv", "--json")
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["in_use"]["method"] == "PS-T"
    deliver("10.parquet", 10, USUAL, bias=-9.0)
    if grouped:
        rows = pa.parquet.read_table("visits/10.parquet")
        pa.parquet.write_table(rows.append_column("patient", pa.array(range(len(rows)))), "visits/10.parquet")
    later = json.loads(good("monitor", "source.parquet", "visits", *words, "--json").stdout)
    assert later["periods"][-1]["verdict"] != "shift-rejected"
