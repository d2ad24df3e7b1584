"""Damaged tables on the command line: exit 2 or 3 with a message, or a right answer.

Seeded: the same inputs every time. Warnings are errors here too, so a quiet overflow fails the test.
"""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from damage import NAMES, RATES, damage_bytes, damage_json, pick, with_value
from pacshift import METHODS, Certificate
from pacshift.cli import app

pytestmark = pytest.mark.thorough


def write(path: Path, columns: dict[str, Any]) -> None:
    """A table in the format that the name asks for."""
    data = pa.table(columns)
    if path.suffix == ".parquet":
        pa.parquet.write_table(data, path)
    elif path.suffix == ".feather":
        pa.feather.write_feather(data, str(path))
    elif path.suffix == ".csv":
        pa.csv.write_csv(data, path)
    else:
        names = [name for name in columns if name.startswith("p_")]
        arrays = {"probs": np.column_stack([np.asarray(columns[name]) for name in names])} if names else {}
        arrays |= {"labels": np.asarray(columns["label"])} if "label" in columns else {}
        np.savez(path, **arrays)  # type: ignore[arg-type]


def damage_table(columns: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Columns lost, renamed, retyped, with odd values, or none at all."""
    size = len(columns["id"])
    name = pick(rng, columns)
    row = int(rng.integers(size))
    ways: list[Callable[[], dict[str, Any]]] = [
        lambda: columns,
        lambda: {key: value for key, value in columns.items() if key != name},
        lambda: {(pick(rng, NAMES) if key == name else key): value for key, value in columns.items()},
        lambda: {(f"p_{pick(rng, NAMES)}" if key == name else key): value for key, value in columns.items()},
        lambda: {**columns, name: [str(value) for value in columns[name]]},
        lambda: {**columns, name: [None] * size},
        lambda: {**columns, name: [[0.5, 0.5]] * size},
        lambda: {**columns, name: [True] * size},
        lambda: {
            **columns,
            "p_b": with_value(np.asarray(columns["p_b"]), row, pick(rng, [math.nan, math.inf, 1e308])),
        },
        lambda: {**columns, "p_extra": np.ones(size)},
        lambda: {key: value[:0] for key, value in columns.items()},
        lambda: {key: value[:1] for key, value in columns.items()},
        lambda: {**columns, "label": with_value(np.asarray(columns["id"]).astype(object).astype(str), row, "a")},
        lambda: {**columns, "label": np.asarray(columns["id"]) % 3},
        lambda: {"only": np.arange(3)},
    ]
    damaged: dict[str, Any] = pick(rng, ways)()
    return damaged


@pytest.mark.parametrize("seed", range(10))
def test_the_command_line_on_damaged_files(seed: int, tmp_path: Path) -> None:
    start = np.random.default_rng([4, seed])
    labels = start.integers(0, 3, 120)
    scores = start.dirichlet(np.ones(3), 120) * 0.4 + 0.6 * np.eye(3)[labels]
    columns: dict[str, Any] = {"id": np.arange(120), "label": np.array(list("abc"))[labels]}
    columns |= {f"p_{name}": scores[:, place] for place, name in enumerate("abc")}
    good = tmp_path / "good.parquet"
    write(good, columns)
    certificate = tmp_path / "good.json"
    made = CliRunner().invoke(app, ["calibrate", str(good), "-m", "PS", "-e", "0.3", "-o", str(certificate)])
    assert made.exit_code == 0, made.output
    for case in range(45):
        rng = np.random.default_rng([5, seed, case])
        path = tmp_path / f"bad{pick(rng, ['.parquet', '.feather', '.csv', '.npz'])}"
        damaged = outcome_of_writing(path, damage_table(columns, rng))
        if not damaged or rng.random() < 0.4:
            path.write_bytes(damage_bytes(good.read_bytes(), rng))
        broken = tmp_path / "broken.json"
        broken.write_bytes(damage_json(certificate.read_text(), rng))
        run_one(pick(rng, calls(path, good, certificate, broken, tmp_path / "out", rng)), tmp_path)


def outcome_of_writing(path: Path, columns: dict[str, Any]) -> bool:
    """Whether the format can hold these columns at all."""
    try:
        write(path, columns)
    except (pa.ArrowException, ValueError):
        return False
    return True


def calls(
    bad: Path, good: Path, certificate: Path, broken: Path, out: Path, rng: np.random.Generator
) -> list[list[object]]:
    rate, name = str(pick(rng, RATES)), pick(rng, NAMES)
    method = pick(rng, [name for name in METHODS if not METHODS[name].needs_weights])
    json_out, sets = out.with_suffix(".json"), out.with_suffix(pick(rng, [".parquet", ".csv", ".feather", ".xls"]))
    return [
        ["calibrate", bad, good, "-m", method, "-o", json_out, "-e", "0.3"],
        ["calibrate", good, bad, "-m", method, "-o", json_out, "-e", "0.3", "--drop-invalid", "0.05"],
        ["calibrate", bad, bad, "-m", method, "-o", json_out, "--scores", name, "--label", name],
        ["calibrate", good, bad, "-m", method, "-o", json_out, "--classes", name, "-e", rate],
        ["calibrate", good, good, "-m", method, "-o", json_out, "-e", rate, "-d", str(pick(rng, RATES))],
        ["calibrate", bad, good, "-o", json_out, "-m", "PS"],
        ["predict", certificate, bad, "-o", sets, "--keep", "id"],
        ["predict", certificate, bad, "-o", sets, "--keep", name, "--drop-invalid", "0.05"],
        ["predict", broken, good, "-o", sets, "--json"],
        ["check", certificate, bad, "--level", rate],
        ["check", certificate, bad, "--drop-invalid", "0.05", "--json"],
        ["check", broken, good],
        ["compare", good, bad, "-e", "0.3"],
        ["compare", bad, good, "-e", rate, "--target-label", "label"],
        ["report", broken, "-o", out.with_suffix(".html")],
        ["label", bad, "--budget", "60", "--keep", name, "-o", out.with_suffix(".csv")],
        ["label", bad, "--budget", "60", "-e", rate, "--drop-invalid", "0.05", "-o", out.with_suffix(".csv")],
        ["tally", bad, "-o", out.with_suffix(".tally"), "--label", "label"],
    ]


def run_one(words: list[object], folder: Path) -> None:
    """Exit 0, or 2 or 3 with one line that says why; outputs whole or absent."""
    before = {path.name for path in folder.iterdir()}
    result = CliRunner().invoke(app, [str(word) for word in words])
    told = f"{words}\n{result.output}"
    assert result.exit_code in (0, 2, 3, 4), told
    assert "Traceback" not in result.output, told
    if result.exit_code == 2:
        assert result.stdout == "", told
        assert result.stderr.splitlines()[-1].startswith("error: "), told
        assert len(result.stderr.strip()) > 20, told
    if "--json" in words and result.exit_code == 0:
        json.loads(result.stdout)
    new = {path.name for path in folder.iterdir()} - before
    assert len(new) <= (result.exit_code != 2), told
    for name in new:
        assert not name.startswith("."), told
        if name.endswith(".json"):
            Certificate.load(folder / name)
        (folder / name).unlink()
