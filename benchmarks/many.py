"""Many classes: set sizes of PS-LP beside the best that knows everything, on ImageNet and CIFAR-100 scores.

Sizes and errors on the target are exact, because source and target are drawn from one population. Constants were
chosen on mixes called "development", the others are reported. Without real scores (``--small``) one synthetic
case runs.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.lab import Blocks, Lab
from benchmarks.page import conditions
from pacshift import PSLP, PSLW, Population, Tally
from pacshift.arrays import FloatArray, IntArray
from pacshift.experiments.summary import markdown_table
from pacshift.methods import Task
from pacshift.ps_lp.equal_miss_rate import thresholds_at_ranks
from pacshift.ps_lp.many_classes import ranks_for_any_mix

EPSILON, DELTA = 0.1, 0.01
HEADINGS = (
    "scores",
    "source rows",
    "target rows",
    "draws",
    "best",
    "any mix",
    "PS-LW",
    "PS-LP",
    "error",
    "seconds",
)
NETS = {"CIFAR-100, ResNet-20": "cifar100/scores.npz", "CIFAR-100, RepVGG-A2": "cifar100/scores_repvgg_a2.npz"}
IMAGENET = "ImageNet, mean of 19 nets"
SIZES = {
    100: ((20_000, 20_000), (50_000, 50_000)),
    1000: ((200_000, 100_000), (100_000, 100_000), (50_000, 50_000), ("5 to 500 per class", 100_000)),
}
SEEDS: dict[str, dict[int, tuple[int, ...]]] = {
    "reported": {100: (1, 2, 3), 1000: (1, 2, 3)},
    "development": {100: (201, 202), 1000: (21, 22)},
}
"""Seeds of the target mixes: those that no constant was chosen on, and those that were used for that."""


@dataclass(frozen=True, eq=False)
class Case:
    """A population, and how many rows are drawn from it; ``n_source`` may be a long tail."""

    name: str
    population: Population
    n_source: int | str
    n_target: int

    def counts(self, rng: np.random.Generator) -> IntArray:
        """Source rows per class: equally many on average, or a long tail in random order."""
        n_classes = len(self.population.classes)
        if isinstance(self.n_source, int):
            return rng.multinomial(self.n_source, np.full(n_classes, 1 / n_classes))
        return rng.permutation(np.round(np.geomspace(5, 500, n_classes)).astype(np.int64))


def run(lab: Lab) -> Blocks:
    """One table for the cases that constants were chosen on, one for the others."""
    texts = [conditions("many")]
    for group, seeds in SEEDS.items():
        lines = []
        for case in cases(lab):
            mixes = seeds.get(len(case.population.classes), seeds[100])
            lines.append(measure(case, lab.choose(mixes, mixes[:1])))
            lab.say(f"many {group}: {' '.join(lines[-1])}")
        texts.append(f"{group.capitalize()}:")
        texts.append(markdown_table(HEADINGS, lines, left=1).strip())
    yield "many", "\n\n".join(texts)


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
    yield from (Case(IMAGENET, population, *size) for size in SIZES[1000])


def imagenet(folder: Path) -> Population:
    """The sparse scores with the missing mass shared among the classes that are not listed."""
    with np.load(folder / "imagenet" / "pool19_sparse.npz") as file:
        starts, labels = file["indptr"], file["labels"].astype(int)
        scores = np.zeros((len(labels), 1000), np.float32)
        scores[np.repeat(np.arange(len(labels)), np.diff(starts)), file["indices"]] = file["values"]
    listed = scores > 0
    rest = np.maximum(1 - scores.sum(axis=1), 0) / (~listed).sum(axis=1)
    return Population(np.where(listed, scores, rest[:, None].astype(np.float32)), labels)


def measure(case: Case, seeds: tuple[int, ...]) -> list[str]:
    """Means over draws: the floor, two rules for any mix, PS-LP; its largest error and least seconds."""
    found = np.array([one_draw(case, seed) for seed in seeds])
    sizes = [f"{size:.3f}" for size in found[:, :4].mean(axis=0)]
    rows = f"{case.n_source:,}" if isinstance(case.n_source, int) else case.n_source
    worst, seconds = found[:, 4].max(), found[:, 5].min()
    return [case.name, rows, f"{case.n_target:,}", str(len(seeds)), *sizes, f"{worst:.4f}", f"{seconds:.1f}"]


def one_draw(case: Case, seed: int) -> list[float]:
    """Sizes, error and seconds of one draw with a target mix of its own."""
    rng, population = np.random.default_rng(seed), case.population
    n_classes = len(population.classes)
    mix, counts = rng.dirichlet(np.full(n_classes, 0.5)), case.counts(rng)
    tally = draw_source(population, counts, rng)
    tally = tally + Tally.from_target(population.draw(mix, case.n_target, rng)[0], soft=False)
    task = Task(EPSILON, DELTA)
    any_mix = thresholds_at_ranks(tally, ranks_for_any_mix(counts, epsilon=EPSILON, delta=DELTA))
    start = time.perf_counter()
    certified = PSLP().solve(tally, task).thresholds
    seconds = time.perf_counter() - start
    best = np.full(n_classes, population.best_threshold(EPSILON, mix))
    shown: list[FloatArray] = [best, any_mix, PSLW().solve(tally, task).thresholds, certified]
    return [*(population.size(each, mix) for each in shown), population.error(certified, mix), seconds]


def draw_source(population: Population, counts: IntArray, rng: np.random.Generator) -> Tally:
    """A tally of exactly ``counts`` rows per class, drawn with replacement."""
    order = np.argsort(population.index, kind="stable")
    members = np.bincount(population.index, minlength=len(counts))
    first, labels = np.cumsum(members) - members, np.repeat(np.arange(len(counts)), counts)
    rows = order[first[labels] + (rng.random(len(labels)) * members[labels]).astype(np.int64)]
    return Tally.from_scores(population.scores[rows], labels, soft=False)
