"""Pictures of a monitor's history: time runs to the right, and an interval is a bar."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from pacshift.arrays import FloatArray, IntArray
from pacshift.monitor import PeriodReport
from pacshift.plots import BLUE, GREY, ORANGE, RULE, plain_text

MAX_TICKS = 12
MAX_CLASSES = 6
"""Classes whose share is drawn: those whose share moved most."""
VERDICT_COLOURS = {"kept": BLUE, "consistent": GREY, "broken": ORANGE}


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
        ax.plot(refuted, [history[0].epsilon] * len(refuted), "x", color=ORANGE, markersize=9, label="refuted")
    ax.axhline(history[0].epsilon, color=ORANGE, linestyle="--", linewidth=1.5, label="allowed")
    ax.set_ylim(bottom=0)
    _percent(ax)
    ax.set_ylabel("missed by the sets in use")
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=3, frameon=False, handlelength=1.2)


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
        ax.vlines(places, low, high, color=BLUE, linewidth=_thickness(history))
        ax.axhline(source_mix[label], color=GREY, linestyle="--", linewidth=1)
        ax.set_ylim(bottom=0)
        ax.yaxis.set_major_locator(MaxNLocator(3))
        _percent(ax)
        ax.set_title(plain_text(classes[label]), loc="left", fontsize=9)
        ax.tick_params(axis="x", labelbottom=ax is panels[-1])


def moved_classes(history: Sequence[PeriodReport], source_mix: FloatArray) -> IntArray:
    """The classes whose share moved most, in their own order."""
    mixes = [report.prevalence for report in history if report.prevalence is not None]
    middles = np.array([(mix.lower + mix.upper) / 2 for mix in mixes])
    moved = np.abs(middles - source_mix).max(axis=0)
    return np.sort(np.argsort(-moved, kind="stable")[:MAX_CLASSES])


def size_over_time(history: Sequence[PeriodReport], figure: Figure) -> None:
    """How many labels the sets hold, those in use and those of each period's fresh certificate."""
    ax = _axes(figure.subplots(), history)
    places = np.arange(len(history))
    for name, marker, colour in (("size", "o", BLUE), ("fresh_size", "D", ORANGE)):
        values = np.array([_value(getattr(report, name)) for report in history])
        label = "in use" if name == "size" else "fresh (estimated)"
        ax.plot(places, values, marker, linestyle="-", linewidth=1, markersize=4, color=colour, label=label)
    ax.set_ylabel("labels in a set")
    ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False)


def _axes(ax: Axes, history: Sequence[PeriodReport]) -> Axes:
    ax.grid(axis="y", color=RULE, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    step = -(-len(history) // MAX_TICKS)
    places = range(0, len(history), step)
    names = [plain_text(history[place].period, 12) for place in places]
    ax.set_xticks(places, names, rotation=40, ha="right", rotation_mode="anchor")
    ax.set_xlim(-0.6, len(history) - 0.4)
    return ax


def _percent(ax: Axes) -> None:
    ax.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.3g} %"))


def _thickness(history: Sequence[PeriodReport]) -> float:
    return float(np.clip(100 / len(history), 1.5, 7))


def _value(value: float | None) -> float:
    return np.nan if value is None else value
