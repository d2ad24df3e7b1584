"""Every example runs as a newcomer would run it, in an empty folder."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_example_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    if "import torch" in path.read_text():
        pytest.importorskip("torch", reason="the example needs torch, which is not among the test requirements")
    runpy.run_path(str(path), run_name="__main__")
