"""Pages with commands: every command on them runs, and prints what its page says it prints.

``UPDATE_DOCS=1 pytest tests/test_cli_docs.py`` writes what the commands print now into the pages.
"""

import os
import re
import shlex
import shutil
from pathlib import Path

import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from pacshift import LabelSheet
from pacshift.cli import app, console

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = ["index.md", "tour.md", "received.md", "refused.md", "how-much-data.md", "watch.md", "command-line.md"]
BLOCK = re.compile(r"```sh\n(?P<commands>.*?)```\n(?:\n```text\n(?P<output>.*?)```\n)?", re.DOTALL)
DEMO = "pacshift demo"
WIDTH = 100
"""Letters in a line, as in a terminal that wide: longer ones would be cut off on the site."""


def run(line: str) -> str:
    words = shlex.split(line, comments=True)
    target = words.pop() if ">" in words else None
    words = [word for word in words if word != ">"]
    expected = int(line.rpartition("# exit ")[2]) if "# exit " in line else 0
    result = CliRunner().invoke(app, words[1:])
    assert result.exit_code == expected, f"{line}\n{result.output}"
    if target:
        Path(target).write_text(result.stdout)
    if words[1] == "label":
        fill_in(words[-1])
    return "" if target else result.stdout


def fill_in(path: str) -> None:
    """What people do with a label sheet of the demo: write the truth into it, from the top."""
    truth = pyarrow.parquet.read_table("pacshift-demo/labelled.parquet").column("label").to_pylist()
    sheet = LabelSheet.load(path)
    sheet.with_labels([truth[row] for row in sheet.rows]).save(path, overwrite=True)


def require_told(page: Path, now: str, *, test: str, rel: float) -> None:
    """The page has the words of ``now``, and its numbers up to ``rel``: other machines may round otherwise.

    With UPDATE_DOCS it gets them.
    """
    if os.environ.get("UPDATE_DOCS"):
        page.write_text(now, encoding="utf-8")
    number, told = re.compile(r"\d[\d,]*\.?\d*"), page.read_text(encoding="utf-8")
    advice = f"run UPDATE_DOCS=1 pytest tests/{test}.py and read the difference"
    assert number.sub("#", told).split() == number.sub("#", now).split(), advice
    said, shown = (
        [float(one.replace(",", "").rstrip(".")) for one in number.findall(text)] for text in (told, now)
    )
    assert said == pytest.approx(shown, rel=rel), advice


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder that ``pacshift demo`` writes, and what it prints: made once for all pages."""
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("PACSHIFT_DATA", raising=False)
        return folder / "pacshift-demo", run(DEMO)


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_pages_are_true(
    name: str, demo: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = DOCS / name
    folder, printed = demo
    shutil.copytree(folder, tmp_path / folder.name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(console, "PIPE_WIDTH", WIDTH)
    monkeypatch.delenv("PACSHIFT_DATA", raising=False)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1791000000")  # commands print when a certificate was made

    def truth(block: re.Match[str]) -> str:
        lines = [
            line for line in block["commands"].replace("\\\n", " ").splitlines() if line.startswith("pacshift ")
        ]
        outputs = [printed if line == DEMO else run(line) for line in lines]
        shown = "\n".join(line.rstrip() for line in "".join(outputs[-1:]).splitlines())
        commands = f"```sh\n{block['commands']}```\n"
        return commands if block["output"] is None else f"{commands}\n```text\n{shown}\n```\n"

    require_told(page, BLOCK.sub(truth, page.read_text(encoding="utf-8")), test="test_cli_docs", rel=0.05)
