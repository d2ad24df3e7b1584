"""From trials to tables: results as CSV and Parquet, the summary as Markdown."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pacshift.files.spreadsheet import escape_cell
from pacshift.files.writing import atomic_write
from paper.experiments.runner import PanelResult


@dataclass(frozen=True)
class MethodSummary:
    """One method on one panel, over all trials."""

    panel: str
    title: str
    method: str
    epsilon: float
    trials: int
    mean_error: float
    worst_error: float
    above: int
    """Trials whose measured error is above ε."""
    truly_above: int
    """Trials whose true error on the target's base is above ε."""
    mean_size: float
    excess: float
    """Mean size minus the mean size at the best threshold (the smallest any threshold could give)."""
    trivial: int
    """Trials where "all labels" was the only valid answer."""
    refused: int
    """Trials where the draw itself refuted label shift; they have no sets, error or size."""


def summarise(result: PanelResult) -> tuple[MethodSummary, ...]:
    """One summary per method, in the order of the figures."""
    return tuple(_summarise_method(result, method) for method in result.methods)


def _summarise_method(result: PanelResult, method: str) -> MethodSummary:
    rows = [row for row in result.rows if row.method == method]
    measured = [row for row in rows if row.status != "refused"]
    error = np.array([row.error for row in measured] or [np.nan])
    size = np.array([row.size for row in measured] or [np.nan])
    best = np.array([row.best_size for row in measured] or [np.nan])
    return MethodSummary(
        panel=result.name,
        title=result.title,
        method=method,
        epsilon=result.panel.epsilon,
        trials=len(rows),
        mean_error=float(error.mean()),
        worst_error=float(error.max()),
        above=int((error > result.panel.epsilon).sum()),
        truly_above=sum(row.true_error > result.panel.epsilon for row in measured),
        mean_size=float(size.mean()),
        excess=float((size - best).mean()),
        trivial=sum(row.status == "trivial" for row in rows),
        refused=sum(row.status == "refused" for row in rows),
    )


HEADINGS = (
    "panel",
    "method",
    "mean error",
    "worst error",
    "trials above ε",
    "truly above ε",
    "mean size",
    "excess over best",
    "all labels",
    "refused",
)


def cells(summary: MethodSummary) -> tuple[str, ...]:
    """The summary as text, in the order of HEADINGS."""
    return (
        summary.panel,
        summary.method,
        number(summary.mean_error, 4),
        number(summary.worst_error, 4),
        f"{summary.above}/{summary.trials}",
        f"{summary.truly_above}/{summary.trials}",
        number(summary.mean_size, 3),
        number(summary.excess, 3),
        f"{summary.trivial}" if summary.trivial else "",
        f"{summary.refused}" if summary.refused else "",
    )


def number(value: float, digits: int) -> str:
    """Fixed digits, and a dash where nothing was measured."""
    return "–" if np.isnan(value) else f"{value:.{digits}f}"


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 2) -> str:
    """A pipe table; the first ``left`` columns are text, the rest numbers."""
    rule = ["---"] * left + ["---:"] * (len(headings) - left)
    lines = [headings, rule, *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def write_summary(results: Sequence[PanelResult], path: Path, note: str) -> None:
    """summary.md: one table for all panels."""
    table = markdown_table(HEADINGS, [cells(summary) for result in results for summary in summarise(result)])
    with atomic_write(path) as draft:
        draft.write_text(f"# Summary\n\n{note}\n\n{table}", encoding="utf-8")


def table_rows(results: Sequence[PanelResult]) -> list[dict[str, Any]]:
    """The results table: one row per trial and method, each complete in itself."""
    return [
        {
            "panel": result.panel.name,
            "dataset": result.panel.dataset,
            "origin": result.origin,
            "epsilon": result.panel.epsilon,
            "delta": result.panel.delta,
            **{key: value for key, value in asdict(row).items() if key != "panel"},
        }
        for result in results
        for row in result.rows
    ]


def write_tables(results: Sequence[PanelResult], folder: Path) -> None:
    """results.csv and results.parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = table_rows(results)
    with atomic_write(folder / "results.csv") as draft, draft.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows({k: escape_cell(v) if isinstance(v, str) else v for k, v in row.items()} for row in rows)
    with atomic_write(folder / "results.parquet") as draft:
        pq.write_table(pa.Table.from_pylist(rows), draft, compression="zstd")
