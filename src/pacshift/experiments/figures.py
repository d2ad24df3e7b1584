"""The paper's box plots: error with the ε line, and size, one pair per panel."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pacshift.experiments.runner import PanelResult
from pacshift.files import atomic_write

COLOURS = {"PS-W": "#2f6fb0", "PS-LP": "#d1495b", "ORACLE": "#3a9a6b"}
PLAIN = "#9aa5b1"
FORMATS = ("png", "pdf")


def draw_panel(result: PanelResult) -> Any:
    """A matplotlib figure of one panel."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(0.46 * 2 * len(result.methods) + 1.6, 2.9), layout="constrained")
    error_axes, size_axes = figure.subplots(1, 2)
    _boxes(error_axes, result, "error")
    _boxes(size_axes, result, "size")
    _line(error_axes, result.panel.epsilon, f"ε\n{result.panel.epsilon:g}", "--")
    error_axes.set_ylim(0, None)
    _line(size_axes, float(np.mean([row.best_size for row in result.rows])), "best\nthreshold", ":")
    figure.suptitle(heading(result), fontsize=9)
    return figure


def heading(result: PanelResult) -> str:
    """Shift, data set and sizes in one line."""
    panel = result.panel
    sizes = f"m={panel.n_source}, n={panel.n_target}, o={panel.n_test}"
    return f"{result.title}: {panel.row}, ε={panel.epsilon:g}, δ={panel.delta:g}, {sizes}"


def _line(axes: Any, height: float, label: str, style: str) -> None:
    """A reference line, named in the margin where no box can hide the name."""
    axes.axhline(height, color="#222222", linestyle=style, linewidth=1)
    place = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    axes.annotate(label, (1, height), (3, 0), **place, va="center", fontsize=7.5)


def _boxes(axes: Any, result: PanelResult, quantity: str) -> None:
    from pacshift.plots import boxes  # loads matplotlib

    measured = [row for row in result.rows if row.status != "refused"]
    values = {
        method: [getattr(row, quantity) for row in measured if row.method == method] for method in result.methods
    }
    boxes(values, label=f"prediction set {quantity}", colours=dict.fromkeys(values, PLAIN) | COLOURS, ax=axes)
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
