"""A month that rejects label shift: its labels certify this month, and a repaired device is noticed."""

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


def deliver_september() -> Any:
    """A month of a new scanner, and what its patients have."""
    rng = np.random.default_rng(9)
    scores, labels = patients(3000, USUAL, rng, bias=-9.0)
    pa.parquet.write_table(table(scores, days=month_days(9, 3000, rng)), "visits/09.parquet")
    return np.array(NAMES)[labels]


def run_printed(commands: list[str], truth: Any) -> Any:
    """Draw, label, certify and use, as the commands stand; what the monitor says then."""
    draw, certify, use = (shlex.split(command)[1:] for command in commands)
    good(*draw, "--seed", "3")
    sheet = LabelSheet.load("to_label.csv")
    sheet.with_labels(list(truth[sheet.rows])).save("to_label.csv", overwrite=True)
    good(*certify)
    return json.loads(good(*use, *([] if "--json" in use else ["--json"])).stdout)


def test_a_repaired_scanner_is_noticed(folder: Path) -> None:
    """Every month is compared with the source, so labels of one month make no other month look well."""
    truth = deliver_september()
    rejected = monitored(code=3)
    commands = rejected["periods"][-1]["next"]
    september = str(folder / "visits" / "09.parquet")
    draw, certify, use = map(shlex.split, commands)
    assert draw[:5] == ["pacshift", "label", september, "--budget", "400"]
    assert certify == [
        *("pacshift", "calibrate", "source.parquet", september, "--method", "PS-T", "--epsilon", "0.1"),
        *("--delta", "0.05", "--label", "diagnosis", "--labelled", "to_label.csv", "-o", "by_labels.json"),
    ]
    assert use == [
        *("pacshift", "monitor", "source.parquet", september, "--timestamp", "seen", "--period", "month"),
        *("--state", "watch", "--label", "diagnosis", "--force", "--adopt", "by_labels.json"),
    ]
    assert "What to do: draw rows to label" in Path("monitor.html").read_text()
    assert "What to do: draw rows to label" in run("monitor", "source.parquet", "visits", *BY_MONTH).stdout
    fresh = str(rejected["periods"][0]["period"])
    assert monitored("--adopt", fresh, code=3)["failed"] == ["2026-09"]  # it assumes label shift: no answer
    answered = run_printed(commands, truth)
    assert (answered["failed"], answered["in_use"]["method"]) == ([], "PS-T")
    assert answered["source_rows"] == 20_000
    assert Certificate.load("watch/current.json").method == "PS-T"
    assert "What to do" not in Path("monitor.html").read_text()
    assert monitored()["failed"] == []
    deliver("10.parquet", 10, USUAL, bias=-9.0)
    assert monitored(code=3)["failed"] == ["2026-10"]  # the same scanner: the labels were about September
    deliver("11.parquet", 11, USUAL)
    shown = run("monitor", "source.parquet", "visits", *BY_MONTH, "--json")
    november = json.loads(shown.stdout)["periods"][-1]
    assert november["verdict"] != "shift-rejected"
    low, high = november["error"]
    assert high - low < 0.06  # compared with all of the source, and not blind


def test_the_printed_commands_run_as_they_stand(folder: Path) -> None:
    """Score columns that only the labels of the source name, groups, logits and a limit per class."""
    truth = deliver_september()
    for number, file in enumerate((Path("source.parquet"), *sorted(Path("visits").iterdir()))):
        rows = pa.parquet.read_table(file)
        rows = rows.rename_columns([name.removeprefix("p_") for name in rows.column_names])
        for place in range(3):
            logits = np.log(rows.column(place).to_numpy() + 1e-7)
            rows = rows.set_column(place, rows.column_names[place], pa.array(logits))
        patient = pa.array(np.arange(len(rows)) + 100_000 * number)
        pa.parquet.write_table(rows.append_column("patient", patient), file)
    rows = ("--group", "patient", "--softmax")
    good("calibrate", "source.parquet", "visits/03.parquet", "--label", "diagnosis", "--method", "PS-LW", *rows,
         "--class-epsilon", "0.4", "--contamination", "0.01", "-o", "limited.json")  # fmt: skip
    words = (
        *("--known", "covid=0..0.9", "--epsilon", "0.12", "--method", "PS-LW", *rows),
        *("--certificate", "limited.json"),
    )
    shown = run("monitor", "source.parquet", "visits", *BY_MONTH, *words)
    assert shown.exit_code == 3
    commands = [line.strip() for line in shown.stdout.splitlines() if line.startswith("    pacshift ")]
    assert "--scores healthy,pneumonia,covid --group patient --softmax --keep patient" in commands[0]
    assert "--class-epsilon 0.4" in commands[1]
    found = run_printed(commands, truth)
    assert (found["failed"], found["in_use"]["method"]) == ([], "PS-T")


def test_quiet_is_not_silent_about_an_alert(folder: Path) -> None:
    assert good("monitor", "source.parquet", "visits", *BY_MONTH, "-q").output == ""
    deliver_september()
    shown = run("monitor", "source.parquet", "visits", *BY_MONTH, "-q", "--fail-on", "gap")
    assert (shown.exit_code, shown.stdout) == (3, "")
    assert shown.stderr.startswith("alert: 2026-09: label shift rejected; 2026-05 to 2026-08 (4 periods)")
    assert shown.stderr.count("\n") == 1


def test_the_table_behind_a_tally_is_for_the_user_to_name(folder: Path) -> None:
    deliver_september()
    good("tally", "source.parquet", "--label", "diagnosis", "-o", "source.tally", "--leave-out", "soft")
    words = ("--timestamp", "seen", "--state", "watch", "--force", "--json")
    found = json.loads(run("monitor", "source.tally", "visits", *words).stdout)
    _, certify, use = map(shlex.split, found["periods"][-1]["next"])
    assert (certify[2], use[2]) == ("SOURCE", "source.tally")
    assert "no such option" in bad("monitor", "source.tally", "visits", *words, "--labelled", "x.csv").lower()
