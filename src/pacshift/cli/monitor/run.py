"""What ``pacshift monitor`` reads and files, and which certificate it is told to use."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from pacshift.certificate import Certificate
from pacshift.cli import options
from pacshift.cli.certificates import require_model
from pacshift.cli.console import note, progress
from pacshift.cli.inputs import Watch
from pacshift.cli.monitor import MonitorOptions
from pacshift.errors import InputError
from pacshift.monitor import Monitor
from pacshift.monitor.periods import CountedRows, Period, PeriodName
from pacshift.monitor.tables import PeriodRule, count_periods
from pacshift.rows.arrow.files import list_files
from pacshift.rows.arrow.find import ReadOptions
from pacshift.rows.arrow.table import read_rows
from pacshift.rows.base import CheckedRows
from pacshift.rows.columns import Columns
from pacshift.scores.names import shorten
from pacshift.tally import Tally


def open_source(
    path: Path, reading: options.Reading, certificate: Certificate | None, *, silent: bool
) -> Tally | CheckedRows:
    """The source: its tally, or a table whose scores are taken as the certificate in use takes them."""
    how = reading.of_source()
    if path.suffix == ".tally":
        about = {"--label": how.label != "label", "--classes": how.classes, "--softmax": how.softmax}
        for flag in (flag for flag, value in about.items() if value):
            raise InputError(f"{flag} is about rows of SOURCE, but {path} is a tally. Leave it out.")
        return Tally.load(path)
    if certificate is not None:
        classes, softmax = how.classes or certificate.classes, how.softmax or certificate.softmax
        how = replace(how, classes=classes, softmax=softmax)
    return read_rows([path], how, name="source", role="source", watch=Watch(silent))


def read_like(reading: options.Reading, source: Tally, names: Columns | None) -> ReadOptions:
    """How other tables are read like the source, whose columns have these names."""
    scores = reading.scores if names is None else None
    options = replace(reading.of_source(), label=None, scores=scores, columns=names)
    return replace(options, classes=source.classes, softmax=source.softmax)


def ingest(
    watch: Monitor,
    targets: Sequence[Path],
    reading: ReadOptions,
    options: MonitorOptions,
    *,
    source: Path,
    group: str | None,
    soft: bool,
    silent: bool,
) -> Mapping[str, str]:
    """Let the monitor count the files that are new, and report on every period that got rows.

    What cannot be counted does not keep the others waiting: the files, each with the reason.
    """
    not_counted: dict[str, Exception] = {}

    def count(file: Path, name: PeriodName) -> CountedRows:
        """The rows of a file by period."""
        if file.is_relative_to(source.resolve()):
            raise InputError(f"{file} is SOURCE too, and labelled rows cannot be compared with themselves.")
        if file.suffix == ".tally":
            tally = Tally.load(file)
            if tally.n_source or tally.classes != watch.source.classes:
                raise InputError(f"{file}: a period must be the tally of unlabelled rows of the source's classes.")
            period = Period(options.replace or name(), None, None, tally)
            return CountedRows({period.name: period}, tally.n_target)
        called = "" if options.timestamp else options.replace or name()
        rule = PeriodRule(options.period or "month", options.timestamp, called)
        bar = partial(progress, f"counting {file.name}", silent=silent)
        rows = read_rows([file], reading, keep=False, within=rule.keys, watch=lambda _rows, _doing: bar())
        return count_periods(rows, rule, soft=soft, in_use=watch.certificate)

    def refuse(file: Path, error: Exception) -> None:
        not_counted[str(file)] = error

    refuse_one = None if options.replace else refuse
    listed = [[path] if path.suffix == ".tally" else list_files(path, refuse_one) for path in targets]
    # What must be the same in every run, or rows would be cut or chosen otherwise and count again.
    period = options.period or "month" if options.timestamp else None
    watch.ingest(
        [file.resolve() for files in listed for file in files],
        count,
        replace=options.replace,
        reading={"timestamp": options.timestamp, "period": period, "group": group},
        refuse=refuse_one,
        tell=note,
        bar=partial(progress, silent=silent),
    )
    if not_counted and not watch.history:  # there is nothing else to say
        raise next(iter(not_counted.values()))
    return {file: str(error).removeprefix(f"{file}: ") for file, error in not_counted.items()}


def choose_certificate(
    watch: Monitor, certificate: Certificate | None, adopt: str | None, model_id: str | None
) -> None:
    """Use what is asked for, if it is for this model. What was given in the last run too is no new choice."""
    if certificate is not None and not watch.start_with(certificate) and adopt is None:
        in_use = "" if watch.in_use is None else f" In use is {watch.in_use.in_words}."
        note(f"--certificate was given before, and another one was adopted since.{in_use} --adopt FILE undoes it.")
    if adopt is not None:  # the fresh certificate of a period that was reported in an earlier run, or a file
        reports = {report.period: report for report in watch.history}
        if adopt not in reports and Path(adopt).suffix != ".json":
            known = shorten(list(reports)) if reports else "none yet (earlier runs are remembered with --state)"
            raise InputError(
                f"--adopt {adopt}: no report on this period, and not the name of a certificate (*.json). The "
                f"periods are {known}."
            )
        watch.adopt(reports[adopt].fresh if adopt in reports else Certificate.load(adopt))
    if watch.certificate is not None:
        require_model(watch.certificate, model_id)
    for text in watch.warnings():
        note(text)
