"""Where a certificate comes from, on the command line: its files and command, and whether it may still be used."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import typer

from pacshift.certificate import Certificate
from pacshift.cli.commands import words_of
from pacshift.cli.console import OTHER_MODEL, fail, note
from pacshift.files.repeated import file_sha256
from pacshift.tally import Tally
from pacshift.tally.inputs import Input, Role, limited, printable, together


def with_origin(certificate: Certificate, ctx: typer.Context, seed: int) -> Certificate:
    """The certificate with the seed and the command that it was made by."""
    command = printable(shlex.join(["pacshift", *words_of(ctx)]))
    return certificate.changed(provenance=replace(certificate.provenance, seed=seed, command=command))


def with_tally_files(certificate: Certificate, paths: Sequence[Path]) -> Certificate:
    """The certificate with the tally files it was made from; each of them says what was counted for it."""
    return certificate.changed(provenance=replace(certificate.provenance, inputs=tally_inputs(paths)))


def tally_inputs(paths: Sequence[Path]) -> tuple[Input, ...]:
    """What a certificate says about the tally files behind it."""
    return limited([one for path in paths for one in _inputs_of(path)])


def _inputs_of(path: Path) -> list[Input]:
    tally, sha256 = Tally.load(path), file_sha256(path)
    rows: tuple[tuple[Role, int], ...] = (("source", tally.n_source), ("target", tally.n_target))
    return [
        Input(role, printable(path.name), n_rows, (), sha256, *_left_out(tally, role))
        for role, n_rows in rows
        if n_rows
    ]


def _left_out(tally: Tally, role: Role) -> tuple[int | None, tuple[tuple[str, int], ...], int | None]:
    """What was left out when the files behind a tally were counted, where it says so."""
    counted = [one for one in tally.inputs if one.role == role]
    return together(counted) if counted and not tally.n_more_inputs else (None, (), None)


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
