"""Shares of the classes: widths of intervals by exact tails beside those of PS-LP's region, on the same draws."""

import time
from dataclasses import dataclass

import numpy as np

from benchmarks.lab import Blocks, Lab
from benchmarks.page import report
from pacshift.arrays import FloatArray, IntArray
from pacshift.bounds import Interval
from pacshift.errors import AssumptionError
from pacshift.mix.region import exact_box, prevalence_region
from pacshift.mix.shares import share_region
from paper.experiments.summary import markdown_table

DELTA = 0.05
HEADINGS = (
    "classes", "source rows (mix)", "target rows (mix)", "right, by class", "region", "**shares**", "truth inside",
    "ms",
)  # fmt: skip


@dataclass(frozen=True)
class World:
    """A classifier by its rates, and mixes and sizes of both samples."""

    rates: tuple[float, ...]
    n_source: int
    source: tuple[float, ...]
    n_target: int
    target: tuple[float, ...]

    @property
    def confusion(self) -> FloatArray:
        """P(predicted i given j): what is wrong goes to the other classes in equal parts."""
        right = np.array(self.rates)
        return np.asarray(np.diag(right) + (1 - right) / (len(right) - 1) * (1 - np.eye(len(right))))

    def draw(self, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Counts of the source and of the target's predictions."""
        rows, rates = rng.multinomial(self.n_source, self.source), self.confusion
        confusion = np.array(
            [rng.multinomial(count, column) for count, column in zip(rows, rates.T, strict=True)]
        ).T
        return confusion, rng.multinomial(self.n_target, rates @ np.array(self.target))


def _two(n_source: int, share: float, n_target: int, truth: float, right: float, other: float) -> World:
    return World((other, right), n_source, (1 - share, share), n_target, (1 - truth, truth))


def _even(n_classes: int, n_source: int, n_target: int, right: float) -> World:
    equal = (1 / n_classes,) * n_classes
    return World((right,) * n_classes, n_source, equal, n_target, equal)


WORLDS = (
    _two(200, 0.5, 1000, 0.5, 0.9, 0.7),
    _two(200, 0.8, 1000, 0.5, 0.94, 0.78),
    _two(100, 0.9, 1000, 0.9, 0.95, 0.7),
    _two(500, 0.8, 5000, 0.6, 0.94, 0.78),
    _two(500, 0.05, 2000, 0.05, 0.8, 0.9),
    _two(1000, 0.02, 10_000, 0.02, 0.7, 0.97),
    _two(2000, 0.5, 10_000, 0.3, 0.9, 0.9),
    _two(1000, 0.5, 2000, 0.5, 0.65, 0.65),
    _even(3, 200, 1000, 0.8),
    World((0.9,) * 4, 300, (0.7, 0.2, 0.05, 0.05), 3000, (0.5, 0.3, 0.1, 0.1)),
    _even(6, 3000, 10_000, 0.8),
    _even(10, 1000, 5000, 0.85),
)


def run(lab: Lab) -> Blocks:
    """One table: a line per world."""
    repeats, lines = lab.trials or lab.choose(100, 2), []
    for number, world in enumerate(lab.choose(WORLDS, WORLDS[::8])):
        rng, truth = np.random.default_rng(number), np.array(world.target)
        widths, inside, seconds = np.zeros(2), 0, 0.0
        for _ in range(repeats):
            counts = world.draw(rng)
            start = time.process_time()
            try:
                box = share_region(*counts, delta=DELTA).prevalence
            except AssumptionError:
                box = Interval(np.ones(len(truth)), np.ones(len(truth)))
            seconds += time.process_time() - start
            whole = exact_box(*prevalence_region(*counts, delta=DELTA).all_rows)
            widths += [float((one.upper - one.lower).mean()) for one in (whole, box)]
            inside += bool(box.contains(truth).all())
        lab.say(f"shares: world {number + 1} of {len(WORLDS)}")
        lines.append(
            (
                f"{len(truth)}",
                f"{world.n_source:,} ({_mix(world.source)})",
                f"{world.n_target:,} ({_mix(world.target)})",
                _mix(world.rates),
                *(f"{width / repeats:.3f}" for width in widths),
                f"{inside} of {repeats}",
                f"{1000 * seconds / repeats:.0f}",
            )
        )
    yield "shares", report(lab.command("shares"), markdown_table(HEADINGS, lines, left=4))


def _mix(shares: tuple[float, ...]) -> str:
    """Shares in short, once if they are all alike.

    >>> _mix((0.5, 0.5)), _mix((0.98, 0.02))
    ('.5 each', '.98, .02')
    """
    texts = [f"{share:.2g}".removeprefix("0") for share in shares]
    return f"{texts[0]} each" if len(set(texts)) == 1 else ", ".join(texts)
