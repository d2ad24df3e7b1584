"""After a refuted period: the commands that draw rows to label, and make them the source."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from pacshift.certification.refusal import sheet_plan
from pacshift.certification.request import check_request
from pacshift.monitor.monitor import Monitor
from pacshift.monitor.report import PeriodReport

SHEET = "to_label.csv"


@dataclass(frozen=True, slots=True)
class Words:
    """What a command line knows and a monitor does not: the name of SOURCE, and the options that were given."""

    source: str
    label: Sequence[str]
    monitor: Sequence[str]


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
    files = _files(monitor, report.period)
    draw = ["pacshift", "label", *files, "--budget", str(plan.looks[-1])]  # each look more costs later reports
    rates = ["--epsilon", repr(monitor.epsilon), "--delta", repr(monitor.delta)]
    said = Words("SOURCE", (), ("--state", str(folder))) if words is None else words
    use = ["pacshift", "monitor", said.source, *files, *said.monitor, "--labelled", SHEET]
    return shlex.join([*draw, *rates, *said.label, "-o", SHEET]), shlex.join(use)


def _files(monitor: Monitor, period: str) -> list[str]:
    """The files of a period, where they hold nothing else."""
    own = [one for one in monitor.deliveries if period in one.parts]
    names = [one.name for one in own if one.name is not None and list(one.parts) == [period]]
    return names if names and len(names) == len(own) else ["FILE"]
