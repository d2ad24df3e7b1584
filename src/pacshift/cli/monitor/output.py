"""What ``pacshift monitor`` writes and prints: a page and a table; one JSON object, or the findings."""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
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
from pacshift.report.history import Words, way_on
from pacshift.rows.columns import Columns
from pacshift.words.numbers import given, mean_size, percent
from pacshift.words.verdicts import COLOURS, VERDICTS, word_of

IN_JSON = (
    *("period", "start", "end", "number", "rows", "epsilon", "delta", "in_use_number"),
    *("verdict", "finding", "error", "accuracy", "size", "empty", "in_use_epsilon", "fresh_size"),
)
"""What ``--json`` says of a report, besides its intervals."""
THEN = ("fill in their labels, and certify sets for this period", "use these sets until the cause is gone")
"""What the second and the third command are for that are printed after a refusal."""


@dataclass(frozen=True)
class Findings:
    """What a run has to say: reports that nobody has seen, all gaps, and what it fails on.

    ``not_counted`` are files that cannot be counted, each with the reason.
    """

    examined: Sequence[PeriodReport]
    gaps: Sequence[Gap]
    failed: Sequence[PeriodReport]
    failed_gaps: Sequence[Gap]
    not_counted: Mapping[str, str]

    @property
    def exit_code(self) -> int:
        """The gravest of what failed: a promise, the assumption, a file, or only that rows are missing."""
        if any(report.error is not None for report in self.failed):
            return BROKEN
        if self.failed:
            return NOTHING_CERTIFIED
        return BAD_INPUT if self.not_counted else GAP if self.failed_gaps else 0


def find_what_to_say(watch: Monitor, fail_on: Collection[str], not_counted: Mapping[str, str]) -> Findings:
    """What there is to say about all that was counted so far."""
    failed = [report for report in watch.open_reports if report.alert or report.verdict in fail_on]
    # A period that should have come by now is looked for only if it is asked for: old data end somewhere.
    until = current_time().date() if "gap" in fail_on else None
    new_gaps = watch.new_gaps(until=until) if until else []
    return Findings(watch.open_reports, watch.gaps(until=until), failed, new_gaps, not_counted)


def check_outputs(out: Path, table: Path | None, inputs: Sequence[Path | None], state: Path | None) -> None:
    """Refuse a page or a table that cannot be written, or would replace what the run needs, before the work."""
    for file in [out] if table is None else [out, table]:
        options.check_output(file, inputs)
        if state is not None and file.resolve().is_relative_to(state.resolve()):
            raise InputError(f"cannot write {file}: it lies in the state folder {state}. Choose another folder.")
    if table is not None:
        check_history_path(table)
        if table.resolve() == out.resolve():
            raise InputError(f"--table and --out are the same file, {table}. Give them different names.")


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


def words_for(ctx: typer.Context, source: Path, reading: options.Reading, names: Columns | None) -> Words:
    """The options of this command, for the commands that it prints."""
    once = ("adopt", "replace", "force", "as_json", "quiet")
    named = f".{os.sep}{source}" if str(source).startswith("-") else str(source)
    scores = column_words(reading, names)
    return Words(
        source=named,
        table="SOURCE" if source.suffix == ".tally" else named,  # only the user knows the table
        label=[*scores, *([] if reading.group is None else ["--keep", reading.group])],
        calibrate=[*scores, *([] if reading.label == "label" else ["--label", str(reading.label)])],
        monitor=[*given_args(ctx, *once), "--force"],
    )


def show(
    watch: Monitor, findings: Findings, out: Path, table: Path | None, words: Words, *, as_json: bool, quiet: bool
) -> None:
    """The answer: for machines, for cron, or for people."""
    for file, reason in findings.not_counted.items():
        messages().print(f"[bold red]error:[/] {plain(join_lines(f'{file} is not counted: {reason}'))}")
    if as_json:
        files = {"page": str(out), "table": None if table is None else str(table)}
        print_json(files | _document(watch, findings, words))
    elif not quiet:
        _print(watch, findings, words)
        say_written(out, *([] if table is None else [table]))
        if not watch.history:
            note("no rows were counted.")
    elif findings.failed or findings.failed_gaps:  # cron mails what is printed: an alert is never silent
        alerts = [f"{report.period}: {word_of(report.verdict)}" for report in findings.failed]
        alerts += [f"{gap.in_words} without rows" for gap in findings.failed_gaps]
        messages().print(f"[red]alert:[/] {plain('; '.join(alerts))}. See {plain(out)}.")


def _document(watch: Monitor, findings: Findings, words: Words) -> dict[str, Any]:
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
        "periods": [_period_document(watch, report, words) for report in watch.history],
    }


def _period_document(watch: Monitor, report: PeriodReport, words: Words) -> dict[str, Any]:
    document: dict[str, Any] = {name: getattr(report, name) for name in IN_JSON}
    for name in ("prevalence", "weights"):
        document[name], interval = None, getattr(report, name)
        if interval is not None and report.fresh is not None:
            rows = zip(report.fresh.classes, interval.lower, interval.upper, strict=True)
            document[name] = {str(label): list(map(options.finite_or_none, ends)) for label, *ends in rows}
    return document | {"next": list(way_on(watch, report, words))}


def _print(watch: Monitor, findings: Findings, words: Words) -> None:
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
    for report in (report for report in findings.examined if report.verdict != "kept"):
        colour = COLOURS[VERDICTS[report.verdict].tone]
        console.print(f"[{colour}]{plain(report.period)}: {word_of(report.verdict)}.[/] {plain(report.finding)}")
        if commands := way_on(watch, report, words):
            where = " (FILE: a file with the rows of this period alone)" if "FILE" in commands[0].split() else ""
            for step, command in zip((f"What to do: draw rows to label{where}", *THEN), commands, strict=True):
                console.print(f"  {step}:")
                console.print(f"    {plain(command)}", soft_wrap=True)
    if watch.in_use is not None:
        where = "" if watch.current_file is None else f": {watch.current_file}"
        console.print(f"In use: {plain(watch.in_use.in_words)}{plain(where)}")
