"""What ``pacshift monitor`` writes and prints: a page and a table; one JSON object, or the findings."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pacshift.bounds import Interval
from pacshift.cli import groups, options
from pacshift.cli.console import note, plain, print_json, results, right_aligned, say_written
from pacshift.monitor import Monitor, PeriodReport
from pacshift.report import write_history_page
from pacshift.tables.history import check_history_path, write_history
from pacshift.wording import between, down, mean_size, percent

COLOURS = {"kept": "green", "consistent": "yellow", "broken": "red", "refuted": "red"}


def check_outputs(files: Sequence[Path], force: bool, inputs: Sequence[Path]) -> None:
    """Refuse a page or a table that cannot be written, before the work."""
    for file in files:
        options.check_output(file, force, inputs)
    for table in files[1:]:
        check_history_path(table)


def write(watch: Monitor, files: Sequence[Path], force: bool) -> None:
    """The page, and the table if there is one."""
    write_history_page(watch, files[0], overwrite=force)
    for table in files[1:]:
        write_history(watch.history, table, overwrite=force)


def show(
    watch: Monitor,
    examined: Sequence[PeriodReport],
    failed: Sequence[PeriodReport],
    files: Sequence[Path],
    printing: groups.Printing,
) -> None:
    """The answer, for machines or for people."""
    if printing.as_json:
        print_json(
            {
                "page": str(files[0]),
                "table": str(files[1]) if files[1:] else None,
                "failed": [report.period for report in failed],
                "warnings": watch.warnings(),
                "periods": [_document(report) for report in watch.history],
            }
        )
    elif not printing.quiet:
        _print(watch, examined, files)


def _document(report: PeriodReport) -> dict[str, Any]:
    names = ("period", "start", "end", "number", "rows", "epsilon", "delta", "verdict", "finding")
    sizes = ("accuracy", "size", "empty", "fresh_size")
    return {
        **{name: getattr(report, name) for name in names},
        "error": None if report.error is None else list(report.error),
        **{name: getattr(report, name) for name in sizes},
        **{name: _by_class(report, getattr(report, name)) for name in ("prevalence", "weights")},
    }


def _by_class(report: PeriodReport, interval: Interval | None) -> dict[str, list[float | None]] | None:
    if interval is None or report.fresh is None:
        return None
    rows = zip(report.fresh.classes, interval.lower, interval.upper, strict=True)
    return {str(label): [options.finite_or_none(low), options.finite_or_none(high)] for label, low, high in rows}


def _print(watch: Monitor, examined: Sequence[PeriodReport], files: Sequence[Path]) -> None:
    headings = "period", "rows", "sets in use", "they miss", "mean size", "empty", "fresh size", "accuracy"
    shown = right_aligned(*headings, left=1)
    shown.columns[2].justify = "left"
    for report in watch.history:
        missed = "-" if report.error is None else between(*report.error)
        sizes = _cell(report.size, mean_size), _cell(report.empty, percent), _cell(report.fresh_size, mean_size)
        accuracy = _cell(report.accuracy, lambda share: f">= {down(share)}")
        verdict = f"[{COLOURS[report.verdict]}]{report.verdict}[/]"
        shown.add_row(plain(report.period), f"{report.rows:,}", verdict, missed, *sizes, accuracy)
    console = results()
    console.print(shown)
    for report in examined:
        if report.verdict != "kept":
            console.print(
                f"[{COLOURS[report.verdict]}]{plain(report.period)}: {report.verdict}.[/] {plain(report.finding)}"
            )
    say_written(*files)
    if not examined:
        note("no rows were counted.")


def _cell(value: float | None, in_words: Callable[[float], str]) -> str:
    return "-" if value is None else in_words(value)
