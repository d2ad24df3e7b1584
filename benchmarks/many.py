"""Many classes: set sizes of PS-LP beside the best that knows everything, on ImageNet and CIFAR-100 scores.

Sizes and errors on the target are exact, because source and target are drawn from one population. Constants were
chosen on other draws. Without real scores (``--small``) one synthetic case runs.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.lab import Blocks, Lab
from benchmarks.page import report
from pacshift import PSLP, PSLW, Population, Tally
from pacshift.arrays import FloatArray, IntArray
from pacshift.bounds import ROUNDING
from pacshift.methods import Task
from pacshift.progress import Steps
from pacshift.ps_lp.equal_miss_rate import ranks_for_any_mix, thresholds_at_ranks
from pacshift.ps_lp.prediction_powered import (
    CorrectionPlan,
    CorrectionShares,
    Evidence,
    find_largest_threshold,
    options_for,
    rescale,
    rescaling_factors,
    undo_rescaling,
)
from paper.experiments.summary import markdown_table

EPSILON, DELTA = 0.1, 0.01
HEADINGS = (
    "scores", "source rows", "target rows", "draws", "best", "floor", "mix known", "any mix", "PS-LW", "PS-LP",
    "worst draw", "error", "seconds",
)  # fmt: skip
NETS = {"CIFAR-100, ResNet-20": "cifar100/scores.npz", "CIFAR-100, RepVGG-A2": "cifar100/scores_repvgg_a2.npz"}
SIZES = {
    100: ((20_000, 20_000), (50_000, 50_000)),
    1000: ((200_000, 100_000), (100_000, 100_000), (50_000, 50_000), ("5 to 500 each", 100_000)),
}
SEEDS = range(501, 511)
"""Seeds of the draws. Constants were chosen on others."""
FEW, MANY_ROWS = 5, 100_000
"""Fewer draws with 100 classes or many source rows, where they differ little."""


@dataclass(frozen=True, eq=False)
class Case:
    """A population, and how many rows are drawn from it; ``n_source`` may be a long tail."""

    name: str
    population: Population
    n_source: int | str
    n_target: int

    @property
    def draws(self) -> int:
        plenty = isinstance(self.n_source, int) and self.n_source >= MANY_ROWS
        return FEW if plenty or len(self.population.classes) <= 100 else len(SEEDS)

    def counts(self, rng: np.random.Generator) -> IntArray:
        """Source rows per class: equally many on average, or a long tail in random order."""
        n_classes = len(self.population.classes)
        if isinstance(self.n_source, int):
            return rng.multinomial(self.n_source, np.full(n_classes, 1 / n_classes))
        return rng.permutation(np.round(np.geomspace(5, 500, n_classes)).astype(np.int64))


def run(lab: Lab) -> Blocks:
    """One table, a line per case."""
    lines = []
    for case in cases(lab):
        lines.append(measure(case, SEEDS[: lab.choose(case.draws, 1)]))
        lab.say(f"many: {' '.join(lines[-1])}")
    yield "many", report("many", markdown_table(HEADINGS, lines, left=1))


def cases(lab: Lab) -> Iterator[Case]:
    """The cases, population after population, so that one is in memory at a time."""
    if lab.small or lab.data is None:
        yield Case("synthetic", Population.synthetic(210, strength=7, rows_per_class=40, rng=0), 21_000, 10_000)
        return
    folder = Path(lab.data)
    for name, path in NETS.items():
        with np.load(folder / path) as file:
            population = Population(file["probs"], file["labels"].astype(int))
        yield from (Case(name, population, *size) for size in SIZES[100])
    population = imagenet(folder)
    yield from (Case("ImageNet, 19 nets", population, *size) for size in SIZES[1000])


def imagenet(folder: Path) -> Population:
    """The sparse scores with the missing mass shared among the classes that are not listed."""
    with np.load(folder / "imagenet" / "pool19_sparse.npz") as file:
        starts, labels = file["indptr"], file["labels"].astype(int)
        scores = np.zeros((len(labels), 1000), np.float32)
        scores[np.repeat(np.arange(len(labels)), np.diff(starts)), file["indices"]] = file["values"]
    listed = scores > 0
    rest = np.maximum(1 - scores.sum(axis=1), 0) / (~listed).sum(axis=1)
    return Population(np.where(listed, scores, rest[:, None].astype(np.float32)), labels)


def measure(case: Case, seeds: Sequence[int]) -> list[str]:
    """Means over draws, then PS-LP's largest sets and error, and the least seconds of processor time."""
    found = np.array([one_draw(case, seed) for seed in seeds])
    sizes = [f"{size:.4g}" for size in found[:, :6].mean(axis=0)]
    largest, worst, seconds = found[:, 5].max(), found[:, 6].max(), found[:, 7].min()
    ends = [f"{largest:.4g}", f"{worst:.4f}", f"{seconds:.1f}"]
    rows = case.n_source if isinstance(case.n_source, str) else f"{case.n_source:,}"
    return [case.name, rows, f"{case.n_target:,}", str(len(seeds)), *sizes, *ends]


def one_draw(case: Case, seed: int) -> list[float]:
    """Sizes, error and seconds of one draw with a target mix of its own."""
    population, task, rng = case.population, Task(EPSILON, DELTA), np.random.default_rng(seed)
    n_classes = len(population.classes)
    mix, counts = rng.dirichlet(np.full(n_classes, 0.5)), case.counts(rng)
    tally = draw_source(population, counts, rng)
    tally += Tally.from_target(population.draw(mix, case.n_target, rng)[0], soft=False)
    any_mix = thresholds_at_ranks(tally, ranks_for_any_mix(counts, epsilon=EPSILON, delta=DELTA))
    start = time.process_time()
    certified = PSLP().solve(tally, task).thresholds
    seconds = time.process_time() - start
    best, floor = (
        np.full(n_classes, population.best_threshold(error, mix))
        for error in (EPSILON, EPSILON - hidden_error(mix, counts))
    )
    known = if_the_mix_were_known(tally, mix)
    shown: list[FloatArray] = [best, floor, known, any_mix, PSLW().solve(tally, task).thresholds, certified]
    return [*(population.size(each, mix) for each in shown), population.error(certified, mix), seconds]


def hidden_error(mix: FloatArray, counts: IntArray) -> float:
    """The error that no rule could see ("What theory allows" of benchmarks/results/many-classes.md)."""
    return float((mix * np.expm1(-np.log(2 * DELTA) / counts)).max())


def if_the_mix_were_known(tally: Tally, mix: FloatArray) -> FloatArray:
    """Rescaled thresholds by the same bound at all of δ, with the true label shares instead of the box."""
    nothing, factors = np.zeros(tally.n_classes, bool), rescaling_factors(tally)
    options = options_for(tally.class_counts, nothing, tally.n_target, epsilon=EPSILON, delta=DELTA)
    evidence = Evidence.of_tally(tally, np.minimum(mix + ROUNDING, 1.0), nothing)
    plan = CorrectionPlan(EPSILON, DELTA, CorrectionShares(0.0, 0.0, 1.0), options, nothing, nothing)
    cut = find_largest_threshold(rescale(tally, factors), evidence, plan, delta=DELTA, steps=Steps())
    return undo_rescaling(cut, factors, tally)


def draw_source(population: Population, counts: IntArray, rng: np.random.Generator) -> Tally:
    """A tally of exactly ``counts`` rows per class, drawn with replacement."""
    order = np.argsort(population.index, kind="stable")
    members = np.bincount(population.index, minlength=len(counts))
    first, labels = np.cumsum(members) - members, np.repeat(np.arange(len(counts)), counts)
    rows = order[first[labels] + (rng.random(len(labels)) * members[labels]).astype(np.int64)]
    return Tally.from_scores(population.scores[rows], labels, soft=False)
