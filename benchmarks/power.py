"""What the test of label shift notices: refusal rates by violation and number of rows."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.lab import Blocks, Lab
from benchmarks.page import conditions
from benchmarks.violations import Violation, imagenet, real, simulated
from pacshift import Population
from pacshift.assumption import ASSUMPTION_SHARE, check_assumption
from pacshift.experiments.datasets import load_dataset
from pacshift.experiments.summary import markdown_table

DELTA = 0.05
SIZES, MANY_SIZES = (20_000, 5_000, 2_000), (150_000, 50_000)
DATASETS = {"heart": "heart", "cifar10": "CIFAR-10", "agnews": "AG News", "entity13": "Entity-13"}
UNSEEN = {
    "BRFSS 2020": "heart/scores_2020.npz",
    "IMDB": "imdb/scores.npz",
    "MNIST": "mnist/scores.npz",
    "20 Newsgroups": "20news/scores.npz",
    "CIFAR-10, VGG-16": "cifar10/scores_vgg16.npz",
    "Entity-13, AlexNet": "entity13/scores_alexnet.npz",
}
"""Real scores that no choice in the test was made by."""
MANY_TRIALS = 3
"""Draws of 1,000 classes: each takes seconds."""


def run(lab: Lab) -> Blocks:
    """One line per violation."""
    trials, sizes = lab.trials or lab.choose(20, 2), lab.choose(SIZES, SIZES[-1:])
    rows = [line(violation, sizes, trials, lab) for violation in violations(lab)]
    headings = "scores", "violation", *(f"{size:,} rows on each side" for size in sizes)
    text = [
        conditions("power" + (f" --trials {lab.trials}" if lab.trials else "")),
        f"Refused draws, of {trials} each; δ = {DELTA}, level {ASSUMPTION_SHARE * DELTA:g}.",
        markdown_table(headings, rows, left=2).strip(),
    ]
    if many := many_classes(lab):
        text += [f"With 1,000 classes, {MANY_TRIALS} draws each:", many]
    yield "power", "\n\n".join(text)


def violations(lab: Lab) -> Iterator[Violation]:
    """Simulated ones, and those on all real scores at hand."""
    yield from simulated(4.0, "simulated, 3 classes")
    if lab.small:
        return
    yield from simulated(2.0, "simulated, 3 classes, weak classifier")
    for name, title in DATASETS.items():
        data = load_dataset(name, lab.data)
        yield from real(title, Population(data.probs, data.labels))
    path = Path(lab.data or "") / "pathmnist" / "scores.npz"
    if lab.data and path.exists():
        stored = np.load(path)
        yield from real("PathMNIST", Population(stored["probs"], stored["labels"]))


def line(violation: Violation, sizes: tuple[int, ...], trials: int, lab: Lab) -> tuple[str, ...]:
    """Refusals at every size."""
    counts = [refusals(violation, size, trials) for size in sizes]
    lab.say(f"power: {violation.data}, {violation.name}: {counts} of {trials}")
    return violation.data, violation.name, *(f"{count}" for count in counts)


def refusals(violation: Violation, size: int, trials: int) -> int:
    """In how many draws label shift is refuted."""
    refuted = 0
    for trial in range(trials):
        rng = np.random.default_rng([*f"{violation.data}{violation.name}".encode(), size, trial])
        refuted += check_assumption(violation.draw(size, rng), level=ASSUMPTION_SHARE * DELTA).refuted
    return refuted


def many_classes(lab: Lab) -> str:
    """The table of ImageNet, where its scores are at hand."""
    if lab.small or not lab.data or not (Path(lab.data) / "imagenet").is_dir():
        return ""
    rows = []
    for violation in imagenet(Path(lab.data)):
        rows.append(line(violation, MANY_SIZES, MANY_TRIALS, lab))
    headings = "scores", "violation", *(f"{size:,} rows on each side" for size in MANY_SIZES)
    return markdown_table(headings, rows, left=2).strip()


def run_unseen(lab: Lab) -> Blocks:
    """The same violations on scores that no choice in the test was made by."""
    if not lab.data:
        raise SystemExit("power-unseen needs real scores. Name their folder with --data.")
    trials, sizes, rows = lab.trials or lab.choose(10, 1), lab.choose((20_000,), (2_000,)), []
    for title, path in list(UNSEEN.items())[: lab.choose(None, 1)]:
        stored = np.load(Path(lab.data) / path)
        population = Population(stored["probs"], stored["labels"])
        rows += [line(violation, sizes, trials, lab) for violation in real(title, population)]
    headings = "scores", "violation", *(f"{size:,} rows on each side" for size in sizes)
    title = f"Refused draws, of {trials} each, on scores that no choice in the test was made by."
    yield (
        "power-unseen",
        "\n\n".join([conditions("power-unseen"), title, markdown_table(headings, rows, left=2).strip()]),
    )
