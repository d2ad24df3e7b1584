"""An option is declared once: what a command prints as its next command asks for the same again."""

import inspect
import json
import shlex
from dataclasses import fields
from enum import Enum
from importlib import import_module
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np
import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from commands import all_commands, good, run
from golden import data, logits
from pacshift import Certificate, LabelSheet
from pacshift.cli import options
from pacshift.cli.commands import flatten_groups, given_args, to_args

text = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1)
rate = st.floats(1e-6, 1 - 1e-6)
GROUPS: dict[type, st.SearchStrategy[Any]] = {
    options.ScoredPromise: st.builds(
        options.ScoredPromise,
        epsilon=rate,
        delta=rate,
        class_epsilon=st.none() | rate,
        contamination=rate,
        known=st.none() | st.lists(text, min_size=1),
        score=st.sampled_from(options.SCORE_NAMES),
    ),
    options.Reading: st.builds(
        options.Reading,
        scores=st.none() | text,
        classes=st.none() | st.lists(text, min_size=1),
        by_position=st.booleans(),
        group=st.none() | text,
        softmax=st.booleans(),
        drop_invalid=st.none() | rate,
        label=text,
    ),
}


def parse(group: type, asked: list[str]) -> Any:
    """The group as a command gets it that is given these words."""
    got: list[Any] = []

    def command(*, group: Any) -> None:
        got.append(group)

    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter("group", inspect.Parameter.KEYWORD_ONLY, annotation=group)]
    )
    program = typer.Typer(add_completion=False)
    program.command()(flatten_groups(command))
    result = CliRunner().invoke(program, asked)
    assert result.exit_code == 0, result.output
    return got[0]


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.__name__)
def test_words_of_options_parse_to_what_they_were_made_of(group: type) -> None:
    @settings(max_examples=60)
    @given(GROUPS[group])
    def check(asked: Any) -> None:
        assert parse(group, to_args(asked)) == asked

    check()


def test_every_option_of_a_group_is_tried_above() -> None:
    shown = {group: set(inspect.signature(group).parameters) for group in GROUPS}
    assert all({field.name for field in fields(group)} == names for group, names in shown.items())


def value_for(annotation: Any) -> str:
    """A value that an option of this type takes; a text that begins with a dash, if it may."""
    if any(getattr(part, "callback", None) is not None for part in get_args(annotation)):  # reads a number
        return "7"
    kinds = [kind for kind in (*get_args(annotation), annotation) if kind is not type(None)]
    for kind in kinds:
        if get_origin(kind) in (list, Literal, Union, UnionType):
            inner = get_args(kind)
            return str(inner[0]) if get_origin(kind) is Literal else value_for(inner[0])
    kind = kinds[0]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return str(next(iter(kind)).value)
    return "-some text"


@pytest.mark.parametrize("name", sorted(all_commands()))
def test_the_options_that_a_command_was_given_are_told_again(name: str) -> None:
    command = all_commands()[name]
    types = flatten_groups(getattr(import_module(f"pacshift.cli.{name}"), name)).__annotations__
    asked = {
        param.name: [max(param.opts, key=len) + ("" if param.is_flag else f"={value_for(types[param.name])}")]
        for param in command.params
        if param.param_type_name == "option" and param.name != "help"
    }
    arguments = ["x.csv" for param in command.params if param.param_type_name == "argument" and param.required]
    required = [word for param in command.params if param.required for word in asked.get(param.name, ())]
    for option, given_words in asked.items():
        first = command.make_context(name, [*required, *given_words, *arguments])
        again = command.make_context(name, [*given_args(first), *arguments])
        assert again.params == first.params, option


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Logits of a source, and of a target whose columns say nothing by their order."""
    monkeypatch.chdir(tmp_path)
    rows = data()
    head = "p_a,p_b,p_c"
    source = np.column_stack([logits(rows["s"]).astype(str), rows["s labels"]])
    np.savetxt("s.csv", source, "%s", ",", header=f"{head},label", comments="")
    np.savetxt("t.csv", logits(rows["t"]).astype(str), "%s", ",", header=head, comments="")
    np.savetxt("r.csv", logits(rows["refuted"]).astype(str), "%s", ",", header=head, comments="")


ASKED = ["--softmax", "--class-epsilon", "0.3", "--contamination", "0.01", "--known", "c=0..0.9", "-e", "0.2"]


def fill_in(n_labels: int) -> None:
    sheet = LabelSheet.load("to_label.csv")
    labels = [data()["t labels"][row] for row in sheet.rows[:n_labels].tolist()]
    sheet.with_labels(labels).save("to_label.csv", overwrite=True)


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize("target", ["t.csv", "r.csv"])
def test_the_command_that_label_prints_gives_the_certificate_that_was_asked_for(target: str) -> None:
    made = json.loads(good("label", target, "-b", "300", "--seed", "1", *ASKED, "--json").stdout)
    fill_in(300)
    _, *next_words = shlex.split(made["next"])
    good(*[word if word != "SOURCE" else "s.csv" for word in next_words])
    good("calibrate", "s.csv", target, "--labelled", "to_label.csv", *ASKED, "-o", "asked.json")
    printed, asked = Certificate.load("certificate.json"), Certificate.load("asked.json")
    assert printed.softmax
    assert printed.limits is not None
    assert (printed.epsilon, printed.limits.tolist()) == (0.2, [0.3] * 3)
    assert printed.thresholds.tolist() == asked.thresholds.tolist()
    assert printed.contamination == asked.contamination


@pytest.mark.usefixtures("tables")
def test_the_commands_that_a_refusal_prints_give_the_certificate_that_was_asked_for() -> None:
    refused = run("calibrate", "s.csv", "r.csv", *ASKED)
    assert refused.exit_code == 3
    line = next(part for part in refused.stderr.split("`") if part.startswith("pacshift label"))
    _, *draw = shlex.split(line)
    made = json.loads(good(*draw, "--seed", "1", "--json").stdout)
    fill_in(made["looks"][-1])
    _, *next_words = shlex.split(made["next"])
    good(*[word if word != "SOURCE" else "s.csv" for word in next_words])
    good("calibrate", "s.csv", "r.csv", *ASKED, "--labelled", "to_label.csv", "-o", "asked.json")
    printed, asked = Certificate.load("certificate.json"), Certificate.load("asked.json")
    assert printed.thresholds.tolist() == asked.thresholds.tolist()
    assert printed.limits is not None
    assert asked.limits is not None
    assert printed.limits.tolist() == asked.limits.tolist() == [0.3] * 3
