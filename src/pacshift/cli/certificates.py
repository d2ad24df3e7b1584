"""Certificates on the command line: where they come from, whether they may be used, what to do without one."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from pacshift.certificate import Certificate
from pacshift.cli import options
from pacshift.cli.commands import words, words_of
from pacshift.cli.console import OTHER_MODEL, fail, in_flags, note, say_written
from pacshift.errors import AssumptionError, InputError, PacshiftError
from pacshift.tally import Tally
from pacshift.tally.once import Input, Role, file_sha256, limited, printable, together

if TYPE_CHECKING:
    from pacshift.rows.columns import Columns

SHEET = "to_label.csv"
"""What the sheet is called in the commands that are printed after a refusal."""


def with_origin(certificate: Certificate, ctx: typer.Context, seed: int) -> Certificate:
    """The certificate with the seed and the command that it was made by."""
    command = printable(shlex.join(["pacshift", *words_of(ctx)]))
    return replace(certificate, provenance=replace(certificate.provenance, seed=seed, command=command))


def tally_inputs(paths: Sequence[Path]) -> tuple[Input, ...]:
    """What a certificate says about the tally files behind it."""
    found = []
    for path in paths:
        tally, sha256 = Tally.load(path), file_sha256(path)
        rows: tuple[tuple[Role, int], ...] = (("source", tally.n_source), ("target", tally.n_target))
        for role, n_rows in rows:
            # What was left out when the files behind the tally were counted, where it says so.
            counted = [one for one in tally.inputs if one.role == role]
            left_out = together(counted) if counted and not tally.n_more_inputs else (None, (), None)
            found += [Input(role, printable(path.name), n_rows, (), sha256, *left_out)] if n_rows else []
    return limited(found)


def require_model(certificate: Certificate, model_id: str | None) -> None:
    """End the command if the certificate is for another model than the scores: it promises nothing about them."""
    other = certificate.provenance.other_model(model_id)
    if other is not None:
        fail(other, OTHER_MODEL)


def warn_before_use(certificate: Certificate, model_id: str | None) -> None:
    """Say on stderr why the certificate should not be used; end the command if it is for another model."""
    require_model(certificate, model_id)
    for text in certificate.provenance.warnings(model_id=model_id):
        note(text)


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
    data: "Given | None",
) -> AssumptionError:
    """The refusal with the commands that draw rows to label and certify with their labels.

    Without ``data`` there were tallies, and only the user knows the tables.
    """
    from pacshift.certification.refusal import with_lines

    attempt = refusal.attempt
    if attempt is None:  # labels contradict known_mix: there is nothing to label
        return refusal
    more = [] if attempt.with_method is None else ["--method", attempt.with_method]
    more += ["--engine", "arrow"] if data is not None and data.engine == "spark" else []
    more += ["--labelled", SHEET]
    *looks, budget = map(str, attempt.looks or (0,))
    draw = ["pacshift", "label", *(["TARGET"] if data is None else map(str, data.target)), "--budget", budget]
    draw += ["--looks", ",".join(looks)] if looks else []
    draw += [*column_words(columns, None if data is None else data.columns), *words(promise), "-o", SHEET]
    given = ["calibrate", "SOURCE", "TARGET", *words(promise)] if data is None else words_of(ctx)
    then = "run `{again}`" if data is None else f"run this command again with `{shlex.join(more)}`"
    return with_lines(
        refusal,
        draw=shlex.join(draw),
        again=shlex.join(["pacshift", *given, *more]),
        other_ways=tuple(map(in_flags, attempt.other_ways)),
        sentence=f"Draw the rows with `{{draw}}`, fill in their labels, and {then}",
    )


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
