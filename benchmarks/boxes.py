"""The hull beside the elimination: set sizes of PS-W, answers of "all labels" and time, on real scores."""

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.lab import Blocks, Lab
from pacshift import Population, Tally
from pacshift.methods import Task
from pacshift.methods.ps_w import PSW
from pacshift.methods.weight_box import Intervals
from paper.experiments.summary import markdown_table

SETS = (
    "heart/scores",
    "heart/scores_natural",
    "imdb/scores",
    "agnews/scores",
    "agnews/scores_gpt2_zeroshot",
    "chestxray14/scores",
    "pathmnist/scores",
    "cifar10/scores",
    "cifar10/scores_resnet50_cv",
    "cifar10/scores_vgg16",
    "mnist/scores",
    "entity13/scores",
    "entity13/scores_alexnet",
    "entity13/scores_pool10",
    "20news/scores",
    "cifar100/scores",
    "cifar100/scores_repvgg_a2",
)
"""All sets of full scores of different models that were at hand, but for models that differ little from these."""
EPSILON, ROWS, SHIFTS, DELTAS = 0.1, (5_000, 30_000), (0.1, 0.4), (0.05, 5e-4)
BOXES: tuple[Intervals, ...] = ("elimination", "hull")


@dataclass(frozen=True)
class Found:
    """What PS-W gave on one draw, by both boxes."""

    size: tuple[float, ...]
    error: tuple[float, ...]
    trivial: tuple[bool, ...]
    seconds: tuple[float, ...]


def run(lab: Lab) -> Blocks:
    """One line per set of scores, then all of them together."""
    populations = {name: population_of(Path(lab.data, f"{name}.npz")) for name in SETS} if lab.data else made_up()
    headings = ("scores", "classes", "size by hull / by elimination: median", "least", "largest",
                "all labels, elimination", "hull", "ms, elimination", "hull")  # fmt: skip
    rows, every = [], []
    for name, population in populations.items():
        lab.say(f"boxes: {name}")
        found = [one_draw(population, place, n) for place, n in enumerate(lab.choose(ROWS, ROWS[:1]) * 4)]
        rows.append((name, f"{len(population.classes)}", *words(found)))
        every += found
    rows.append((f"**{len(every)} draws**", "", *words(every)))
    missed = [sum(one.error[box] > EPSILON for one in every) for box in range(2)]
    told = f"Truly missed more than ε: {missed[0]} draws by elimination, {missed[1]} by the hull."
    yield "boxes", f"{markdown_table(headings, rows, left=1)}\n\n{told}"


def population_of(file: Path) -> Population:
    """At most 20,000 rows, which stand for the truth."""
    with np.load(file) as scores:
        probs, labels = scores["probs"].astype(float), scores["labels"].astype(int)
    kept = np.random.default_rng(0).permutation(len(labels))[:20_000]
    return Population(probs[kept], labels[kept])


def made_up() -> dict[str, Population]:
    """Where no real scores are at hand: that everything runs."""
    return {"made up": Population.synthetic(4, strength=3.0, rows_per_class=500, rng=0)}


def one_draw(population: Population, place: int, n_rows: int) -> Found:
    """Source and target of so many rows, a share of the target moved to one class."""
    rng, n_classes = np.random.default_rng([7, place]), len(population.classes)
    source_mix = rng.dirichlet(np.full(n_classes, 20.0))
    shift, delta = SHIFTS[place // 2 % 2], DELTAS[place // 4 % 2]
    target_mix = (1 - shift) * source_mix + shift * np.eye(n_classes)[rng.integers(n_classes)]
    tally = Tally.from_scores(*population.draw(source_mix, n_rows, rng))
    tally += Tally.from_target(population.draw(target_mix, n_rows, rng)[0])
    task, found = Task(epsilon=EPSILON, delta=delta), []
    for intervals in BOXES:
        start = time.process_time()
        cuts = PSW(intervals).solve(tally, task).thresholds
        took = time.process_time() - start
        measured = population.size(cuts, target_mix), population.error(cuts, target_mix)
        found.append((*measured, bool(np.isneginf(cuts).all()), took))
    return Found(*zip(*found, strict=True))


def words(found: list[Found]) -> tuple[str, ...]:
    """One line of the table: ratios of sizes, counts of "all labels", medians of seconds."""
    ratios = [one.size[1] / one.size[0] for one in found]
    shown = (float(np.median(ratios)), min(ratios), max(ratios))
    trivial = (sum(one.trivial[box] for one in found) for box in range(2))
    seconds = (np.median([one.seconds[box] for one in found]) for box in range(2))
    return (*(f"{ratio:.3f}" for ratio in shown), *map(str, trivial), *(f"{1e3 * each:.1f}" for each in seconds))
