"""What a run of ``pacshift monitor`` decides: which certificate is used, and what it fails on."""

from collections.abc import Collection
from pathlib import Path

from pacshift.certificate import Certificate
from pacshift.cli.certificates import require_model
from pacshift.cli.console import note
from pacshift.cli.monitor.output import Outcome
from pacshift.errors import InputError
from pacshift.files.origin import current_time
from pacshift.monitor import Monitor, PeriodReport
from pacshift.scores.check import shorten


def require_state(state: Path | None, *, forever: bool, labelled: Path | None) -> None:
    """Refuse to forget what later runs need."""
    if forever and state is None:
        raise InputError(
            "--forever makes all reports hold, so they have to be remembered. Name a folder: --state DIR."
        )
    if labelled is not None and state is None:
        raise InputError("--labelled makes labelled rows the source of later runs. Name the folder: --state DIR.")


def require_alone(labelled: Path | None, **others: object) -> None:
    """A new source is a step of its own."""
    if labelled is None:
        return
    for name in (name for name, value in others.items() if value is not None):
        raise InputError(f"--labelled does not go with --{name}: the labels choose the certificate. Run twice.")


def go_back(watch: Monitor) -> None:
    """Compare later periods with the first source again."""
    if not watch.source_number:
        note("--source first: periods are compared with the first source already.")
        return
    watch.first_source()
    in_use = "" if watch.in_use is None else f" In use is still {watch.in_use.in_words}; --adopt changes it."
    note(
        f"later periods are compared with {watch.source_in_words} again. Reports that were made stay: --replace "
        f"PERIOD makes one anew.{in_use}"
    )


def choose_certificate(watch: Monitor, given: Certificate | None, adopt: str | None, model_id: str | None) -> None:
    """Use what is asked for, if it is for this model. What was given in the last run too is no new choice."""
    if given is not None and not watch.offer(given) and adopt is None:
        in_use = "" if watch.in_use is None else f" In use is {watch.in_use.in_words}."
        note(f"--certificate was given before, and another one was adopted since.{in_use} --adopt FILE undoes it.")
    if adopt is not None:
        watch.adopt(_named(watch, adopt))
    if watch.certificate is not None:
        require_model(watch.certificate, model_id)
    for text in watch.warnings():
        note(text)


def _named(watch: Monitor, name: str) -> Certificate | None:
    """The fresh certificate of a period that was reported in an earlier run, or the one in a file."""
    found = {report.period: report for report in watch.history}
    if name in found:
        return found[name].fresh
    if Path(name).suffix == ".json":
        return Certificate.load(name)
    known = shorten(list(found)) if found else "none yet (earlier runs are remembered with --state)"
    raise InputError(
        f"--adopt {name}: no report on this period, and not the name of a certificate (*.json). The periods are "
        f"{known}."
    )


def outcome_of(watch: Monitor, fail_on: Collection[str]) -> Outcome:
    """Reports that nobody has seen yet; without any, the last one, unless it was answered since."""
    new = watch.undelivered
    examined = new or tuple(report for report in watch.history[-1:] if _is_open(report, watch))
    failed = [report for report in examined if report.alert or report.verdict in fail_on]
    # A period that should have come by now is looked for only if it is asked for: old data end somewhere.
    until = current_time().date() if "gap" in fail_on else None
    failed_gaps = watch.new_gaps(until=until) if "gap" in fail_on else []
    return Outcome(examined, watch.gaps(until=until), failed, failed_gaps)


def _is_open(report: PeriodReport, watch: Monitor) -> bool:
    """Whether nothing was done about a report.

    What broke is answered by another certificate. That label shift is refuted is answered by another source, or by
    sets that labels have certified: another certificate that assumes label shift leaves everything as it was.
    """
    in_use = watch.in_use
    if in_use is None or report.in_use_number == in_use.number:
        return report.verdict != "refuted" or report.source_number == watch.source_number
    if report.verdict != "refuted":
        return False
    return report.source_number == watch.source_number and in_use.certificate.facts.assumes_label_shift
