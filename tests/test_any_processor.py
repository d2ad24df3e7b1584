"""Programs print the same on every processor.

NumPy and BLAS have code for each kind of processor, and the last bits of an exponential differ between them. Coins
depend on every bit of the scores (tally/coins.py), so scores that are made up are rounded where they are made.
"""

import doctest
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
EXPONENTIALS = "import numpy as np; print(np.exp(np.linspace(-9, 9, 10_000)).tobytes().hex())"


def printed(program: str | Path, folder: Path, **environment: str) -> str:
    arguments = [str(program)] if isinstance(program, Path) else ["-c", program]
    run = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=os.environ | environment, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Settings under which NumPy and OpenBLAS compute as on an older processor."""
    known = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    settings = {"NPY_DISABLE_CPU_FEATURES": " ".join(known)}
    if platform.machine() in ("x86_64", "AMD64"):
        settings["OPENBLAS_CORETYPE"] = "Nehalem"
    folder = tmp_path_factory.mktemp("exponentials")
    if not known or printed(EXPONENTIALS, folder) == printed(EXPONENTIALS, folder, **settings):
        pytest.skip("NumPy cannot compute exponentials in another way on this processor")
    return settings


def readme() -> str:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    return "".join(example.source for example in doctest.DocTestParser().get_examples(page))


@pytest.mark.thorough
@pytest.mark.parametrize(
    "program",
    [
        pytest.param(readme(), id="README"),
        pytest.param(EXAMPLES / "any_framework.py", id="any_framework"),
        pytest.param(EXAMPLES / "scikit_learn.py", id="scikit_learn"),
    ],
)
def test_an_older_processor_prints_the_same(program: str | Path, older: dict[str, str], tmp_path: Path) -> None:
    here = printed(program, tmp_path)
    assert here
    assert printed(program, tmp_path, **older) == here
