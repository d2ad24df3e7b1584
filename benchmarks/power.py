"""What the test of label shift notices: refusal rates by violation and number of rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.lab import Blocks, Lab
from benchmarks.page import conditions
from benchmarks.violations import Violation, imagenet, nineteen, real, simulated
from pacshift import Population
from pacshift.assumption import check_assumption
from pacshift.certification.delta import ASSUMPTION_SHARE
from pacshift.words.numbers import percent
from paper.experiments.datasets import load_dataset
from paper.experiments.summary import markdown_table

DELTA = 0.05
LEVEL = ASSUMPTION_SHARE * DELTA
SIZES, MANY_SIZES = (20_000, 5_000, 2_000), (150_000, 50_000)
DATASETS = {"heart-natural": "heart", "cifar10": "CIFAR-10", "agnews": "AG News", "entity13": "Entity-13"}
UNSEEN = {
    "AG News": "agnews/scores.npz",
    "PathMNIST": "pathmnist/scores.npz",
    "IMDB": "imdb/scores.npz",
    "20 Newsgroups": "20news/scores.npz",
}
"""Real scores that no choice in the test for up to 60 classes was made by."""
UNSEEN_SIZES = (1_000, 2_000, 5_000, 20_000)
NULL_TRIALS = 125
"""Draws of exact label shift for each of the unseen scores and sizes: 2,000 in all."""
LARGER_LEVEL = 0.05
"""A level that is tried beside the usual one where rows are few."""
FEW_ROWS = 5_000
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


def refusals(violation: Violation, size: int, trials: int, level: float = ASSUMPTION_SHARE * DELTA) -> int:
    """In how many draws label shift is rejected."""
    refuted = 0
    for trial in range(trials):
        rng = np.random.default_rng([*f"{violation.data}{violation.name}".encode(), size, trial])
        refuted += check_assumption(violation.draw(size, rng), level=level).refuted
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


@dataclass(frozen=True)
class Unseen:
    """Refused draws of one set of scores by number of rows: by violation, at a larger level, and false alarms."""

    refused: dict[str, list[int]]
    alarms: list[int]
    larger: list[int]
    """All violations at ``LARGER_LEVEL``, where there are fewer than 5,000 rows; and false alarms there."""
    larger_alarms: list[int]

    @classmethod
    def of(cls, title: str, population: Population, sizes: tuple[int, ...], trials: int, nulls: int) -> "Unseen":
        null, *broken = nineteen(title, population)
        small = [size for size in sizes if size < FEW_ROWS]
        return cls(
            {each.name: [refusals(each, size, trials) for size in sizes] for each in broken},
            [refusals(null, size, nulls) for size in sizes],
            [sum(refusals(each, size, trials, LARGER_LEVEL) for each in broken) for size in small],
            [refusals(null, size, nulls, LARGER_LEVEL) for size in small],
        )


def run_unseen(lab: Lab) -> Blocks:
    """19 violations and exact label shift on scores that no choice in the test was made by."""
    if not lab.data:
        raise SystemExit("power-unseen needs real scores. Name their folder with --data.")
    trials, sizes = lab.trials or lab.choose(10, 1), lab.choose(UNSEEN_SIZES, UNSEEN_SIZES[:1])
    found, nulls = {}, lab.choose(NULL_TRIALS, 3)
    for title, path in list(UNSEEN.items())[: lab.choose(None, 1)]:
        stored = np.load(Path(lab.data) / path)
        found[title] = Unseen.of(title, Population(stored["probs"], stored["labels"]), sizes, trials, nulls)
        lab.say(f"power-unseen: {title}: {np.sum(list(found[title].refused.values()), axis=0)}")
    headings = tuple(f"{size:,} rows on each side" for size in sizes)
    text = [
        conditions("power-unseen" + (f" --trials {lab.trials}" if lab.trials else "")),
        f"Refused share of 19 violations, {trials} draws each, at level {LEVEL:g}, on scores that no choice in "
        "the test was made by; mixes are random on both sides.",
        markdown_table(("scores", *headings), unseen_rates(found, len(sizes), trials, nulls), left=1).strip(),
        f"By violation, refused draws of {trials * len(found)}:",
        markdown_table(("violation", *headings), unseen_kinds(found), left=1).strip(),
    ]
    yield "power-unseen", "\n\n".join(text)


def unseen_rates(found: dict[str, Unseen], n_sizes: int, trials: int, nulls: int) -> Iterator[tuple[str, ...]]:
    """One line per set of scores, their mean, the larger level, and false alarms."""
    draws = trials * len(next(iter(found.values())).refused)
    rates = {title: np.sum(list(each.refused.values()), axis=0) / draws for title, each in found.items()}
    rates["mean"] = np.mean(list(rates.values()), axis=0)
    rates[f"mean, level {LARGER_LEVEL:g}"] = np.mean([each.larger for each in found.values()], axis=0) / draws
    for title, each in rates.items():
        yield title, *(percent(rate) for rate in each.tolist()), *[""] * (n_sizes - len(each))
    for level, alarms in (
        (LEVEL, [each.alarms for each in found.values()]),
        (LARGER_LEVEL, [each.larger_alarms for each in found.values()]),
    ):
        total = np.sum(alarms, axis=0).tolist()
        counts = [f"{count} of {nulls * len(found)}" for count in total]
        yield f"false alarms, level {level:g}", *counts, *[""] * (n_sizes - len(counts))


def unseen_kinds(found: dict[str, Unseen]) -> Iterator[tuple[str, ...]]:
    """One line per violation, over all scores."""
    for name in next(iter(found.values())).refused:
        yield name, *(str(count) for count in np.sum([each.refused[name] for each in found.values()], axis=0))
