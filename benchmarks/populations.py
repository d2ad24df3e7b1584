"""One half of the people certified for the other half: BRFSS 2015, real populations without label shift."""

from pathlib import Path

import numpy as np

from benchmarks.differing import PEOPLE, halves, read_survey
from benchmarks.lab import Blocks, Lab, quiet
from benchmarks.page import report
from pacshift import AssumptionError, Population, Tally
from pacshift.arrays import BoolArray, FloatArray
from pacshift.assumption import check_assumption
from pacshift.bounds import Interval
from pacshift.certification.delta import ASSUMPTION_SHARE
from pacshift.methods import PSLP, Task
from paper.experiments.summary import markdown_table

YEAR = 2015
EPSILON, DELTA, HARMFUL = 0.1, 0.05, 0.12
KNOWN = Interval(np.array([0.7, 0.0]), np.array([1.0, 0.3]))
"""Surely at most 30 % have heart disease."""
HEADINGS = (
    "split", "certified for", "sick: source", "sick: target", "sick: implied", "error if certified", "refused",
    "refused with known_mix (0, 0.3)",
)  # fmt: skip


def run(lab: Lab) -> Blocks:
    """Both directions of every split."""
    if lab.data is None:
        raise SystemExit("populations needs the answers to the survey: --data DIR")
    people, answers = read_survey(Path(lab.data) / "heart", YEAR)
    trials, size = lab.trials or lab.choose(20, 1), lab.choose(30_000, 5_000)
    rows, n_harmful, missed = [], 0, np.zeros(2, int)
    for column in PEOPLE[YEAR].columns[: lab.choose(None, 2)]:
        for name, source, target in halves(answers[column]):
            draws = np.array([draw(people, source, target, size, trial) for trial in range(trials)])
            refused, (error, *_) = draws[:, :2].sum(axis=0).astype(int), mean(draws[:, 2:])
            lab.say(f"populations: {column} -> {name}: {refused[0]} of {trials} refused")
            if error > HARMFUL:
                n_harmful += 1
                missed += trials - refused > 0.05 * trials
            rows.append((column, name, *cells(people, source, target, draws)))
    about = (
        f"{size:,} people a side, {trials} draws, ε = {EPSILON}, δ = {DELTA}. "
        f"{n_harmful} directions would be certified with an error above {HARMFUL} without the test. Not refused "
        f"in at least 95 % of the draws: {missed[0]} of them, with known_mix {missed[1]}."
    )
    yield "populations", report(lab.command("populations"), about, markdown_table(HEADINGS, rows, left=2))


def draw(people: Population, source: BoolArray, target: BoolArray, size: int, trial: int) -> tuple[float, ...]:
    """Refused, also with a known mix; error and implied share of the sick as if there were no test, or NaN."""
    rng, nothing = np.random.default_rng([trial, YEAR]), (np.nan,) * 3
    drawn, asked = (
        rng.choice(np.flatnonzero(half), min(size, int(half.sum())), replace=False) for half in (source, target)
    )
    tally = Tally.from_scores(people.scores[drawn], people.index[drawn], soft=False)
    tally = tally + Tally.from_target(people.scores[asked], soft=False)
    level = ASSUMPTION_SHARE * DELTA
    refused = [check_assumption(tally, level=level, known=known).refuted for known in (None, KNOWN)]
    try:
        with quiet():
            solution = PSLP().solve(tally, Task(EPSILON, DELTA))
    except AssumptionError:
        return *refused, *nothing
    true_scores, labels = people.scores[target, people.index[target]], people.index[target]
    error, share = float((true_scores < solution.thresholds[labels]).mean()), solution.prevalence
    return *refused, error, *(nothing[1:] if share is None else (share.lower[1], share.upper[1]))


def mean(columns: FloatArray) -> FloatArray:
    """The mean of each column over the draws that have a number there; NaN where none has."""
    known = ~np.isnan(columns)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(known, columns, 0.0).sum(axis=0) / known.sum(axis=0))


def cells(people: Population, source: BoolArray, target: BoolArray, draws: FloatArray) -> list[str]:
    """The rest of a line."""
    error, low, high = mean(draws[:, 2:])
    return [
        *(f"{100 * people.index[half].mean():.0f} %" for half in (source, target)),
        "no mix fits" if np.isnan(low) else f"{100 * low:.0f} to {100 * high:.0f} %",
        "not certified" if np.isnan(error) else f"{error:.3f}",
        *(f"{refused:.0f} of {len(draws)}" for refused in draws[:, :2].sum(axis=0)),
    ]
