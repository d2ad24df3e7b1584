"""Pictures of a monitor's history: time runs to the right, and an interval is a bar."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from pacshift.arrays import FloatArray, IntArray
from pacshift.monitor import PeriodReport
from pacshift.monitor.calendar import Gap, find_gaps
from pacshift.monitor.report import in_use_epsilons, timeline
from pacshift.plots.axes import legend_above, limit_line, most_telling, new_axes, percent_ticks, plain_text
from pacshift.plots.palette import LIMIT, SOURCE, TARGET, UNDECIDED
from pacshift.words.numbers import given, one_of

MAX_TICKS = 12  # a year of months
MAX_CLASSES = 6
"""Classes whose share is drawn: those whose share moved most."""
MAX_GAP = 12
"""Periods without rows that keep their place on the axis; a longer gap is drawn as one of this length."""
VERDICT_COLOURS = {"kept": TARGET, "consistent": UNDECIDED, "broken": LIMIT}


def error_over_time(history: Sequence[PeriodReport], figure: Figure) -> None:
    """What the sets in use miss in each period, and what they may miss."""
    ax, places = _axes(figure.subplots(), history)
    for verdict, colour in VERDICT_COLOURS.items():
        found = [(place, one.error) for place, one in zip(places, history, strict=True) if one.verdict == verdict]
        if found:
            low, high = np.array([error for _, error in found], float).T
            at = [place for place, _ in found]
            ax.vlines(at, low, high, color=colour, linewidth=_thickness(history), label=verdict)
    _mark_refuted(ax, [place for place, one in zip(places, history, strict=True) if one.error is None])
    limit_line(ax, history[0].epsilon, "allowed")
    ax.set_ylim(bottom=0)
    percent_ticks(ax.yaxis)
    ax.set_ylabel("missed by the sets in use")
    legend_above(ax, columns=3)


def _mark_refuted(ax: Axes, places: Sequence[int]) -> None:
    """The whole height of a period whose error is not known: a mark at any height would read as a number."""
    for number, place in enumerate(places):
        label = "" if number else "refuted: not known"
        ax.axvspan(place - 0.4, place + 0.4, facecolor=LIMIT, linewidth=0, alpha=0.3, label=label)


def mix_over_time(history: Sequence[PeriodReport], source_mix: FloatArray, figure: Figure) -> None:
    """The share of each class in each period, and on the source (dashed)."""
    shown = moved_classes(history, source_mix)
    classes = next(report.fresh.classes for report in history if report.fresh is not None)
    panels = figure.subplots(len(shown), 1, sharex=True, squeeze=False)[:, 0]
    for ax, label in zip(panels, shown.tolist(), strict=True):
        _, every = _axes(ax, history)
        known = [(place, report.prevalence) for place, report in zip(every, history, strict=True)]
        bars = [(place, mix.lower[label], mix.upper[label]) for place, mix in known if mix is not None]
        places, low, high = np.array(bars).T
        ax.vlines(places, low, high, color=TARGET, linewidth=_thickness(history), label="target (interval)")
        ax.axhline(source_mix[label], color=SOURCE, linestyle="--", linewidth=1, label="source in use")
        ax.set_ylim(bottom=0)
        percent_ticks(ax.yaxis)
        ax.yaxis.set_major_locator(MaxNLocator(3))
        ax.set_title(plain_text(classes[label]), loc="left", fontsize=9)
        ax.tick_params(axis="x", labelbottom=ax is panels[-1])
    handles = panels[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper right", ncols=3, frameon=False, fontsize=9, handlelength=1.6)


def moved_classes(history: Sequence[PeriodReport], source_mix: FloatArray) -> IntArray:
    """The classes whose share moved most, in their own order."""
    mixes = [report.prevalence for report in history if report.prevalence is not None]
    middles = np.array([(mix.lower + mix.upper) / 2 for mix in mixes])
    moved = np.abs(middles - source_mix).max(axis=0)
    return most_telling(moved, MAX_CLASSES)


def size_over_time(history: Sequence[PeriodReport], figure: Figure) -> None:
    """How many labels the sets hold, those in use and those of each period's fresh certificate."""
    ax, places = _axes(figure.subplots(), history)
    made_for = one_of([given(epsilon) for epsilon in in_use_epsilons(history)])
    in_use = f"in use, made for {made_for}" if made_for else "in use"
    fresh = f"fresh, for {given(history[0].epsilon)} (estimated)"
    styles = (("size", "o-", TARGET, in_use), ("fresh_size", "D:", "white", fresh))
    for name, style, face, label in styles:
        sizes = np.full(places[-1] + 1, np.nan)  # a line breaks where there is no period
        sizes[places] = [np.nan if (size := getattr(report, name)) is None else size for report in history]
        ax.plot(sizes, style, linewidth=1, markersize=4, color=TARGET, markerfacecolor=face, label=label)
    ax.set_ylabel("labels in a set")
    legend_above(ax)


def _axes(ax: Axes, history: Sequence[PeriodReport]) -> tuple[Axes, list[int]]:
    """The axes with the names of periods, and the place of each. Periods without rows keep theirs."""
    new_axes(ax, height=0)  # they are there already: only the grid is added
    places, length = _places(history)
    step = -(-len(history) // MAX_TICKS)
    names = [plain_text(report.period, 12) for report in history[::step]]
    ax.set_xticks(places[::step], names, rotation=40, ha="right", rotation_mode="anchor")
    ax.set_xlim(-0.6, length - 0.4)
    named = False
    for place, one, before in zip(places[1:], history[1:], history[:-1], strict=True):
        if one.source_number != before.source_number:
            ax.axvline(place - 0.5, color=SOURCE, linestyle=":", linewidth=1, label="" if named else "new source")
            named = True
    return ax, places


def _places(history: Sequence[PeriodReport]) -> tuple[list[int], int]:
    places, at = [], 0
    for one in timeline(history, find_gaps((report.start, report.end) for report in history)):
        if isinstance(one, Gap):
            at += min(one.periods, MAX_GAP)
        else:
            places.append(at)
            at += 1
    return places, at


def _thickness(history: Sequence[PeriodReport]) -> float:
    return float(np.clip(100 / len(history), 1.5, 7))
