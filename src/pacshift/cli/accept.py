"""``pacshift accept``: tables or tallies to a certificate that accepts the top label or asks."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from pacshift.cli import options
from pacshift.cli.options import basic
from pacshift.defaults import ACCEPTED_ERROR, DELTA


def accept(
    ctx: typer.Context,
    *,
    files: options.Files = None,
    out: Annotated[Path, basic("--out -o FILE", "Certificate to write.")] = Path("accept.json"),
    error: Annotated[
        float, basic("--error SHARE", "Largest share of the accepted cases that may be wrong.")
    ] = ACCEPTED_ERROR,
    delta: options.Delta = DELTA,
    label_error: Annotated[
        list[str] | None,
        options.known("--label-error LABEL=SHARE", "The same among cases accepted as LABEL; SHARE alone: as any."),
    ] = None,
    known: options.Known = None,
    reading: options.Reading,
    shared: options.Certifying,
) -> None:
    """Accept the top label or ask a person, so that few of the accepted are wrong.

    Example: pacshift accept source.parquet target.parquet --label diagnosis --error 0.05 -o accept.json
    """
    import pacshift
    from pacshift.cli.calibrate import certify
    from pacshift.methods.accept import Accept
    from pacshift.scores.check import check_rate

    promise = options.Promise(epsilon=check_rate(error, "error"), delta=delta, known=known)
    verb = partial(
        pacshift.accept,
        error=error,
        delta=delta,
        label_error=options.read_limits(label_error),
        known_mix=options.read_known(known),
    )
    certify(ctx, verb, Accept(), files, out, promise, reading, shared)
