"""After a refuted period: the commands that draw rows to label, and make them the source."""

import shlex

from pacshift.certification.after_refusal import numbers_of_labels
from pacshift.monitor.monitor import Monitor
from pacshift.monitor.report import PeriodReport

SHEET = "to_label.csv"


def way_on(monitor: Monitor, report: PeriodReport) -> tuple[str, ...]:
    """What to type after a refuted period; nothing where it is labelled already, or there is no state.

    SOURCE and FILE stand for what a monitor does not know: the name of the source, and a file with the rows of
    this period alone.
    """
    folder = monitor.state_folder
    if report.verdict != "refuted" or folder is None or report.period in monitor.labelled_periods:
        return ()
    files, counts = _files(monitor, report.period), numbers_of_labels(monitor.epsilon, monitor.delta)
    draw = ["pacshift", "label", *files, "--budget", str(counts[-1]), "--looks", ",".join(map(str, counts[:-1]))]
    rates = ["--epsilon", repr(monitor.epsilon), "--delta", repr(monitor.delta)]
    use = ["pacshift", "monitor", "SOURCE", *files, "--state", str(folder), "--labelled", SHEET]
    return shlex.join([*draw, *rates, "-o", SHEET]), shlex.join(use)


def _files(monitor: Monitor, period: str) -> list[str]:
    """The files of a period, where they hold nothing else."""
    own = [one for one in monitor.deliveries if period in one.parts]
    names = [one.name for one in own if one.name is not None and list(one.parts) == [period]]
    return names if names and len(names) == len(own) else ["FILE"]
