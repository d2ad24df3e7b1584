"""The page "Command line": every command on it runs, and prints what the page says it prints.

``UPDATE_DOCS=1 pytest tests/test_cli_docs.py`` writes what the commands print now into the page.
"""

import os
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pacshift.cli import app

PAGE = Path(__file__).resolve().parents[1] / "docs" / "command-line.md"
BLOCK = re.compile(r"```sh\n(?P<commands>.*?)```\n(?:\n```text\n(?P<output>.*?)```\n)?", re.DOTALL)


def run(line: str) -> str:
    words = shlex.split(line, comments=True)
    target = words.pop() if ">" in words else None
    words = [word for word in words if word != ">"]
    expected = int(line.rpartition("# exit ")[2]) if "# exit " in line else 0
    result = CliRunner().invoke(app, words[1:])
    assert result.exit_code == expected, f"{line}\n{result.output}"
    if target:
        Path(target).write_text(result.stdout)
    return "" if target else result.stdout


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


@pytest.mark.slow
def test_the_page_tells_the_truth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PACSHIFT_DATA", raising=False)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1791000000")  # commands print when a certificate was made

    def truth(block: re.Match[str]) -> str:
        outputs = [run(line) for line in block["commands"].splitlines() if line.startswith("pacshift ")]
        shown = "\n".join(line.rstrip() for line in "".join(outputs[-1:]).splitlines())
        commands = f"```sh\n{block['commands']}```\n"
        return commands if block["output"] is None else f"{commands}\n```text\n{shown}\n```\n"

    require_told(PAGE, BLOCK.sub(truth, PAGE.read_text(encoding="utf-8")), test="test_cli_docs", rel=0.05)
