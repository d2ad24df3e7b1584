"""What ``benchmarks.scale`` runs in processes of their own: ``python -m benchmarks.scale_jobs JSON``."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from benchmarks.measure import peak_memory, seconds_and_cpu, seconds_of

CHUNK_SCORES = 1 << 21
"""Scores generated at a time."""


def generate(
    folder: Path,
    rows: int,
    n_classes: int,
    *,
    files: int = 1,
    dtype: str = "float64",
    lists: bool = False,
    seed: int = 0,
) -> Path:
    """Softmax scores of random logits and their labels, in one column per class or in one list column.

    >>> import tempfile
    >>> for lists in (False, True):
    ...     path = generate(Path(tempfile.mkdtemp()) / "table", 100, 3, files=3, lists=lists)
    ...     table = pq.read_table(path)
    ...     print(table.column_names, table.num_rows, len(list(path.iterdir())))
    ['p_0', 'p_1', 'p_2', 'label'] 100 3
    ['scores', 'label'] 100 3
    """
    rng = np.random.default_rng(seed)
    folder.mkdir()
    for number, part in enumerate(np.array_split(np.arange(rows), files)):
        writer, step = None, max(1, CHUNK_SCORES // n_classes)
        for start in range(0, len(part), step):
            table = _chunk(rng, len(part[start : start + step]), n_classes, dtype, lists)
            writer = writer or pq.ParquetWriter(folder / f"{number:05}.parquet", table.schema)
            writer.write_table(table)
        if writer is not None:
            writer.close()
    return folder


def _chunk(rng: np.random.Generator, rows: int, n_classes: int, dtype: str, lists: bool) -> Any:
    labels = rng.integers(0, n_classes, rows)
    scores = rng.normal(size=(rows, n_classes))
    scores[np.arange(rows), labels] += 2.5
    np.exp(scores, out=scores)
    scores = (scores / scores.sum(axis=1, keepdims=True)).astype(dtype)
    if lists:
        column = pa.FixedSizeListArray.from_arrays(pa.array(scores.ravel()), n_classes)
        return pa.table({"scores": column, "label": labels})
    return pa.table({f"p_{place}": column for place, column in enumerate(scores.T)} | {"label": labels})


def work(job: dict[str, Any]) -> dict[str, float]:
    """What the process of a job does.

    >>> import tempfile
    >>> path = str(generate(Path(tempfile.mkdtemp()) / "table", 500, 3, lists=True))
    >>> for kind in ("speed", "memory"):
    ...     print(min(work({"kind": kind, "path": path, "scores": "scores", "repeats": 1}).values()) > 0)
    True
    True
    """
    return _speed(job) if job["kind"] == "speed" else _memory(job)


def _speed(job: dict[str, Any]) -> dict[str, float]:
    """Least seconds, and least processor seconds, of every contender."""
    contenders: dict[str, Callable[[], Any]] = {
        "bare": lambda: _bare_scan(job["path"]),
        "tally": lambda: _tally(job),
    }
    if job.get("scores") == "scores":
        contenders |= {"counts": lambda: _tally(job, soft=False), "polars": lambda: _polars(job["path"])}
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
    for _ in range(job["repeats"]):  # in turn, so that a busy moment of the machine affects all
        for name, contender in contenders.items():
            times[name].append(seconds_and_cpu(contender))
    found = {name: [min(kind) for kind in zip(*pairs, strict=True)] for name, pairs in times.items()}
    return {name: wall for name, (wall, _) in found.items()} | {
        f"{name}_cpu": cpu for name, (_, cpu) in found.items()
    }


def _memory(job: dict[str, Any]) -> dict[str, float]:
    seconds = seconds_of(lambda: _sets(job) if job.get("sets") else _tally(job))
    return {"seconds": seconds, "peak": peak_memory()}


def _bare_scan(path: str) -> int:
    """What pyarrow needs to read the same columns and do nothing with them."""
    return sum(batch.num_rows for batch in ds.dataset(path).scanner().to_batches())


def _polars(path: str) -> Any:
    """The same counts with Polars' streaming engine: predicted labels and true-label scores by label."""
    import polars as pl

    scores = pl.col("scores").arr
    rows = pl.scan_parquet(f"{path}/*.parquet").select(
        "label", predicted=scores.arg_max(), true_score=scores.get(pl.col("label"))
    )
    counts = rows.group_by("label").agg(pl.col("predicted").value_counts(), pl.col("true_score").value_counts())
    return counts.collect(engine="streaming")


def _tally(job: dict[str, Any], *, soft: bool = True) -> Any:
    from pacshift import read

    return read(job["path"], label="label", scores=job.get("scores", "p_*")).tally(soft=soft)


def _sets(job: dict[str, Any]) -> Any:
    from pacshift import calibrate, read, write_sets

    first = sorted(Path(job["path"]).iterdir())[0]
    certificate = calibrate(read(first, label="label").tally(), epsilon=0.1, delta=0.05, method="PS")
    return write_sets(certificate, job["path"], Path(job["path"]).parent / "sets.parquet", overwrite=True)


if __name__ == "__main__":
    print(json.dumps(work(json.loads(sys.argv[1]))))
