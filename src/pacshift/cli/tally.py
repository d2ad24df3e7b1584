"""``pacshift tally``: from the table of a site to one small file of counts."""

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pacshift.cli import options
from pacshift.cli.console import note, print_json, results, say_written
from pacshift.cli.options import basic, expert, output
from pacshift.errors import InputError

if TYPE_CHECKING:
    from pacshift.tally.inputs import Role


class Part(StrEnum):
    """What a tally can do without."""

    SOFT = "soft"
    BINS = "bins"
    INPUTS = "inputs"


@dataclass(frozen=True, kw_only=True)
class TallyReading(options.Reading):
    """A table with labels is a source, one without them a target."""

    label: Annotated[
        str | None, basic("--label -l COLUMN", "Label column of a source; leave it out for a target.")
    ] = None


def tally(
    table: Annotated[list[Path], typer.Argument(metavar="TABLE", help="Files or folders with scores.")],
    *,
    out: Annotated[Path, basic("--out -o FILE", "Tally to write.")] = Path("site.tally"),
    reading: TallyReading,
    leave_out: Annotated[
        list[Part] | None,
        output(
            "--leave-out",
            "Leave out sums (for PS-R, WCP), coarse target scores (PS-LP's sets grow) or file names; repeatable.",
        ),
    ] = None,
    score: options.Score = None,
    engine: Annotated[
        str,
        expert("--engine NAME", "Read here (arrow) or on a cluster: spark, or its address, spark://host:7077."),
    ] = "arrow",
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Count a table into a small file that holds no rows.

    Example: pacshift tally ward.parquet --label diagnosis -o ward.tally, then elsewhere
    pacshift calibrate ward.tally clinic.tally target.tally
    """
    from pacshift.cli.inputs import Watch, look_at_first_rows
    from pacshift.words.findings import logits_note

    if reading.label is None and score is not None:
        raise InputError(
            "--score is about the true labels of a source. Name their column with --label, or leave it out."
        )
    if reading.label is not None and Part.BINS in (leave_out or ()):
        raise InputError("--leave-out bins is about a target, but with --label the table is a source.")
    options.check_output(out, table)
    role: Role = "target" if reading.label is None else "source"
    watch = Watch(as_json)
    if engine == "arrow":
        from pacshift.rows.arrow.table import read_rows

        rows = read_rows(table, reading.of_source(), role=role, keep=False, watch=watch)
    elif engine in ("spark", "yarn") or "://" in engine or engine.startswith("local"):
        from pacshift.rows.spark import cluster_rows

        master = "local[*]" if engine == "spark" else engine
        rows = cluster_rows(table, reading.of_source(), master=master, name="table", role=role, watch=watch)
    else:
        raise InputError(f"--engine must be arrow, spark or the master of a Spark cluster, got {engine!r}.")
    options.require_new(out, force, partial(look_at_first_rows, rows))
    kept = {part: part not in (leave_out or ()) for part in Part}
    counts = rows.tally(
        score or "probability", soft=kept[Part.SOFT], bins=kept[Part.BINS], sha256=kept[Part.INPUTS]
    )
    for text in logits_note(counts):  # no certificate will say it
        note(text)
    (counts if kept[Part.INPUTS] else replace(counts, inputs=())).save(out)
    n_rows, n_usable = rows.last_scan.n_given, rows.last_scan.n_rows - rows.last_scan.faults.n_rows
    if as_json:
        left_out = {"dropped": rows.last_scan.faults.n_rows, "dropped_why": dict(rows.last_scan.faults.why)}
        facts = {"n_source": counts.n_source, "n_target": counts.n_target, "classes": list(counts.classes)}
        print_json({"tally": str(out), "rows": n_rows, **left_out, "rows_in_all": n_usable, **facts})
    else:
        what = "labelled" if counts.n_source else "unlabelled"
        size = f"{-(-out.stat().st_size // 1000):,} kB"
        of_all = "" if n_rows == n_usable else f"one row per group, {n_rows:,} of "
        results().print(f"Counted {of_all}{n_usable:,} {what} rows of {counts.n_classes} classes.")
        results().print(f"The file holds counts only, no rows ({size}).")
        say_written(out)
