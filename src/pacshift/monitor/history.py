"""The history of a monitor as one long table, with the columns that monitoring tools use."""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

from pacshift.errors import InputError
from pacshift.files.writing import PathLike, atomic_write
from pacshift.monitor.report import PeriodReport
from pacshift.rows.arrow.sets import escape_batch

SCHEMA = pa.schema(
    {name: pa.string() for name in ("period", "start", "end", "metric")}
    | {name: pa.float64() for name in ("value", "lower", "upper")}
    | {"alert": pa.bool_(), "epsilon": pa.float64()}
)


def history_rows(history: Iterable[PeriodReport]) -> list[dict[str, Any]]:
    """One row per period and metric.

    Parameters
    ----------
    history : iterable of PeriodReport
        As ``Monitor.history`` gives it.

    Returns
    -------
    list of dict
        Each with period, start, end, metric, value, lower, upper, alert and epsilon. A value is counted, or
        estimated from counts (sizes). It is None where only bounds are known. An infinite bound is None too.
        Epsilon is what the sets were made for whose size it is, and what the error may be.

    Examples
    --------
    >>> from pacshift import Monitor, Tally
    >>> scores, labels = [[0.9, 0.1], [0.2, 0.8]] * 200, [0, 1] * 200
    >>> monitor = Monitor(Tally.from_scores(scores, labels), epsilon=0.2, delta=0.1)
    >>> report = monitor.update(scores, period="first")
    >>> [row["metric"] for row in history_rows(monitor.history)][:6]
    ['rows', 'error', 'assumption', 'accuracy', 'size', 'empty']
    """
    return [row for report in history for row in _rows(report)]


def _rows(report: PeriodReport) -> Iterator[dict[str, Any]]:
    head = {"period": report.period, "start": report.start, "end": report.end}

    def row(
        metric: str,
        value: Any = None,
        bounds: Sequence[Any] = (None, None),
        alert: bool = False,
        epsilon: float | None = None,
    ) -> dict[str, Any]:
        lower, upper = (_finite(bound) for bound in bounds)
        numbers = {"value": _finite(value), "lower": lower, "upper": upper}
        return head | {"metric": metric} | numbers | {"alert": alert, "epsilon": epsilon}

    yield row("rows", report.rows)
    broken = report.verdict == "broken"
    yield row("error", bounds=report.error or (None, None), alert=broken, epsilon=report.epsilon)
    yield row("assumption", alert=report.verdict == "refuted")
    yield row("accuracy", bounds=(report.accuracy, None))
    yield row("size", report.size, epsilon=report.in_use_epsilon)
    yield row("empty", report.empty, epsilon=report.in_use_epsilon)
    yield row("fresh size", report.fresh_size, epsilon=report.epsilon)
    classes = () if report.fresh is None else report.fresh.classes
    for name, interval in (("share", report.prevalence), ("weight", report.weights)):
        if interval is not None:
            for label, *ends in zip(classes, interval.lower.tolist(), interval.upper.tolist(), strict=True):
                yield row(f"{name}: {label}", bounds=ends)


def _finite(value: Any) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def write_history(history: Iterable[PeriodReport], path: PathLike, *, overwrite: bool = True) -> int:
    """Write the history as Parquet, Feather, CSV or JSON, chosen by the ending of the name.

    Parameters
    ----------
    history : iterable of PeriodReport
        As ``Monitor.history`` gives it.
    path : path-like
        The file. It is written whole or not at all.
    overwrite : bool, default True
        Whether an existing file may be replaced.

    Returns
    -------
    int
        Number of rows.

    Raises
    ------
    InputError
        If the ending is not known, or the file cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from pacshift import Monitor, Tally
    >>> scores, labels = [[0.9, 0.1], [0.2, 0.8]] * 200, [0, 1] * 200
    >>> monitor = Monitor(Tally.from_scores(scores, labels), epsilon=0.2, delta=0.1)
    >>> report = monitor.update(scores, period="first")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_history(monitor.history, pathlib.Path(folder, "monitor.csv"))
    11
    """
    rows, kind = history_rows(history), check_history_path(path)
    with atomic_write(path, overwrite=overwrite) as draft:
        if kind == ".json":
            draft.write_text(json.dumps(rows, indent=1, ensure_ascii=False), encoding="utf-8")
        else:
            table = pa.Table.from_pylist(rows, SCHEMA)
            if kind == ".csv":  # names of periods come from those of files
                table = pa.Table.from_batches(map(escape_batch, table.to_batches()), SCHEMA)
            WRITERS[kind](table, str(draft))
    return len(rows)


def check_history_path(path: PathLike) -> str:
    """The ending of the name, or an error that lists those that are known."""
    kind = Path(path).suffix.lower()
    if kind not in (*WRITERS, ".json"):
        raise InputError(f"{path}: the name of the table must end in {', '.join((*WRITERS, '.json'))}.")
    return kind


WRITERS: dict[str, Any] = {
    ".parquet": pyarrow.parquet.write_table,
    ".feather": pyarrow.feather.write_feather,
    ".csv": pyarrow.csv.write_csv,
}
