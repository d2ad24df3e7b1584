"""The history of a monitor as one HTML page: what held, when, and what to do now.

In its pictures time runs to the right, and an interval is a bar.
"""

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import get_args

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from pacshift.arrays import FloatArray
from pacshift.errors import InputError
from pacshift.files.origin import TIME_FORMAT, current_time
from pacshift.labels.refusal import sheet_plan
from pacshift.methods import PST
from pacshift.monitor import Monitor, PeriodReport
from pacshift.monitor.calendar import Gap, find_gaps
from pacshift.monitor.report import in_use_epsilons, timeline
from pacshift.monitor.verdict import Verdict
from pacshift.plots.axes import (
    LIMIT,
    SOURCE,
    TARGET,
    UNDECIDED,
    finish,
    limit_line,
    most_telling,
    new_axes,
    percent_ticks,
    plain_text,
)
from pacshift.report.page import Picture, draw_all, render, write_page
from pacshift.words.verdicts import VERDICTS, word_of

MAX_ALERTS = 12
"""The last so many are told in words; the table of periods has them all."""

SHEET, BY_LABELS = "to_label.csv", "by_labels.json"
"""What the commands that are printed after a refusal call their files."""

MAX_TICKS = 12  # a year of months
MAX_CLASSES = 6
"""Classes whose share is drawn: those whose share moved most."""
MAX_GAP = 12
"""Periods without rows that keep their place on the axis; a longer gap is drawn as one of this length."""
VERDICT_COLOURS = {"kept": TARGET, "not-proven": UNDECIDED, "broken": LIMIT}


@dataclass(frozen=True, kw_only=True)
class CommandRun:
    """What a run of ``pacshift monitor`` knows and a monitor does not.

    Parameters
    ----------
    gaps : sequence of Gap
        Periods without rows.
    not_counted : mapping of str to str
        Files that could not be counted, each with the reason.
    source, table : str
        SOURCE, for ``monitor`` and as a table.
    label, calibrate, monitor : sequence of str
        Options of the commands that are printed after a refusal.
    """

    gaps: Sequence[Gap] = ()
    not_counted: Mapping[str, str] = field(default_factory=dict)
    source: str = "SOURCE"
    table: str = "SOURCE"
    label: Sequence[str] = ()
    calibrate: Sequence[str] = ()
    monitor: Sequence[str] = ()


def write_history_page(
    monitor: Monitor,
    path: str | os.PathLike[str],
    *,
    overwrite: bool = True,
    run: CommandRun | None = None,
) -> None:
    """Write the history of a monitor as one HTML page that loads nothing and runs no scripts.

    Parameters
    ----------
    monitor : Monitor
        A monitor with at least one report.
    path : path
        The file. It is written whole or not at all.
    overwrite : bool
        Whether an existing file may be replaced.
    run : CommandRun, optional
        For the command line: what else it knows, with which the printed commands are complete.

    Raises
    ------
    InputError
        If there is no report yet, or the file exists and may not be replaced, or cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from pacshift import Monitor, Tally
    >>> scores, labels = [[0.9, 0.1], [0.2, 0.8]] * 200, [0, 1] * 200
    >>> monitor = Monitor(Tally.from_scores(scores, labels), epsilon=0.2, delta=0.1)
    >>> report = monitor.update(scores, period="first")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_history_page(monitor, Path(folder) / "monitor.html")
    """
    write_page(render_history(monitor, run=run), path, overwrite=overwrite)


def render_history(
    monitor: Monitor,
    *,
    run: CommandRun | None = None,
) -> str:
    """Return the HTML page of ``write_history_page`` as text.

    Parameters
    ----------
    monitor : Monitor
        A monitor with at least one report.
    run : CommandRun, optional
        For the command line: what else it knows, with which the printed commands are complete.

    Returns
    -------
    str

    Raises
    ------
    InputError
        If there is no report yet.

    Examples
    --------
    >>> from pacshift import Monitor, Tally
    >>> scores, labels = [[0.9, 0.1], [0.2, 0.8]] * 200, [0, 1] * 200
    >>> monitor = Monitor(Tally.from_scores(scores, labels), epsilon=0.2, delta=0.1)
    >>> report = monitor.update(scores, period="first")
    >>> "<title>Monitor: first, kept</title>" in render_history(monitor)
    True
    """
    history, verdicts = monitor.history, [report.verdict for report in monitor.history]
    if not history:
        raise InputError(
            "the monitor has reported on no period yet, so there is no page. Give it one: update(rows)."
        )
    is_complete, run = run is not None, run or CommandRun(gaps=monitor.gaps())
    tone = VERDICTS[verdicts[-1]].tone
    return render(
        "history.html",
        monitor=monitor,
        history=history,
        timeline=timeline(history, run.gaps),
        run=run,
        last_run=current_time().strftime(TIME_FORMAT),
        last=history[-1],
        tone="limited" if run.not_counted and tone == "good" else tone,  # all is not well while a file is left out
        counts=[(VERDICTS[one], verdicts.count(one)) for one in get_args(Verdict)],
        word_of=word_of,
        alerts=[report for report in history[:-1] if report.alert][-MAX_ALERTS:],
        way_on=way_on(monitor, history[-1], run) if history[-1] in monitor.open_reports else (),
        is_complete=is_complete,
        in_use_epsilons=in_use_epsilons(history),
        no_feedback=NO_FEEDBACK,
        pictures=draw_all(_list_pictures(monitor)),
        max_classes=MAX_CLASSES,
    )


NO_FEEDBACK = (
    "This holds if the sizes and label mixes of periods do not depend on the source or on earlier reports. So "
    "close periods by the calendar, not because of what a report says."
)
"""The assumption of the theorem that a reader can break ("Assumption: no feedback" of docs/methods/monitor.md)."""


def _list_pictures(monitor: Monitor) -> dict[str, Picture]:
    """The pictures for which there are numbers."""
    history, table = monitor.history, "in each period. The numbers are in the table of periods."
    pictures = {"error": Picture(partial(error_over_time, history), 3.2, f"Bounds of the error {table}")}
    if any(report.prevalence is not None for report in history):
        source_mix = monitor.source.class_counts / monitor.source.n_source
        draw, height = partial(mix_over_time, history, source_mix), 1.1 + 1.05 * min(len(source_mix), MAX_CLASSES)
        pictures["mix"] = Picture(draw, height, "Interval of the share of each class in each period.")
    return pictures


def way_on(monitor: Monitor, report: PeriodReport, run: CommandRun) -> tuple[str, ...]:
    """What to type where label shift was rejected; nothing if the period is too small, or there is no state.

    Three commands: draw rows to label, certify sets for this period by their labels, and use these. FILE stands
    for a file with the rows of this period alone, where there is none.
    """
    folder, request = monitor.state_folder, monitor.request
    if folder is None or report.verdict != "shift-rejected":
        return ()
    plan = sheet_plan(request.epsilon, request.delta, report.rows)
    if plan is None:  # all labels of the period would certify nothing
        return ()
    # The files of the period, where they hold nothing else.
    deliveries = [each for each in monitor.deliveries if report.period in each.parts]
    files = [each.name for each in deliveries if each.name is not None and list(each.parts) == [report.period]]
    files = files if files and len(files) == len(deliveries) else ["FILE"]
    promise = ["--epsilon", repr(request.epsilon), "--delta", repr(request.delta)]
    budget, looks = str(plan.looks[-1]), ",".join(map(str, plan.looks[:-1]))
    draw = ["label", *files, "--budget", budget, *(["--looks", looks] if looks else [])]
    certify = ["calibrate", run.table, *files, "--method", PST.name, *promise]
    if request.class_epsilon is not None:
        certify += ["--class-epsilon", repr(request.class_epsilon)]
    certify += [*run.calibrate, "--labelled", SHEET, "-o", BY_LABELS]
    use = ["monitor", run.source, *files, *(run.monitor or ["--state", str(folder)]), "--adopt", BY_LABELS]
    commands = [*draw, *promise, *run.label, "-o", SHEET], certify, use
    return tuple(shlex.join(["pacshift", *command]) for command in commands)


def error_over_time(history: Sequence[PeriodReport], figure: Figure) -> None:
    """What the sets in use miss in each period, and what they may miss."""
    ax, places = _axes(figure.subplots(), history)
    for verdict, colour in VERDICT_COLOURS.items():
        bars = [(place, one.error) for place, one in zip(places, history, strict=True) if one.verdict == verdict]
        if bars:
            low, high = np.array([error for _, error in bars], float).T
            at = [place for place, _ in bars]
            ax.vlines(at, low, high, color=colour, linewidth=_thickness(history), label=word_of(verdict))
    # The whole height of a period whose error is not known: a mark at any height would read as a number.
    unknown = [place for place, one in zip(places, history, strict=True) if one.error is None]
    for number, place in enumerate(unknown):
        label = "" if number else "label shift rejected: not known"
        ax.axvspan(place - 0.4, place + 0.4, facecolor=LIMIT, linewidth=0, alpha=0.3, label=label)
    limit_line(ax, history[0].epsilon, "allowed")
    ax.set_ylim(bottom=0)
    finish(ax, y="missed", percent="y")


def mix_over_time(history: Sequence[PeriodReport], source_mix: FloatArray, figure: Figure) -> None:
    """The share of each class in each period, and on the source (dashed)."""
    mixes = [report.prevalence for report in history if report.prevalence is not None]
    middles = np.array([(mix.lower + mix.upper) / 2 for mix in mixes])
    shown = most_telling(np.abs(middles - source_mix).max(axis=0), MAX_CLASSES)
    classes = next(report.fresh.classes for report in history if report.fresh is not None)
    panels = figure.subplots(len(shown), 1, sharex=True, squeeze=False)[:, 0]
    for ax, label in zip(panels, shown.tolist(), strict=True):
        _, every = _axes(ax, history)
        known = [(place, report.prevalence) for place, report in zip(every, history, strict=True)]
        bars = [(place, mix.lower[label], mix.upper[label]) for place, mix in known if mix is not None]
        places, low, high = np.array(bars).T
        ax.vlines(places, low, high, color=TARGET, linewidth=_thickness(history), label="target (interval)")
        ax.axhline(source_mix[label], color=SOURCE, linestyle="--", linewidth=1, label="source")
        ax.set_ylim(bottom=0)
        percent_ticks(ax.yaxis)
        ax.yaxis.set_major_locator(MaxNLocator(3))
        ax.set_title(plain_text(classes[label]), loc="left", fontsize=9)
        ax.tick_params(axis="x", labelbottom=ax is panels[-1])
    handles = panels[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper right", ncols=3, frameon=False, fontsize=9, handlelength=1.6)


def _axes(ax: Axes, history: Sequence[PeriodReport]) -> tuple[Axes, list[int]]:
    """The axes with the names of periods, and the place of each. Periods without rows keep theirs."""
    new_axes(ax, height=0)  # they are there already: only the grid is added
    places, length = [], 0
    for each in timeline(history, find_gaps((report.start, report.end) for report in history)):
        if not isinstance(each, Gap):
            places.append(length)
        length += min(each.periods, MAX_GAP) if isinstance(each, Gap) else 1
    step = -(-len(history) // MAX_TICKS)
    names = [plain_text(report.period, 12) for report in history[::step]]
    ax.set_xticks(places[::step], names, rotation=40, ha="right", rotation_mode="anchor")
    ax.set_xlim(-0.6, length - 0.4)
    return ax, places


def _thickness(history: Sequence[PeriodReport]) -> float:
    return float(np.clip(100 / len(history), 1.5, 7))
