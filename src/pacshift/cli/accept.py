"""``pacshift accept``: tables or tallies to a certificate that accepts the top label or asks."""

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
    known: options.Known = None,
    columns: options.ColumnOptions,
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
    asked = {"error": error, "delta": delta, "known_mix": options.read_known(known)}
    again = ["--error", f"{error:g}", "--delta", f"{delta:g}"]
    certify(ctx, pacshift.accept, asked, Accept(), files, out, promise, columns, shared, again=again)
