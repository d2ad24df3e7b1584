"""``pacshift tally``: from the table of a site to one small file of counts."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pacshift.cli import options
from pacshift.cli.console import print_json, progress, results, say_written
from pacshift.cli.options import basic, output

if TYPE_CHECKING:
    from pacshift.tables import TableTally


def tally(
    table: Annotated[list[Path], typer.Argument(metavar="TABLE", help="Files or folders with scores.")],
    *,
    out: Annotated[Path, basic("--out -o FILE", "The tally.")] = Path("site.tally"),
    label: Annotated[
        str | None, basic("--label -l COLUMN", "Column of the true labels; leave it out for a target.")
    ] = None,
    columns: options.ColumnOptions,
    soft: Annotated[bool, output("--soft/--no-soft", "Keep sums that only PS-R and WCP use.")] = True,
    bins: Annotated[
        bool,
        output("--bins/--no-bins", "Keep a target's scores in coarse bins: PS-LP's sets are smaller with them."),
    ] = True,
    list_inputs: Annotated[
        bool, output("--inputs/--no-inputs", "List the files in the tally, with rows, columns and SHA-256.")
    ] = True,
    score: options.Score = "probability",
    exact: options.Exact = False,
    engine: options.Engine = "arrow",
    master: options.Master = None,
    force: options.Force = False,
    printing: options.Printing,
) -> None:
    """Count a table and write only the counts: a labelled source with --label, else an unlabelled target.

    Example: pacshift tally ward.parquet --label diagnosis -o ward.tally, then elsewhere
    pacshift calibrate --tallies ward.tally clinic.tally target.tally
    """
    from pacshift.cli.inputs import tell_dropped, tell_logits, tell_repeated_ids
    from pacshift.cli.spark import tally_with_spark
    from pacshift.tables import tally_table

    options.check_output(out, force, table)
    chosen = {**columns.reading(label), "score": score, "soft": soft, "bins": bins}
    what = "target" if label is None else "source"
    with progress(f"counting the {what}", silent=printing.silent) as report:
        if engine == "spark":
            counted = tally_with_spark(master, table, **chosen)
        else:
            counted = tally_table(list(table), **chosen, grid=not exact, sha256=list_inputs, progress=report)
    tell_dropped("table", counted.n_dropped, counted.n_usable, counted.dropped_why)
    if columns.group is None and engine == "arrow" and not printing.silent:
        tell_repeated_ids(table, counted.columns)
    tell_logits(counted.tally)
    made = counted.tally if list_inputs else replace(counted.tally, inputs=())
    made.save(out)
    _show(counted, out, printing)


def _show(counted: "TableTally", out: Path, printing: options.Printing) -> None:
    tally, rows = counted.tally, counted.n_rows
    if printing.as_json:
        counts = {
            "rows_in_all": counted.n_usable,
            "n_source": tally.n_source,
            "n_target": tally.n_target,
            "classes": list(tally.classes),
        }
        left_out = {"dropped": counted.n_dropped, "dropped_why": dict(counted.dropped_why)}
        print_json({"tally": str(out), "rows": rows, **left_out, **counts})
    else:
        what = "labelled" if tally.n_source else "unlabelled"
        size = f"{out.stat().st_size:,} bytes"
        of_all = "" if rows == counted.n_usable else f"one row of each group, {rows:,} of "
        results().print(
            f"{of_all}{counted.n_usable:,} {what} rows of {tally.n_classes} classes, counted into {size}."
        )
        say_written(out)
