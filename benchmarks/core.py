"""The core against a floor measured in the same run, method by method, and what the shift step costs.

Floor of calibrating: argmax of both score matrices and one sort of the true-label scores. Floor of predicting:
the bare comparison. Memory is what Python and NumPy allocate on top of the inputs.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.measure import temporary_memory, timed
from benchmarks.simulate import scores_and_labels, shifted_mix
from pacshift import calibrate
from pacshift.bounds import clopper_pearson
from pacshift.weights.elimination import NoBox, eliminate
from pacshift.weights.hull import hull

SHOWN = ("PS", "PS-LW", "PS-W", "PS-C", "PS-LP", "PS-R")


def measure(rows: int, n_classes: int, repeats: int) -> str:
    """Both tables, as Markdown."""
    rng = np.random.default_rng(0)
    source, labels = scores_and_labels(rows, n_classes, rng)
    target, _ = scores_and_labels(rows, n_classes, rng, mix=shifted_mix(n_classes))
    picked = source[np.arange(rows), labels]

    def run(method: str) -> Callable[[], Any]:
        return lambda: calibrate(source, labels, target, epsilon=0.1, delta=0.01, method=method, rng=0)

    floor, _ = timed(lambda: (source.argmax(1), target.argmax(1), np.sort(picked)), repeats)
    lines = [
        f"{rows:,} source and target rows × {n_classes}; floor {floor * 1e3:.0f} ms",
        "",
        "| call | least to most time | ratio to its floor | memory on top of the inputs |",
        "|---|---|---|---|",
    ]
    for method in SHOWN:
        lines.append(row(f"calibrate {method}", run(method), floor, repeats, source.size))
    one, several = run("PS")(), run("PS-LW")()
    bare, _ = timed(lambda: target >= one.thresholds[0], repeats)
    lines.append(row("sets, one threshold", lambda: one.sets(target), bare, repeats, source.size))
    bare, _ = timed(lambda: target >= several.thresholds, repeats)
    lines.append(row("sets, one a class", lambda: several.sets(target), bare, repeats, source.size))
    return "\n".join([*lines, "", *shift_costs(rng)])


def row(name: str, work: Callable[[], Any], floor: float, repeats: int, copy: int) -> str:
    least, most = timed(work, repeats)
    memory = temporary_memory(work)
    return (
        f"| {name} | {least * 1e3:.3g} to {most * 1e3:.3g} ms | {least / floor:.2f} | "
        f"{memory / 1e6:.0f} MB = {memory / copy:.1f} boolean copies |"
    )


def shift_costs(rng: np.random.Generator) -> list[str]:
    """Elimination and hull on confusion matrices of a strong classifier."""
    lines = ["| step | classes | seconds | answer |", "|---|---|---|---|"]
    for name, work, sizes in (("elimination", eliminate, (10, 100, 300, 1000)), ("hull", hull, (10, 50))):
        for size in sizes:
            joint = rng.random((size, size)) * 0.02 / size
            joint[np.diag_indices(size)] += 1.0
            counts = rng.multinomial(1_000_000, (joint / joint.sum()).ravel()).reshape(size, size)
            confusion = clopper_pearson(counts, 1_000_000, delta=1e-8)
            target = clopper_pearson(counts.sum(axis=1), 1_000_000, delta=1e-8)
            start = time.perf_counter()
            try:
                answer = f"largest weight at most {work(confusion, target).upper.max():.3g}"
            except NoBox as failure:
                answer = f"no box: {failure}"
            lines.append(f"| {name} | {size} | {time.perf_counter() - start:.2f} | {answer} |")
    return lines
