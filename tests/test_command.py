"""The ``pacshift`` command from its first moment: a plain installation, Ctrl-C while it loads, SIGTERM."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from pacshift.errors import install_line

pytestmark = pytest.mark.slow

EXTRAS = ("typer", "rich", "pyarrow", "matplotlib", "jinja2", "markupsafe", "sklearn", "pyspark", "pandas")
COMMAND = "from pacshift_command import main; main()"
PLAIN = """
import sys
class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {extras!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, NotInstalled())
"""


def python(*words: str, **options: Any) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=60, **options)


@pytest.mark.parametrize(
    ("program", "needs", "extra"),
    [
        (COMMAND, "typer", "cli"),
        ("import runpy; runpy.run_module('pacshift', run_name='__main__')", "typer", "cli"),
        ("import pacshift.plots", "matplotlib", "plots"),
        ("import pacshift.report", "jinja2", "report"),
        ("from pacshift import read", "pyarrow", "tables"),
        ("import pacshift.rows.spark", "pyarrow", "tables"),
        ("from pacshift import PACClassifier", "scikit-learn", "sklearn"),
    ],
)
def test_a_plain_installation_names_the_extra(program: str, needs: str, extra: str) -> None:
    result = python("-c", PLAIN.format(extras=EXTRAS) + program)
    last = result.stderr.splitlines()[-1]
    assert last.endswith(f"{install_line(extra)}.")
    assert f" needs {needs}" in last
    if extra == "cli":
        assert (result.returncode, result.stderr.count("\n")) == (2, 1)
    else:
        assert last.startswith("pacshift.errors.MissingExtraError: ")


def test_the_core_works_in_a_plain_installation() -> None:
    program = """
from pacshift import calibrate
scores, labels = [[0.9, 0.1], [0.2, 0.8]] * 50, [0, 1] * 50
made = calibrate(scores, labels, scores, epsilon=0.1, delta=0.1)
print(made.sets([[0.9, 0.1]]).tolist())
"""
    result = python("-c", PLAIN.format(extras=EXTRAS) + program)
    assert (result.stdout, result.stderr) == ("[[True, False]]\n", "")


def test_python_m_pacshift_is_the_command() -> None:
    result = python("-m", "pacshift", "--version")
    assert result.stdout.startswith("pacshift ")
    assert "Usage: pacshift [OPTIONS]" in python("-m", "pacshift", "--help").stdout


def make_table(path: Path, rows: int) -> None:
    rng = np.random.default_rng(0)
    scores = np.tile(rng.dirichlet(np.ones(4), 1000), (rows // 1000, 1))  # the rows need not differ
    pa.parquet.write_table(pa.table({f"p_{name}": scores[:, place] for place, name in enumerate("abcd")}), path)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_while_writing_leaves_the_old_file_alone(
    number: signal.Signals, code: int, tmp_path: Path
) -> None:
    from pacshift import Tally, calibrate

    tally = Tally.from_scores(np.eye(4)[[0, 1, 2, 3] * 20], list("abcd") * 20, classes=list("abcd"))
    calibrate(tally, epsilon=0.1, delta=0.1, method="PS").save(tmp_path / "c.json")
    make_table(tmp_path / "t.parquet", 1_000_000)
    (tmp_path / "sets.csv").write_text("old")
    command = [sys.executable, "-c", COMMAND, "predict", "c.json", "t.parquet", "-o", "sets.csv", "--force"]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while process.poll() is None and not list(tmp_path.glob(".pacshift-*")) and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said) == (code, "stopped; no half-written files are left\n")
    assert (tmp_path / "sets.csv").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == ["c.json", "sets.csv", "t.parquet"]


@pytest.mark.skipif(sys.platform == "win32", reason="limits of Unix")
@pytest.mark.parametrize("gigabytes", [0.5, 1.5])
def test_a_limit_of_memory_neither_hangs_nor_crashes(gigabytes: float, tmp_path: Path) -> None:
    """Arrow and BLAS reserve more than 1.5 GB by default, and spin or crash when they do not get it."""
    import resource

    size = int(gigabytes * 1e9)
    scores = np.random.default_rng(0).dirichlet([1.0, 1.0, 1.0], 3000)
    rows = {f"p_{name}": scores[:, place] for place, name in enumerate("abc")}
    labels = {"label": np.array(list("abc"))[scores.argmax(axis=1)]}
    pa.parquet.write_table(pa.table(rows | labels), tmp_path / "t.parquet")
    words = ["calibrate", "t.parquet", "-m", "PS-LW", "-o", "c.json"]
    unset = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    done = python(
        "-c", COMMAND, *words, cwd=tmp_path, env=unset,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size)),
    )  # fmt: skip
    if gigabytes > 1:
        assert (done.returncode, done.stderr) == (0, "")
    else:
        assert done.returncode == 2
        assert done.stderr == (
            "error: the memory of this process is limited to 0.50 GB of address space (ulimit -v), and pacshift "
            "needs at least 1.07 GB. Raise the limit.\n"
        )


UNHEARD = """
import os, signal, sys, time, weakref
from pacshift.cli.process import stop_code, stop_on_signals

def kill(_=None):
    os.kill(os.getpid(), signal.SIGTERM)
    for _ in range(1000):  # Python looks for signals here
        pass

class Thing: pass

thing = Thing()
callback = weakref.ref(thing, kill)
try:
    with stop_on_signals():
        try:
            del thing  # Python drops what is raised in the callback
            time.sleep(20)
            print("deaf")
        finally:
            try:
                kill()
                raise OSError
            except OSError:
                kill()
            print("tidied up")
except KeyboardInterrupt:
    sys.exit(stop_code())
"""


def test_a_signal_is_neither_lost_nor_does_a_second_one_disturb_the_tidying_up() -> None:
    done = python("-c", UNHEARD)
    assert (done.returncode, done.stdout, done.stderr) == (143, "tidied up\n", "")


@pytest.mark.parametrize("epoch", ["abc", "1e9", "9" * 20, ""])
def test_a_clock_that_cannot_be_read_is_bad_input_and_an_empty_one_is_none(epoch: str, tmp_path: Path) -> None:
    """NumPy reads the variable too, when SciPy is loaded, and fails in its own way."""
    (tmp_path / "s.csv").write_text("p_a,p_b,label\n" + "0.9,0.1,a\n0.2,0.8,b\n" * 100)
    words = ["calibrate", "s.csv", "-m", "PS", "--label", "label", "-o", "c.json"]
    done = python("-c", COMMAND, *words, cwd=tmp_path, env=os.environ | {"SOURCE_DATE_EPOCH": epoch})
    assert done.returncode == (2 if epoch else 0), done.stderr
    said = f"error: SOURCE_DATE_EPOCH must be a whole number of seconds since 1970, got {epoch!r}."
    assert done.stderr == (f"{said} Correct or unset it.\n" if epoch else "")
    assert (tmp_path / "c.json").exists() == (not epoch)
