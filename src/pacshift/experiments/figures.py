"""The paper's box plots: error with the ε line, and size, one pair a panel."""

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
    data = [
        [getattr(row, quantity) for row in result.rows if row.method == method and row.status != "refused"]
        for method in result.methods
    ]
    boxes = axes.boxplot(data, widths=0.62, patch_artist=True, flierprops={"markersize": 2.5})
    for box, median, method in zip(boxes["boxes"], boxes["medians"], result.methods, strict=True):
        box.set(facecolor=COLOURS.get(method, PLAIN), alpha=0.75, linewidth=0.8)
        median.set(color="#111111", linewidth=1.2)
    axes.set_xticks(range(1, len(data) + 1), result.methods, rotation=40, ha="right", rotation_mode="anchor")
    for position, values in enumerate(data, start=1):
        if not values:
            axes.text(position, 0.5, "refused", transform=axes.get_xaxis_transform(), rotation=90, va="center",
                      ha="center", fontsize=8, color="#555555")  # fmt: skip
    axes.set_ylabel(f"prediction set {quantity}", fontsize=9)
    axes.tick_params(labelsize=8)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


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
