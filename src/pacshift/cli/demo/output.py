"""What the demo writes and prints."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from pacshift.cli.compare import cells
from pacshift.cli.console import plain, print_words, results, right_aligned
from pacshift.cli.demo.figure import draw_figure
from pacshift.cli.demo.findings import Findings
from pacshift.cli.demo.rare import why_ps_lp
from pacshift.errors import InputError
from pacshift.experiments.trial import Draw
from pacshift.files.writing import atomic_write
from pacshift.report import write_report
from pacshift.words.numbers import given, percent


def make_folder(out: Path) -> Path:
    """The folder, made if it is not there."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {out}: {error.strerror}. Choose another with -o.") from None
    return out


def write(folder: Path, found: Findings) -> dict[str, Path]:
    """Write the files of the demo, over those of an earlier run."""
    files = {"report": folder / "report.html", "figure": folder / "demo.png"}
    files |= {"certificate": folder / "certificate.json"}
    files |= {name: folder / f"{name}.parquet" for name in ("source", "target", "labelled")}
    certificate = found.certificate.with_curves()
    certificate.save(files["certificate"])
    write_report(certificate, files["report"], comparison=found.rows)
    draw = found.draw
    title = f"{draw.base.title}: {len(found.trials)} draws, one dot per draw"
    draw_figure(files["figure"], title, found.trials, found.certificate.epsilon)
    _write_table(files["source"], draw, draw.source, with_label=True)
    _write_table(files["target"], draw, draw.target, with_label=False)
    _write_table(files["labelled"], draw, draw.target, with_label=True)
    return files


def _write_table(path: Path, draw: Draw, rows: Any, *, with_label: bool) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    names = draw.base.class_names
    columns: dict[str, Any] = {"id": np.arange(len(rows))}
    columns |= {f"p_{name}": draw.base.probs[rows, place] for place, name in enumerate(names)}
    if with_label:
        columns["label"] = np.array(names)[draw.base.labels[rows]]
    with atomic_write(path) as draft:
        pyarrow.parquet.write_table(pa.table(columns), draft)


def document(found: Findings, files: dict[str, Path]) -> dict[str, object]:
    """The answer for machines."""
    panel = found.draw.experiment.panel
    return {
        "panel": panel.name,
        "epsilon": panel.epsilon,
        "delta": panel.delta,
        "in_words": found.certificate.explain().splitlines(),
        "draws": len(found.trials),
        "methods": [{**asdict(row), "draws_above_epsilon": found.above(row.method)} for row in found.rows],
        "rare_classes": asdict(found.rare),
        "files": {name: str(path) for name, path in files.items()},
    }


def show(found: Findings, files: dict[str, Path]) -> None:
    """The answer for people."""
    console, epsilon = results(), found.certificate.epsilon
    console.print(_story(found.draw))
    console.print(_methods(found))
    console.print(
        f"Target error is exact: the share of the whole target population whose set misses the true label. "
        f"Last column: in how many of {len(found.trials)} draws of all the data it was above {given(epsilon)}.\n"
    )
    sizes = {"size": found.size("PS-LP"), "size_by_class": found.size("PS-LW")}
    print_words(why_ps_lp(found.rare, **sizes))
    console.print()
    print_words(found.certificate.explain())
    console.print()
    for name in ("report", "figure"):
        console.print(f"{name}: {plain(files[name])}")
    console.print("continue with the same data:")
    folder = files["report"].parent
    rates = f"--epsilon {epsilon:g} --delta {found.certificate.delta:g}"
    for line in (
        f"pacshift calibrate {folder}/source.parquet {folder}/target.parquet {rates} -o my.json",
        f"pacshift check my.json {folder}/labelled.parquet",
    ):
        console.print(f"  {plain(line)}", soft_wrap=True)


def _methods(found: Findings) -> Table:
    headings = (
        "method",
        "guarantees",
        "target error",
        "mean set size",
        "empty sets",
        f"above, of {len(found.trials)}",
    )
    table = right_aligned(*headings, left=2)
    for row in found.rows:
        above = found.above(row.method)
        shown = cells(row, epsilon=found.certificate.epsilon, with_error=True)
        table.add_row(*shown, f"[red]{above}[/]" if above else "0")
    return table


def _story(draw: Draw) -> str:
    panel, base = draw.experiment.panel, draw.base
    changed = int(np.argmax(panel.weights))
    before, after = percent(panel.source_mix[changed]), percent(panel.target_mix[changed])
    name = plain(repr(base.class_names[changed]))
    origin = "synthetic twin of real scores" if base.origin == "twin" else "scores of a real model"
    return (
        f"[bold]{plain(base.title)}[/] ({origin}, {base.n_classes} classes). "
        f"Source: {panel.n_source:,} labelled examples, {before} of them {name}. "
        f"Target: {panel.n_target:,} examples without labels, {after} of them {name} (only ORACLE is told). "
        f"Wanted: sets that miss the true label of at most {given(panel.epsilon)} of the target."
    )
