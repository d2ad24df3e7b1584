"""``pacshift label``: which rows of a target to label, and what to do then."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pacshift.cli import options
from pacshift.cli.commands import words
from pacshift.cli.console import plain, print_json, results, say_written
from pacshift.cli.options import basic, expert
from pacshift.errors import InputError

if TYPE_CHECKING:
    from pacshift import LabelSheet
    from pacshift.rows.base import Rows


def label(
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TARGET", help="Table without labels: a file, a folder or a pattern such as 'part-*.csv'."
        ),
    ],
    *,
    budget: Annotated[int, basic("--budget -b ROWS", "Number of rows to draw.")],
    looks: Annotated[
        str | None,
        basic("--looks N,N,...", "Also allow certifying after these numbers of labels, such as 100,200."),
    ] = None,
    out: Annotated[Path, basic("--out -o FILE", "Label sheet (CSV) to write.")] = Path("to_label.csv"),
    keep: options.Keep = None,
    promise: options.ScoredPromise,
    columns: options.ColumnOptions,
    seed: Annotated[int | None, expert("--seed N", "Seed of the random order. Default: a new one.", min=0)] = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Draw random TARGET rows to label, for example after a refusal.

    Example: pacshift label target.parquet --budget 400 --looks 100,200 --keep id -o to_label.csv
    """
    import pacshift
    from pacshift.certification.request import check_request
    from pacshift.certification.sheet_file import require_csv
    from pacshift.cli.inputs import Watch, open_table
    from pacshift.scores.transforms import resolve_transform

    if out.is_file() and not force and out != table:
        raise InputError(
            f"{out} exists already. If it is a sheet of this target, go on with it: a second sheet, or a larger "
            "one with the same seed, spends delta again. Otherwise choose another name, or overwrite it with "
            "overwrite=True."
        )
    options.check_output(out, force, [table])
    require_csv(out)
    asked = promise.arguments()
    resolve_transform(asked.pop("score"))
    request = check_request(**asked)  # what the next command will ask for, before anybody labels
    rows = open_table(
        [table], **columns.reading(None), name="target", role="target", keep=False, watch=Watch(as_json)
    )
    sheet = pacshift.label_sheet(
        rows,
        budget=budget,
        looks=options.read_numbers(looks, "--looks", int) or (),
        epsilon=request.epsilon,
        delta=request.delta,
        rng=seed,
        keep=list(dict.fromkeys(options.read_names(keep))),
    )
    sheet.save(out, overwrite=force)
    again = ["--labelled", str(out), *words(promise), *words(columns), "-o", "certificate.json"]
    command = shlex.join(["pacshift", "calibrate", "SOURCE", str(table), *again])  # only the user knows SOURCE
    if as_json:
        numbers = {"rows": len(sheet.rows), "pilot": sheet.n_pilot, "looks": list(sheet.looks), "seed": sheet.seed}
        target = {"target_rows": sheet.n_target, "dropped": rows.last.faults.n_rows, "classes": list(rows.classes)}
        print_json({"sheet": str(out), **numbers, **target, "next": command})
    else:
        _show(sheet, rows, out, command)


def _show(sheet: "LabelSheet", rows: "Rows", out: Path, command: str) -> None:
    from pacshift.scores.names import shorten
    from pacshift.words.numbers import one_of

    console = results()
    n_rows = len(sheet.rows)
    when = one_of([f"{look:,}" for look in sheet.looks])
    console.print(f"{n_rows:,} of {sheet.n_target:,} target rows to label, in random order.")
    console.print(
        f"1. Fill in the column 'label' from the top: {plain(shorten(rows.classes))}, or ? if nobody can tell (it "
        "counts as missed). Skip no row, do not sort."
    )
    console.print(f"2. After {when} labels, run (SOURCE is your labelled source):")
    console.print(f"   {plain(command)}", soft_wrap=True)
    if len(sheet.looks) > 1:
        console.print("   Stop at any of these numbers: the promise holds at each.")
    console.print("   A second sheet of this target would spend delta again.")
    say_written(out)
