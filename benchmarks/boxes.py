"""The hull beside the elimination: set sizes of PS-W, answers of "all labels" and time, on real scores."""

import time
from pathlib import Path

import numpy as np

from benchmarks.lab import Blocks, Lab
from pacshift import Population, Tally
from pacshift.arrays import FloatArray
from pacshift.methods import Task
from pacshift.methods.ps_w import PSW
from pacshift.methods.weight_box import Intervals
from paper.experiments.summary import markdown_table

SETS = (
    "heart/scores", "heart/scores_natural", "imdb/scores", "agnews/scores", "agnews/scores_gpt2_zeroshot",
    "chestxray14/scores", "pathmnist/scores", "cifar10/scores", "cifar10/scores_resnet50_cv",
    "cifar10/scores_vgg16", "mnist/scores", "entity13/scores", "entity13/scores_alexnet",
    "entity13/scores_pool10", "20news/scores", "cifar100/scores", "cifar100/scores_repvgg_a2",
)  # fmt: skip
"""All sets of full scores of different models that were at hand, but for models that differ little from these."""
EPSILON, ROWS, SHIFTS, DELTAS = 0.1, (5_000, 30_000), (0.1, 0.4), (0.05, 5e-4)
BOXES: tuple[Intervals, ...] = ("elimination", "hull")


def run(lab: Lab) -> Blocks:
    """One line per set of scores, then all of them together."""
    populations = {name: population_of(Path(lab.data, f"{name}.npz")) for name in SETS} if lab.data else made_up()
    headings = ("scores", "classes", "size by hull / by elimination: median", "least", "largest",
                "all labels, elimination", "hull", "ms, elimination", "hull")  # fmt: skip
    rows, every = [], []
    for name, population in populations.items():
        lab.say(f"boxes: {name}")
        draws = [draw(population, place, n) for place, n in enumerate(lab.choose(ROWS, ROWS[:1]) * 4)]
        rows.append((name, f"{len(population.classes)}", *cells(np.array(draws))))
        every += draws
    rows.append((f"**{len(every)} draws**", "", *cells(np.array(every))))
    missed = (np.array(every)[:, :, 1] > EPSILON).sum(axis=0)
    remark = f"Truly missed more than ε: {missed[0]} draws by elimination, {missed[1]} by the hull."
    yield "boxes", f"{markdown_table(headings, rows, left=1)}\n\n{remark}"


def population_of(file: Path) -> Population:
    """At most 20,000 rows, which stand for the truth."""
    with np.load(file) as scores:
        probs, labels = scores["probs"].astype(float), scores["labels"].astype(int)
    kept = np.random.default_rng(0).permutation(len(labels))[:20_000]
    return Population(probs[kept], labels[kept])


def made_up() -> dict[str, Population]:
    """Where no real scores are at hand: that everything runs."""
    return {"made up": Population.synthetic(4, strength=3.0, rows_per_class=500, rng=0)}


def draw(population: Population, place: int, n_rows: int) -> list[tuple[float, ...]]:
    """Size, error, whether all labels are answered, and seconds, by both boxes.

    Source and target have so many rows; a share of the target is moved to one class.
    """
    rng, n_classes = np.random.default_rng([7, place]), len(population.classes)
    source_mix = rng.dirichlet(np.full(n_classes, 20.0))
    shift, delta = SHIFTS[place // 2 % 2], DELTAS[place // 4 % 2]
    target_mix = (1 - shift) * source_mix + shift * np.eye(n_classes)[rng.integers(n_classes)]
    tally = Tally.from_scores(*population.draw(source_mix, n_rows, rng))
    tally += Tally.from_target(population.draw(target_mix, n_rows, rng)[0])
    answers: list[tuple[float, ...]] = []
    for intervals in BOXES:
        start = time.process_time()
        cuts = PSW(intervals).solve(tally, Task(epsilon=EPSILON, delta=delta)).thresholds
        seconds = time.process_time() - start
        sizes = population.size(cuts, target_mix), population.error(cuts, target_mix)
        answers.append((*sizes, float(np.isneginf(cuts).all()), seconds))
    return answers


def cells(draws: FloatArray) -> tuple[str, ...]:
    """One line of the table: ratios of sizes, counts of "all labels", medians of seconds."""
    ratios = draws[:, 1, 0] / draws[:, 0, 0]
    return (
        *(f"{ratio:.3f}" for ratio in (np.median(ratios), ratios.min(), ratios.max())),
        *(f"{count:.0f}" for count in draws[..., 2].sum(axis=0)),
        *(f"{1e3 * each:.1f}" for each in np.median(draws[..., 3], axis=0)),
    )
