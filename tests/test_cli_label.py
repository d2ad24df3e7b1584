"""``pacshift label``: a sheet for people, what to do next, one JSON object for machines."""

import json
import shlex
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from commands import Data, bad, good
from pacshift import LabelSheet, label_sheet


def test_a_sheet_and_what_to_do_next(data: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown = good("label", data.target, "--budget", "400", "--looks", "100,200", "-k", "id", "--seed", "4").stdout
    sheet = LabelSheet.load("to_label.csv")
    assert (sheet.looks, sheet.n_pilot, sheet.seed, sheet.n_target) == ((100, 200, 400), 24, 4, 2000)
    assert sheet.kept["id"] == tuple(str(row + 100) for row in sheet.rows)
    assert "400 of 2,000 target rows to label, in random order." in shown
    assert "from the top: 'crow', 'owl', 'wren', or ? if nobody can tell" in shown
    assert "After 100, 200 or 400 labels" in shown
    assert "A second sheet of this target would spend delta again." in shown
    assert f"pacshift calibrate SOURCE {data.target} --labelled to_label.csv -o certificate.json" in shown
    scores = np.column_stack([pq.read_table(data.target)[f"p_{name}"] for name in ("crow", "owl", "wren")])
    assert label_sheet(scores, budget=400, looks=(100, 200), rng=4).rows.tolist() == sheet.rows.tolist()


def test_the_next_command_has_the_users_names_and_options(data: Data, tmp_path: Path) -> None:
    table = pq.read_table(data.target)
    folder, out = tmp_path / "both of them", tmp_path / "my labels.csv"
    folder.mkdir()
    pq.write_table(table[:1000], folder / "north.parquet")
    pq.write_table(table[1000:], folder / "south.parquet")
    words = ["label", folder, "-b", "150", "-e", "0.2", "-d", "0.01", "--scores", "p_*", "-o", out]
    words += ["--classes", "crow,owl,wren", "--drop-invalid", "0.05"]
    document = json.loads(good(*words, "--json").stdout)
    expected = ["pacshift", "calibrate", "SOURCE", str(folder), "--labelled", str(out)]
    expected += ["--epsilon", "0.2", "--delta", "0.01", "--scores", "p_*", "--classes", "crow,owl,wren"]
    assert shlex.split(document["next"]) == [*expected, "--drop-invalid", "0.05", "-o", "certificate.json"]
    assert document["sheet"] == str(out)
    assert document["rows"] == 150
    assert document["looks"] == [150]
    assert document["target_rows"] == 2000
    assert document["classes"] == ["crow", "owl", "wren"]
    assert LabelSheet.load(out).seed == document["seed"]


def test_a_sheet_with_labels_is_not_overwritten(data: Data, tmp_path: Path) -> None:
    out = tmp_path / "s.csv"
    good("label", data.target, "-b", "50", "-o", out)
    before = out.read_bytes()
    said = bad("label", data.target, "-b", "50", "-o", out)
    assert "exists already" in said
    assert "a second sheet, or a larger one with the same seed, spends delta again" in said
    assert said.endswith("overwrite it with --force.\n")
    assert out.read_bytes() == before
    good("label", data.target, "-b", "50", "-o", out, "--force")
    assert out.read_bytes() != before  # another seed


def test_few_labels_are_not_tuned(data: Data, tmp_path: Path) -> None:
    shown = " ".join(good("label", data.target, "-b", "60", "-o", tmp_path / "s.csv").stdout.split())
    assert LabelSheet.load(tmp_path / "s.csv").n_pilot == 0
    assert "Stop at any of these numbers" not in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-b", "5000"], "--budget must not exceed the target: 5,000 rows to label, but the target has 2,000"),
        (["-b", "20"], "the budget is 20 rows, too few to certify anything"),
        (["-b", "100", "--looks", "60,50"], "--looks must increase"),
        (["-b", "100", "--looks", "6o"], "--looks takes whole numbers separated by commas, got '6o'"),
        (["-b", "100", "--looks", ""], "an empty word after '--looks'"),
        (["-b", "100", "-e", "2"], "--epsilon must lie strictly between 0 and 1"),
        (["-b", "100", "--keep", "name"], "cannot keep 'name'"),
        (["-b", "100", "--classes", "a,b,c"], "no score column for class"),
        (["-b", "100", "-o", "s.xlsx"], "its name must end in .csv"),
        ([], "label takes one TARGET and --budget ROWS"),
    ],
)
def test_what_cannot_be_is_said(words: list[str], said: str, data: Data, tmp_path: Path) -> None:
    words = words if "-o" in words else [*words, "-o", str(tmp_path / "s.csv")]
    assert said in bad("label", data.target, *words)
    assert list(tmp_path.iterdir()) == []
