"""Tables on disk: throughput and peak memory of counting them, beside a bare scan of the same files.

Every figure comes from a process of its own that reads generated files: seconds are the least of several runs, the
bare scan and the count in turn; peak memory is that of a process that only counts (or only writes sets).
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.lab import Blocks, Lab
from benchmarks.measure import megabytes
from benchmarks.page import report
from benchmarks.peers import answer_of
from benchmarks.scale_jobs import generate
from paper.experiments.summary import markdown_table

ROWS = (1_000_000, 4_000_000, 16_000_000)
CLASSES = ((10, False), (100, False), (100, True), (1000, True), (10_000, True))
"""Number of classes, and whether their scores are one list column."""
CLASSES_SCORES = 16_000_000
FILES = (1, 16, 256)
FILES_ROWS = 4_000_000
SMALLER = 200
"""How many times fewer rows a small run has."""

ARROW = ("NumPy", "pyarrow")
COMPARED = (
    "bare scan", "count", "throughput / bare scan", "bare scan, processor", "count, processor", "ratio",
)  # fmt: skip


def by_rows(lab: Lab) -> Blocks:
    """Speed beside a bare scan, and peak memory."""
    lines, peaks, sizes = [], {}, ROWS[: lab.choose(None, 1)]
    for dtype in ("float64", "float32"):
        for rows in sizes:
            with table(lab, rows, 10, dtype=dtype) as path:
                speed = job(lab, kind="speed", path=path)
                peak, sets = (job(lab, kind="memory", path=path, sets=sets)["peak"] for sets in (False, True))
            peaks[dtype, rows] = peak
            lines.append(
                [f"{rows // lab.choose(1, SMALLER):,}", dtype, *compared(speed), megabytes(peak), megabytes(sets)]
            )
            lab.say(f"scale-rows {rows:,} {dtype}")
    growth = peaks["float64", sizes[-1]] / peaks["float64", sizes[0]]
    flat = f"Peak memory with {sizes[-1] // sizes[0]} times as many rows: {growth:.2f} times as much."
    headings = ["rows × 10", "scores", *COMPARED, "peak memory, count", "peak memory, sets"]
    yield "rows", report("scale-rows", markdown_table(headings, lines), flat, packages=ARROW)


def by_classes(lab: Lab) -> Blocks:
    """The same number of scores in fewer and fewer, wider and wider rows; list columns also beside Polars."""
    lines = []
    for n_classes, lists in lab.choose(CLASSES, CLASSES[2:3]):
        rows = CLASSES_SCORES // n_classes
        columns = "scores" if lists else "p_*"
        with table(lab, rows, n_classes, lists=lists) as path:
            speed = job(lab, kind="speed", path=path, scores=columns)
            peak = job(lab, kind="memory", path=path, scores=columns)["peak"]
        polars = f"{speed['polars'] / speed['counts']:.2f}" if lists else ""  # counts are without soft sums
        kind = "one list" if lists else "numbers"
        lines.append([f"{n_classes:,}", kind, f"{rows:,}", *compared(speed), polars, megabytes(peak)])
        lab.say(f"scale-classes {n_classes:,} {kind}")
    headings = ["classes", "columns", "rows", *COMPARED, "Polars / counts alone", "peak memory"]
    yield "classes", report("scale-classes", markdown_table(headings, lines), packages=(*ARROW, "Polars"))


def by_files(lab: Lab) -> Blocks:
    """The same rows in more and more files."""
    lines = []
    for files in lab.choose(FILES, FILES[1:2]):
        with table(lab, FILES_ROWS, 10, files=files) as path:
            speed, peak = job(lab, kind="speed", path=path), job(lab, kind="memory", path=path)["peak"]
        lines.append([f"{files:,}", *compared(speed), megabytes(peak)])
        lab.say(f"scale-files {files:,}")
    rows = FILES_ROWS // lab.choose(1, SMALLER)
    headings = [f"files of {rows:,} rows in all", *COMPARED, "peak memory"]
    yield "files", report("scale-files", markdown_table(headings, lines), packages=ARROW)


@contextmanager
def table(lab: Lab, rows: int, n_classes: int, **options: Any) -> Iterator[Path]:
    """A generated table, removed afterwards."""
    home = Path(tempfile.mkdtemp(prefix="pacshift-scale-"))
    try:
        yield generate(home / "table", max(1, rows // lab.choose(1, SMALLER)), n_classes, **options)
    finally:
        shutil.rmtree(home)


def job(lab: Lab, **job: Any) -> dict[str, float]:
    """One job in a process of its own."""
    text = json.dumps({"repeats": lab.choose(5, 1)} | job, default=str)
    answer: dict[str, float] = answer_of([sys.executable, "-m", "benchmarks.scale_jobs", text])
    return answer


def compared(speed: dict[str, float]) -> list[str]:
    """Bare scan and count, on the clock and in processor time; a ratio of 1 means that counting costs nothing.

    >>> compared({"bare": 0.3, "tally": 0.4, "bare_cpu": 0.5, "tally_cpu": 1.0})
    ['0.30 s', '0.40 s', '0.75', '0.50 s', '1.00 s', '0.50']
    """
    ratio = speed["bare"] / speed["tally"]
    wall = [f"{speed['bare']:.2f} s", f"{speed['tally']:.2f} s", f"{ratio:.2f}"]
    cpu = [speed["bare_cpu"], speed["tally_cpu"]]
    return [*wall, *(f"{seconds:.2f} s" for seconds in cpu), f"{cpu[0] / cpu[1]:.2f}"]
