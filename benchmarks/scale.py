"""``python -m benchmarks.scale [rows classes files workers]``: tables on disk, measured, into docs/scale.md.

Every figure comes from a process of its own that reads generated files: seconds are the least of three runs, the
bare scan and the count in turn; peak memory is that of a process that only counts (or only writes sets).
"""

import argparse
import contextlib
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from benchmarks.page import fill, processor
from benchmarks.peers import ROOT

PAGE = ROOT / "docs" / "scale.md"
CHUNK = 1 << 21  # scores generated at a time
ROWS = (1_000_000, 4_000_000, 16_000_000)
CLASSES = (10, 100, 1000, 10_000)
CLASSES_VALUES = 16_000_000
FILES = (1, 16, 256)
FILES_ROWS = 4_000_000
REPEATS = 3


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


def run(**job: Any) -> dict[str, float]:
    """One job in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.scale", "--job", json.dumps(job, default=str)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{job}: {done.stderr[-2000:]}")
    answer: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return answer


def work(job: dict[str, Any]) -> dict[str, float]:
    """What a job's process does."""
    if job.get("cores"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: job["cores"]])
        pa.set_cpu_count(job["cores"])
    kinds: dict[str, Callable[[dict[str, Any]], dict[str, float]]]
    kinds = {"speed": _speed, "memory": _memory, "spark": _spark}
    return kinds[job["kind"]](job)


def _speed(job: dict[str, Any]) -> dict[str, float]:
    bare, ours = [], []
    for _ in range(job["repeats"]):  # in turn, so that a busy moment of the machine meets both
        bare.append(_seconds(lambda: _bare_scan(job["path"])))
        ours.append(_seconds(lambda: _tally(job)))
    return {"bare": min(bare), "tally": min(ours)}


def _memory(job: dict[str, Any]) -> dict[str, float]:
    seconds = _seconds(lambda: _sets(job) if job.get("sets") else _tally(job))
    return {"seconds": seconds, "peak": peak_memory()}


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


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def megabytes(peak: float) -> str:
    return f"{peak / 1e6:,.0f} MB"


def by_rows(home: Path, sizes: Sequence[int], repeats: int) -> str:
    """Speed beside a bare scan, and peak memory."""
    lines = []
    for rows, dtype in [*((rows, "float64") for rows in sizes), (sizes[1], "float32")]:
        path = generate(home / f"rows{rows}{dtype}", rows, 10, dtype=dtype)
        speed = run(kind="speed", path=path, repeats=repeats)
        peak, sets = run(kind="memory", path=path), run(kind="memory", path=path, sets=True)
        seconds = f"{speed['bare']:.2f} s", f"{speed['tally']:.2f} s", f"{speed['bare'] / speed['tally']:.2f}"
        rate = f"{rows / speed['tally'] / 1e6:.1f} million"
        lines.append([f"{rows:,}", dtype, *seconds, rate, megabytes(peak["peak"]), megabytes(sets["peak"])])
        _remove(path)
    head = ["rows × 10", "scores", "bare scan", "count", "share of the bare scan's speed", "rows a second"]
    return table([*head, "peak memory, count", "peak memory, sets"], lines)


def by_classes(home: Path, classes: Sequence[int], values: int, repeats: int) -> str:
    """The same number of scores in fewer and fewer, wider and wider rows."""
    lines = []
    for n_classes in classes:
        path = generate(home / f"classes{n_classes}", values // n_classes, n_classes)
        scores = "p_*" if n_classes <= 100 else "scores"
        speed = run(kind="speed", path=path, repeats=repeats if n_classes <= 1000 else 1, scores=scores)
        peak = run(kind="memory", path=path, scores=scores)
        seconds = f"{speed['bare']:.2f} s", f"{speed['tally']:.2f} s", f"{speed['bare'] / speed['tally']:.2f}"
        lines.append([f"{n_classes:,}", f"{values // n_classes:,}", *seconds, megabytes(peak["peak"])])
        _remove(path)
    head = ["classes", "rows", "bare scan", "count", "share of the bare scan's speed", "peak memory"]
    return table(head, lines)


def by_files(home: Path, counts: Sequence[int], rows: int, repeats: int) -> str:
    """The same rows in more and more files."""
    lines = []
    for files in counts:
        path = generate(home / f"files{files}", rows, 10, files=files)
        speed = run(kind="speed", path=path, repeats=repeats)
        peak = run(kind="memory", path=path)
        lines.append([f"{files:,}", f"{speed['bare']:.2f} s", f"{speed['tally']:.2f} s", megabytes(peak["peak"])])
        _remove(path)
    return table([f"files of {rows:,} rows in all", "bare scan", "count", "peak memory"], lines)


def by_workers(home: Path, rows: int, repeats: int, *, spark: bool) -> str:
    """One core and all of them; Spark with as many tasks at a time."""
    path = generate(home / "workers", rows, 10, files=8)
    cores = sorted({1, len(os.sched_getaffinity(0))})
    lines = []
    for engine in ("Arrow", "Spark")[: 2 if spark else 1]:
        for count in cores:
            job = {"path": path, "repeats": repeats}
            kind = {"kind": "spark", "workers": count} if engine == "Spark" else {"kind": "speed", "cores": count}
            lines.append([engine, count, f"{run(**job, **kind)['tally']:.2f} s"])
    _remove(path)
    return table(["engine", "cores", f"count of {rows:,} rows × 10"], lines)


def _remove(path: Path) -> None:
    for file in path.iterdir():
        file.unlink()
    path.rmdir()


def conditions(part: str) -> str:
    return (
        f"Measured {date.today().isoformat()} by `python -m benchmarks.scale {part}` on {processor()}, "
        f"Python {platform.python_version()}, NumPy {version('numpy')}, pyarrow {version('pyarrow')}."
    )


def main(arguments: list[str] | None = None) -> None:
    """Measure the parts asked for, print them, and put them between their markers on the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help="rows, classes, files, workers; default: all")
    parser.add_argument("--small", action="store_true", help="small sizes, no Spark, the page stays as it is")
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.job:
        print(json.dumps(work(json.loads(options.job))))
        return
    shrink, repeats = (200, 1) if options.small else (1, REPEATS)
    with tempfile.TemporaryDirectory(prefix="pacshift-scale-") as folder:
        home = Path(folder)
        parts: dict[str, Callable[[], str]] = {
            "rows": lambda: by_rows(home, [rows // shrink for rows in ROWS], repeats),
            "classes": lambda: by_classes(
                home, CLASSES[: 2 if options.small else None], CLASSES_VALUES // shrink, repeats
            ),
            "files": lambda: by_files(home, FILES[: 2 if options.small else None], FILES_ROWS // shrink, repeats),
            "workers": lambda: by_workers(home, FILES_ROWS // shrink, repeats, spark=not options.small),
        }
        if not set(options.parts) <= set(parts):
            parser.error(f"parts must be among {', '.join(parts)}, got {' '.join(options.parts)}")
        for part in options.parts or parts:
            text = f"{parts[part]()}\n\n{conditions(part)}"
            print(f"\n{text}\n", flush=True)
            if not options.small:
                fill(options.page, part, text)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
