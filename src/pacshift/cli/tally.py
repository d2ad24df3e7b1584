"""``pacshift tally``: from the table of a site to one small file of counts."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from pacshift.cli import options
from pacshift.cli.console import plain, print_json, progress, results
from pacshift.cli.inputs import tell_dropped
from pacshift.tally import Tally


def tally(
    table: Annotated[list[Path], typer.Argument(metavar="TABLE", help="Files or folders with scores.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The tally.")] = Path("site.tally"),
    label: Annotated[
        str | None,
        typer.Option(
            "--label", "-l", metavar="COLUMN", help="Column of the true labels; leave it out for a target."
        ),
    ] = None,
    scores: options.Scores = None,
    classes: options.Classes = None,
    by_position: options.ByPosition = False,
    score: options.Score = "probability",
    soft: Annotated[bool, typer.Option("--soft/--no-soft", help="Keep sums that only PS-R and WCP use.")] = True,
    bins: Annotated[
        bool,
        typer.Option(
            "--bins/--no-bins",
            help="Keep a target's scores in coarse bins, which help PS-LP to find the smallest sets.",
        ),
    ] = True,
    list_inputs: Annotated[
        bool,
        typer.Option("--inputs/--no-inputs", help="List the files in the tally, with rows, columns and SHA-256."),
    ] = True,
    exact: options.Exact = False,
    drop_invalid: options.DropInvalid = False,
    engine: options.Engine = "arrow",
    master: options.Master = None,
    seed: options.NoSeed = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Count a table and write only the counts: a labelled source with --label, else an unlabelled target.

    Example: pacshift tally ward.parquet --label diagnosis -o ward.tally, then elsewhere
    pacshift calibrate --tallies ward.tally clinic.tally target.tally
    """
    from pacshift.cli.spark import tally_with_spark
    from pacshift.tables import tally_table

    options.tell_no_seed(seed)
    options.check_output(out, force, table)
    what = "target" if label is None else "source"
    chosen: dict[str, Any] = {
        "label": label,
        "scores": scores,
        "classes": options.read_classes(classes),
        "by_position": by_position,
        "score": score,
        "soft": soft,
        "bins": bins,
        "drop_invalid": drop_invalid,
    }
    with progress(f"counting the {what}", silent=quiet or as_json) as report:
        if engine == "spark":
            counted = tally_with_spark(master, table, **chosen)
        else:
            counted = tally_table(list(table), **chosen, grid=not exact, sha256=list_inputs, progress=report)
    tell_dropped("table", counted.n_dropped, counted.n_rows)
    made = counted.tally if list_inputs else replace(counted.tally, inputs=())
    made.save(out)
    _show(made, out, counted.n_rows, counted.n_dropped, as_json=as_json, quiet=quiet)


def _show(tally: Tally, out: Path, rows: int, dropped: int, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        counts = {"rows": rows, "dropped": dropped, "n_source": tally.n_source, "n_target": tally.n_target}
        print_json({"tally": str(out), **counts, "classes": list(tally.classes)})
    elif not quiet:
        what = "labelled" if tally.n_source else "unlabelled"
        console = results()
        console.print(
            f"{rows:,} {what} rows of {tally.n_classes} classes, counted into {out.stat().st_size:,} bytes."
        )
        console.print(f"written: {plain(out)}")
