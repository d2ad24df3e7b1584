"""What ``pacshift monitor`` writes and prints: a page and a table; one JSON object, or the findings."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pacshift.bounds import Interval
from pacshift.certificate.file import to_document
from pacshift.cli import groups, options
from pacshift.cli.console import note, plain, print_json, results, right_aligned, say_written
from pacshift.errors import InputError
from pacshift.files.documents import CHECKSUM
from pacshift.monitor import Monitor, PeriodReport
from pacshift.monitor.calendar import Gap
from pacshift.monitor.timeline import timeline
from pacshift.report import write_history_page
from pacshift.report.way_on import way_on
from pacshift.tables.history import check_history_path, write_history
from pacshift.wording import down, mean_size, percent

COLOURS = {"kept": "green", "consistent": "yellow", "broken": "red", "refuted": "red"}


@dataclass(frozen=True)
class Outcome:
    """What a run has to say: reports that nobody has seen, all gaps, and what it fails on."""

    examined: Sequence[PeriodReport]
    gaps: Sequence[Gap]
    failed: Sequence[PeriodReport]
    failed_gaps: Sequence[Gap]


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


def deliver(watch: Monitor, found: Outcome, files: Sequence[Path], force: bool, printing: groups.Printing) -> None:
    """Write the page, and the table if there is one; print the answer; then remember that it was told."""
    write_history_page(watch, files[0], overwrite=force, gaps=found.gaps)
    for table in files[1:]:
        write_history(watch.history, table, overwrite=force)
    _show(watch, found, files, printing)
    watch.mark_delivered(found.gaps)  # what did not get so far is told by the next run


def _show(watch: Monitor, found: Outcome, files: Sequence[Path], printing: groups.Printing) -> None:
    """The answer, for machines or for people."""
    if printing.as_json:
        print_json(
            {
                "page": str(files[0]),
                "table": str(files[1]) if files[1:] else None,
                "in_use": _in_use(watch),
                "source": {
                    "number": watch.source_number,
                    "rows": watch.source.n_source,
                    "periods": list(watch.source_periods),
                    "in_words": watch.source_in_words,
                },
                "failed": [report.period for report in found.failed],
                "gaps": [asdict(gap) | {"failed": gap in found.failed_gaps} for gap in found.gaps],
                "warnings": watch.warnings(),
                "periods": [_document(report) | {"next": list(way_on(watch, report))} for report in watch.history],
            }
        )
    elif not printing.quiet:
        _print(watch, found, files)


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
    sizes = ("accuracy", "size", "empty", "fresh_size")
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


def _print(watch: Monitor, found: Outcome, files: Sequence[Path]) -> None:
    headings = "period", "rows", "sets in use", "they miss", "mean size", "empty", "fresh size", "accuracy"
    shown = right_aligned(*headings, left=1)
    shown.columns[2].justify = "left"
    for one in timeline(watch.history, found.gaps):
        shown.add_row(*(_gap_row(one) if isinstance(one, Gap) else _row(one)))
    console = results()
    console.print(shown)
    for gap in found.failed_gaps:
        console.print(f"[red]no rows:[/] {plain(gap.in_words)}.")
    for report in found.examined:
        if report.verdict != "kept":
            console.print(
                f"[{COLOURS[report.verdict]}]{plain(report.period)}: {report.verdict}.[/] {plain(report.finding)}"
            )
            _print_way_on(way_on(watch, report))
    if watch.source_number:
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
        console.print("  The way on: draw rows to label, with your options about columns,")
        console.print(f"    {plain(draw)}", soft_wrap=True)
        console.print("  fill in their labels, and run this with the other options of this command:")
        console.print(f"    {plain(use)}", soft_wrap=True)


def _row(report: PeriodReport) -> list[str]:
    sizes = _cell(report.size, mean_size), _cell(report.empty, percent), _cell(report.fresh_size, mean_size)
    accuracy = _cell(report.accuracy, lambda share: f">= {down(share)}")
    verdict = f"[{COLOURS[report.verdict]}]{report.verdict}[/]"
    return [plain(report.period), f"{report.rows:,}", verdict, report.missed or "-", *sizes, accuracy]


def _gap_row(gap: Gap) -> list[str]:
    return [plain(gap.in_words), "0", "no rows", *["-"] * 5]


def _cell(value: float | None, in_words: Callable[[float], str]) -> str:
    return "-" if value is None else in_words(value)
