"""Tables on disk: seconds and peak memory of counting them, beside a bare scan of the same files.

Every figure comes from a process of its own that reads generated files: seconds are the least of several runs, the
bare scan and the count in turn; peak memory is that of a process that only counts.
"""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.lab import Blocks, Lab
from benchmarks.made_up import write_table
from benchmarks.measure import megabytes
from benchmarks.page import report
from benchmarks.peers import answer_of
from paper.experiments.summary import markdown_table

CASES = (
    (1_000_000, 10, 1, "float64"),
    (16_000_000, 10, 1, "float64"),
    (1_000_000, 10, 1, "float32"),
    (16_000_000, 10, 1, "float32"),
    (160_000, 100, 1, "float64"),
    (160_000, 100, 1, "one list"),
    (16_000, 1_000, 1, "one list"),
    (1_600, 10_000, 1, "one list"),
    (4_000_000, 10, 1, "float64"),
    (4_000_000, 10, 16, "float64"),
    (4_000_000, 10, 256, "float64"),
)
"""Rows, classes, files, and columns of scores: more rows, then wider rows of as many scores, then more files."""
HEADINGS = ("rows", "classes", "files", "scores", "bare scan", "count", "bare scan / count", "peak memory")


def run(lab: Lab) -> Blocks:
    """One table, a line per case."""
    lines = []
    for rows, n_classes, files, columns in lab.choose(CASES, CASES[::5]):
        with TemporaryDirectory(prefix="pacshift-scale-") as folder:
            rows //= lab.choose(1, 200)
            path = write_table(Path(folder, "table"), rows, n_classes, files=files, columns=columns)
            names = "scores" if columns == "one list" else "p_*"
            job = {"path": str(path), "scores": names, "repeats": lab.choose(5, 1)}
            seconds, alone = (
                answer_of([sys.executable, "-m", "benchmarks.jobs", json.dumps(job | {"kind": kind})])
                for kind in ("scan and count", "count")
            )
        sizes = f"{rows:,}", f"{n_classes:,}", f"{files:,}", columns
        scan, count = seconds["scan"], seconds["count"]
        times = f"{scan:.2f} s", f"{count:.2f} s", f"{scan / count:.2f}"
        lines.append((*sizes, *times, megabytes(alone["peak"])))
        lab.say(f"scale: {' '.join(lines[-1])}")
    yield "scale", report("scale", markdown_table(HEADINGS, lines, left=0), packages=("NumPy", "pyarrow"))
