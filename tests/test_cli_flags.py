"""Parameters in messages of the library become flags; names from outside stay as they are."""

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import get_args

import pytest

import pacshift
from commands import all_commands, bad
from pacshift.cli.commands import one_by_one
from pacshift.cli.console import CALLED, all_options, in_flags

PACKAGE = Path(pacshift.__file__).parent


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("Name the label column: label=NAME. The columns", "Name the label column: --label NAME. The columns"),
        ("leave them out with drop_invalid=True.", "leave them out with --drop-invalid."),
        ("scores= takes a pattern such as 'p_*'", "--scores takes a pattern such as 'p_*'"),
        (
            "epsilon must lie strictly between 0 and 1, got 2.0.",
            "--epsilon must lie strictly between 0 and 1, got 2.0.",
        ),
        ("known_mix: 9 is not a class.", "--known: 9 is not a class."),
        ("target_labels cannot help method PS-LW", "--target-label cannot help method PS-LW"),
        ("Use score='probability' or 'margin'.", "Use --score 'probability' or 'margin'."),
        ("the target's mix: say it with known_mix=.", "the target's mix: say it with --known."),
        ("(classes=)", "(--classes)"),
    ],
)
def test_parameters_become_flags(message: str, shown: str) -> None:
    assert in_flags(message) == shown


@pytest.mark.parametrize(
    "message",
    [
        "no column 'label=NAME', 'softmax=True'.",
        'column "it\'s label= here" holds text.',
        r"class 'a\' label= b' is unknown.",
        "label=cat/part-0.parquet: no such file.",
        "cannot read data/label=NAME/part.csv",
        "drop_invalid=True.csv: no such file or folder.",
        "known_mix says that mylabel=NAME",
        "--known takes CLASS=LOW..HIGH",
    ],
)
def test_names_from_outside_stay(message: str) -> None:
    assert in_flags(message) == message


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
    made = pacshift.calibrate(scores, labels, None, method="PS", note=said, model_id="score=1 v2")
    shown = in_flags(made.explain(full=True))
    assert repr(said) in shown
    assert "'score=1 v2'" in shown


def numbers() -> list[str]:
    """Every option of every command that takes a number."""
    found = []
    for name, command in all_commands().items():
        function = getattr(import_module(f"pacshift.cli.{name}"), name)
        for one in inspect.signature(one_by_one(function)).parameters.values():
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
    assert {"calibrate --epsilon", "label --budget", "check --level", "monitor --contamination"} < set(numbers())
