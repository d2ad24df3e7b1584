"""What the test of label shift notices: refusal rates of 19 violations, by number of rows."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.lab import Blocks, Lab
from benchmarks.page import report
from benchmarks.violations import Violation, nineteen
from pacshift import Population
from pacshift.arrays import IntArray
from pacshift.assumption import check_assumption
from pacshift.certification.delta import ASSUMPTION_SHARE
from pacshift.words.numbers import percent
from paper.experiments.summary import markdown_table

LEVEL = ASSUMPTION_SHARE * 0.05
"""The usual level at δ = 0.05."""
UNSEEN = {
    "AG News": "agnews/scores.npz",
    "PathMNIST": "pathmnist/scores.npz",
    "IMDB": "imdb/scores.npz",
    "20 Newsgroups": "20news/scores.npz",
}
"""Real scores that no choice in the test for up to 60 classes was made by."""
SIZES = (1_000, 2_000, 5_000, 20_000)
NULL_TRIALS = 125
"""Draws of exact label shift for each of the scores and sizes: 2,000 in all."""


def run(lab: Lab) -> Blocks:
    """The violations and exact label shift on every set of scores."""
    trials, sizes = lab.trials or lab.choose(10, 1), lab.choose(SIZES, SIZES[:1])
    n_alarms, refused, alarms = lab.choose(NULL_TRIALS, 3), {}, []
    for title, population in populations(lab):
        null, *broken = nineteen(title, population)
        refused[title] = np.array([refusals(each, sizes, trials) for each in broken])
        alarms.append(refusals(null, sizes, n_alarms))
        lab.say(f"power: {title}: {refused[title].sum(axis=0)}")
    headings = tuple(f"{size:,} rows on each side" for size in sizes)
    rates = {title: counts.mean(axis=0) / trials for title, counts in refused.items()}
    rates["mean"] = np.mean(list(rates.values()), axis=0)
    lines = [(title, *map(percent, each.tolist())) for title, each in rates.items()]
    totals = (f"{count} of {n_alarms * len(refused)}" for count in np.sum(alarms, axis=0).tolist())
    kinds = zip((each.name for each in broken), np.sum(list(refused.values()), axis=0).tolist(), strict=True)
    about = (
        f"Refused share of 19 violations, {trials} draws each, at level {LEVEL:g}, on scores that no choice in "
        "the test was made by; mixes are random on both sides."
    )
    tables = (
        markdown_table(("scores", *headings), [*lines, ("false alarms", *totals)], left=1),
        f"By violation, refused draws of {trials * len(refused)}:",
        markdown_table(("violation", *headings), [(name, *map(str, counts)) for name, counts in kinds], left=1),
    )
    yield "power", report(lab.command("power"), about, *tables)


def populations(lab: Lab) -> Iterator[tuple[str, Population]]:
    """Those of the real scores; simulated ones where there are none."""
    if not lab.data:
        lab.say("power: without --data simulated scores of three classes instead of real ones")
        yield "simulated", Population.synthetic(3, strength=4.0, rows_per_class=20_000, rng=0)
        return
    for title, path in list(UNSEEN.items())[: lab.choose(None, 1)]:
        with np.load(Path(lab.data) / path) as stored:
            yield title, Population(stored["probs"], stored["labels"])


def refusals(violation: Violation, sizes: tuple[int, ...], trials: int) -> IntArray:
    """In how many draws of each size label shift is rejected."""
    counts = np.zeros(len(sizes), int)
    for place, size in enumerate(sizes):
        for trial in range(trials):
            rng = np.random.default_rng([*f"{violation.data}{violation.name}".encode(), size, trial])
            counts[place] += check_assumption(violation.draw(size, rng), level=LEVEL).refuted
    return counts
