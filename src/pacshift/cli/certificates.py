"""Certificates on the command line: where they come from, whether they may be used, what to do without one."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pacshift.certificate import Certificate
from pacshift.cli import options
from pacshift.cli.commands import given_args, given_command, to_args
from pacshift.cli.console import OTHER_MODEL, CommandLine, fail, note, say_written
from pacshift.errors import AssumptionError, InputError, LabelCommands, PacshiftError
from pacshift.tally.inputs import printable

if TYPE_CHECKING:
    from pacshift.labels.refusal import Attempt
    from pacshift.rows.columns import Columns

SHEET = "to_label.csv"
"""What the sheet is called in the commands that are printed after a refusal."""


def with_origin(certificate: Certificate, ctx: typer.Context) -> Certificate:
    """The certificate with the command that it was made by."""
    command = printable(shlex.join(["pacshift", *given_command(ctx)]))
    return replace(certificate, provenance=replace(certificate.provenance, command=command))


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


def label_column(certificate: Certificate) -> str:
    """The label column that a certificate remembers, else the usual one."""
    return (None if certificate.columns is None else certificate.columns.label) or "label"


def column_words(reading: options.Reading, remembered: "Columns | None") -> list[str]:
    """How to find the score columns. Where labels of the source name them, a target alone does not tell."""
    names = () if remembered is None or reading.scores or reading.classes else remembered.scores
    by_labels = len(names) > 1 and not all(name.startswith("p_") for name in names)
    return [*(["--scores", ",".join(names)] if by_labels else []), *to_args(reading, "label")]


def check_page(page: Path | None, inputs: Sequence[Path], out: Path) -> None:
    """Before the work: whether the page of a refusal can be written."""
    if page is not None:
        import pacshift.report  # noqa: F401  # or says which extra is missing

        options.check_output(page, inputs)
        if page.resolve() == out.resolve():
            raise InputError(f"--refusal-page and -o are the same file, {page}. Give them different names.")


@dataclass(frozen=True)
class CertifyingCommand(CommandLine):
    """A command that may be refused: which commands draw rows to label and certify with their labels.

    Of tallies only the user knows the tables.
    """

    ctx: typer.Context
    reading: options.Reading
    promise: list[str]
    data: Sequence[Any]

    def label_commands(self, attempt: "Attempt") -> LabelCommands:
        """Words of the commands, which can be copied."""
        are_tables = len(self.data) > 1
        more = [] if attempt.with_method is None else ["--method", attempt.with_method]
        more += ["--labelled", SHEET]
        *looks, budget = map(str, attempt.looks)
        target = str(self.ctx.params["files"][1]) if are_tables else "TARGET"
        draw = ["pacshift", "label", target, "--budget", budget, *(["--looks", ",".join(looks)] if looks else [])]
        draw += column_words(self.reading, self.data[0].columns if are_tables else None)
        draw += [*self.promise, "-o", SHEET]
        of_tallies = [str(self.ctx.info_name), "SOURCE", "TARGET", *given_args(self.ctx)]
        command = given_command(self.ctx) if are_tables else of_tallies
        again = shlex.join(["pacshift", *command, *more])
        then = f"run this command again with `{shlex.join(more)}`" if are_tables else f"run `{again}`"
        in_words = f"Draw the rows with `{shlex.join(draw)}`, fill in their labels, and {then}"
        return LabelCommands(shlex.join(draw), again, in_words)


def write_refusal_page(refusal: AssumptionError, page: Path, *, force: bool, silent: bool) -> None:
    """Write the page; if that fails, the refusal itself is still to be said."""
    from pacshift.report import write_refusal

    try:
        write_refusal(refusal, page, overwrite=force)
    except (PacshiftError, OSError) as error:
        note(f"the page of the refusal was not written: {error}")
    else:
        say_written(*([] if silent else [page]))
