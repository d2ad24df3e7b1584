"""After a refusal on the command line: the commands that go on, with the user's own file names, and its page."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pacshift.cli import options
from pacshift.cli.commands import words, words_of
from pacshift.cli.console import note, say_written
from pacshift.cli.flags import in_flags
from pacshift.errors import AssumptionError, InputError, PacshiftError

if TYPE_CHECKING:
    from pacshift.certification.after_refusal import Attempt
    from pacshift.rows.columns import Columns

SHEET = "to_label.csv"
"""What the sheet is called in the commands."""


@dataclass(frozen=True)
class Given:
    """The tables that were refused: files of the target, columns of the source, and who counted them."""

    target: Sequence[Path]
    columns: "Columns | None"
    engine: str


def check_page(page: Path | None, force: bool, inputs: Sequence[Path], out: Path) -> None:
    """Before the work: whether the page can be written."""
    if page is not None:
        import pacshift.report  # noqa: F401  # or says which extra is missing

        options.check_output(page, force, inputs)
        if page.resolve() == out.resolve():
            raise InputError(f"--refusal-page and -o are the same file, {page}. Give them different names.")


def with_commands(
    refusal: AssumptionError,
    ctx: typer.Context,
    promise: options.Promise,
    columns: options.ColumnOptions,
    data: Given | None,
) -> AssumptionError:
    """The refusal with the commands that draw rows to label and certify with their labels.

    Without ``data`` there were tallies, and only the user knows the tables.
    """
    from pacshift.certification.after_refusal import with_lines

    attempt = refusal.attempt
    if attempt is None:  # labels contradict known_mix: there is nothing to label
        return refusal
    more = [] if attempt.with_method is None else ["--method", attempt.with_method]
    more += ["--engine", "arrow"] if data is not None and data.engine == "spark" else []
    more += ["--labelled", SHEET]
    given = ["calibrate", "SOURCE", "TARGET", *words(promise)] if data is None else words_of(ctx)
    then = "run `{again}`" if data is None else f"run this command again with `{shlex.join(more)}`"
    return with_lines(
        refusal,
        draw=shlex.join([*_label_words(attempt, columns, data), *words(promise), "-o", SHEET]),
        again=shlex.join(["pacshift", *given, *more]),
        other_ways=tuple(map(in_flags, attempt.other_ways)),
        sentence=f"Draw the rows with `{{draw}}`, fill in their labels, and {then}",
    )


def _label_words(attempt: "Attempt", columns: options.ColumnOptions, data: Given | None) -> list[str]:
    *looks, budget = map(str, attempt.looks or (0,))
    targets = ["TARGET"] if data is None else map(str, data.target)
    start = ["pacshift", "label", *targets, "--budget", budget, *(["--looks", ",".join(looks)] if looks else [])]
    return [*start, *column_words(columns, None if data is None else data.columns)]


def column_words(columns: options.ColumnOptions, found: "Columns | None") -> list[str]:
    """How to find the score columns. Where labels of the source name them, a target alone does not tell."""
    names = () if found is None or columns.scores or columns.classes else found.scores
    by_labels = len(names) > 1 and not all(name.startswith("p_") for name in names)
    return [*(["--scores", ",".join(names)] if by_labels else []), *words(columns)]


def write_page(refusal: AssumptionError, path: Path | None, *, force: bool, silent: bool) -> None:
    """Write the page, if one was asked for. If that fails, the refusal itself is still to be said."""
    if path is None:
        return
    from pacshift.report import write_refusal

    try:
        write_refusal(refusal, path, overwrite=force)
    except (PacshiftError, OSError) as error:
        note(f"the page of the refusal was not written: {error}")
        return
    if not silent:
        say_written(path)
