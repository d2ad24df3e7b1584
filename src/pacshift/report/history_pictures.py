"""Pictures of a monitor's history: time runs to the right, and an interval is a bar."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from pacshift.arrays import FloatArray, IntArray
from pacshift.monitor import PeriodReport
from pacshift.plots.axes import legend_above, limit_line, most_telling, new_axes, percent_ticks, plain_text
from pacshift.plots.palette import LIMIT, SOURCE, TARGET, UNDECIDED

MAX_TICKS = 12  # a year of months
MAX_CLASSES = 6
"""Classes whose share is drawn: those whose share moved most."""
VERDICT_COLOURS = {"kept": TARGET, "consistent": UNDECIDED, "broken": LIMIT}


def error_over_time(history: Sequence[PeriodReport], figure: Figure) -> None:
    """What the sets in use miss in each period, and what they may miss."""
    ax = _axes(figure.subplots(), history)
    for verdict, colour in VERDICT_COLOURS.items():
        found = [(place, report.error) for place, report in enumerate(history) if report.verdict == verdict]
        if found:
            places = [place for place, _ in found]
            low, high = np.array([error for _, error in found], float).T
            ax.vlines(places, low, high, color=colour, linewidth=_thickness(history), label=verdict)
    refuted = [place for place, report in enumerate(history) if report.error is None]
    if refuted:
        ax.plot(refuted, [history[0].epsilon] * len(refuted), "x", color=LIMIT, markersize=9, label="refuted")
    limit_line(ax, history[0].epsilon, "allowed")
    ax.set_ylim(bottom=0)
    percent_ticks(ax.yaxis)
    ax.set_ylabel("missed by the sets in use")
    legend_above(ax, columns=3)


def mix_over_time(history: Sequence[PeriodReport], source_mix: FloatArray, figure: Figure) -> None:
    """The share of each class in each period, and on the source (dashed)."""
    shown = moved_classes(history, source_mix)
    classes = next(report.fresh.classes for report in history if report.fresh is not None)
    panels = figure.subplots(len(shown), 1, sharex=True, squeeze=False)[:, 0]
    for ax, label in zip(panels, shown.tolist(), strict=True):
        _axes(ax, history)
        known = [(place, report.prevalence) for place, report in enumerate(history)]
        bars = [(place, mix.lower[label], mix.upper[label]) for place, mix in known if mix is not None]
        places, low, high = np.array(bars).T
        ax.vlines(places, low, high, color=TARGET, linewidth=_thickness(history))
        ax.axhline(source_mix[label], color=SOURCE, linestyle="--", linewidth=1)
        ax.set_ylim(bottom=0)
        percent_ticks(ax.yaxis)
        ax.yaxis.set_major_locator(MaxNLocator(3))
        ax.set_title(plain_text(classes[label]), loc="left", fontsize=9)
        ax.tick_params(axis="x", labelbottom=ax is panels[-1])


def moved_classes(history: Sequence[PeriodReport], source_mix: FloatArray) -> IntArray:
    """The classes whose share moved most, in their own order."""
    mixes = [report.prevalence for report in history if report.prevalence is not None]
    middles = np.array([(mix.lower + mix.upper) / 2 for mix in mixes])
    moved = np.abs(middles - source_mix).max(axis=0)
    return most_telling(moved, MAX_CLASSES)


def size_over_time(history: Sequence[PeriodReport], figure: Figure) -> None:
    """How many labels the sets hold, those in use and those of each period's fresh certificate."""
    ax = _axes(figure.subplots(), history)
    places = np.arange(len(history))
    in_use, fresh = (
        np.array([_value(getattr(report, name)) for report in history]) for name in ("size", "fresh_size")
    )
    ax.plot(places, in_use, "o-", linewidth=1, markersize=4, color=TARGET, label="in use")
    ax.plot(places, fresh, "D:", linewidth=1, markersize=4, color=TARGET, markerfacecolor="white",
            label="fresh (estimated)")  # fmt: skip
    ax.set_ylabel("labels in a set")
    legend_above(ax)


def _axes(ax: Axes, history: Sequence[PeriodReport]) -> Axes:
    new_axes(ax, height=0)  # they are there already: only the grid is added
    step = -(-len(history) // MAX_TICKS)
    places = range(0, len(history), step)
    names = [plain_text(history[place].period, 12) for place in places]
    ax.set_xticks(places, names, rotation=40, ha="right", rotation_mode="anchor")
    ax.set_xlim(-0.6, len(history) - 0.4)
    return ax


def _thickness(history: Sequence[PeriodReport]) -> float:
    return float(np.clip(100 / len(history), 1.5, 7))


def _value(value: float | None) -> float:
    return np.nan if value is None else value
