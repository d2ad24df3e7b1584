"""Whole processes: how long the package takes to load, and ``pacshift calibrate`` beside a bare scan of its files.

Processes take turns, so that a busy moment of the machine affects all of them.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.lab import Blocks, Lab
from benchmarks.measure import megabytes
from benchmarks.page import conditions
from benchmarks.picture import whole_process
from benchmarks.scale_jobs import generate
from paper.experiments.summary import markdown_table

ROWS, N_CLASSES = 8_000_000, 10
LOADED = {
    "Python alone": "pass",
    "`import numpy, scipy.special`": "import numpy, scipy.special",
    "`import pacshift`": "import pacshift",
    "`from pacshift import calibrate`": "from pacshift import calibrate",
}
FLOOR = "`import numpy, scipy.special`"


def startup(lab: Lab) -> Blocks:
    """Seconds until the package is there, and until the command has said its version."""
    jobs: dict[str, dict[str, Any]] = {title: {"kind": "imports", "code": code} for title, code in LOADED.items()}
    jobs["`pacshift --version`"] = {"kind": "command", "words": ["--version"]}
    jobs["`pacshift methods`"] = {"kind": "command", "words": ["methods"]}
    found = in_turn(jobs, lab.choose(15, 1))
    floor = found[FLOOR][0]
    rows = [
        (title, f"{seconds:.2f} s", f"{seconds / floor:.2f}", megabytes(peak))
        for title, (seconds, peak) in found.items()
    ]
    headings = ("process", "least time", "ratio to NumPy and special functions", "peak memory")
    yield "startup", f"{conditions('startup')}\n\n{markdown_table(headings, rows, left=1)}"


def calibrate_files(lab: Lab) -> Blocks:
    """``pacshift calibrate`` of Parquet files, source and target of as many rows."""
    rows = ROWS // lab.choose(1, 2000)
    with TemporaryDirectory() as name:
        folder = Path(name)
        source, target = (generate(folder / part, rows, N_CLASSES, seed=seed) for seed, part in enumerate("st"))
        lab.say(f"scale-calibrate: {rows:,} rows a side are written")
        words = [str(source), str(target), "--label", "label", "--force", "-o", f"{folder}/made.json"]
        jobs: dict[str, dict[str, Any]] = {
            "bare scan": {"kind": "bare scan", "paths": [str(source), str(target)]},
            **{
                f"`pacshift calibrate --method {method}`": {
                    "kind": "command",
                    "words": ["calibrate", *words, "--method", method],
                }
                for method in ("PS-LP", "PS-W", "PS")
            },
        }
        found = in_turn(jobs, lab.choose(5, 1))
    scan = found["bare scan"][0]
    lines = [
        (title, f"{seconds:.2f} s", f"{seconds / scan:.2f}", megabytes(peak))
        for title, (seconds, peak) in found.items()
    ]
    headings = (f"{rows:,} rows × {N_CLASSES} a side", "least time", "ratio to the bare scan", "peak memory")
    part = lab.choose("scale-calibrate", "scale-calibrate --small")
    text = [conditions(part, ("NumPy", "pyarrow")), markdown_table(headings, lines, left=1)]
    yield "calibrate", "\n\n".join(text)


def in_turn(jobs: dict[str, dict[str, Any]], repeats: int) -> dict[str, tuple[float, float]]:
    """Least seconds and least peak memory of each job."""
    found: dict[str, list[tuple[float, float]]] = {title: [] for title in jobs}
    for _ in range(repeats):
        for title, job in jobs.items():
            found[title].append(whole_process(job))
    return {title: (min(s for s, _ in runs), min(p for _, p in runs)) for title, runs in found.items()}
