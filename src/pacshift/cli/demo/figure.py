"""The demo's picture: three methods, which tell the story, in every draw."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pacshift.experiments.trial import TrialRow
from pacshift.files.writing import atomic_write
from pacshift.methods import METHODS
from pacshift.plots.axes import new_axes
from pacshift.plots.palette import LIMIT, PROMISE_MARKS

METHODS_SHOWN = ("PS-LP", "LWCP", "PS")
"""The default, conformal prediction class by class, and calibration that ignores the shift: one of each kind."""


def draw_figure(path: Path, title: str, trials: Sequence[Sequence[TrialRow]], epsilon: float) -> None:
    """Draw one row per method and one dot per draw: the error against ε, and the size of the sets."""
    figure = Figure(figsize=(7.2, 2.4), layout="constrained", dpi=150)
    error_axes, size_axes = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    rows = [[row for trial in trials for row in trial if row.method == name] for name in METHODS_SHOWN]
    _dots(error_axes, rows, "error")
    _dots(size_axes, rows, "size")
    right = max(error_axes.get_xlim()[1], 1.4 * epsilon)
    error_axes.axvspan(epsilon, right, color=LIMIT, alpha=0.1, linewidth=0, zorder=0)
    error_axes.axvline(epsilon, color=LIMIT, linestyle="--", linewidth=1.2)
    error_axes.annotate(f"allowed: {epsilon:g}", (epsilon, 1.0), (3, 3), xycoords=("data", "axes fraction"),
                        textcoords="offset points", color=LIMIT, fontsize=9)  # fmt: skip
    error_axes.set(xlim=(0, right), xlabel="share of the target that is missed")
    size_axes.set_xlabel("labels per set, on average")
    promises = [PROMISE_MARKS[METHODS[name].guarantee][0] for name in METHODS_SHOWN]
    words = [f"{name}\n{promise}" for name, promise in zip(METHODS_SHOWN, promises, strict=True)]
    error_axes.set_yticks(range(len(words)), words, fontsize=9)
    error_axes.set_ylim(len(words) - 0.5, -0.5)
    for axes in (error_axes, size_axes):
        new_axes(axes, height=0, grid="x")  # they are there already: only the grid is added
    figure.suptitle(title, fontsize=11, x=0.01, ha="left")
    with atomic_write(path) as draft:
        figure.savefig(draft)


def _dots(axes: Axes, methods: Sequence[Sequence[TrialRow]], quantity: str) -> None:
    for place, rows in enumerate(methods):
        spread = np.linspace(-0.22, 0.22, len(rows)) if len(rows) > 1 else [0.0]
        for offset, row in zip(spread, rows, strict=True):
            _, mark = PROMISE_MARKS[METHODS[row.method].guarantee]
            if row.status != "refused":
                axes.plot([getattr(row, quantity)], [place + offset], markersize=4.5, alpha=0.8, **mark)
