"""A newcomer's first hour with a table of their own, as a shell runs it: no flags, or those an error names."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pacshift as package
from pacshift import Certificate

NAMES = ("cat", "dog", "bird")
CLEAN = {**os.environ, "NO_COLOR": "1", "TERM": "dumb", "PYTHONPATH": str(Path(package.__file__).parents[1])}
PROGRAM = "from pacshift_command import main; main()"


def pacshift(line: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    words = [sys.executable, "-c", PROGRAM, *shlex.split(line)]
    return subprocess.run(words, cwd=cwd, env=CLEAN, capture_output=True, text=True, timeout=120, check=False)


def good(line: str, cwd: Path) -> str:
    done = pacshift(line, cwd)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def simulate(rng: np.random.Generator, mix: list[float], size: int = 1500) -> tuple[np.ndarray, np.ndarray]:
    labels = rng.choice(3, size, p=mix)
    exps = np.exp(rng.normal(0, 1, (size, 3)) + 3 * np.eye(3)[labels])
    return exps / exps.sum(axis=1, keepdims=True), labels


def write_csv(path: Path, columns: tuple[str, ...], scores: np.ndarray, labels: np.ndarray | None) -> None:
    lines = [",".join([*columns, *([] if labels is None else ["label"]), "id"])]
    for number, row in enumerate(scores):
        label = [] if labels is None else [NAMES[labels[number]]]
        lines.append(",".join([*(f"{score:.6f}" for score in row), *label, str(1000 + number)]))
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    source, target, later = (
        simulate(rng, [0.6, 0.3, 0.1]),
        simulate(rng, [0.2, 0.3, 0.5]),
        simulate(rng, [0.2, 0.3, 0.5]),
    )
    write_csv(tmp_path / "source.csv", NAMES, *source)
    write_csv(tmp_path / "target.csv", NAMES, target[0], None)
    write_csv(tmp_path / "later.csv", NAMES[::-1], later[0][:, ::-1], later[1])  # columns in another order
    for name, (scores, labels) in {"source": source, "later": later}.items():
        np.savez(tmp_path / f"{name}.npz", softmax=scores, y=labels, class_names=NAMES)
    np.savez(tmp_path / "target.npz", softmax=target[0][:, ::-1], class_names=NAMES[::-1])
    return tmp_path


@pytest.mark.slow
def test_a_csv_of_ones_own_needs_no_flags(folder: Path) -> None:
    assert "Guarantee (PS-LP)" in good("calibrate source.csv target.csv", folder)
    made = Certificate.load(folder / "certificate.json")
    assert made.classes == NAMES
    good("predict certificate.json target.csv --keep id -o sets.csv", folder)
    lines = (folder / "sets.csv").read_text().splitlines()
    assert lines[0] == '"id","set","set_size"'
    assert lines[1].startswith("1000,")
    checked = good("check certificate.json later.csv", folder)
    assert any(verdict in checked for verdict in ("kept: ", "consistent: "))
    refused = pacshift("calibrate source.csv target.csv --scores * -o id.json", folder)
    assert refused.returncode == 2
    assert "column 'id' does not look like scores" in refused.stderr
    assert "Leave it out with --scores, or name all classes with --classes" in refused.stderr


@pytest.mark.slow
def test_an_archive_and_the_option_that_an_error_names(folder: Path) -> None:
    first = pacshift("calibrate source.npz target.npz -m ps-lw --label y", folder)
    assert first.returncode == 2
    assert first.stderr.count("\n") == 1
    assert (
        "--scores takes a pattern such as 'p_*', a comma list of columns, or one column of lists" in first.stderr
    )
    assert first.stderr.rstrip().endswith("The columns are 'softmax'.")
    good("calibrate source.npz target.npz -m ps-lw --label y --scores softmax", folder)
    made = Certificate.load(folder / "certificate.json")
    assert made.columns is not None
    assert (made.columns.scores, made.columns.label) == (("softmax",), "y")
    good("predict certificate.json target.npz", folder)
    good("check certificate.json later.npz", folder)
