"""What ``pacshift monitor`` writes and prints: a page and a table; one JSON object, or the findings."""

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import typer

from pacshift.bounds import Interval
from pacshift.certificate.file import to_document
from pacshift.cli import options
from pacshift.cli.certificates import column_words
from pacshift.cli.commands import option_words
from pacshift.cli.console import messages, note, plain, print_json, results, right_aligned, say_written
from pacshift.errors import InputError
from pacshift.files.codec import CHECKSUM
from pacshift.files.origin import current_time
from pacshift.monitor import Monitor, PeriodReport
from pacshift.monitor.calendar import Gap
from pacshift.monitor.report import check_history_path, in_use_epsilons, timeline, write_history
from pacshift.report import write_history_page
from pacshift.report.history import Words, way_on
from pacshift.rows.columns import Columns
from pacshift.words.numbers import down, given, mean_size, percent

COLOURS = {"kept": "green", "consistent": "yellow", "broken": "red", "refuted": "red"}


@dataclass(frozen=True)
class Outcome:
    """What a run has to say: reports that nobody has seen, all gaps, and what it fails on."""

    examined: Sequence[PeriodReport]
    gaps: Sequence[Gap]
    failed: Sequence[PeriodReport]
    failed_gaps: Sequence[Gap]

    @classmethod
    def of(cls, watch: Monitor, fail_on: Collection[str]) -> "Outcome":
        """What there is to say about all that was counted so far."""
        examined = watch.open_reports
        failed = [report for report in examined if report.alert or report.verdict in fail_on]
        # A period that should have come by now is looked for only if it is asked for: old data end somewhere.
        until = current_time().date() if "gap" in fail_on else None
        return cls(examined, watch.gaps(until=until), failed, watch.new_gaps(until=until) if until else [])


def check_outputs(files: Sequence[Path], force: bool, inputs: Sequence[Path | None], state: Path | None) -> None:
    """Refuse a page or a table that cannot be written, or would replace what the run needs, before the work."""
    for file in files:
        options.check_output(file, force, inputs)
        if state is not None and file.resolve().is_relative_to(state.resolve()):
            raise InputError(f"cannot write {file}: it lies in the state folder {state}. Choose another folder.")
    for table in files[1:]:
        check_history_path(table)
        if table.resolve() == files[0].resolve():
            raise InputError(f"--table and --out are the same file, {table}. Give them different names.")


def words_for(
    ctx: typer.Context, source: Path, columns: options.ColumnOptions, found: Columns | None, key: str | None
) -> Words:
    """The options of this command, for the commands that it prints."""
    once = ("labelled", "adopt", "replace", "back_to", "force", "as_json", "quiet")
    label = column_words(columns, found)
    for name in dict.fromkeys(name for name in (key, columns.group) if name is not None):
        label += ["--keep", name]
    start = f".{os.sep}" if str(source).startswith("-") else ""
    return Words(f"{start}{source}", label, [*option_words(ctx, *once), "--force"])


def deliver(
    watch: Monitor,
    found: Outcome,
    files: Sequence[Path],
    words: Words,
    *,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Write the page, and the table if there is one; print the answer; then remember that it was told."""
    write_history_page(watch, files[0], overwrite=force, gaps=found.gaps, words=words)
    for table in files[1:]:
        write_history(watch.history, table, overwrite=force)
    _show(watch, found, files, words, as_json=as_json, quiet=quiet)
    watch.mark_delivered(found.gaps)  # what did not get so far is told by the next run


def _show(
    watch: Monitor, found: Outcome, files: Sequence[Path], words: Words, *, as_json: bool, quiet: bool
) -> None:
    """The answer, for machines or for people."""
    if as_json:
        print_json(
            {
                "page": str(files[0]),
                "table": str(files[1]) if files[1:] else None,
                "in_use": _in_use(watch),
                "source": {
                    "number": watch.source_number,
                    "rows": watch.source.n_source,
                    "looks": watch.source_looks,
                    "periods": list(watch.source_periods),
                    "in_words": watch.source_in_words,
                },
                "failed": [report.period for report in found.failed],
                "gaps": [asdict(gap) | {"failed": gap in found.failed_gaps} for gap in found.gaps],
                "warnings": watch.warnings(),
                "periods": [
                    _document(report)
                    | {"labelled": report.period in watch.labelled_periods}
                    | {"next": list(way_on(watch, report, words))}
                    for report in watch.history
                ],
            }
        )
    elif not quiet:
        _print(watch, found, files, words)
    elif found.failed or found.failed_gaps:  # cron mails what is printed: an alert is never silent
        said = [f"{report.period} is {report.verdict}" for report in found.failed]
        said += [f"{gap.in_words} without rows" for gap in found.failed_gaps]
        messages().print(f"[red]alert:[/] {plain('; '.join(said))}. See {plain(files[0])}.")


def _in_use(watch: Monitor) -> dict[str, Any] | None:
    in_use, file = watch.in_use, watch.current_file
    if in_use is None:
        return None
    document = to_document(in_use.certificate)
    return {
        **{name: getattr(in_use, name) for name in ("number", "choice", "period", "in_words")},
        "file": None if file is None else str(file),
        **{name: document[name] for name in ("method", "epsilon", "delta", CHECKSUM)},
    }


def _document(report: PeriodReport) -> dict[str, Any]:
    names = ("period", "start", "end", "number", "rows", "epsilon", "delta", "in_use_number", "source_number")
    sizes = ("accuracy", "size", "empty", "in_use_epsilon", "fresh_size")
    return {
        **{name: getattr(report, name) for name in names},
        "verdict": report.verdict,
        "finding": report.finding,
        "error": None if report.error is None else list(report.error),
        **{name: getattr(report, name) for name in sizes},
        **{name: _by_class(report, getattr(report, name)) for name in ("prevalence", "weights")},
    }


def _by_class(report: PeriodReport, interval: Interval | None) -> dict[str, list[float | None]] | None:
    if interval is None or report.fresh is None:
        return None
    rows = zip(report.fresh.classes, interval.lower, interval.upper, strict=True)
    return {str(label): [options.finite_or_none(low), options.finite_or_none(high)] for label, low, high in rows}


def _print(watch: Monitor, found: Outcome, files: Sequence[Path], words: Words) -> None:
    epsilons = in_use_epsilons(watch.history)
    size = f"size at {given(epsilons[0])}" if len(epsilons) == 1 else "mean size"
    fresh = f"fresh size at {given(watch.request.epsilon)}"
    shown = right_aligned("period", "rows", "sets in use", "they miss", size, "empty", fresh, "accuracy", left=1)
    shown.columns[2].justify = "left"
    for one in timeline(watch.history, found.gaps):
        shown.add_row(
            *(
                [plain(one.in_words), "0", "no rows", *["-"] * 5]
                if isinstance(one, Gap)
                else _row(watch, one, len(epsilons) > 1)
            )
        )
    console = results()
    console.print(shown)
    for gap in found.failed_gaps:
        console.print(f"[red]no rows:[/] {plain(gap.in_words)}.")
    for report in found.examined:
        if report.verdict != "kept":
            console.print(
                f"[{COLOURS[report.verdict]}]{plain(report.period)}: {report.verdict}.[/] {plain(report.finding)}"
            )
            _print_way_on(way_on(watch, report, words))
    if watch.labelled_periods:
        console.print(f"compared with: {plain(watch.source_in_words)}")
    if watch.in_use is not None:
        where = "" if watch.current_file is None else f": {watch.current_file}"
        console.print(f"in use: {plain(watch.in_use.in_words)}{plain(where)}")
    say_written(*files)
    if not watch.history:
        note("no rows were counted.")


def _print_way_on(commands: Sequence[str]) -> None:
    if commands:
        draw, use = commands
        console = results()
        where = " (FILE: a file with the rows of this period alone)" if "FILE" in draw.split() else ""
        console.print(f"  The way on: draw rows to label{where},")
        console.print(f"    {plain(draw)}", soft_wrap=True)
        console.print("  fill in their labels, and run this:")
        console.print(f"    {plain(use)}", soft_wrap=True)


def _row(watch: Monitor, report: PeriodReport, name_epsilon: bool) -> list[str]:
    at = f" at {given(report.in_use_epsilon)}" if name_epsilon and report.in_use_epsilon is not None else ""
    size = _cell(report.size, lambda labels: f"{mean_size(labels)}{at}")
    sizes = size, _cell(report.empty, percent), _cell(report.fresh_size, mean_size)
    accuracy = _cell(report.accuracy, lambda share: f">= {down(share)}")
    labelled = ", labelled" if report.period in watch.labelled_periods else ""
    verdict = f"[{COLOURS[report.verdict]}]{report.verdict}[/]{labelled}"
    return [plain(report.period), f"{report.rows:,}", verdict, report.missed or "-", *sizes, accuracy]


def _cell(value: float | None, in_words: Callable[[float], str]) -> str:
    return "-" if value is None else in_words(value)
