"""``pacshift demo``: a simulated label shift, every method on it, and which of them keep their promise."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pacshift.cli import options
from pacshift.cli.compare import cells
from pacshift.cli.console import plain, print_json, print_words, progress, results, right_aligned
from pacshift.cli.options import basic
from pacshift.errors import InputError
from pacshift.words.numbers import given, percent

if TYPE_CHECKING:
    from pacshift.cli.simulated import Findings


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
    from pacshift.cli.simulated import find, write

    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {out}: {error.strerror}. Choose another with -o.") from None
    with progress("drawing and calibrating", silent=as_json) as report:
        found = find(report)
    found = replace(found, certificate=with_origin(found.certificate, ctx))
    files = write(out, found)
    if not as_json:
        _show(found, files)
        return
    rows = [{**asdict(row), "draws_above_epsilon": found.above(row.method)} for row in found.trials[0]]
    facts = {"epsilon": found.certificate.epsilon, "delta": found.certificate.delta, "draws": len(found.trials)}
    print_json({**facts, "methods": rows, "files": {name: str(path) for name, path in files.items()}})


def _show(found: "Findings", files: dict[str, Path]) -> None:
    from pacshift.cli.simulated import N_ROWS, SOURCE_MIX, TARGET_MIX
    from pacshift.words.statements import short_lines

    console, epsilon, draws = results(), found.certificate.epsilon, len(found.trials)
    name = plain(repr(found.class_names[1]))
    rows, before, after = f"{N_ROWS:,}", percent(SOURCE_MIX[1]), percent(TARGET_MIX[1])
    console.print(
        f"[bold]{plain(found.title)}[/] (scores of a real model, {len(found.class_names)} classes). "
        f"Source: {rows} labelled rows, {before} of them {name}. "
        f"Target: {rows} rows without labels, {after} of them {name} (only ORACLE is told). "
        f"Wanted: sets that miss the true label of at most {given(epsilon)} of the target."
    )
    headings = "method", "promise", "labels per set", "empty sets", "true error", "draws above epsilon"
    table = right_aligned(*headings, left=2)
    for row in found.trials[0]:
        above = found.above(row.method)
        table.add_row(*cells(row, epsilon), f"[red]{above}[/]" if above else "0")
    console.print(table)
    console.print(
        "True error: the share of the whole target whose set misses the true label; exact, because this world is "
        f"simulated. Last column: in how many of {draws} draws of all the data it was above {given(epsilon)}.\n"
    )
    # What speaks for PS-LP, which is the default although PS-LW needs no target.
    larger = found.size("PS-LW") / found.size("PS-LP") - 1
    here = f"PS-LW's sets are {percent(abs(larger), 2)} {'larger' if larger > 0 else 'smaller'} here"
    console.print(
        f"Why PS-LP? {'PS-LW does about as well here' if abs(larger) < 0.02 else here}, and it needs no target. "
        "But it bounds every class separately, which costs size with many or rare classes."
    )
    console.print()
    print_words(short_lines(found.certificate))
    console.print()
    for kind in ("report", "figure"):
        console.print(f"{kind}: {plain(files[kind])}")
    console.print("Go on with the same data:")
    folder, rates = files["report"].parent, f"--epsilon {epsilon:g} --delta {found.certificate.delta:g}"
    for line in (
        f"pacshift calibrate {folder}/source.parquet {folder}/target.parquet {rates} -o my.json",
        f"pacshift check my.json {folder}/labelled.parquet",
    ):
        console.print(f"  {plain(line)}", soft_wrap=True)
