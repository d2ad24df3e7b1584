"""``pacshift demo``: a simulated label shift, every method on it, and which of them keep their promise."""

from pathlib import Path
from typing import Annotated

import typer

from pacshift.cli import options
from pacshift.cli.console import print_json
from pacshift.cli.options import basic

PANEL = "heart-large-0.1"


def demo(
    ctx: typer.Context,
    *,
    out: Annotated[Path, basic("--out -o FOLDER", "For figure, report, tables.")] = Path("pacshift-demo"),
    panel: Annotated[str, basic("--panel NAME", "Any panel of `pacshift reproduce`, as agnews-0.05.")] = PANEL,
    draws: Annotated[int, basic("--draws", "How often the data are drawn anew.", min=1)] = 10,
    seed: options.Seed = 0,
    printing: options.Printing,
) -> None:
    """See every method under a simulated label shift, with true errors, in seconds.

    Example: pacshift demo
    """
    from pacshift.cli.demo.findings import find, select_panel
    from pacshift.cli.demo.output import document, make_folder, show, write

    chosen, folder = select_panel(panel), make_folder(out)
    found = find(ctx, chosen, draws, seed, silent=printing.silent)
    files = write(folder, found)
    if printing.as_json:
        print_json(document(found, files))
    elif not printing.quiet:
        show(found, files)
