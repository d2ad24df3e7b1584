"""Every example runs as a newcomer would run it, in an empty folder, and prints what the pages say it prints.

``UPDATE_DOCS=1 pytest tests/test_examples.py`` writes what they print now into the page "Your first certificate".
``python scripts/gallery.py`` draws the pictures of the gallery.
"""

import os
import re
import runpy
import textwrap
from pathlib import Path

import pytest

from test_cli_docs import parts

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
FIRST, GALLERY = ROOT / "docs" / "first-certificate.md", ROOT / "docs" / "gallery.md"
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
OPTIONAL = ("torch", "torchcp", "deel.puncc", "mapie", "crepes", "duckdb")
OUTPUT = r"(?<=<!-- output: {} -->\n)(?P<indent> *)```text\n(?P<text>.*?) *```\n"


SLOW = {"command_line"}  # it starts a process for every command


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=path.stem, marks=[pytest.mark.slow] if path.stem in SLOW else []) for path in EXAMPLES],
)
def test_example_runs(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    for library in OPTIONAL:
        if re.search(rf"^\s*(import|from) {library}\b", path.read_text(), re.MULTILINE):
            pytest.importorskip(
                library, reason=f"{library} is not among the test requirements, or not on this Python"
            )
    runpy.run_path(str(path), run_name="__main__")
    page = FIRST.read_text(encoding="utf-8")
    told = re.search(OUTPUT.format(path.stem), page, re.DOTALL)
    if told is not None:
        require_told(told, capfd.readouterr().out)


def require_told(told: re.Match[str], printed: str) -> None:
    """The page tells what was printed, numbers up to 10 % (or it is written into the page)."""
    if os.environ.get("UPDATE_DOCS"):
        lines = [line.rstrip() for line in printed.splitlines()]
        block = textwrap.indent("\n".join(["```text", *lines, "```", ""]), told["indent"])
        FIRST.write_text(told.string[: told.start()] + block + told.string[told.end() :], encoding="utf-8")
        return
    (words, numbers), (said, shown) = parts(printed), parts(told["text"])
    assert words == said, "run UPDATE_DOCS=1 pytest tests/test_examples.py and read the difference"
    assert numbers == pytest.approx(shown, rel=0.1)


def test_the_three_tabs_are_examples_whose_output_is_told() -> None:
    page = FIRST.read_text(encoding="utf-8")
    assert re.findall(r'^=== "(.+)"$', page, re.MULTILINE) == ["CSV", "scikit-learn", "torch"]
    for name in ("command_line", "scikit_learn", "torch_logits"):
        told = re.search(OUTPUT.format(name), page, re.DOTALL)
        assert told is not None, name
        assert len(told["text"].splitlines()) > 5, name


def test_every_example_is_in_the_gallery_with_its_picture() -> None:
    page = GALLERY.read_text(encoding="utf-8")
    shown = re.findall(r'^    --8<-- "examples/(\w+)\.py"$', page, re.MULTILINE)
    assert sorted(shown) == [path.stem for path in EXAMPLES]
    assert re.findall(r"\(figures/gallery/(\w+)\.png\)", page) == shown
    pictures = [ROOT / "docs" / "figures" / "gallery" / f"{name}.png" for name in shown]
    assert sum(path.stat().st_size for path in pictures) < 1_000_000
