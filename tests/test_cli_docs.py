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


def parts(text: str) -> tuple[list[str], list[float]]:
    """The words and the numbers of a text."""
    numbers = re.findall(r"\d[\d,]*\.?\d*", text)
    words = re.sub(r"\d[\d,]*\.?\d*", "#", text).split()
    return words, [float(number.replace(",", "").rstrip(".")) for number in numbers]


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

    page = PAGE.read_text(encoding="utf-8")
    now = BLOCK.sub(truth, page)
    if os.environ.get("UPDATE_DOCS"):
        PAGE.write_text(now, encoding="utf-8")
    else:
        told, said = parts(page), parts(now)
        assert told[0] == said[0], "run UPDATE_DOCS=1 pytest tests/test_cli_docs.py and read the difference"
        assert said[1] == pytest.approx(told[1], rel=0.05), "the same"  # other machines may round otherwise
