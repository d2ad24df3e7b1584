"""What ``benchmarks.scale`` runs in processes of their own: ``python -m benchmarks.scale_jobs JSON``."""

import contextlib
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

CHUNK = 1 << 21  # scores generated at a time


def generate(folder: Path, rows: int, n_classes: int, *, files: int = 1, dtype: str = "float64") -> Path:
    """Softmax scores of random logits and their labels; many classes go into one list column."""
    rng = np.random.default_rng(0)
    folder.mkdir()
    for number, part in enumerate(np.array_split(np.arange(rows), files)):
        writer, step = None, max(1, CHUNK // n_classes)
        for start in range(0, len(part), step):
            table = _chunk(rng, len(part[start : start + step]), n_classes, dtype)
            writer = writer or pq.ParquetWriter(folder / f"{number:05}.parquet", table.schema)
            writer.write_table(table)
        if writer is not None:
            writer.close()
    return folder


def _chunk(rng: np.random.Generator, rows: int, n_classes: int, dtype: str) -> Any:
    labels = rng.integers(0, n_classes, rows)
    scores = rng.normal(size=(rows, n_classes))
    scores[np.arange(rows), labels] += 2.5
    np.exp(scores, out=scores)
    scores = (scores / scores.sum(axis=1, keepdims=True)).astype(dtype)
    if n_classes > 100:
        lists = pa.FixedSizeListArray.from_arrays(pa.array(scores.ravel()), n_classes)
        return pa.table({"scores": lists, "label": labels})
    return pa.table({f"p_{place}": column for place, column in enumerate(scores.T)} | {"label": labels})


def work(job: dict[str, Any]) -> dict[str, float]:
    """What a job's process does."""
    if job.get("cores"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: job["cores"]])
        pa.set_cpu_count(job["cores"])
    kinds: dict[str, Callable[[dict[str, Any]], dict[str, float]]]
    kinds = {"speed": _speed, "memory": _memory, "spark": _spark, "size": _size}
    return kinds[job["kind"]](job)


def _speed(job: dict[str, Any]) -> dict[str, float]:
    bare, ours = [], []
    for _ in range(job["repeats"]):  # in turn, so that a busy moment of the machine meets both
        bare.append(_times(lambda: _bare_scan(job["path"])))
        ours.append(_times(lambda: _tally(job)))
    (bare_wall, bare_cpu), (wall, cpu) = (map(min, zip(*times, strict=True)) for times in (bare, ours))
    return {"bare": bare_wall, "bare_cpu": bare_cpu, "tally": wall, "tally_cpu": cpu}


def _memory(job: dict[str, Any]) -> dict[str, float]:
    seconds = _seconds(lambda: _sets(job) if job.get("sets") else _tally(job))
    return {"seconds": seconds, "peak": peak_memory()}


def _size(job: dict[str, Any]) -> dict[str, float]:
    return {"values": len(_tally(job).tally.values)}


def peak_memory() -> int:
    """Bytes. Not ru_maxrss where it can be helped: on Linux that starts at what the parent process had."""
    with contextlib.suppress(OSError, StopIteration):
        status = Path("/proc/self/status").read_text().splitlines()
        return int(next(line for line in status if line.startswith("VmHWM")).split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _spark(job: dict[str, Any]) -> dict[str, float]:
    from pyspark.sql import SparkSession

    from pacshift.tables.spark import tally

    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    builder = SparkSession.builder.master(f"local[{job['workers']}]").config("spark.ui.enabled", "false")
    session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    frame = session.read.parquet(job["path"])
    return {"tally": min(_seconds(lambda: tally(frame, label="label")) for _ in range(job["repeats"]))}


def _times(function: Callable[[], Any]) -> tuple[float, float]:
    """Seconds on the clock and of all cores together."""
    start = time.process_time()
    return _seconds(function), time.process_time() - start


def _seconds(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def _bare_scan(path: str) -> int:
    """What pyarrow needs to read the same columns and do nothing with them."""
    return sum(batch.num_rows for batch in ds.dataset(path).scanner().to_batches())


def _tally(job: dict[str, Any]) -> Any:
    from pacshift.tables import tally_table

    return tally_table(job["path"], label="label", scores=job.get("scores", "p_*"))


def _sets(job: dict[str, Any]) -> Any:
    from pacshift import calibrate_tally
    from pacshift.tables import tally_table, write_sets

    first = sorted(Path(job["path"]).iterdir())[0]
    certificate = calibrate_tally(tally_table(first, label="label").tally, epsilon=0.1, delta=0.05, method="PS")
    return write_sets(certificate, job["path"], Path(job["path"]).parent / "sets.parquet", overwrite=True)


if __name__ == "__main__":
    print(json.dumps(work(json.loads(sys.argv[1]))))
