"""After a refusal: populations that differ by more than their label mix, certified by labels of the target."""

from collections.abc import Sequence
from functools import partial
from typing import Any
from zlib import crc32

import numpy as np

from benchmarks.differing import Pair, pairs
from benchmarks.lab import Blocks, Lab, first_labels, quiet
from benchmarks.page import report
from pacshift import AssumptionError, Rows, calibrate
from pacshift.arrays import BoolArray, FloatArray
from paper.experiments.summary import markdown_table

EPSILON, DELTA = 0.1, 0.05
N_SOURCE, N_TARGET = 30_000, 20_000
LABELS = (100, 200, 400, 1_000)


def run(lab: Lab) -> Blocks:
    """Refusals, then what labels certify, one line per group of pairs and number of labels."""
    trials, labels = lab.trials or lab.choose(6, 2), lab.choose(LABELS, LABELS[:1])
    sizes = N_SOURCE // lab.choose(1, 5), N_TARGET // lab.choose(1, 5)
    # Of each pair, by draw: whether it is refused without labels; then by number of labels and method (PS-T, PS)
    # the error, the size over that of the best threshold, and the share missed of the worst class.
    groups: dict[str, list[tuple[BoolArray, FloatArray]]] = {}
    for pair in pairs(lab):
        draws = [draw(pair, labels, sizes, trial) for trial in range(trials)]
        refused, sets = (np.array(part) for part in zip(*draws, strict=True))
        groups.setdefault(pair.group, []).append((refused, sets))
        lab.say(f"after-refusal: {pair.name}: {refused.sum()} refused, sizes {sets[:, :, 0, 1].mean(axis=0)}")
    headings = (
        "pairs", "refused without labels", "labels", "mean error", "error above ε", "size", "size of PS",
        "worst class missed", "by PS",
    )  # fmt: skip
    rows = [row(name, group, place, n) for name, group in groups.items() for place, n in enumerate(labels)]
    about = (
        f"ε = {EPSILON}, δ = {DELTA}; {trials} draws of each pair, {sizes[0]:,} source and {sizes[1]:,} target "
        "rows. Sizes are labels per set, divided by those of the best single threshold that knows the target. "
        "PS is one threshold that all labels certify."
    )
    yield "after-refusal", report(lab.command("after-refusal"), about, markdown_table(headings, rows))


def draw(pair: Pair, labels: Sequence[int], sizes: tuple[int, int], trial: int) -> tuple[bool, Any]:
    """Whether a draw is refused without labels, and the truth about the sets of both methods by labels."""
    rng = np.random.default_rng([trial, crc32(pair.name.encode())])
    source = pair.source.draw(pair.source_mix, sizes[0], rng)
    target, truth = pair.target.draw(pair.target_mix, sizes[1], rng)
    ask, sets = partial(calibrate, epsilon=EPSILON, delta=DELTA), []
    with quiet():
        for n in labels:
            by_labels = ask(*source, Rows(target, first_labels(truth, n)), method="PS-T")
            alone = ask(target[:n], truth[:n], None, method="PS")
            sets.append([judge(pair, each.thresholds) for each in (by_labels, alone)])
        try:
            ask(*source, target)
        except AssumptionError:
            return True, sets
    return False, sets


def judge(pair: Pair, thresholds: FloatArray) -> tuple[float, float, float]:
    """Error, size as a multiple of that of the best single threshold, and the share missed of the worst class."""
    target, mix = pair.target, pair.target_mix
    best = target.size(target.best_threshold(EPSILON, mix), mix)
    worst = float(np.nanmax(target.class_error(thresholds)))
    return target.error(thresholds, mix), target.size(thresholds, mix) / best, worst


def row(name: str, group: Sequence[tuple[BoolArray, FloatArray]], place: int, n_labels: int) -> tuple[str, ...]:
    """Means over the pairs of a group, at one number of labels."""
    sets = np.array([of_pair[:, place] for _, of_pair in group])
    (error, size, worst), (_, plain_size, plain_worst) = sets.mean(axis=(0, 1))
    refused, n_draws = sum(int(refusals.sum()) for refusals, _ in group), sets[..., 0, 0].size
    return (
        f"{name} ({len(group)})",
        f"{refused} of {n_draws}",
        f"{n_labels:,}",
        f"{error:.3f}",
        f"{(sets[..., 0, 0] > EPSILON).sum()} of {n_draws}",
        *(f"{each:.3f}" for each in (size, plain_size)),
        *(f"{each:.2f}" for each in (worst, plain_worst)),
    )
