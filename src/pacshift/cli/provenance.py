"""Where a certificate comes from, on the command line: its files and command, and whether it may still be used."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from pacshift.certificate import Certificate
from pacshift.certificate.provenance import (
    Input,
    Role,
    check_text,
    check_valid_until,
    inputs_of_tally,
    limited,
    printable,
    reasons_against_use,
)
from pacshift.cli.commands import words_of
from pacshift.cli.console import note
from pacshift.cli.inputs import Inputs
from pacshift.documents import current_time
from pacshift.errors import InputError
from pacshift.tally import Tally

ModelId: TypeAlias = Annotated[
    str | None,
    typer.Option("--model-id", metavar="TEXT", help="The classifier that made the scores, as you call it."),
]
Note: TypeAlias = Annotated[
    str | None, typer.Option("--note", metavar="TEXT", help="Anything that the certificate should remember.")
]
ValidUntil: TypeAlias = Annotated[
    str | None,
    typer.Option("--valid-until", metavar="DATE", help="Last day of use, as 2027-01-31; commands warn after it."),
]
UsedModelId: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--model-id",
        metavar="TEXT",
        help="The classifier that made the scores; warns if the certificate's differs.",
    ),
]


def check_origin(model_id: str | None, maker_note: str | None, valid_until: str | None) -> None:
    """Refuse texts and dates that cannot be kept, before hours of counting."""
    check_text(model_id, "--model-id")
    check_text(maker_note, "--note")
    check_valid_until(valid_until, current_time().date())


def with_origin(certificate: Certificate, inputs: Sequence[Input], ctx: typer.Context, seed: int) -> Certificate:
    """The certificate with the files, the seed and the command that it was made by."""
    if certificate.provenance is None:
        return certificate
    command = printable(shlex.join(["pacshift", *words_of(ctx)]))
    made = replace(certificate.provenance, inputs=limited(inputs), seed=seed, command=command)
    return certificate.changed(provenance=made)


def table_inputs(data: Inputs, certificate: Certificate) -> list[Input]:
    """The files of source and target. With Spark only a cluster may be able to read them, so no hash is made."""
    known, spark = data.columns, data.engine == "spark"
    label = () if known.label is None else (known.label,)
    source = _files("source", data.source, certificate.n_source, (*label, *known.scores), spark=spark)
    return source + _files("target", data.target, certificate.n_target, known.scores, spark=spark)


def _files(role: Role, paths: Sequence[Path], rows: int, columns: tuple[str, ...], *, spark: bool) -> list[Input]:
    if spark:
        return [
            Input(role, printable(path.name), rows if len(paths) == 1 else None, columns, None) for path in paths
        ]
    from pacshift.tables.sources import list_files

    files = list_files(list(paths)) if paths else []
    counted = rows if len(files) == 1 else None
    return [Input(role, printable(file.name), counted, columns, _sha256(file)) for file in files]


def tally_inputs(paths: Sequence[Path]) -> list[Input]:
    """The tally files, with the rows behind the counts of each."""
    return [
        one
        for path in paths
        for one in inputs_of_tally(Tally.load(path), name=printable(path.name), sha256=_sha256(path))
    ]


def _sha256(path: Path) -> str:
    from pacshift.tables.periods import file_sha256

    try:
        return file_sha256(path)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}.") from None


def warn_before_use(certificate: Certificate, model_id: str | None) -> None:
    """Say on stderr why the certificate should not be used: expired, or made for another model."""
    for text in reasons_against_use(certificate.provenance, model_id=model_id):
        note(text)
