"""``pacshift predict``: sets for a table of any size."""

from pathlib import Path
from typing import Annotated

import typer

from pacshift.cli import options
from pacshift.cli.console import note, print_json, progress, results, say_written
from pacshift.cli.options import basic


def predict(
    certificate_file: options.CertificateFile,
    table: Annotated[list[Path], typer.Argument(metavar="TABLE", help="Files or folders with scores.")],
    *,
    out: Annotated[Path, basic("--out -o FILE", "Sets to write: .parquet, .feather or .csv.")] = Path(
        "sets.parquet"
    ),
    keep: options.Keep = None,
    reading: options.KnownReading,
    model_id: options.UsedModelId = None,
    keep_invalid: options.KeepInvalid = False,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Write the prediction set of every row.

    Example: pacshift predict certificate.json new.parquet --keep id,date -o sets.parquet
    """
    from pacshift import Certificate, write_sets
    from pacshift.cli.certificates import warn_before_use
    from pacshift.cli.inputs import note_left_out_rows
    from pacshift.files.reading import require_regular
    from pacshift.words.rules import words_of

    require_regular(certificate_file)  # that it is missing is the first thing to say
    options.check_output(out, [certificate_file, *table])
    certificate = Certificate.load(certificate_file)
    warn_before_use(certificate, model_id)
    with progress("predicting", silent=as_json) as report:
        written = write_sets(
            certificate,
            list(table),
            out,
            scores=reading.scores,
            by_position=reading.by_position,
            keep=options.read_names(keep),
            drop_invalid=reading.drop_invalid or False,
            keep_invalid=keep_invalid,
            overwrite=force,
            progress=report,
        )
    note_left_out_rows("table", written.n_dropped, written.n_rows)
    if written.n_invalid:
        note(f"table: {written.n_invalid:,} of {written.n_rows:,} rows have no set: their scores cannot be used.")
    if as_json:
        counts = {"rows": written.n_rows, "dropped": written.n_dropped, "invalid": written.n_invalid}
        print_json({"sets": str(out), **counts, "set_sizes": written.set_sizes.tolist()})
    else:
        sizes = written.set_sizes
        results().print(words_of(certificate.rule).written(sizes))
        say_written(out)
