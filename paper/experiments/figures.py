"""The paper's box plots: error with the ε line, and size, one pair per panel."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pacshift.files.writing import atomic_write
from pacshift.methods import METHODS
from paper.experiments.runner import PanelResult

FORMATS = ("png", "pdf")


def draw_panel(result: PanelResult) -> Any:
    """A matplotlib figure of one panel."""
    from matplotlib.figure import Figure

    from pacshift.plots.palette import LIMIT, SOURCE

    figure = Figure(figsize=(0.46 * 2 * len(result.methods) + 1.6, 2.9), layout="constrained")
    error_axes, size_axes = figure.subplots(1, 2)
    _boxes(error_axes, result, "error")
    _boxes(size_axes, result, "size")
    _line(error_axes, result.panel.epsilon, f"ε\n{result.panel.epsilon:g}", style="--", colour=LIMIT)
    error_axes.set_ylim(0, None)
    best = float(np.mean([row.best_size for row in result.rows]))
    _line(size_axes, best, "best\nthreshold", style=":", colour=SOURCE)
    figure.suptitle(heading(result), fontsize=9)
    return figure


def heading(result: PanelResult) -> str:
    """Shift, data set and sizes in one line."""
    panel = result.panel
    sizes = f"m={panel.n_source}, n={panel.n_target}, o={panel.n_test}"
    return f"{result.title}: {panel.row}, ε={panel.epsilon:g}, δ={panel.delta:g}, {sizes}"


def _line(axes: Any, height: float, label: str, *, style: str, colour: str) -> None:
    """A reference line, named in the margin where no box can hide the name."""
    axes.axhline(height, color=colour, linestyle=style, linewidth=1)
    place = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    axes.annotate(label, (1, height), (3, 0), **place, va="center", fontsize=7.5)


def _boxes(axes: Any, result: PanelResult, quantity: str) -> None:
    from pacshift.plots import boxes  # loads matplotlib
    from pacshift.plots.palette import PROMISE_FILLS

    measured = [row for row in result.rows if row.status != "refused"]
    values = {
        method: [getattr(row, quantity) for row in measured if row.method == method] for method in result.methods
    }
    fills = {method: PROMISE_FILLS[METHODS[method].guarantee] for method in values}
    boxes(values, label=f"prediction set {quantity}", colours=fills, ax=axes)
    axes.yaxis.label.set_size(9)
    axes.tick_params(labelsize=8)


def write_figures(results: Sequence[PanelResult], folder: Path, formats: Sequence[str] = FORMATS) -> None:
    """``<panel>.png`` and ``<panel>.pdf`` for each panel."""
    folder.mkdir(parents=True, exist_ok=True)
    for result in results:
        figure = draw_panel(result)
        for kind in formats:
            with atomic_write(folder / f"{result.panel.name}.{kind}") as draft:
                # No date inside: the same results give the same file.
                metadata = {"CreationDate": None} if kind == "pdf" else {"Software": None}
                figure.savefig(draft, dpi=110, format=kind, metadata=metadata)
