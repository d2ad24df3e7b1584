"""The page of questions quotes error messages as the source has them, so that it cannot go stale."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pacshift.cli.console import CommandLine

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "faq.md").read_text(encoding="utf-8")
QUOTED = re.findall(r"^> `(.+)`$", PAGE, re.MULTILINE)
GAP = "…"


def texts_of(module: ast.Module) -> Iterator[str]:
    """All texts of a module; what is filled in is a gap, a flag, or a constant of the module."""
    assigned = [node for node in module.body if isinstance(node, ast.Assign)]
    constants = {
        ast.unparse(node.targets[0]): str(node.value.value)
        for node in assigned
        if isinstance(node.value, ast.Constant)
    }
    for part in ast.walk(module):
        if isinstance(part, ast.JoinedStr):
            for known in ({}, constants):
                filled = [
                    flag_of(v.value) or known.get(ast.unparse(v.value), GAP)
                    for v in part.values
                    if isinstance(v, ast.FormattedValue)
                ]
                said = [v.value if isinstance(v, ast.Constant) else filled.pop(0) for v in part.values]
                yield "".join(map(str, said))
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


def flag_of(value: ast.expr) -> str | None:
    """The flag in place of a parameter that the text names."""
    match value:
        case ast.Call(func=ast.Name(id="param"), args=[ast.Constant(value=str(text))]):
            return CommandLine().parameter(text)
    return None


@pytest.fixture(scope="module")
def messages() -> list[str]:
    """Every text of the source, as the command line shows it."""
    files = sorted((ROOT / "src").rglob("*.py"))
    return [text for file in files for text in texts_of(ast.parse(file.read_text(encoding="utf-8")))]


def is_message(quoted: str, messages: list[str]) -> bool:
    """Whether one text holds all parts of the quoted message, in their order, with gaps where it has gaps.

    Messages about files of every kind have a gap where the page says certificate.
    """
    for text in {quoted, quoted.replace("certificate", GAP)}:
        parts = [re.escape(part.strip()) for part in text.split(GAP) if part.strip(" .:")]
        if any(re.search(rf"[^\n]*{GAP}[^\n]*".join(parts), message) for message in messages):
            return True
    return False


@pytest.mark.parametrize("quoted", QUOTED)
def test_message_is_in_the_source(quoted: str, messages: list[str]) -> None:
    assert is_message(quoted, messages)


def test_a_message_that_was_reworded_is_noticed(messages: list[str]) -> None:
    assert not is_message("… not among the columns, the first is …", messages)
    assert not is_message("the first is … not among the classes", messages)
