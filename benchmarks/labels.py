"""How many labels of a sheet ``label --next`` asks for, on real people, until the certificate is the same."""

from itertools import product
from zlib import crc32

import numpy as np

from benchmarks.differing import PEOPLE, Pair, made_up, people
from benchmarks.lab import Blocks, Lab, first_labels, quiet
from benchmarks.page import report
from pacshift import calibrate, label_sheet, next_labels
from paper.experiments.summary import markdown_table

DELTA = 0.05
EPSILONS, BUDGETS = (0.05, 0.1), (200, 400, 1_000)
N_ROWS = 5_000
AT_A_TIME = 20
"""Who labels fills in this many rows, the most telling first, or a twentieth of the sheet, and asks again."""


def run(lab: Lab) -> Blocks:
    """One line for each year of the survey, epsilon and size of the sheet."""
    groups = {described.group: people(lab, year) for year, described in PEOPLE.items()} if lab.data else {}
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
