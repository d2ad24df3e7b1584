"""Parameters in messages of the library become flags; names from outside stay as they are."""

import ast
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import get_args

import pytest

import pacshift
from commands import all_commands, bad
from pacshift.cli.commands import flatten_groups
from pacshift.cli.console import CALLED, CommandLine, all_options
from pacshift.errors import param, speak

PACKAGE = Path(pacshift.__file__).parent


NAMED = re.compile(r"(?<![^\s(])([a-z_]+)=(?:[A-Z]+|True|False|'[^']*')?(?=[.,;:)]*(?:\s|$))")
SUBJECT = re.compile(r"^([a-z_]+)(?=: | (?:must|is|cannot) )")
ROLES = {"source", "target", "table"}
"""What messages call the rows: "target: 3 rows cannot be used"."""
IN_PYTHON = {
    ("certificate/certificate.py", "score"),  # SQL and ONNX are made in Python alone
    ("onnx.py", "score"),
    ("labels/sheet_file.py", "looks"),  # a line of the sheet, which has this name for it
    ("errors.py", "groups"),  # a call of Python, and so is the one of the estimator
    ("estimator.py", "labelled"),
    ("words/statements.py", "full"),  # a line that the command line leaves out
    ("certificate/file.py", "never_empty"),  # a field of the file
    ("methods/ps.py", "class_epsilon"),  # a reason, which certificates keep
}


@pytest.mark.parametrize(
    ("text", "flag"),
    [
        ("epsilon", "--epsilon"),
        ("known_mix=", "--known"),
        ("label=NAME", "--label NAME"),
        ("drop_invalid=True", "--drop-invalid SHARE"),
        ("target_labels", "--target-label"),
        ("grid=", "grid="),
    ],
)
def test_parameters_become_flags(text: str, flag: str) -> None:
    assert param(text) == text
    with speak(CommandLine()):
        assert param(text) == flag
    assert param(text) == text


def texts_of(module: ast.Module) -> Iterator[str]:
    """The texts of a module that may be messages, with a gap for what is filled in."""
    bodies = [getattr(node, "body", None) for node in ast.walk(module)]
    docs = {
        id(part.value) for body in bodies if isinstance(body, list) for part in body if isinstance(part, ast.Expr)
    }
    parts = {id(part) for node in ast.walk(module) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(module):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "<>" for part in node.values)
        elif isinstance(node, ast.Constant) and " " in str(node.value) and id(node) not in docs | parts:
            yield str(node.value)


def test_no_message_names_an_option_without_a_token() -> None:
    """Otherwise the command line would speak of a parameter of Python."""
    options = {*all_options(), *(name.partition("=")[0] for name in CALLED)}
    files = [path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] != "cli"]
    plain = {
        (str(path.relative_to(PACKAGE)), name)
        for path in files
        for text in texts_of(ast.parse(path.read_text(encoding="utf-8")))
        for name in [*NAMED.findall(text), *(set(SUBJECT.findall(text)) - ROLES)]
        if name in options
    }
    assert plain == IN_PYTHON


def test_names_from_outside_stay(tmp_path: Path) -> None:
    for name in ("label=NAME", "softmax=True.csv", "{label=}", "{param('epsilon')}"):
        assert name in bad("calibrate", tmp_path / name, tmp_path / "target.csv")
    table = tmp_path / "label=NAME.csv"
    table.write_text("p_epsilon=,p_known_mix=,label\n" + "0.9,0.1,softmax=True\n" * 9)
    shown = bad("calibrate", table, "-o", tmp_path / "c.json", "-m", "PS-LW")
    assert "'softmax=True'" in shown
    assert "epsilon=" in shown
    assert "known_mix=" in shown


def test_other_names_of_options_are_those_of_some_option() -> None:
    assert set(CALLED.values()) - set(all_options()) == set()


def test_the_library_does_not_speak_of_flags() -> None:
    """The report shows commands, so it may; two modules speak to git, and read a command that was recorded."""
    apart = {PACKAGE / "certification" / "remembered.py"}
    files = [path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] not in ("cli", "report")]
    files = [path for path in files if path not in apart]
    spoken = re.compile(r"\(?--[a-z]+[a-z-]*")
    found = {
        f"{path.relative_to(PACKAGE)}: {line.strip()}"
        for path in files
        for line in path.read_text(encoding="utf-8").splitlines()
        if spoken.search(line) and "pacshift " not in line
    }
    assert found == set()


def test_words_of_the_user_stay_as_they_are() -> None:
    scores, labels = [[0.9, 0.1], [0.2, 0.8]] * 50, [0, 1] * 50
    said = "it's for label=X, never_empty=True"
    made = pacshift.calibrate(scores, labels, None, method="PS").annotate(note=said, model_id="score=1 v2")
    with speak(CommandLine()):
        shown = made.explain(full=True)
    assert repr(said) in shown
    assert "'score=1 v2'" in shown


def numbers() -> list[str]:
    """Every option of every command that takes a number."""
    found = []
    for name, command in all_commands().items():
        function = getattr(import_module(f"pacshift.cli.{name}"), name)
        for one in inspect.signature(flatten_groups(function)).parameters.values():
            if get_args(one.annotation) and get_args(one.annotation)[1].callback is not None:
                (param,) = [param for param in command.params if param.name == one.name]
                found.append(f"{name} {max(param.opts, key=len)}")
    return found


@pytest.mark.parametrize("option", numbers())
@pytest.mark.parametrize("text", ["0,1", "x", "1_0"])
def test_a_number_that_is_none_is_refused_in_our_own_words(option: str, text: str) -> None:
    name, flag = option.split()
    form = "(a whole number|a number with a decimal point, such as 0.1)"
    assert re.match(rf"error: {flag} takes {form}, got '{text}'", bad(name, "a", "b", f"{flag}={text}"))


def test_every_number_is_read_in_our_own_words() -> None:
    assert {"calibrate --epsilon", "label --budget", "check --level", "monitor --epsilon"} < set(numbers())
