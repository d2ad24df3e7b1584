"""What labels of target rows gain, and how many of a sheet are needed.

``run``: set sizes of PS-LP with 0 to 1,000 labelled target rows, on weak classifiers. ``run_lazy``: how many of n
labels ``label --next`` asks for, on real people, until the certificate is the same.
"""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from zlib import crc32

import numpy as np

from benchmarks.differing import PEOPLE, Pair, made_up, people
from benchmarks.lab import Blocks, Lab, first_labels, quiet
from benchmarks.page import report
from pacshift import Population, Rows, calibrate, label_sheet, next_labels
from pacshift.arrays import FloatArray, IntArray
from paper.experiments.datasets import load_dataset, load_scores
from paper.experiments.summary import markdown_table

EPSILON, DELTA = 0.1, 0.05
N_SOURCE, N_TARGET = 3_000, 5_000
LABELS = (0, 50, 200, 1_000)

EPSILONS, BUDGETS = (0.05, 0.1), (200, 400, 1_000)
N_ROWS = 5_000
AT_A_TIME = 20
"""Who labels fills in this many rows, the most telling first, or a twentieth of the sheet, and asks again."""


def run(lab: Lab) -> Blocks:
    """One line per case: mean sizes, and how often the sets missed more than ε."""
    trials, rows = lab.trials or lab.choose(20, 2), []
    for name, population, mix in cases(lab):
        found = np.array([[trial(population, mix, n, seed) for n in LABELS] for seed in range(trials)])
        sizes, failed = found[..., 0].mean(axis=0), int((found[..., 1] > EPSILON).sum())
        rows.append((name, *(f"{size:.3f}" for size in sizes), f"{failed} of {found[..., 1].size}"))
        lab.say(f"labels: {name}: {sizes.round(3).tolist()}")
    headings = "scores", "none", *(f"{n:,} labels" for n in LABELS[1:]), "error above ε"
    about = (
        f"Labels per set, averages of {trials} draws. The source has the mix of the data set, in the target all "
        "classes are equally frequent."
    )
    yield "labels", report(lab.command("labels"), about, markdown_table(headings, rows))


def cases(lab: Lab) -> Iterator[tuple[str, Population, FloatArray]]:
    """The heart scores that are shipped; with the folder of real scores two weaker models and a good one."""
    heart = load_dataset("heart-natural", lab.data)
    yield describe("heart", heart.probs, heart.labels)
    folder = Path(lab.data or "")
    if lab.small or not lab.data or not (folder / "20news").exists():
        return
    chest, news = load_dataset("chestxray", lab.data), load_scores(folder / "20news" / "scores.npz")
    untrained = load_scores(folder / "agnews" / "scores_gpt2_zeroshot.npz")
    for name, data in {"chest X-rays": chest, "AG News, zero-shot": untrained, "20 Newsgroups": news}.items():
        yield describe(name, data.probs, data.labels)


def describe(name: str, probs: FloatArray, labels: IntArray) -> tuple[str, Population, FloatArray]:
    """A name with the number of classes and the accuracy, the population, and its own mix."""
    accuracy = np.mean(probs.argmax(axis=1) == labels)
    title = f"{name} ({probs.shape[1]} classes, accuracy {accuracy:.2f})"
    return title, Population(probs, labels), np.bincount(labels) / len(labels)


def trial(population: Population, mix: FloatArray, n_labels: int, seed: int) -> tuple[float, float]:
    """Size and error on the target of one calibration; draws are the same whatever the number of labels."""
    rng, even = np.random.default_rng(seed), np.full(len(mix), 1 / len(mix))
    source = population.draw(mix, N_SOURCE, rng)
    target, truth = population.draw(even, N_TARGET, rng)
    known = first_labels(truth, n_labels) if n_labels else None
    with quiet():
        certificate = calibrate(
            *source, Rows(target, known), epsilon=EPSILON, delta=DELTA, classes=population.classes
        )
    return population.size(certificate.thresholds, even), population.error(certificate.thresholds, even)


def run_lazy(lab: Lab) -> Blocks:
    """One line for each year of the survey, epsilon and size of the sheet."""
    groups = {name: people(lab, name, year) for name, year in PEOPLE.items()} if lab.data else {}
    if not lab.data:
        lab.say("lazy-labels: without --data three made-up classes instead of people")
        groups = {"made up": made_up()}
    rows = []
    for group, members in list(groups.items())[: lab.choose(None, 1)]:
        pairs = list(members)[: lab.choose(None, 1)]
        for epsilon, budget in product(EPSILONS[: lab.choose(2, 1)], BUDGETS[: lab.choose(3, 1)]):
            answers = [
                label_lazily(pair, epsilon, budget, number) for pair in pairs for number in range(lab.trials or 1)
            ]
            labels, same = np.array(answers).T
            counts = f"{labels.mean():.0f} ({labels.min()} to {labels.max()})"
            rows.append((group, f"{epsilon:g}", f"{budget:,}", counts, f"{same.sum()} of {len(answers)}"))
            lab.say(f"lazy-labels: {rows[-1]}")
    headings = "population", "ε", "labels in the sheet", "asked for", "same thresholds as with all"
    about = (
        f"δ = {DELTA}, {N_ROWS:,} source and target rows; {AT_A_TIME} labels, or a twentieth of "
        "the sheet, at a time, its pilot counted. Means over pairs of halves of the people, one certified for the "
        "other (least to most)."
    )
    yield "lazy-labels", report("lazy-labels", about, markdown_table(headings, rows, left=1))


def label_lazily(pair: Pair, epsilon: float, budget: int, number: int) -> tuple[int, bool]:
    """Labels that were asked for until none could change a thing, and whether the thresholds are those of all."""
    rng, classes = np.random.default_rng([number, crc32(pair.name.encode())]), pair.source.classes
    source, labels = pair.source.draw(pair.source_mix, N_ROWS, rng)
    target, truth = pair.target.draw(pair.target_mix, N_ROWS, rng)
    sheet = label_sheet(target, budget=budget, epsilon=epsilon, delta=DELTA, rng=number, classes=classes)
    all_labels = truth[sheet.rows]
    few_labels = first_labels(all_labels, sheet.n_pilot)
    while True:
        wanted = next_labels(source, labels, target, labelled=sheet.with_labels(few_labels), classes=classes).rows[
            : max(AT_A_TIME, budget // 20)
        ]
        if not len(wanted):
            break
        for place in wanted.tolist():
            few_labels[place] = all_labels[place].item()
    with quiet():
        lazy, full = (
            calibrate(
                source, labels, target, epsilon=epsilon, delta=DELTA, method="PS-T", classes=classes,
                labelled=sheet.with_labels(known),
            )
            for known in (few_labels, all_labels.tolist())
        )  # fmt: skip
    n_labels = sum(label is not None for label in few_labels)
    return n_labels, bool(np.array_equal(lazy.thresholds, full.thresholds))
