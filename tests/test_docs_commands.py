"""Every command that a page prints can be typed: the command, its options and their values exist."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from benchmarks.__main__ import build_parser
from commands import all_commands
from pacshift import InputError
from paper.__main__ import app as paper
from test_docs import FRONT
from test_docs import PAGES as PAGES_OF_ALL

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*FRONT, *PAGES_OF_ALL, *sorted((ROOT / "examples").glob("*.sh"))]
COMMANDS, PAPER = all_commands(), all_commands(paper)
INLINE = re.compile(r"(?<!`)`((?:pacshift|make|python -m (?:benchmarks|paper)) [^`\n]+)`")
LINE = re.compile(
    r"^\s*(?:- run: |\$ )?((?:pacshift|make|python -m (?:benchmarks|paper)) .+?(?:\\\n.+?)*)$", re.MULTILINE
)
FENCED = re.compile(r"^ *```(?:sh|console|yaml)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
UsageError: type[Exception] = typer.BadParameter.__mro__[
    1
]  # Typer brings its own click, or uses the installed one
PLACEHOLDERS = {"N": "1", "PART...": "core"}  # as in "`--examples N`"
COMMANDS_OF_ALL = {"--help", "--version", "--install-completion", "--show-completion"}


def commands(page: Path) -> Iterator[list[str]]:
    """The words of every command on a page."""
    text = page.read_text(encoding="utf-8")
    blocks = [text] if page.suffix == ".sh" else FENCED.findall(text)
    for line in [*(line for block in blocks for line in LINE.findall(block)), *INLINE.findall(text)]:
        words = shlex.split(line.replace("\\\n", " "), comments=True)
        ends = [place for place, word in enumerate(words) if word in (">", "|", "&&", ";")]
        yield [PLACEHOLDERS.get(word, word) for word in words[: min(ends, default=len(words))]]


def require_command(words: list[str]) -> None:
    """Fail where a command or option does not exist, or a value is not one that the option takes."""
    program, *rest = words
    if program == "make":
        makefile = (ROOT / "Makefile").read_text()
        targets = [word for word in rest if "=" not in word]
        assert all(re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE) for target in targets)
    elif rest[:2] == ["-m", "benchmarks"]:
        build_parser().parse_args(rest[2:])
    elif program == "python":
        require_options(PAPER, rest[2], rest[3:])
    elif rest[0] not in COMMANDS_OF_ALL:
        require_options(COMMANDS, rest[0], rest[1:])


def require_options(program: dict[str, Any], name: str, words: list[str]) -> None:
    """Parse the words as the command itself does; it does not run, so no file is opened."""
    command = program[name]
    if words and words[-1] in ("-o", "--state"):  # "`pacshift tally -o` writes ..."
        words = [*words, "FILE"]
    try:
        command.make_context(name, list(words))
    except UsageError as error:
        if type(error).__name__ != "MissingParameter":  # "`pacshift report` turns ..."
            raise


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_commands_of_a_page_can_be_typed(page: Path) -> None:
    for words in commands(page):
        try:
            require_command(words)
        except (AssertionError, LookupError, SystemExit, UsageError, InputError) as error:
            pytest.fail(f"{shlex.join(words)}: {error!r}")


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.name != "CONTRIBUTING.md"],  # it names options of other tools
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_options_named_on_a_page_exist(page: Path) -> None:
    params = [p for command in [*COMMANDS.values(), *PAPER.values()] for p in command.params]
    known = {option for p in params for option in [*p.opts, *p.secondary_opts]}
    known |= {option for action in build_parser()._actions for option in action.option_strings}
    named = re.findall(r"(?<!`)`(--[a-z][a-z-]+)", page.read_text(encoding="utf-8"))
    assert [option for option in named if option not in known | COMMANDS_OF_ALL] == []


@pytest.mark.parametrize(
    "line",
    [
        "pacshift calibrat a b",
        "pacshift calibrate a b --epsilom 0.1",
        "pacshift calibrate a b --epsilon ten",
        "pacshift report a b",
        "make demos",
        "python -m benchmarks figurs",
        "python -m paper train --epoch 3",
    ],
)
def test_a_wrong_command_is_noticed(line: str) -> None:
    with pytest.raises((AssertionError, LookupError, SystemExit, UsageError, InputError)):
        require_command(shlex.split(line))
