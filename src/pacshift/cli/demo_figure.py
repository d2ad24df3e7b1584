"""The demo's picture: what each method does in every draw."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pacshift.experiments.trial import TrialRow
from pacshift.files import atomic_write
from pacshift.methods import METHODS

KEEPS, BLIND, SHADE = "#0072b2", "#d55e00", "#fbe9e0"  # Okabe and Ito: safe for colour-blind readers


def draw_figure(path: Path, title: str, trials: Sequence[Sequence[TrialRow]], epsilon: float) -> None:
    """Draw one row per method and one dot per draw: the error against ε, and the size of the sets."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 0.9 + 0.34 * len(trials[0])), layout="constrained", dpi=150)
    error_axes, size_axes = figure.subplots(1, 2, sharey=True)
    names = [row.method for row in trials[0]]
    _dots(error_axes, trials, "error")
    _dots(size_axes, trials, "size")
    right = max(error_axes.get_xlim()[1], 1.4 * epsilon)
    error_axes.axvspan(epsilon, right, color=SHADE, zorder=0)
    error_axes.axvline(epsilon, color=BLIND, linestyle="--", linewidth=1.2)
    error_axes.annotate(f"allowed: {epsilon:g}", (epsilon, 1.0), (3, 3), xycoords=("data", "axes fraction"),
                        textcoords="offset points", color=BLIND, fontsize=9)  # fmt: skip
    error_axes.set(xlim=(0, right), xlabel="share of the target whose set misses the true label")
    size_axes.set_xlabel("mean number of labels per set")
    error_axes.set_yticks(range(len(names)), names)
    error_axes.set_ylim(len(names) - 0.5, -0.5)
    for axes in (error_axes, size_axes):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="x", color="#d9dde1", linewidth=0.6)
        axes.set_axisbelow(True)
    handles = [error_axes.plot([], [], "o", color=colour, label=label)[0] for colour, label in _LEGEND.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    figure.suptitle(title, fontsize=11, x=0.01, ha="left")
    with atomic_write(path) as draft:
        figure.savefig(draft)


_LEGEND = {KEEPS: "guaranteed on the target", BLIND: "no PAC guarantee on the target"}


def _dots(axes: Any, trials: Sequence[Sequence[TrialRow]], quantity: str) -> None:
    spread = np.linspace(-0.22, 0.22, len(trials)) if len(trials) > 1 else [0.0]
    for offset, trial in zip(spread, trials, strict=True):
        for place, row in enumerate(trial):
            colour = KEEPS if METHODS[row.method].guarantee == "pac-target" else BLIND
            if row.status != "refused":
                axes.plot([getattr(row, quantity)], [place + offset], "o", color=colour, markersize=3, alpha=0.7)
