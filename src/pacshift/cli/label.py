"""``pacshift label``: which rows of a target to label, and what to do then."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pacshift.cli import options
from pacshift.cli.commands import to_args
from pacshift.cli.console import plain, print_json, results, say_written
from pacshift.cli.options import basic, expert
from pacshift.errors import InputError

if TYPE_CHECKING:
    from pacshift import LabelSheet
    from pacshift.rows.arrow.find import ReadOptions
    from pacshift.rows.base import CheckedRows


def label(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="TARGET",
            help="Table without labels: a file, folder or pattern such as '*.csv'. With --next: SOURCE TARGET.",
        ),
    ],
    *,
    budget: Annotated[int | None, basic("--budget -b ROWS", "Number of rows to draw.")] = None,
    sheet: Annotated[
        Path | None,
        basic("--next SHEET", "Mark the rows of a sheet, its pilot filled in, whose labels can still matter."),
    ] = None,
    looks: Annotated[
        str | None,
        basic("--looks N,N,...", "Also allow certifying after these numbers of labels, such as 100,200."),
    ] = None,
    out: Annotated[Path, basic("--out -o FILE", "Label sheet (CSV) to write.")] = Path("to_label.csv"),
    keep: options.Keep = None,
    promise: options.ScoredPromise,
    reading: options.Reading,
    seed: Annotated[int | None, expert("--seed N", "Seed of the random order. Default: a new one.")] = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Draw random TARGET rows to label, for example after a refusal.

    Example: pacshift label target.parquet --budget 400 --looks 100,200 --keep id -o to_label.csv
    """
    if sheet is not None:
        _mark_next(files, sheet, budget, looks, promise, reading.of_source(), as_json)
        return
    if budget is None or len(files) != 1:
        raise InputError("label takes one TARGET and --budget ROWS; or, with --next SHEET, SOURCE and TARGET.")
    (table,) = files
    import pacshift
    from pacshift.certification.request import check_request
    from pacshift.cli.inputs import Watch, look_at_first_rows
    from pacshift.labels.sheet_file import require_csv
    from pacshift.rows.arrow.table import read_rows
    from pacshift.scores.transforms import resolve_transform

    options.check_output(out, [table])
    require_csv(out)
    resolve_transform(promise.score or "probability")
    request = check_request(**promise.arguments())  # what the next command will ask for, before anybody labels
    rows = read_rows([table], reading.of_target(), name="target", role="target", keep=False, watch=Watch(as_json))
    if out.is_file() and not force:
        look_at_first_rows(rows)
        raise InputError(
            f"{out} exists already. If it is a sheet of this target, go on with it: a second sheet, or a larger "
            "one with the same seed, spends delta again. Otherwise choose another name, or overwrite it with "
            "--force."
        )
    draw = pacshift.label_sheet(
        rows,
        budget=budget,
        looks=options.read_whole_numbers(looks, "--looks"),
        epsilon=request.epsilon,
        delta=request.delta,
        rng=seed,
        keep=list(dict.fromkeys(options.read_names(keep))),
    )
    draw.save(out, overwrite=force)
    again = ["--labelled", str(out), *to_args(promise), *to_args(reading, "label"), "-o", "certificate.json"]
    command = shlex.join(["pacshift", "calibrate", "SOURCE", str(table), *again])  # only the user knows SOURCE
    if as_json:
        numbers = {"rows": len(draw.rows), "pilot": draw.n_pilot, "looks": list(draw.looks), "seed": draw.seed}
        target = {
            "target_rows": draw.n_target,
            "dropped": rows.last_scan.faults.n_rows,
            "classes": list(rows.classes),
        }
        print_json({"sheet": str(out), **numbers, **target, "next": command})
    else:
        _show(draw, rows, out, command)


def _mark_next(
    files: list[Path],
    sheet: Path,
    budget: int | None,
    looks: str | None,
    promise: options.ScoredPromise,
    reading: "ReadOptions",
    as_json: bool,
) -> None:
    """Mark the rows to label next in the sheet itself, and say how many there are."""
    import pacshift
    from pacshift.cli.inputs import open_data

    if budget is not None or looks is not None:
        raise InputError("--budget and --looks are fixed when a sheet is made. With --next leave them out.")
    data = open_data(files, reading, silent=as_json)
    if len(data) == 1 or data[1] is None:
        raise InputError("--next needs the tables SOURCE and TARGET, as calibrate will.")
    marks = pacshift.next_labels(
        *data, labelled=sheet, contamination=promise.contamination, score=promise.score or "probability"
    )
    marks.sheet.save(sheet, overwrite=True)
    n_rows, look = len(marks.rows), marks.sheet.looks[marks.look]
    if as_json:
        orders = (marks.rows + 1).tolist()
        print_json({"sheet": str(sheet), "look": look, "needed": orders, "spared": marks.n_spared})
        return
    console = results()
    if n_rows:
        console.print(
            f"For the look after {look:,} rows {n_rows:,} labels can still matter, {marks.n_spared:,} cannot. The "
            "column needed says in which order to fill them in; the certificate holds whenever you stop."
        )
    else:
        console.print(f"No label can change the certificate of the sheet any more ({marks.n_spared:,} spared).")
    say_written(sheet)


def _show(sheet: "LabelSheet", rows: "CheckedRows", out: Path, command: str) -> None:
    from pacshift.scores.names import shorten
    from pacshift.words.numbers import one_of

    console = results()
    n_rows = len(sheet.rows)
    when = one_of([f"{look:,}" for look in sheet.looks])
    console.print(f"{n_rows:,} of {sheet.n_target:,} target rows to label, in random order.")
    console.print(
        f"1. Fill in the column 'label' from the top: {plain(shorten(rows.classes))}, or ? if nobody can tell (it "
        "counts as missed). Do not sort."
    )
    if not sheet.kept:
        console.print("   Rows are named by their number, from 0; --keep COLUMN adds columns such as an id.")
    console.print(f"2. After {when} labels, run (SOURCE is your labelled source):")
    console.print(f"   {plain(command)}", soft_wrap=True)
    if len(sheet.looks) > 1:
        console.print("   Stop at any of these numbers: the promise holds at each.")
    console.print("   A second sheet of this target would spend delta again.")
    say_written(out)
