"""After a refusal: populations that differ by more than their label mix, certified by labels of the target."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from zlib import crc32

import numpy as np

from benchmarks.differing import Pair, made_up, pairs
from benchmarks.hunt import counted
from benchmarks.lab import Blocks, Lab
from benchmarks.page import conditions
from pacshift import AssumptionError, UninformativeWarning, calibrate
from pacshift.arrays import FloatArray
from paper.experiments.summary import markdown_table

EPSILON, DELTA = 0.1, 0.05
N_SOURCE, N_TARGET = 30_000, 20_000
LABELS = (100, 200, 400, 1_000)
WORST_AT = 400
"""At this many labels the table says which share of the worst class is missed."""

OFTEN = 0.2
"""The δ at which failures are counted: large, so that there are enough of them."""
KEPT_LABELS, KEPT_SOURCE, KEPT_TARGET = 200, 5_000, 3_000
KEPT = (
    "2020, Sex: higher",
    "2020, GenHealth: lower",
    "2020, DiffWalking: higher",
    "IMDB: second",
    "AG News: 15 %",
)
"""Beginnings of the names of real pairs on which failures are counted: all of them seen."""


@dataclass(frozen=True)
class Sets:
    """What thresholds do on the target population."""

    error: float
    size: float
    worst: float
    """The share of the worst class that is missed."""


@dataclass(frozen=True)
class Draw:
    """One draw: whether it is refused without labels, and the sets by number of labels, of PS-T and of PS."""

    refused: bool
    tuned: dict[int, Sets]
    plain: dict[int, Sets]


@dataclass(frozen=True)
class Line:
    """All draws of a pair."""

    group: str
    name: str
    best: float
    """Labels per set of the best single threshold, with the target known."""
    draws: list[Draw]

    def mean(self, what: str, n_labels: int, *, of: str = "tuned") -> float:
        """The mean of a number of the sets."""
        return float(np.mean([getattr(getattr(draw, of)[n_labels], what) for draw in self.draws]))

    def above(self, n_labels: int) -> int:
        """How often PS-T missed more than ε."""
        return sum(draw.tuned[n_labels].error > EPSILON for draw in self.draws)


def run(lab: Lab) -> Blocks:
    """Refusals, then what labels certify, one line per pair and one per group of them."""
    trials, labels = lab.trials or lab.choose(6, 2), lab.choose(LABELS, LABELS[:1])
    lines, sizes = [], (N_SOURCE // lab.choose(1, 5), N_TARGET // lab.choose(1, 5))
    for pair in pairs(lab):
        lines.append(line(pair, labels, trials, sizes))
        found = [f"{lines[-1].mean('size', n) / lines[-1].best:.3f}" for n in labels]
        lab.say(f"after-refusal: {pair.name}: {refusals(lines[-1:])} refused, sizes {' '.join(found)}")
    about = (
        f"ε = {EPSILON}, δ = {DELTA}; {trials} draws of each pair, {sizes[0]:,} source and {sizes[1]:,} target "
        "rows. Sizes are labels per set, divided by those of the best single threshold that knows the target. "
        "PS is one threshold that all labels certify."
    )
    parts = [conditions("after-refusal" + (f" --trials {lab.trials}" if lab.trials else "")), about]
    parts += [by_group(lines, labels), "**Pair by pair**", by_pair(lines, labels)]
    yield "after-refusal", "\n\n".join(parts)


def line(pair: Pair, labels: Sequence[int], trials: int, sizes: tuple[int, int]) -> Line:
    """All draws of so many source and target rows."""
    best = pair.target.size(pair.target.best_threshold(EPSILON, pair.target_mix), pair.target_mix)
    return Line(pair.group, pair.name, best, [one_draw(pair, labels, sizes, trial) for trial in range(trials)])


def one_draw(pair: Pair, labels: Sequence[int], sizes: tuple[int, int], trial: int) -> Draw:
    """Ask without labels, then with the labels of the first rows: rows come in random order."""
    rng = np.random.default_rng([trial, crc32(pair.name.encode())])
    source = pair.source.draw(pair.source_mix, sizes[0], rng)
    target, truth = pair.target.draw(pair.target_mix, sizes[1], rng)
    ask = partial(calibrate, epsilon=EPSILON, delta=DELTA)
    tuned, plain = {}, {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UninformativeWarning)
        for n in labels:
            by_labels = ask(*source, target, method="PS-T", target_labels=known_labels(truth, n))
            alone = ask(target[:n], truth[:n], None, method="PS")
            tuned[n], plain[n] = (sets(pair, each.thresholds) for each in (by_labels, alone))
        try:
            ask(*source, target)
        except AssumptionError:
            return Draw(True, tuned, plain)
    return Draw(False, tuned, plain)


def known_labels(truth: Any, n_labels: int) -> list[Any]:
    """The labels of the first rows, None for the others."""
    return [label if place < n_labels else None for place, label in enumerate(truth.tolist())]


def sets(pair: Pair, thresholds: FloatArray) -> Sets:
    """The truth about thresholds."""
    target, mix = pair.target, pair.target_mix
    worst = float(np.nanmax(target.class_error(thresholds)))
    return Sets(target.error(thresholds, mix), target.size(thresholds, mix), worst)


def by_group(lines: Sequence[Line], labels: Sequence[int]) -> str:
    """Means over the pairs of a group."""
    headings = (
        "pairs", "refused without labels", "labels", "mean error", "error above ε", "size", "size of PS",
        "worst class missed", "by PS",
    )  # fmt: skip
    groups = dict.fromkeys(line.group for line in lines)
    rows = [group_row(group, [one for one in lines if one.group == group], n) for group in groups for n in labels]
    return markdown_table(headings, rows).strip()


def group_row(group: str, lines: Sequence[Line], n_labels: int) -> tuple[str, ...]:
    """Means over pairs, at one number of labels."""

    def mean(what: str, of: str = "tuned") -> float:
        values = [line.mean(what, n_labels, of=of) / (line.best if what == "size" else 1.0) for line in lines]
        return float(np.mean(values))

    above, draws = sum(line.above(n_labels) for line in lines), sum(len(line.draws) for line in lines)
    return (
        f"{group} ({len(lines)})",
        refusals(lines),
        f"{n_labels:,}",
        f"{mean('error'):.3f}",
        f"{above} of {draws}",
        *(f"{mean('size', of):.3f}" for of in ("tuned", "plain")),
        *(f"{mean('worst', of):.2f}" for of in ("tuned", "plain")),
    )


def by_pair(lines: Iterable[Line], labels: Sequence[int]) -> str:
    """Errors and sizes of every pair."""
    at = WORST_AT if WORST_AT in labels else labels[-1]
    rows = [
        (
            line.name,
            refusals([line]),
            *(f"{line.mean('error', n):.3f}" for n in labels),
            f"{line.best:.3f}",
            *(f"{line.mean('size', n):.3f}" for n in labels),
            f"{line.mean('worst', at):.2f}",
        )
        for line in lines
    ]
    numbers = [f"{n:,}" for n in labels]
    headings = (
        "source to target", "refused without labels", *(f"error, {n} labels" for n in numbers),
        "labels per set: best threshold", *(f"{n} labels" for n in numbers), f"worst class missed, {at} labels",
    )  # fmt: skip
    return markdown_table(headings, rows).strip()


def refusals(lines: Sequence[Line]) -> str:
    """Of all draws of these pairs, how many were refused without labels."""
    draws = [draw.refused for line in lines for draw in line.draws]
    return f"{sum(draws)} of {len(draws)}"


def run_validity(lab: Lab) -> Blocks:
    """How often PS-T breaks its promise at a large δ, on some real pairs and on made-up ones."""
    trials, rows = lab.trials or lab.choose(400, 4), []
    chosen = [pair for pair in (pairs(lab) if lab.data else ()) if pair.name.startswith(KEPT)]
    failed, sizes = [], (KEPT_SOURCE, KEPT_TARGET)
    for pair in [*chosen, *made_up()]:
        errors = [kept(pair, sizes, trial) for trial in range(trials)]
        failed += [error > EPSILON for error in errors]
        rows.append((pair.name, f"{np.mean(errors):.3f}", *counted(sum(failed[-trials:]), trials, OFTEN)))
        lab.say(f"after-refusal-validity: {' '.join(rows[-1])}")
    rows.append(("all", "", *counted(sum(failed), len(failed), OFTEN)))
    headings = "source to target", "mean error", "failures", "of", "failures / δ", "95 %"
    title = (
        f"How often PS-T missed more than ε = {EPSILON} of the target at δ = {OFTEN}, with {KEPT_LABELS} labels, "
        f"{sizes[0]:,} source and {sizes[1]:,} target rows."
    )
    command = "after-refusal-validity" + (f" --trials {lab.trials}" if lab.trials else "")
    yield (
        "after-refusal-validity",
        "\n\n".join([conditions(command), title, markdown_table(headings, rows).strip()]),
    )


def kept(pair: Pair, sizes: tuple[int, int], trial: int) -> float:
    """The true error of one certificate by PS-T."""
    rng = np.random.default_rng([trial, crc32(pair.name.encode()), 1])
    source = pair.source.draw(pair.source_mix, sizes[0], rng)
    target, truth = pair.target.draw(pair.target_mix, sizes[1], rng)
    known = known_labels(truth, KEPT_LABELS)
    made = calibrate(*source, target, epsilon=EPSILON, delta=OFTEN, method="PS-T", target_labels=known)
    return pair.target.error(made.thresholds, pair.target_mix)
