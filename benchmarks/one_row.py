"""One row at a time, as in a service: the calls against the bare comparison of the same row.

The floor is ``row >= thresholds`` of two arrays that are there already. Calls take turns with their floor, so that
a busy moment of the machine hits both.
"""

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.lab import Blocks, Lab
from benchmarks.made_up import both_domains
from benchmarks.measure import seconds_of
from benchmarks.page import report
from pacshift import Certificate, calibrate
from paper.experiments.summary import markdown_table

N_CLASSES = (10, 100, 1000)
LOOPS = 20
"""Calls that are timed together: so few that many of them meet a quiet moment of the machine."""
MAX_SECONDS = 2.0
"""Time for one line of the table."""
HEADINGS = ("call", "classes", "least time", "bare comparison", "ratio")


def run(lab: Lab) -> Blocks:
    """Predictors and ``sets``, for probabilities and for logits."""
    repeats = lab.choose(5000, 2)
    rows: list[tuple[str, ...]] = []
    for n_classes in lab.choose(N_CLASSES, N_CLASSES[:1]):
        lab.say(f"one-row: {n_classes:,} classes")
        rows += measured(n_classes, repeats)
    yield "one-row", report("one-row", markdown_table(HEADINGS, rows, left=1))


def measured(n_classes: int, repeats: int) -> Iterator[tuple[str, ...]]:
    """The lines of one number of classes."""
    scores, labels, _ = both_domains(40 * n_classes, n_classes)
    logits = np.log(scores) + 1.0
    certify = partial(calibrate, labels=labels, target=None, method="PS-LW", epsilon=0.3, delta=0.05)
    plain, soft = certify(scores), certify(logits, softmax=True)
    calls: list[tuple[str, Certificate, Any, Callable[[Any], Any]]] = [
        ("`predictor.sets`", plain, scores[0], plain.predictor().sets),
        ("`predictor.sets`, never empty", plain, scores[0], plain.without_empty_sets().predictor().sets),
        ("`predictor.labels`", plain, scores[0], plain.predictor().labels),
        ("`predictor.sets` of logits", soft, logits[0], soft.predictor().sets),
        ("softmax and comparison, unchecked", soft, logits[0], partial(unchecked, soft.thresholds)),
        ("`certificate.sets`", plain, scores[:1], plain.sets),
    ]
    for title, certificate, row, call in calls:
        least, floor = in_turn(partial(call, row), partial(np.greater_equal, row, certificate.thresholds), repeats)
        yield title, f"{n_classes:,}", f"{least * 1e6:.2f} µs", f"{floor * 1e6:.2f} µs", f"{least / floor:.1f}"


def unchecked(thresholds: Any, logits: Any) -> Any:
    """What no service can do without if its model gives logits."""
    powers = np.exp(logits - logits.max())
    return powers / powers.sum() >= thresholds


def in_turn(work: Callable[[], Any], floor: Callable[[], Any], repeats: int) -> tuple[float, float]:
    """Least seconds of one call of each, measured in loops that take turns."""
    pairs: list[tuple[float, float]] = []
    end = time.perf_counter() + MAX_SECONDS
    while not pairs or (len(pairs) < repeats and time.perf_counter() < end):
        pairs.append((seconds_of(partial(loop, work)), seconds_of(partial(loop, floor))))
    least, bare = np.min(pairs, axis=0) / LOOPS
    return float(least), float(bare)


def loop(work: Callable[[], Any]) -> None:
    """Many calls, of which one takes too little time to be measured."""
    for _ in range(LOOPS):
        work()
