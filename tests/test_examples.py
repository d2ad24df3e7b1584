"""Every example runs as a newcomer would run it, in an empty folder."""

import re
import runpy
from pathlib import Path

import pytest

OPTIONAL = ("torch", "torchcp", "deel.puncc", "mapie", "crepes")
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


SLOW = {"command_line"}  # it starts a process for every command


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=[pytest.mark.slow] if path.stem in SLOW else [])
        for path in sorted(EXAMPLES.glob("*.py"))
    ],
)
def test_example_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    for library in OPTIONAL:
        if re.search(rf"^\s*(import|from) {library}\b", path.read_text(), re.MULTILINE):
            pytest.importorskip(
                library, reason=f"{library} is not among the test requirements, or not on this Python"
            )
    runpy.run_path(str(path), run_name="__main__")
