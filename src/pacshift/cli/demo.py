"""``pacshift demo``: a simulated label shift, every method on it, and which of them keep their promise."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pacshift.cli import options
from pacshift.cli.compare import cells
from pacshift.cli.console import make_table, plain, print_json, print_words, progress, results, to_json
from pacshift.cli.options import basic
from pacshift.errors import InputError
from pacshift.words.numbers import given, percent

if TYPE_CHECKING:
    from pacshift.cli.simulated import DemoResult


def demo(
    ctx: typer.Context,
    *,
    out: Annotated[Path, basic("--out -o FOLDER", "Folder for tables, figure and page.")] = Path("pacshift-demo"),
    as_json: options.Json = False,
) -> None:
    """Try all methods on a simulated shift, with their true errors.

    Example: pacshift demo
    """
    from pacshift.cli.certificates import with_origin
    from pacshift.cli.simulated import run_demo, write_files

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {out}: {error.strerror}. Choose another with -o.") from None
    with progress("drawing and calibrating", silent=as_json) as report:
        result = run_demo(report)
    result = replace(result, certificate=with_origin(result.certificate, ctx))
    files = write_files(out, result)
    if not as_json:
        _show(result, files)
        return
    rows = [{**to_json(row), "draws_above_epsilon": result.count_above(row.method)} for row in result.draws[0]]
    facts = {"epsilon": result.certificate.epsilon, "delta": result.certificate.delta, "draws": len(result.draws)}
    print_json({**facts, "methods": rows, "files": {name: str(path) for name, path in files.items()}})


def _show(result: "DemoResult", files: dict[str, Path]) -> None:
    from pacshift.cli.simulated import N_ROWS, SOURCE_MIX, TARGET_MIX
    from pacshift.words.statements import short_lines

    console, epsilon, draws = results(), result.certificate.epsilon, len(result.draws)
    name = plain(repr(result.class_names[1]))
    rows, before, after = f"{N_ROWS:,}", percent(SOURCE_MIX[1]), percent(TARGET_MIX[1])
    console.print(
        f"[bold]{plain(result.title)}[/] (scores of a real model, {len(result.class_names)} classes). "
        f"Source: {rows} labelled rows, {before} of them {name}. "
        f"Target: {rows} rows without labels, {after} of them {name} (only ORACLE is told). "
        f"Wanted: sets that miss the true label of at most {given(epsilon)} of the target."
    )
    headings = "method", "promise", "labels per set", "empty sets", "true error", "draws above epsilon"
    table = make_table(*headings, left=2)
    for row in result.draws[0]:
        above = result.count_above(row.method)
        table.add_row(*cells(row, epsilon), f"[red]{above}[/]" if above else "0")
    console.print(table)
    console.print(
        "True error: the share of the whole target whose set misses the true label; exact, because this world is "
        f"simulated. Last column: in how many of {draws} draws of all the data it was above {given(epsilon)}.\n"
    )
    # What speaks for PS-LP, which is the default although PS-LW needs no target.
    larger = result.size("PS-LW") / result.size("PS-LP") - 1
    here = f"PS-LW's sets are {percent(abs(larger), 2)} {'larger' if larger > 0 else 'smaller'} here"
    console.print(
        f"Why PS-LP? {'PS-LW does about as well here' if abs(larger) < 0.02 else here}, and it needs no target. "
        "But it bounds every class separately, which costs size with many or rare classes."
    )
    console.print()
    print_words(short_lines(result.certificate))
    console.print()
    for kind in ("report", "figure"):
        console.print(f"{kind}: {plain(files[kind])}")
    console.print("Go on with the same data:")
    folder, rates = files["report"].parent, f"--epsilon {epsilon:g} --delta {result.certificate.delta:g}"
    for line in (
        f"pacshift calibrate {folder}/source.parquet {folder}/target.parquet {rates} -o my.json",
        f"pacshift check my.json {folder}/labelled.parquet",
    ):
        console.print(f"  {plain(line)}", soft_wrap=True)
