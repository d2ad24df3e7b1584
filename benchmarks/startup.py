"""How long the package and its command take to load: whole processes, from their start to their end.

Processes take turns, so that a busy moment of the machine affects all of them.
"""

from typing import Any

from benchmarks.lab import Blocks, Lab
from benchmarks.measure import megabytes
from benchmarks.page import report
from benchmarks.picture import whole_process
from paper.experiments.summary import markdown_table

FLOOR = "`import numpy, scipy.special`"
JOBS: dict[str, dict[str, Any]] = {
    "Python alone": {"kind": "imports", "code": "pass"},
    FLOOR: {"kind": "imports", "code": "import numpy, scipy.special"},
    "`import pacshift`": {"kind": "imports", "code": "import pacshift"},
    "`from pacshift import calibrate`": {"kind": "imports", "code": "from pacshift import calibrate"},
    "`pacshift --version`": {"kind": "command", "words": ["--version"]},
    "`pacshift methods`": {"kind": "command", "words": ["methods"]},
}


def run(lab: Lab) -> Blocks:
    """Seconds and peak memory until the package is there, and until the command has said its version."""
    found: dict[str, list[tuple[float, float]]] = {title: [] for title in JOBS}
    for _ in range(lab.choose(15, 1)):
        for title, job in JOBS.items():
            found[title].append(whole_process(job))
    least = {title: tuple(map(min, zip(*runs, strict=True))) for title, runs in found.items()}
    rows = [
        (title, f"{seconds:.2f} s", f"{seconds / least[FLOOR][0]:.2f}", megabytes(peak))
        for title, (seconds, peak) in least.items()
    ]
    headings = ("process", "least time", "ratio to NumPy and special functions", "peak memory")
    yield "startup", report("startup", markdown_table(headings, rows, left=1))
