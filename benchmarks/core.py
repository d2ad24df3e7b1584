"""The calls against floors measured in the same run.

Floor of calibrating: argmax of both score matrices and one sort of the true-label scores, on one core. Floor of
the sets: the bare comparison. Memory is what Python and NumPy allocate on top of the inputs.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.lab import Blocks, Lab
from benchmarks.made_up import both_domains
from benchmarks.measure import megabytes, temporary_memory, timed
from benchmarks.page import report
from benchmarks.speed import SIZES
from pacshift import calibrate
from paper.experiments.summary import markdown_table

METHODS_SHOWN = ("PS", "PS-LW", "PS-W", "PS-C", "PS-LP", "PS-R")
CALIBRATED = (1_000_000, 10)
HEADINGS = (
    "call", "rows × classes", "least time", "largest", "ratio to its floor", "memory", "boolean copies",
)  # fmt: skip


def run(lab: Lab) -> Blocks:
    """Calibrating, and the sets."""
    repeats, shrink = lab.choose(7, 2), lab.choose(1, 50)
    rows = list(calibrating(CALIBRATED[0] // shrink, CALIBRATED[1], repeats))
    for size, n_classes in SIZES:
        lab.say(f"core: sets of {size // shrink:,} x {n_classes}")
        rows += sets(size // shrink, n_classes, repeats)
    yield "core", report("core", markdown_table(HEADINGS, rows))


def calibrating(rows: int, n_classes: int, repeats: int) -> Iterator[tuple[str, ...]]:
    """Every method on source and target."""
    source, labels, target = both_domains(rows, n_classes)
    true_scores = source[np.arange(len(source)), labels]
    floor, slowest = timed(lambda: (source.argmax(1), target.argmax(1), np.sort(true_scores)), repeats)
    size = f"{rows:,} × {n_classes}"
    yield ("floor of calibrating", size, milliseconds(floor), milliseconds(slowest), "1", "", "")
    for method in METHODS_SHOWN:
        work = partial(calibrate, source, labels, target, epsilon=0.1, delta=0.01, method=method, rng=0)
        yield measured(f"calibrate {method}", size, work, floor, repeats, source.size)


def sets(rows: int, n_classes: int, repeats: int) -> Iterator[tuple[str, ...]]:
    """One threshold for all classes, and one per class."""
    source, labels, target = both_domains(rows, n_classes)
    for title, method in (("sets, one threshold", "PS"), ("sets, one threshold per class", "PS-LW")):
        certificate = calibrate(source, labels, target, epsilon=0.1, delta=0.01, method=method)
        thresholds = certificate.thresholds[0] if method == "PS" else certificate.thresholds
        floor, _ = timed(partial(np.greater_equal, target, thresholds), 3 * repeats)
        work, size = partial(certificate.sets, target), f"{rows:,} × {n_classes}"
        yield measured(title, size, work, floor, 3 * repeats, target.size)


def measured(
    title: str, size: str, work: Callable[[], Any], floor: float, repeats: int, copy: int
) -> tuple[str, ...]:
    """One line of the table; ``copy`` is the size in bytes of one boolean matrix."""
    least, most = timed(work, repeats)
    memory, ratio = temporary_memory(work), least / floor
    return (
        title, size, milliseconds(least), milliseconds(most), f"{ratio:.2f}", megabytes(memory),
        f"{memory / copy:.1f}",
    )  # fmt: skip


def milliseconds(seconds: float) -> str:
    """Seconds for a table."""
    return f"{seconds * 1e3:.3g} ms"
