"""``pacshift tally``: from the table of a site to one small file of counts."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pacshift.cli import options
from pacshift.cli.console import note, print_json, results, say_written
from pacshift.cli.options import basic, output

if TYPE_CHECKING:
    from pacshift.rows.base import Rows


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
    engine: options.Engine,
    force: options.Force = False,
    printing: options.Printing,
) -> None:
    """Count a table and write only the counts: a labelled source with --label, else an unlabelled target.

    Example: pacshift tally ward.parquet --label diagnosis -o ward.tally, then elsewhere
    pacshift calibrate ward.tally clinic.tally target.tally
    """
    from pacshift.cli.inputs import Watch
    from pacshift.words.findings import logits_note

    options.check_output(out, force, table)
    reading = {**columns.reading(label), "name": "table", "role": "target" if label is None else "source"}
    reading["watch"] = Watch(printing.silent, table if engine.check().engine == "arrow" else ())
    if engine.engine == "spark":
        from pacshift.rows.spark import cluster_rows

        rows: Rows = cluster_rows(table, master=engine.master, **reading)
    else:
        from pacshift.rows.arrow.table import read_rows

        rows = read_rows(list(table), **reading, grid=not exact, keep=False)
    made = rows.tally(score, soft=soft, bins=bins, sha256=list_inputs)
    for text in logits_note(made):  # no certificate will say it
        note(text)
    (made if list_inputs else replace(made, inputs=())).save(out)
    n_rows, n_usable = rows.last.n_given, rows.last.n_rows - rows.last.faults.n_rows
    if printing.as_json:
        counts = {
            "rows_in_all": n_usable,
            "n_source": made.n_source,
            "n_target": made.n_target,
            "classes": list(made.classes),
        }
        left_out = {"dropped": rows.last.faults.n_rows, "dropped_why": dict(rows.last.faults.why)}
        print_json({"tally": str(out), "rows": n_rows, **left_out, **counts})
    else:
        what = "labelled" if made.n_source else "unlabelled"
        size = f"{out.stat().st_size:,} bytes"
        of_all = "" if n_rows == n_usable else f"one row of each group, {n_rows:,} of "
        results().print(f"{of_all}{n_usable:,} {what} rows of {made.n_classes} classes, counted into {size}.")
        say_written(out)
