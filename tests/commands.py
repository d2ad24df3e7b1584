"""Commands run in this process, and tables of birds for them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import typer
from typer.testing import CliRunner, Result

from pacshift.arrays import FloatArray, IntArray
from pacshift.cli import app

NAMES = ("crow", "owl", "wren")


def all_commands(of: typer.Typer = app) -> dict[str, Any]:
    """Every command by its name, with its options."""
    program: Any = typer.main.get_command(of)
    return {name: program.get_command(None, name) for name in program.list_commands(None)}


def run(*words: object, program: typer.Typer = app) -> Result:
    return CliRunner().invoke(program, [str(word) for word in words])


def good(*words: object, program: typer.Typer = app) -> Result:
    result = run(*words, program=program)
    assert result.exit_code == 0, result.output
    return result


def bad(*words: object, code: int = 2, program: typer.Typer = app) -> str:
    """One clear line on stderr, an error or a refusal, nothing on stdout, no traceback."""
    result = run(*words, program=program)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("refused: " if code == 3 else "error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


@dataclass(frozen=True)
class Data:
    folder: Path
    scores: FloatArray
    labels: IntArray

    @property
    def source(self) -> Path:
        return self.folder / "source.parquet"

    @property
    def target(self) -> Path:
        return self.folder / "target.parquet"

    @property
    def labelled(self) -> Path:
        return self.folder / "labelled.parquet"

    @property
    def certificate(self) -> Path:
        return self.folder / "certificate.json"


def columns(scores: Any, labels: Any = None) -> dict[str, Any]:
    made: dict[str, Any] = {"id": np.arange(len(scores)) + 100}
    made |= {f"p_{name}": scores[:, place] for place, name in enumerate(NAMES)}
    return made if labels is None else made | {"label": np.array(NAMES)[labels]}


def simulate(rng: np.random.Generator, mix: list[float], size: int) -> tuple[FloatArray, IntArray]:
    labels = rng.choice(3, size, p=mix)
    logits = rng.normal(0, 1, (size, 3)) + np.diag([3.0, 3.0, 1.5])[labels]
    exps = np.exp(logits)
    return exps / exps.sum(axis=1, keepdims=True), labels


def make_tables(folder: Path) -> Data:
    """Source, target, labelled target and a PS-W certificate in ``folder``."""
    rng = np.random.default_rng(0)
    scores, labels = simulate(rng, [0.6, 0.3, 0.1], 3000)
    other, truth = simulate(rng, [0.2, 0.3, 0.5], 2000)
    made = Data(folder, scores, labels)
    pa.parquet.write_table(pa.table(columns(scores, labels)), made.source)
    pa.parquet.write_table(pa.table(columns(other)), made.target)
    pa.parquet.write_table(pa.table(columns(other, truth)), made.labelled)
    good("calibrate", made.source, made.target, "-m", "PS-W", "-o", made.certificate)
    return made
