"""``pacshift calibrate``: what it prints, what it writes, how it ends."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

from commands import NAMES, Data, bad, good, run
from pacshift import Certificate, Tally, calibrate
from pacshift.cli.console import CommandLine
from pacshift.errors import speak
from pacshift.report import render_report


def test_calibrate_says_and_writes_what_the_library_gives(data: Data, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    shown = good("calibrate", data.source, data.target, "-m", "PS-W", "-e", 0.08, "-d", 0.02, "-o", out).stdout
    made = Certificate.load(out)
    target = pa.parquet.read_table(data.target).select([f"p_{name}" for name in NAMES])
    matrix = np.column_stack([column.to_numpy() for column in target.itercolumns()])
    tally = Tally.from_scores(data.scores, np.array(NAMES)[data.labels], classes=NAMES, grid=True)
    tally = tally + Tally.from_target(matrix, classes=NAMES)
    same = calibrate(tally, epsilon=0.08, delta=0.02, method="PS-W", rng=0)
    assert np.array_equal(made.thresholds, same.thresholds)
    assert made.set_sizes is not None
    assert np.array_equal(made.set_sizes, np.bincount(same.sets(matrix).sum(axis=1), minlength=4))
    said = " ".join(shown.split())  # and besides, what rows tell that tallies do not
    *short, more = made.explain().splitlines()
    assert more == "More: explain(full=True)."
    assert said.startswith(f"{' '.join(' '.join(short).split())} More: pacshift report ")
    told = [line.split(":")[0] for line in short if line not in same.explain().splitlines()]
    assert told == ["Sets on the target"]
    assert "Written: " in shown


def test_everything_is_printed_if_asked_for(data: Data, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    shown = good("calibrate", data.source, data.target, "-o", out, "--full").stdout
    with speak(CommandLine()):
        said = Certificate.load(out).explain(full=True)
    assert " ".join(shown.split()).startswith(" ".join(said.split()))
    assert "class_epsilon=" not in shown


def test_oracle_is_for_python(data: Data, tmp_path: Path) -> None:
    call = ("calibrate", data.source, data.target, "-m", "ORACLE", "-o", tmp_path / "c.json")
    assert "needs the true weights" in bad(*call)


def test_nothing_certified_is_written_and_exits_3(data: Data, tmp_path: Path) -> None:
    out = tmp_path / "c.json"
    result = run("calibrate", data.source, data.target, "-m", "PS-W", "-e", 1e-5, "-o", out)
    assert result.exit_code == 3
    assert result.stdout.startswith("Sets: every set contains all 3 labels.")
    assert Certificate.load(out).trivial
    result = run("calibrate", data.source, data.target, "-m", "PS-W", "-e", 1e-5, "-o", out, "--force", "--json")
    assert result.exit_code == 3
    assert json.loads(result.stdout)["trivial"] is True
    assert result.stderr.startswith("note: ")
    assert "all labels" in result.stderr


def test_rows_are_left_out_only_if_asked_and_never_in_silence(data: Data, tmp_path: Path) -> None:
    broken = pa.parquet.read_table(data.source).to_pydict()
    broken["p_owl"][5] = float("nan")
    broken["label"][7] = None
    path = tmp_path / "broken.parquet"
    pa.parquet.write_table(pa.table(broken), path)
    call = ("calibrate", path, data.target, "-m", "PS-W", "-o", tmp_path / "c.json")
    assert "2 rows cannot be used" in bad(*call)
    result = good(*call, "--drop-invalid", "0.05")
    why = "2 of 3,000 rows{} (1 with no label, 1 with scores that are null, NaN or infinite, or a list of another "
    assert f"note: source: {why.format(' left out')}" in result.stderr
    made = Certificate.load(tmp_path / "c.json")
    assert made.n_source == 2998
    said = f"Left out: {why.format('')}length) of source 'broken.parquet'."
    assert said in made.explain(full=True)
    assert "Left out: 2 source rows. The promise is not about such rows." in made.explain().splitlines()
    assert "left out: 2 of 3,000 rows (1 with no label" in render_report(made)
    assert "Left out" not in Certificate.load(data.certificate).explain(full=True)


def test_what_is_known_can_refute_with_exit_code_3(data: Data, tmp_path: Path) -> None:
    call = ("calibrate", data.source, data.target, "-o", tmp_path / "c.json")
    for method in ("PS-LP", "PS-LW", "LWCP"):
        said = bad(*call, "-m", method, "--known", "wren=0..0.01", code=3)
        assert "label shift is rejected" in said
        assert "'wren', but you said at most 1 %" in said
    assert not (tmp_path / "c.json").exists()
    assert "names class 'wren' twice" in bad(*call, "--known", "wren=0..1", "--known", "wren=0..0.9")
    assert "contamination must be below epsilon" in bad(*call, "--contamination", 0.5)
    assert "Name the label column: --target-label NAME" in bad(*call, "--target-label", "truth")
