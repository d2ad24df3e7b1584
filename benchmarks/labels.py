"""What a few target labels gain: set sizes of PS-LP with 0 to 1,000 labelled target rows, on weak classifiers."""

import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.lab import Blocks, Lab
from benchmarks.page import conditions
from pacshift import Population, UninformativeWarning, calibrate
from pacshift.arrays import FloatArray, IntArray
from paper.experiments.datasets import load_dataset, load_scores
from paper.experiments.summary import markdown_table

EPSILON, DELTA = 0.1, 0.05
N_SOURCE, N_TARGET = 3_000, 5_000
LABELS = (0, 50, 200, 1_000)


def run(lab: Lab) -> Blocks:
    """One line per case: mean sizes, and how often the sets missed more than ε."""
    trials = lab.trials or lab.choose(20, 2)
    rows = []
    for name, population, mix in cases(lab):
        found = np.array([[trial(population, mix, n, seed) for n in LABELS] for seed in range(trials)])
        sizes, failed = found[..., 0].mean(axis=0), int((found[..., 1] > EPSILON).sum())
        rows.append((name, *(f"{size:.3f}" for size in sizes), f"{failed} of {found[..., 1].size}"))
        lab.say(f"labels: {name}: {sizes.round(3).tolist()}")
    headings = "scores", "none", *(f"{n:,} labels" for n in LABELS[1:]), "error above ε"
    text = [
        conditions("labels" + (f" --trials {lab.trials}" if lab.trials else "")),
        f"Labels per set, averages of {trials} draws. The source has the mix of the data set, in the target all "
        "classes are equally frequent.",
        markdown_table(headings, rows).strip(),
    ]
    yield "labels", "\n\n".join(text)


def cases(lab: Lab) -> Iterator[tuple[str, Population, FloatArray]]:
    """The heart scores that are shipped; with the folder of real scores two weaker models and a good one."""
    heart = load_dataset("heart-natural", lab.data)
    yield described("heart", heart.probs, heart.labels)
    folder = Path(lab.data or "")
    if lab.small or not lab.data or not (folder / "20news").exists():
        return
    chest, news = load_dataset("chestxray", lab.data), load_scores(folder / "20news" / "scores.npz")
    untrained = load_scores(folder / "agnews" / "scores_gpt2_zeroshot.npz")
    yield described("chest X-rays", chest.probs, chest.labels)
    yield described("AG News, zero-shot", untrained.probs, untrained.labels)
    yield described("20 Newsgroups", news.probs, news.labels)


def described(name: str, probs: FloatArray, labels: IntArray) -> tuple[str, Population, FloatArray]:
    """A name with the number of classes and the accuracy, the population, and its own mix."""
    accuracy = np.mean(probs.argmax(axis=1) == labels)
    return (
        f"{name} ({probs.shape[1]} classes, accuracy {accuracy:.2f})",
        Population(probs, labels),
        np.bincount(labels) / len(labels),
    )


def trial(population: Population, mix: FloatArray, n_labels: int, seed: int) -> tuple[float, float]:
    """Size and error on the target of one calibration; draws are the same whatever the number of labels."""
    rng = np.random.default_rng(seed)
    even = np.full(len(mix), 1 / len(mix))
    source, source_labels = population.draw(mix, N_SOURCE, rng)
    target, truth = population.draw(even, N_TARGET, rng)
    known = [label if place < n_labels else None for place, label in enumerate(truth.tolist())]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UninformativeWarning)
        certificate = calibrate(
            source,
            source_labels,
            target,
            epsilon=EPSILON,
            delta=DELTA,
            classes=population.classes,
            target_labels=known if n_labels else None,
        )
    return population.size(certificate.thresholds, even), population.error(certificate.thresholds, even)
