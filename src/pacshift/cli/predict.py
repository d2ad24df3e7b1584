"""``pacshift predict``: sets for a table of any size."""

from pathlib import Path
from typing import Annotated

import typer

from pacshift.cli import options
from pacshift.cli.console import plain, print_json, progress, results
from pacshift.cli.options import basic
from pacshift.wording import mean_size, percent


def predict(
    certificate_file: options.CertificateFile,
    table: Annotated[list[Path], typer.Argument(metavar="TABLE", help="Files or folders with scores.")],
    out: Annotated[Path, basic("--out -o FILE", "The sets: .parquet, .feather or .csv.")] = Path("sets.parquet"),
    keep: Annotated[list[str] | None, basic("--keep -k COLUMN", "Copy this column; can be repeated.")] = None,
    scores: options.KnownScores = None,
    by_position: options.ByPosition = False,
    model_id: options.UsedModelId = None,
    drop_invalid: options.DropInvalid = False,
    seed: options.NoSeed = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Write the prediction set of every row: a list of class names and its size.

    Example: pacshift predict certificate.json new.parquet --keep id -o sets.parquet
    """
    from pacshift import Certificate
    from pacshift.certificate.sets import mean_and_empty
    from pacshift.cli.inputs import tell_dropped
    from pacshift.cli.provenance import warn_before_use
    from pacshift.files.reading import require_regular
    from pacshift.tables import write_sets

    require_regular(certificate_file)  # that it is missing is the first thing to say
    options.tell_no_seed(seed)
    options.check_output(out, force, [certificate_file, *table])
    certificate = Certificate.load(certificate_file)
    warn_before_use(certificate, model_id)
    with progress("predicting", silent=quiet or as_json) as report:
        written = write_sets(
            certificate,
            list(table),
            out,
            scores=scores,
            by_position=by_position,
            keep=keep or (),
            drop_invalid=drop_invalid,
            overwrite=force,
            progress=report,
        )
    tell_dropped("table", written.n_dropped, written.n_rows)
    sizes = written.set_sizes
    if as_json:
        counts = {"rows": written.n_rows, "dropped": written.n_dropped, "set_sizes": sizes.tolist()}
        print_json({"sets": str(out), **counts})
    elif not quiet:
        size, empty = mean_and_empty(sizes)
        console = results()
        console.print(f"{written.n_rows:,} sets, {mean_size(size)} labels on average, {percent(empty)} empty.")
        console.print(f"written: {plain(out)}")
