"""Lazy labels on real people: how many of n labels ``label --next`` asks for until the certificate is the same."""

import warnings
from itertools import product
from zlib import crc32

import numpy as np

from benchmarks.differing import PEOPLE, Pair, made_up, people
from benchmarks.lab import Blocks, Lab
from benchmarks.page import conditions
from pacshift import UninformativeWarning, calibrate, label_sheet, next_labels
from paper.experiments.summary import markdown_table

DELTA = 0.05
EPSILONS, BUDGETS = (0.05, 0.1), (200, 400, 1_000)
N_SOURCE, N_TARGET = 5_000, 5_000
AT_A_TIME = 20
"""Who labels fills in this many rows, the most telling first, or a twentieth of the sheet, and asks again."""


def run(lab: Lab) -> Blocks:
    """One line for each year of the survey, epsilon and size of the sheet."""
    found: dict[tuple[str, float, int], list[tuple[int, bool]]] = {}
    groups = {name: list(people(lab, name, year)) for name, year in PEOPLE.items()} if lab.data else {}
    if not lab.data:
        lab.say("lazy-labels: without --data three made-up classes instead of people")
        groups = {"made up": list(made_up())}
    for group, pairs in list(groups.items())[: lab.choose(None, 1)]:
        for epsilon, budget in product(EPSILONS[: lab.choose(2, 1)], BUDGETS[: lab.choose(3, 1)]):
            for pair in pairs[: lab.choose(None, 1)]:
                for trial in range(lab.trials or 1):
                    one = asked(pair, epsilon, budget, trial)
                    found.setdefault((group, epsilon, budget), []).append(one)
            mean = np.mean([n for n, _ in found[group, epsilon, budget]])
            lab.say(f"lazy-labels: {group}, {epsilon}, {budget}: {mean:.0f}")
    rows = []
    for (group, epsilon, budget), answers in found.items():
        labels = np.array([n for n, _ in answers])
        same = sum(is_same for _, is_same in answers)
        asked_for = f"{labels.mean():.0f} ({labels.min()} to {labels.max()})"
        rows.append((group, f"{epsilon:g}", f"{budget:,}", asked_for, f"{same} of {len(answers)}"))
    headings = "population", "ε", "labels in the sheet", "asked for", "same thresholds as with all"
    title = (
        f"δ = {DELTA}, {N_SOURCE:,} source and {N_TARGET:,} target rows; {AT_A_TIME} labels or a twentieth of "
        "the sheet, at a time, its pilot counted. Means over pairs of halves of the people, one certified for the "
        "other (least to most)."
    )
    text = [conditions("lazy-labels"), title, markdown_table(headings, rows, left=1).strip()]
    yield "lazy-labels", "\n\n".join(text)


def asked(pair: Pair, epsilon: float, budget: int, trial: int) -> tuple[int, bool]:
    """Labels that were asked for until none could change a thing, and whether the thresholds are those of all."""
    rng = np.random.default_rng([trial, crc32(pair.name.encode())])
    source, labels = pair.source.draw(pair.source_mix, N_SOURCE, rng)
    target, truth = pair.target.draw(pair.target_mix, N_TARGET, rng)
    sheet = label_sheet(
        target, budget=budget, epsilon=epsilon, delta=DELTA, rng=trial, classes=pair.source.classes
    )
    everything = truth[sheet.rows].tolist()
    given = [label if place < sheet.n_pilot else None for place, label in enumerate(everything)]
    data = source, labels, target
    while True:
        found = next_labels(*data, labelled=sheet.with_labels(given), classes=pair.source.classes)
        if not len(found.rows):
            break
        for place in found.rows[: max(AT_A_TIME, budget // 20)].tolist():
            given[place] = everything[place]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UninformativeWarning)
        lazy, full = (
            calibrate(
                *data,
                epsilon=epsilon,
                delta=DELTA,
                method="PS-T",
                classes=pair.source.classes,
                labelled=sheet.with_labels(some),
            )
            for some in (given, everything)
        )
    return sum(label is not None for label in given), bool(np.array_equal(lazy.thresholds, full.thresholds))
