"""How fast is the core against a floor measured in the same run? Prints a Markdown table.

Floor of calibrating: argmax of both score matrices and one sort of the true-label scores. Floor of predicting:
the bare comparison. Run: python benchmarks/core.py [--rows 1000000]
"""

import argparse
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

from pacshift import calibrate
from pacshift.bounds import clopper_pearson
from pacshift.shift.elimination import NoBox, eliminate
from pacshift.shift.hull import hull


def timed(work: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """Least and largest seconds of ``repeats`` runs after a warm-up."""
    work()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds), max(seconds)


def temporary_memory(work: Callable[[], Any]) -> int:
    """Largest number of bytes allocated on top of the inputs."""
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def report(name: str, work: Callable[[], Any], floor: float, repeats: int, copy: int) -> None:
    least, most = timed(work, repeats)
    memory = temporary_memory(work)
    print(
        f"| {name} | {least * 1e3:.0f} to {most * 1e3:.0f} ms | {least / floor:.2f} | "
        f"{memory / 1e6:.0f} MB = {memory / copy:.1f} boolean copies |"
    )


def scores_and_labels(rows: int, n_classes: int, rng: np.random.Generator) -> tuple[Any, Any]:
    labels = rng.integers(0, n_classes, rows)
    scores = rng.random((rows, n_classes))
    scores[np.arange(rows), labels] += 1.2
    scores /= scores.sum(axis=1, keepdims=True)
    return scores, labels


def shift_costs(rng: np.random.Generator) -> None:
    """Elimination and hull on confusion matrices of a strong classifier."""
    print("\n| step | classes | seconds | answer |\n|---|---|---|---|")
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
            print(f"| {name} | {size} | {time.perf_counter() - start:.2f} | {answer} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    source, labels = scores_and_labels(options.rows, options.classes, rng)
    target, _ = scores_and_labels(options.rows, options.classes, rng)
    picked = source[np.arange(options.rows), labels]

    def run(method: str) -> Callable[[], Any]:
        return lambda: calibrate(source, labels, target, epsilon=0.1, delta=0.01, method=method, rng=0)

    floor, _ = timed(lambda: (source.argmax(1), target.argmax(1), np.sort(picked)), options.repeats)
    print(f"{options.rows:,} source and target rows x {options.classes}; floor {floor * 1e3:.0f} ms\n")
    print("| call | least to most time | ratio to its floor | memory on top of the inputs |\n|---|---|---|---|")
    for method in ("PS", "PS-LW", "PS-W", "PS-C", "PS-LP", "PS-R"):
        report(f"calibrate {method}", run(method), floor, options.repeats, source.size)
    certificate = run("PS")()
    bare, _ = timed(lambda: target >= certificate.thresholds[0], options.repeats)
    report("sets, one threshold", lambda: certificate.sets(target), bare, options.repeats, source.size)
    several = run("PS-LW")()
    bare, _ = timed(lambda: target >= several.thresholds, options.repeats)
    report("sets, one a class", lambda: several.sets(target), bare, options.repeats, source.size)
    shift_costs(rng)


if __name__ == "__main__":
    main()
