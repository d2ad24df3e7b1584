"""``pacshift demo``: a simulated label shift, every method on it, and which of them keep their promise."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.table import Table

from pacshift.certificate import Certificate
from pacshift.certification.calibrate import calibrate_tally
from pacshift.cli import options
from pacshift.cli.compare import cells
from pacshift.cli.console import plain, print_json, print_words, progress, results
from pacshift.cli.demo_rare import RareCase, rare_case, why_ps_lp
from pacshift.cli.provenance import with_origin
from pacshift.errors import InputError
from pacshift.experiments.panels import select_panels
from pacshift.experiments.trial import Draw, Experiment, TrialRow, run_trial
from pacshift.files.writing import atomic_write
from pacshift.methods import METHODS
from pacshift.wording import given, percent

if TYPE_CHECKING:
    from pacshift.report import ComparisonRow

PANEL = "heart-natural-large-0.1"
METHOD = "PS-LP"


def demo(
    ctx: typer.Context,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="For figure, report, tables.")] = Path(
        "pacshift-demo"
    ),
    panel: Annotated[
        str, typer.Option("--panel", metavar="NAME", help="Any panel of `pacshift reproduce`, as agnews-0.05.")
    ] = PANEL,
    draws: Annotated[int, typer.Option("--draws", min=1, help="How often the data are drawn anew.")] = 10,
    seed: options.Seed = 0,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """See every method under a simulated label shift, with true errors, in seconds.

    Example: pacshift demo
    """
    panels = select_panels([panel])
    if len(panels) > 1:
        raise InputError(f"panel {panel!r} names {len(panels)} panels, such as {panels[0].name!r}. Name one.")
    experiment = Experiment(panel=panels[0], seed=seed, population=True)
    folder = _folder(out)
    trials = _run(experiment, draws, silent=quiet or as_json)
    certificate, draw = _certify(experiment)
    certificate = with_origin(certificate, ctx, seed)
    rare = rare_case(certificate.epsilon, certificate.delta, seed)
    found = Findings(certificate, draw, [_comparison(row) for row in trials[0]], trials, rare)
    files = _write(folder, found)
    if as_json:
        print_json(_document(found, files))
    elif not quiet:
        _show(found, files)


@dataclass(frozen=True)
class Findings:
    """What the demo found: certificate and methods of the first draw, all draws, and a case with rare classes."""

    certificate: Certificate
    draw: Draw
    rows: "Sequence[ComparisonRow]"
    trials: Sequence[Sequence[TrialRow]]
    rare: RareCase

    def above(self, method: str) -> int:
        """In how many draws the error of a method was above what was allowed."""
        epsilon = self.certificate.epsilon
        return sum(row.error > epsilon for trial in self.trials for row in trial if row.method == method)

    def size(self, method: str) -> float:
        """Mean size of a method's sets over all draws that it did not refuse."""
        return float(np.nanmean([row.size for trial in self.trials for row in trial if row.method == method]))


def _folder(out: Path) -> Path:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {out}: {error.strerror}. Choose another with -o.") from None
    return out


def _run(experiment: Experiment, draws: int, *, silent: bool) -> list[tuple[TrialRow, ...]]:
    trials = []
    with progress("drawing and calibrating", silent=silent) as report:
        for trial in range(draws):
            if report:
                report(trial, draws)
            trials.append(run_trial(experiment, trial, list(METHODS)))
    return trials


def _certify(experiment: Experiment) -> tuple[Certificate, Draw]:
    """The first draw's certificate, with the classes' names and the target's set sizes."""
    draw, panel = Draw(experiment, 0), experiment.panel
    tally = replace(draw.tally("probability"), classes=draw.base.class_names)
    made = calibrate_tally(tally, epsilon=panel.epsilon, delta=panel.delta, method=METHOD, rng=draw.rng(METHOD))
    return made.with_set_sizes(draw.base.probs[draw.target]), draw


def _comparison(row: TrialRow) -> "ComparisonRow":
    from pacshift.report import ComparisonRow

    guarantee = METHODS[row.method].guarantee
    if row.status == "refused":
        return ComparisonRow(row.method, guarantee, None, note="the draw refutes label shift")
    return ComparisonRow(row.method, guarantee, row.size, row.empty, row.error, row.status == "trivial")


def _write(folder: Path, found: Findings) -> dict[str, Path]:
    """Write the files of the demo, over those of an earlier run."""
    from pacshift.cli.demo_figure import draw_figure
    from pacshift.report import write_report

    files = {
        "report": folder / "report.html",
        "figure": folder / "demo.png",
        "certificate": folder / "certificate.json",
        "source": folder / "source.parquet",
        "target": folder / "target.parquet",
        "labelled": folder / "labelled.parquet",
    }
    found.certificate.save(files["certificate"])
    write_report(found.certificate, files["report"], comparison=found.rows)
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


def _document(found: Findings, files: dict[str, Path]) -> dict[str, object]:
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


def _show(found: Findings, files: dict[str, Path]) -> None:
    console, epsilon, draws = results(), found.certificate.epsilon, len(found.trials)
    console.print(_story(found.draw))
    table = Table("method", "guarantees", "target error", "mean set size", "empty sets", f"above, of {draws}")
    for column in table.columns[2:]:
        column.justify = "right"
    for row in found.rows:
        above = found.above(row.method)
        shown = cells(row, epsilon=epsilon, with_error=True)
        table.add_row(*shown, f"[red]{above}[/]" if above else "0")
    console.print(table)
    console.print(
        f"Target error is exact: the share of the whole target population whose set misses the true label. "
        f"Last column: in how many of {draws} draws of all the data it was above {given(epsilon)}.\n"
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
