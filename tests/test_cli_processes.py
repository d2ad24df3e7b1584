"""The installed command as a shell runs it: exit codes, pipes, Ctrl-C, completion, missing extras."""

import os
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pytest

import commands
from pacshift.errors import install_line

pytestmark = pytest.mark.slow

PACSHIFT = str(Path(sysconfig.get_path("scripts")) / "pacshift")
TOO_LONG = """
import resource
from pacshift.cli import app
from pacshift.cli.methods import methods
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
app(["methods", "--json"])
"""
CLEAN = {**os.environ, "NO_COLOR": "1", "TERM": "dumb"}


def run(*words: object, cwd: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    command = [PACSHIFT, *map(str, words)]
    how: dict[str, Any] = {"capture_output": True, "text": True, "timeout": 120, "check": False}
    return subprocess.run(command, cwd=cwd, env=CLEAN | environment, **how)


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    for name in ("source", "target"):
        rows = commands.columns(*commands.simulate(rng, [0.4, 0.3, 0.3], 800))
        pyarrow.csv.write_csv(pyarrow.table(rows), tmp_path / f"{name}.csv")
    return tmp_path


@pytest.mark.skipif(sys.platform == "win32", reason="no limits on the size of files")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_an_answer_that_does_not_fit_on_the_disk_is_an_error(tables: Path, unbuffered: str) -> None:
    command = [sys.executable, "-c", TOO_LONG]
    environment = CLEAN | {"PYTHONUNBUFFERED": unbuffered}
    with (tables / "answer.json").open("wb") as out:
        ended = subprocess.run(
            command, stdout=out, stderr=subprocess.PIPE, env=environment, timeout=60, check=False
        )
    assert (tables / "answer.json").stat().st_size == 1000
    assert ended.returncode == 2
    assert ended.stderr.decode().splitlines() == ["error: operating system error: [Errno 27] File too large."]


def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    line = f"'{PACSHIFT}' methods --json | head -n 1"
    shown = subprocess.run(line, shell=True, env=CLEAN, capture_output=True, text=True, timeout=60, check=True)
    assert shown.stdout == "{\n"
    assert "Traceback" not in shown.stderr


def test_ctrl_c_ends_with_130_and_no_half_files(tmp_path: Path) -> None:
    command = [PACSHIFT, "demo"]
    with subprocess.Popen(command, cwd=tmp_path, env=CLEAN, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while not (tmp_path / "pacshift-demo").is_dir() and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.startswith("stopped")
    assert said.count("\n") == 1
    assert not list((tmp_path / "pacshift-demo").iterdir())


def test_completion_knows_commands_and_methods(tmp_path: Path) -> None:
    def complete(words: str) -> list[str]:
        variables = {"_PACSHIFT_COMPLETE": "complete_bash", "COMP_WORDS": words}
        variables["COMP_CWORD"] = str(words.count(" "))
        return run(cwd=tmp_path, **variables).stdout.split()

    assert complete("pacshift ca") == ["calibrate"]
    assert "PS-LW" in complete("pacshift calibrate --method PS")


@pytest.mark.parametrize(
    ("module", "words", "extra"),
    [
        ("pyarrow", ["calibrate", "source.csv", "target.csv", "-m", "PS-W", "-o", "c.json"], "tables"),
        ("jinja2", ["report", "good.json", "-o", "r.html"], "report"),
        ("pyspark", ["tally", "source.csv", "--engine", "spark", "-o", "c.tally"], "spark"),
    ],
)
def test_missing_extras_are_named(module: str, words: list[str], extra: str, tables: Path) -> None:
    commands.good("calibrate", tables / "source.csv", "-m", "PS", "-o", tables / "good.json")
    program = f"import sys; sys.modules[{module!r}] = None; from pacshift_command import main; main()"
    command = [sys.executable, "-c", program, *words]
    result = subprocess.run(
        command, cwd=tables, env=CLEAN, capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == 2
    assert result.stderr.startswith("error: ")
    assert install_line(extra) in result.stderr
    assert result.stderr.count("\n") == 1
