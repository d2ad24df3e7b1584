"""What ``pacshift monitor`` writes and prints: a page and a table; one JSON object, or the findings."""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import typer

from pacshift.certificate.file import to_document
from pacshift.cli import options
from pacshift.cli.certificates import column_words
from pacshift.cli.commands import given_args
from pacshift.cli.console import (
    BAD_INPUT,
    BROKEN,
    GAP,
    NOTHING_CERTIFIED,
    join_lines,
    make_table,
    messages,
    note,
    plain,
    print_json,
    results,
    say_written,
)
from pacshift.errors import InputError, PacshiftError
from pacshift.files.codec import CHECKSUM
from pacshift.files.origin import current_time
from pacshift.monitor import Monitor, PeriodReport
from pacshift.monitor.calendar import Gap
from pacshift.monitor.report import PROMETHEUS, check_history_path, in_use_epsilons, timeline, write_failed_run
from pacshift.report.history import CommandRun, way_on
from pacshift.rows.columns import Columns
from pacshift.words.numbers import given, mean_size, percent
from pacshift.words.verdicts import COLOURS, VERDICTS, word_of

THEN = ("fill in their labels, and certify sets for this period", "use these sets until the cause is gone")
"""What the second and the third command are for that are printed after a refusal."""


@dataclass(frozen=True, kw_only=True)
class Findings(CommandRun):
    """What a run has to say: what it fails on, and what the page needs to know."""

    failed: Sequence[PeriodReport]
    failed_gaps: Sequence[Gap]

    @property
    def exit_code(self) -> int:
        """The gravest of what failed: a promise, the assumption, a file, or only that rows are missing."""
        if any(report.error is not None for report in self.failed):
            return BROKEN
        if self.failed:
            return NOTHING_CERTIFIED
        return BAD_INPUT if self.not_counted else GAP if self.failed_gaps else 0


def look_back(
    ctx: typer.Context,
    watch: Monitor,
    fail_on: Collection[str],
    not_counted: Mapping[str, str],
    *,
    source: Path,
    reading: options.Reading,
    names: Columns | None,
) -> Findings:
    """What there is to say about all that was counted so far, and the words of this command."""
    # A period that should have come by now is looked for only if it is asked for: old data end somewhere.
    until = current_time().date() if "gap" in fail_on else None
    named = f".{os.sep}{source}" if str(source).startswith("-") else str(source)
    scores = column_words(reading, names)
    return Findings(
        failed=[report for report in watch.open_reports if report.alert or report.verdict in fail_on],
        failed_gaps=watch.new_gaps(until=until) if until else [],
        gaps=watch.gaps(until=until),
        not_counted=not_counted,
        source=named,
        table="SOURCE" if source.suffix == ".tally" else named,  # only the user knows the table
        label=[*scores, *([] if reading.group is None else ["--keep", reading.group])],
        calibrate=[*scores, *([] if reading.label == "label" else ["--label", str(reading.label)])],
        monitor=[*given_args(ctx, "adopt", "replace", "force", "as_json", "quiet"), "--force"],
    )


def check_outputs(out: Path, table: Path | None, inputs: Sequence[Path | None], state: Path | None) -> list[Path]:
    """The page and the table; refused if they cannot be written, or would replace what the run needs."""
    outputs = [out] if table is None else [out, table]
    for file in outputs:
        options.check_output(file, inputs)
        if state is not None and file.resolve().is_relative_to(state.resolve()):
            raise InputError(f"cannot write {file}: it lies in the state folder {state}. Choose another folder.")
    if table is not None:
        check_history_path(table)
        if table.resolve() == out.resolve():
            raise InputError(f"--table and --out are the same file, {table}. Give them different names.")
    return outputs


@contextmanager
def report_failure(table: Path | None, force: bool) -> Iterator[None]:
    """Let a table for Prometheus say so if the run fails, whatever it fails of. Other files of the name stay."""
    may_write = table is not None and (force or not table.exists())
    try:
        yield
    except BaseException:
        if table is not None and may_write and table.suffix.lower() == PROMETHEUS:
            with suppress(PacshiftError, OSError):  # the first error is what there is to say
                write_failed_run(table)
        raise


def show(watch: Monitor, findings: Findings, outputs: Sequence[Path], *, as_json: bool, quiet: bool) -> None:
    """The answer: for machines, for cron, or for people."""
    for file, reason in findings.not_counted.items():
        messages().print(f"[bold red]error:[/] {plain(join_lines(f'{file} is not counted: {reason}'))}")
    if as_json:
        page, table = [*map(str, outputs), None][:2]
        print_json({"page": page, "table": table} | _to_document(watch, findings))
    elif not quiet:
        _print_people(watch, findings)
        say_written(*outputs)
        if not watch.history:
            note("no rows were counted.")
    elif findings.failed or findings.failed_gaps:  # cron mails what is printed: an alert is never silent
        alerts = [f"{report.period}: {word_of(report.verdict)}" for report in findings.failed]
        alerts += [f"{gap.in_words} without rows" for gap in findings.failed_gaps]
        messages().print(f"[red]alert:[/] {plain('; '.join(alerts))}. See {plain(outputs[0])}.")


def _to_document(watch: Monitor, findings: Findings) -> dict[str, Any]:
    in_use, file = None, watch.current_file
    if watch.in_use is not None:
        certificate = to_document(watch.in_use.certificate)
        in_use = {name: getattr(watch.in_use, name) for name in ("number", "choice", "period", "in_words")}
        in_use |= {"file": None if file is None else str(file)}
        in_use |= {name: certificate[name] for name in ("method", "epsilon", "delta", CHECKSUM)}
    return {
        "in_use": in_use,
        "source_rows": watch.source.n_source,
        "failed": [report.period for report in findings.failed],
        "not_counted": [{"file": file, "reason": reason} for file, reason in findings.not_counted.items()],
        "gaps": [asdict(gap) | {"failed": gap in findings.failed_gaps} for gap in findings.gaps],
        "warnings": watch.warnings(),
        "periods": [
            _period_to_document(report) | {"next": list(way_on(watch, report, findings))}
            for report in watch.history
        ],
    }


def _period_to_document(report: PeriodReport) -> dict[str, Any]:
    document = {field.name: getattr(report, field.name) for field in fields(report) if field.name != "fresh"}
    document |= {"accuracy": report.accuracy, "prevalence": None, "weights": None}
    for name in ("prevalence", "weights"):
        if report.fresh is not None and (interval := getattr(report, name)) is not None:
            rows = zip(report.fresh.classes, interval.lower, interval.upper, strict=True)
            document[name] = {str(label): ends for label, *ends in rows}
    return document


def _print_people(watch: Monitor, findings: Findings) -> None:
    epsilons, console = in_use_epsilons(watch.history), results()
    size = f"labels per set at {given(epsilons[0])}" if len(epsilons) == 1 else "labels per set"
    fresh = f"with new certificate at {given(watch.request.epsilon)}"
    shown = make_table("period", "rows", "promise", "missed", size, "empty sets", fresh, left=1)
    shown.columns[2].justify = "left"
    for row in timeline(watch.history, findings.gaps):
        if isinstance(row, Gap):
            shown.add_row(plain(row.in_words), "0", "no rows", *["-"] * 4)
            continue
        at = f" at {given(row.in_use_epsilon)}" if len(epsilons) > 1 and row.in_use_epsilon is not None else ""
        shown.add_row(
            plain(row.period),
            f"{row.rows:,}",
            f"[{COLOURS[VERDICTS[row.verdict].tone]}]{word_of(row.verdict)}[/]",
            row.missed or "-",
            "-" if row.size is None else f"{mean_size(row.size)}{at}",
            "-" if row.empty is None else percent(row.empty),
            "-" if row.fresh_size is None else mean_size(row.fresh_size),
        )
    console.print(shown)
    for gap in findings.failed_gaps:
        console.print(f"[red]no rows:[/] {plain(gap.in_words)}.")
    for report in (report for report in watch.open_reports if report.verdict != "kept"):
        colour = COLOURS[VERDICTS[report.verdict].tone]
        console.print(f"[{colour}]{plain(report.period)}: {word_of(report.verdict)}.[/] {plain(report.finding)}")
        if commands := way_on(watch, report, findings):
            where = " (FILE: a file with the rows of this period alone)" if "FILE" in commands[0].split() else ""
            for step, command in zip((f"What to do: draw rows to label{where}", *THEN), commands, strict=True):
                console.print(f"  {step}:")
                console.print(f"    {plain(command)}", soft_wrap=True)
    if watch.in_use is not None:
        where = "" if watch.current_file is None else f": {watch.current_file}"
        console.print(f"In use: {plain(watch.in_use.in_words)}{plain(where)}")
