"""What ``picture`` measured, as one figure and as one table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from textwrap import fill

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from benchmarks.measure import megabytes
from paper.experiments.summary import markdown_table

CALIBRATE, SETS = "calibrate, in memory", "sets, in memory"
COUNT = "commands that count source and target"
ONE, USE = "commands that read one table", "commands that use certificates"
WORKS = (CALIBRATE, SETS, COUNT, ONE, USE)
FLOORS = ("floor", "bare scan")
OWN_FLOORS = {"report": "matplotlib alone"}
"""Of contestants that do not read the rows of their work's floor; they have no peers either."""
THIN = {
    "floor": "black",
    "bare scan": "black",
    "matplotlib alone": "#9e9e9e",
    "MAPIE": "#b07aa1",
    "TorchCP": "#e377c2",
    "DuckDB": "#d4a500",
    "Polars": "#8c6d46",
}
"""Colours of floors and peers, by the first words of their titles."""
OUR_COLOURS = ("#00735c", "#1f77b4", "#d62728", "#17becf", "#ff7f0e")


@dataclass
class Measured:
    """Seconds and bytes of every contestant, and what could not be measured."""

    found: dict[tuple[str, str, str, int], tuple[float, float]] = field(default_factory=dict)
    """By work, contestant, axis ("rows" or "classes") and size."""
    failed: dict[str, str] = field(default_factory=dict)

    def add(self, work: str, title: str, at: tuple[str, int], seconds: float, memory: float) -> None:
        self.found[work, title, *at] = seconds, memory

    def titles(self, work: str) -> list[str]:
        return list(dict.fromkeys(key[1] for key in self.found if key[0] == work))

    def line(self, work: str, title: str, axis: str) -> list[tuple[int, tuple[float, float]]]:
        """Sizes of an axis with what was measured there.

        >>> measured = Measured()
        >>> measured.add(SETS, "floor", ("rows", 10), 0.5, 7.0)
        >>> measured.line(SETS, "floor", "rows"), measured.line(SETS, "floor", "classes")
        ([(10, (0.5, 7.0))], [])
        """
        return sorted((key[3], value) for key, value in self.found.items() if key[:3] == (work, title, axis))


def draw(measured: Measured, fixed: dict[str, str]) -> Figure:
    """A row of panels per work: time and memory, against rows and against classes.

    ``fixed`` says for each axis what does not change along it.
    """
    figure = Figure((17, 17), layout="constrained")
    panels = figure.subplots(len(WORKS), 4)
    for row, work in enumerate(WORKS):
        for column, (axis, what) in enumerate((axis, what) for axis in fixed for what in (0, 1)):
            panel(panels[row, column], measured, work, axis, what)
            if row == 0:
                title = f"{'memory' if what else 'time'} against {axis}\n{fixed[axis]}"
                panels[row, column].set_title(title, fontsize=12, pad=10)
        panels[row, 0].set_ylabel(fill(work, 19), fontsize=12, fontweight="bold")
        panels[row, -1].legend(fontsize=10, loc="upper left", bbox_to_anchor=(1.02, 1.02), borderaxespad=0)
    figure.suptitle("Thick: pacshift. Dashed: floors. Thin: peers.", fontsize=12)
    return figure


def panel(axes: Axes, measured: Measured, work: str, axis: str, what: int) -> None:
    """Seconds (``what`` 0) or megabytes (1) of every contestant, on logarithms."""
    ours = iter(OUR_COLOURS)
    for title in measured.titles(work):
        line = measured.line(work, title, axis)
        thin = next((colour for name, colour in THIN.items() if title.startswith(name)), None)
        values = [value[what] / (1e6 if what else 1.0) for _, value in line]
        axes.plot(
            [size for size, _ in line],
            [max(value, 1.0) if what else value for value in values],  # growth below 1 MB is noise
            "o--" if _is_floor(title) else "o-",
            color=thin or next(ours),
            linewidth=1.4 if thin else 2.6,
            markersize=4,
            label=title,
        )
    axes.set(xscale="log", yscale="log")
    axes.set_xticks(sorted({key[3] for key in measured.found if key[2] == axis}))
    axes.xaxis.set_major_formatter(lambda size, _: f"{size / 1e6:g}M" if size >= 1e6 else f"{size:,.0f}")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,g} MB" if what else duration(value))
    for side in (axes.xaxis, axes.yaxis):
        side.set_minor_formatter(NullFormatter())
    low, high = axes.get_ylim()
    if np.ceil(np.log10(low)) >= np.floor(np.log10(high)):  # at least two powers of ten have a tick
        axes.set_ylim(10 ** np.floor(np.log10(low)), 10 ** np.ceil(np.log10(high)))
    axes.grid(True, which="both", alpha=0.2)


def duration(seconds: float) -> str:
    """Seconds for an axis.

    >>> [duration(seconds) for seconds in (1e-5, 0.01, 10.0)]
    ['10 µs', '10 ms', '10 s']
    """
    unit, size = next(pair for pair in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)) if seconds >= pair[1] * 0.999)
    return f"{seconds / size:,.0f} {unit}"


def table(measured: Measured) -> str:
    """At the largest sizes: each of ours, its floor, and the fastest peer that does part of the same work."""
    lines = [line for work in WORKS for axis in ("rows", "classes") for line in _compared(measured, work, axis)]
    headings = ("work", "contestant", "at", "time", "memory", "time / floor", "fastest peer", "time / peer's")
    return markdown_table(headings, lines, left=3)


def _compared(measured: Measured, work: str, axis: str) -> Iterator[Sequence[str]]:
    ends = {title: line[-1] for title in measured.titles(work) if (line := measured.line(work, title, axis))}
    largest = max((size for size, _ in ends.values()), default=0)
    found = {title: value for title, (size, value) in ends.items() if size == largest}
    peers = [title for title in found if title.startswith(tuple(THIN)) and not _is_floor(title)]
    fastest = min(peers, key=lambda title: found[title][0], default="")
    for title, (seconds, memory) in found.items():
        if title in peers or _is_floor(title):
            continue
        others = (
            (OWN_FLOORS[title], "")
            if title in OWN_FLOORS
            else (next((floor for floor in FLOORS if floor in found), ""), fastest)
        )
        ratios = [f"{seconds / found[other][0]:.2f}" if other in found else "" for other in others]
        size = f"{largest:,} {axis}", f"{seconds:.3g} s", megabytes(memory)
        yield work, title, *size, ratios[0], others[1], ratios[1]


def _is_floor(title: str) -> bool:
    return title in FLOORS or title in OWN_FLOORS.values()
