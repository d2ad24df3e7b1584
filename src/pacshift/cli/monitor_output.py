"""What ``pacshift monitor`` prints: one JSON object, or a table and the findings."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from pacshift.cli import options
from pacshift.cli.console import note, plain, results
from pacshift.monitor import Monitor, PeriodReport
from pacshift.wording import between, down, mean_size, percent

COLOURS = {"kept": "green", "consistent": "yellow", "broken": "red", "refuted": "red"}


def document(watch: Monitor, failed: list[PeriodReport], out: Path, table: Path | None) -> dict[str, Any]:
    """The answer for machines."""
    return {
        "page": str(out),
        "table": None if table is None else str(table),
        "failed": [report.period for report in failed],
        "warnings": watch.warnings(),
        "periods": [_period_document(report) for report in watch.history],
    }


def _period_document(report: PeriodReport) -> dict[str, Any]:
    names = ("period", "start", "end", "number", "rows", "epsilon", "delta", "verdict", "finding")
    intervals = {"prevalence": report.prevalence, "weights": report.weights}
    return {
        **{name: getattr(report, name) for name in names},
        "error": None if report.error is None else list(report.error),
        "accuracy": report.accuracy,
        "size": report.size,
        "empty": report.empty,
        "fresh_size": report.fresh_size,
        **{
            name: None
            if interval is None or report.fresh is None
            else {
                str(label): [options.finite_or_none(low), options.finite_or_none(high)]
                for label, low, high in zip(report.fresh.classes, interval.lower, interval.upper, strict=True)
            }
            for name, interval in intervals.items()
        },
    }


def show(watch: Monitor, examined: Sequence[PeriodReport], files: Sequence[Path]) -> None:
    """The answer for people."""
    shown = Table("period", "rows", "sets in use", "they miss", "mean size", "empty", "fresh size", "accuracy")
    for column in (shown.columns[1], *shown.columns[3:]):
        column.justify = "right"
    for report in watch.history:
        missed = "-" if report.error is None else between(*report.error)
        shown.add_row(
            plain(report.period),
            f"{report.rows:,}",
            f"[{COLOURS[report.verdict]}]{report.verdict}[/]",
            missed,
            _number(report.size),
            "-" if report.empty is None else percent(report.empty),
            _number(report.fresh_size),
            "-" if report.accuracy is None else f">= {down(report.accuracy)}",
        )
    console = results()
    console.print(shown)
    for report in examined:
        if report.verdict != "kept":
            console.print(
                f"[{COLOURS[report.verdict]}]{plain(report.period)}: {report.verdict}.[/] {plain(report.finding)}"
            )
    for file in files:
        console.print(f"written: {plain(file)}")
    if not examined:
        note("no rows were counted.")


def _number(value: float | None) -> str:
    return "-" if value is None else mean_size(value)
