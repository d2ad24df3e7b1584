"""The history of a monitor as one HTML page: what held, when, and what to do now."""

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from markupsafe import Markup

from pacshift.certification.refusal import sheet_plan
from pacshift.certification.request import check_request
from pacshift.monitor import Monitor, PeriodReport
from pacshift.monitor.calendar import Gap
from pacshift.monitor.report import in_use_epsilons, timeline
from pacshift.monitor.verdict import Verdict
from pacshift.report import history_pictures as pictures
from pacshift.report.page import Picture, drawn, render, write_page
from pacshift.words.numbers import all_but, given

VERDICTS: dict[Verdict, tuple[str, str]] = {
    "kept": ("good", "the sets in use keep the promise: proven"),
    "consistent": ("limited", "neither kept nor broken is proven"),
    "broken": ("bad", "the sets in use miss too much: proven"),
    "refuted": ("bad", "the rows contradict label shift: nothing is certified"),
}
"""Tone and meaning of each verdict."""

MAX_ALERTS = 12
"""The last so many are told in words; the table of periods has them all."""

SHEET = "to_label.csv"


@dataclass(frozen=True, slots=True)
class Words:
    """What a command line knows and a monitor does not: the name of SOURCE, and the options that were given."""

    source: str
    label: Sequence[str]
    monitor: Sequence[str]


def write_history_page(
    monitor: Monitor,
    path: str | os.PathLike[str],
    *,
    overwrite: bool = True,
    gaps: Sequence[Gap] | None = None,
    words: Words | None = None,
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
    gaps : sequence of Gap, optional
        Periods without rows. Default: those between periods that have some.
    words : Words, optional
        For the command line: its options, with which the printed commands are complete.

    Raises
    ------
    InputError
        If the file exists and may not be replaced, or cannot be written.

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
    write_page(render_history(monitor, gaps=gaps, words=words), path, overwrite=overwrite)


def render_history(monitor: Monitor, *, gaps: Sequence[Gap] | None = None, words: Words | None = None) -> str:
    """Return the HTML page of ``write_history_page`` as text.

    Parameters
    ----------
    monitor : Monitor
        A monitor with at least one report.
    gaps : sequence of Gap, optional
        Periods without rows. Default: those between periods that have some.
    words : Words, optional
        For the command line: its options, with which the printed commands are complete.

    Returns
    -------
    str

    Examples
    --------
    >>> from pacshift import Monitor, Tally
    >>> scores, labels = [[0.9, 0.1], [0.2, 0.8]] * 200, [0, 1] * 200
    >>> monitor = Monitor(Tally.from_scores(scores, labels), epsilon=0.2, delta=0.1)
    >>> report = monitor.update(scores, period="first")
    >>> "<title>Monitor: first kept</title>" in render_history(monitor)
    True
    """
    history, verdicts = monitor.history, [report.verdict for report in monitor.history]
    gaps = monitor.gaps() if gaps is None else gaps
    return render(
        "history.html",
        monitor=monitor,
        history=history,
        timeline=timeline(history, gaps),
        gaps=gaps,
        last=history[-1],
        tone=VERDICTS[history[-1].verdict][0],
        counts=[(verdict, verdicts.count(verdict), meaning) for verdict, (_, meaning) in VERDICTS.items()],
        alerts=[(report, way_on(monitor, report, words)) for report in history if report.alert][-MAX_ALERTS:],
        way_on=way_on(monitor, history[-1], words),
        is_complete=words is not None,
        in_use_epsilons=in_use_epsilons(history),
        promise=_promise(monitor),
        pictures=_pictures(monitor, history),
        max_classes=pictures.MAX_CLASSES,
    )


NO_FEEDBACK = (
    "This holds if the sizes and label mixes of periods do not depend on the source or on earlier reports: "
    "close a period by the calendar, not because its report looks good."
)
"""The assumption of the theorem that a reader can break ("Assumption: no feedback" of docs/methods/monitor.md)."""


def _promise(monitor: Monitor) -> str:
    """What holds with what confidence, what else is asked for, and what to know of the certificate in use."""
    sure, unsure = all_but(monitor.delta), given(monitor.delta)
    said = [
        f"Confidence {sure} for each report by itself. Of many reports up to {unsure} may be wrong. "
        "The option forever makes all of them hold simultaneously.",
        NO_FEEDBACK,
    ]
    if monitor.forever:
        said[0] = (
            f"Confidence {sure} for all reports at once, past and future: "
            f"the chance that any of them is ever wrong is at most {unsure}."
        )
    if monitor.class_epsilon is not None:
        whose = " of the label-shifted part" if monitor.contamination else ""
        said.append(f"The sets may miss at most {given(monitor.class_epsilon)} of any one class{whose}.")
    if monitor.contamination:
        said.append(f"Up to {given(monitor.contamination)} of every period may be of any kind.")
    return " ".join([*said, *(f"Note: {text}" for text in monitor.warnings())])


def _pictures(monitor: Monitor, history: Sequence[PeriodReport]) -> dict[str, Markup]:
    """The pictures for which there are numbers."""
    table = "in each period. The numbers are in the table of periods."
    draw_error = partial(pictures.error_over_time, history)
    found = {"error": Picture(draw_error, 3.2, f"Bounds of the error {table}")}
    if any(report.prevalence is not None for report in history):
        source_mix = monitor.source.class_counts / monitor.source.n_source
        height = 1.1 + 1.05 * min(len(source_mix), pictures.MAX_CLASSES)
        draw_mix = partial(pictures.mix_over_time, history, source_mix)
        found["mix"] = Picture(draw_mix, height, f"Interval of the share of each class {table}")
    if any(report.size is not None or report.fresh_size is not None for report in history):
        draw_sizes = partial(pictures.size_over_time, history)
        found["size"] = Picture(draw_sizes, 3.0, f"Mean number of labels in a set {table}")
    return drawn(found)


def way_on(monitor: Monitor, report: PeriodReport, words: Words | None = None) -> tuple[str, ...]:
    """What to type after a refuted period; nothing where it is labelled, is too small, or there is no state.

    FILE stands for a file with the rows of this period alone, where there is none. Without ``words`` SOURCE stands
    for the source, and options are missing.
    """
    folder = monitor.state_folder
    if report.verdict != "refuted" or folder is None or report.period in monitor.labelled_periods:
        return ()
    plan = sheet_plan(check_request(epsilon=monitor.epsilon, delta=monitor.delta), report.rows)
    if plan is None:  # all labels of the period would certify nothing
        return ()
    # The files of the period, where they hold nothing else.
    own = [one for one in monitor.deliveries if report.period in one.parts]
    files = [one.name for one in own if one.name is not None and list(one.parts) == [report.period]]
    files = files if files and len(files) == len(own) else ["FILE"]
    draw = ["pacshift", "label", *files, "--budget", str(plan.looks[-1])]  # each look more costs later reports
    rates = ["--epsilon", repr(monitor.epsilon), "--delta", repr(monitor.delta)]
    said = Words("SOURCE", (), ("--state", str(folder))) if words is None else words
    use = ["pacshift", "monitor", said.source, *files, *said.monitor, "--labelled", SHEET]
    return shlex.join([*draw, *rates, *said.label, "-o", SHEET]), shlex.join(use)
