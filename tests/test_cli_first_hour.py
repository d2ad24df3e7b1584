"""A newcomer's first hour with a table of their own: no flags, or those an error names."""

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import commands
from pacshift import Certificate

NAMES = ("cat", "dog", "bird")


def good(line: str) -> str:
    done = commands.good(*shlex.split(line))
    assert done.stderr == ""
    return done.stdout


def write_csv(path: Path, columns: tuple[str, ...], scores: np.ndarray, labels: np.ndarray | None) -> None:
    lines = [",".join([*columns, *([] if labels is None else ["label"]), "id"])]
    for number, row in enumerate(scores):
        label = [] if labels is None else [NAMES[labels[number]]]
        lines.append(",".join([*(f"{score:.6f}" for score in row), *label, str(1000 + number)]))
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    mixes = [0.6, 0.3, 0.1], [0.2, 0.3, 0.5], [0.2, 0.3, 0.5]
    source, target, later = (commands.simulate(rng, mix, 1500) for mix in mixes)
    write_csv(tmp_path / "source.csv", NAMES, *source)
    write_csv(tmp_path / "target.csv", NAMES, target[0], None)
    write_csv(tmp_path / "later.csv", NAMES[::-1], later[0][:, ::-1], later[1])  # columns in another order
    for name, (scores, labels) in {"source": source, "later": later}.items():
        np.savez(tmp_path / f"{name}.npz", softmax=scores, y=labels, class_names=NAMES)
    np.savez(tmp_path / "target.npz", softmax=target[0][:, ::-1], class_names=NAMES[::-1])
    return tmp_path


def test_a_csv_of_ones_own_needs_no_flags(folder: Path) -> None:
    assert "Promise (PS-LP)" in good("calibrate source.csv target.csv")
    made = Certificate.load(folder / "certificate.json")
    assert made.classes == NAMES
    good("predict certificate.json target.csv --keep id -o sets.csv")
    lines = (folder / "sets.csv").read_text().splitlines()
    assert lines[0] == '"id","set","set_size"'
    assert lines[1].startswith("1000,")
    checked = good("check certificate.json later.csv")
    assert any(verdict in checked for verdict in ("kept: ", "consistent: "))
    refused = commands.bad("calibrate", "source.csv", "target.csv", "--scores", "*", "-o", "id.json")
    assert "column 'id' does not look like scores" in refused
    assert "(of a table: --scores), or name all classes with --classes" in refused


def test_an_archive_and_the_option_that_an_error_names(folder: Path) -> None:
    first = commands.bad(*["calibrate", "source.npz", "target.npz", "-m", "ps-lw", "--label", "y"])
    assert "--scores takes a pattern such as 'p_*', a comma list of columns, or one column of lists" in first
    assert first.rstrip().endswith("The columns are 'softmax'.")
    good("calibrate source.npz target.npz -m ps-lw --label y --scores softmax")
    made: Any = Certificate.load(folder / "certificate.json")
    assert (made.columns.scores, made.columns.label) == (("softmax",), "y")
    good("predict certificate.json target.npz")
    good("check certificate.json later.npz")
