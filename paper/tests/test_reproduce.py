"""``python -m paper reproduce`` from the shell."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from pacshift.cli.commands import flatten_groups
from pacshift.errors import InputError
from paper.reproduce import reproduce

app = typer.Typer()
app.command()(flatten_groups(reproduce))


@pytest.fixture
def scores_file(tmp_path: Path) -> str:
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 2, 800)
    probs = 1 / (1 + np.exp(-rng.normal(3.0 * labels - 1.5, 1.2)))
    np.savez(tmp_path / "mine.npz", probs=np.column_stack([1 - probs, probs]), labels=labels)
    return str(tmp_path / "mine.npz")


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, [*arguments, "--workers", "1"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def own(scores_file: str, folder: Path, *more: str) -> list[str]:
    mixes = ["--source-mix", "80,20", "--target-mix", "40,60", "--sizes", "900,900,500"]
    return ["--scores", scores_file, *mixes, "--trials", "2", "--methods", "PS,PS-W", "-o", str(folder), *more]


@pytest.mark.slow
def test_own_scores_make_a_panel_for_each_epsilon(scores_file: str, tmp_path: Path) -> None:
    text = run(*own(scores_file, tmp_path / "out", "--epsilon", "0.2,0.1"))
    assert text.count("| mine-0.2 |") == text.count("| mine-0.1 |") == 2
    assert "index.html" in text
    for name in ("index.html", "summary.md", "results.csv", "results.parquet", "figures/mine-0.2.png"):
        assert (tmp_path / "out" / name).exists()


def test_json_is_for_machines(scores_file: str, tmp_path: Path) -> None:
    summary = json.loads(run(*own(scores_file, tmp_path / "out", "--json")))["summary"]
    assert [entry["method"] for entry in summary] == ["PS", "PS-W"]
    assert summary[0]["trials"] == 2


@pytest.mark.slow
def test_the_papers_panels_run_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PACSHIFT_DATA", raising=False)
    options = ["--trials", "1", "--methods", "PS,PS-W", "-o", str(tmp_path), "--population"]
    text = run("agnews-0.1", "chestxray-half", *options)
    assert text.count("| agnews-0.1 |") == text.count("| chestxray-half-0.3 (twin) |") == 2
    assert "(twin)" in (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "population mode" in (tmp_path / "summary.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no-such-panel"], "no-such-panel"),
        (["--source-mix", "1,2"], "--scores"),
        (["--scores", "x.npz"], "both mixes"),
        (["heart", "--scores", "x.npz"], "leave out"),
        (["--scores", "x.npz", "--source-mix", "a,b", "--target-mix", "1,1"], "--source-mix"),
        (["--scores", "x.npz", "--source-mix", "1,1", "--target-mix", "1,1", "--sizes", "1,2"], "three"),
        (["--scores", "x.npz", "--source-mix", "1,1", "--target-mix", "1,1"], "No such file"),
        (["heart", "--epsilon", "2"], "epsilon"),
        (["heart", "--methods", "PS-Q"], "PS-Q"),
        (["heart", "--data", "."], "holds no score file"),
    ],
)
def test_bad_input_is_an_input_error(arguments: list[str], message: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, [*arguments, "--trials", "1"])
    assert isinstance(result.exception, InputError)
    assert message in str(result.exception)
