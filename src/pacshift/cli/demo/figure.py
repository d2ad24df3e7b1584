"""The demo's picture: what each method does in every draw."""

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


def draw_figure(path: Path, title: str, trials: Sequence[Sequence[TrialRow]], epsilon: float) -> None:
    """Draw one row per method and one dot per draw: the error against ε, and the size of the sets."""
    figure = Figure(figsize=(9, 0.9 + 0.34 * len(trials[0])), layout="constrained", dpi=150)
    error_axes, size_axes = figure.subplots(1, 2, sharey=True)
    names = [row.method for row in trials[0]]
    _dots(error_axes, trials, "error")
    _dots(size_axes, trials, "size")
    right = max(error_axes.get_xlim()[1], 1.4 * epsilon)
    error_axes.axvspan(epsilon, right, color=LIMIT, alpha=0.1, linewidth=0, zorder=0)
    error_axes.axvline(epsilon, color=LIMIT, linestyle="--", linewidth=1.2)
    error_axes.annotate(f"allowed: {epsilon:g}", (epsilon, 1.0), (3, 3), xycoords=("data", "axes fraction"),
                        textcoords="offset points", color=LIMIT, fontsize=9)  # fmt: skip
    error_axes.set(xlim=(0, right), xlabel="share of the target whose set misses the true label")
    size_axes.set_xlabel("mean number of labels per set")
    error_axes.set_yticks(range(len(names)), names)
    error_axes.set_ylim(len(names) - 0.5, -0.5)
    for axes in (error_axes, size_axes):
        new_axes(axes, height=0, grid="x")  # they are there already: only the grid is added
    shown = {METHODS[name].guarantee for name in names}
    marks = [mark for guarantee, mark in PROMISE_MARKS.items() if guarantee in shown]
    handles = [error_axes.plot([], [], linestyle="", label=words, **mark)[0] for words, mark in marks]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    figure.suptitle(title, fontsize=11, x=0.01, ha="left")
    with atomic_write(path) as draft:
        figure.savefig(draft)


def _dots(axes: Axes, trials: Sequence[Sequence[TrialRow]], quantity: str) -> None:
    spread = np.linspace(-0.22, 0.22, len(trials)) if len(trials) > 1 else [0.0]
    for offset, trial in zip(spread, trials, strict=True):
        for place, row in enumerate(trial):
            _, mark = PROMISE_MARKS[METHODS[row.method].guarantee]
            if row.status != "refused":
                axes.plot([getattr(row, quantity)], [place + offset], markersize=3.5, alpha=0.8, **mark)
