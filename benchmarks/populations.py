"""One half of the people certified for the other half: BRFSS 2015, real populations without label shift."""

import warnings
from dataclasses import dataclass

import numpy as np

from benchmarks.lab import Blocks, Lab
from benchmarks.page import conditions
from benchmarks.surveys import YEARS, Survey, halves, read_survey
from pacshift import AssumptionError, Tally, UninformativeWarning
from pacshift.arrays import BoolArray
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


@dataclass(frozen=True)
class Outcome:
    """One draw: whether it is refused, and what a certificate would have claimed and done."""

    refused: bool
    refused_with_known: bool
    error: float | None
    implied: tuple[float, float] | None


def run(lab: Lab) -> Blocks:
    """Both directions of every split."""
    survey = read_survey(lab.data, YEAR, part="populations")
    trials, size = lab.trials or lab.choose(20, 1), lab.choose(30_000, 5_000)
    rows, harmful, missed = [], 0, [0, 0]
    for column in YEARS[YEAR].columns[: lab.choose(None, 2)]:
        for name, source, target in halves(survey.answers[column]):
            outcomes = [one_draw(survey, source, target, size, trial) for trial in range(trials)]
            lab.say(f"populations: {column} -> {name}: {sum(o.refused for o in outcomes)} of {trials} refused")
            rows.append((column, name, *cells(survey, source, target, outcomes)))
            if mean_error(outcomes) > HARMFUL:
                harmful += 1
                missed[0] += sum(not o.refused for o in outcomes) > 0.05 * trials
                missed[1] += sum(not o.refused_with_known for o in outcomes) > 0.05 * trials
    summary = (
        f"{harmful} directions would be certified with an error above {HARMFUL} without the test. Not refused in "
        f"at least 95 % of the draws: {missed[0]} of them, with known_mix {missed[1]}."
    )
    command = "populations" + (f" --trials {lab.trials}" if lab.trials else "")
    title = f"{size:,} people a side, {trials} draws, ε = {EPSILON}, δ = {DELTA}. {summary}"
    yield "populations", "\n\n".join([conditions(command), title, markdown_table(HEADINGS, rows, left=2).strip()])


def one_draw(survey: Survey, source: BoolArray, target: BoolArray, size: int, trial: int) -> Outcome:
    """Test, and certify as if there were no test."""
    rng = np.random.default_rng([trial, YEAR])
    people = [
        rng.choice(np.flatnonzero(half), min(size, int(half.sum())), replace=False) for half in (source, target)
    ]
    tally = Tally.from_scores(survey.scores[people[0]], survey.labels[people[0]], soft=False)
    tally = tally + Tally.from_target(survey.scores[people[1]], soft=False)
    level = ASSUMPTION_SHARE * DELTA
    refused = [check_assumption(tally, level=level, known=known).refuted for known in (None, KNOWN)]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UninformativeWarning)
            solution = PSLP().solve(tally, Task(EPSILON, DELTA))
    except AssumptionError:
        return Outcome(refused[0], refused[1], None, None)
    true = survey.scores[target, survey.labels[target]]
    error = float((true < solution.thresholds[survey.labels[target]]).mean())
    share = solution.prevalence
    implied = None if share is None else (float(share.lower[1]), float(share.upper[1]))
    return Outcome(refused[0], refused[1], error, implied)


def mean_error(outcomes: list[Outcome]) -> float:
    """Mean true error of the draws that would be certified; 0 where none would be."""
    errors = [outcome.error for outcome in outcomes if outcome.error is not None]
    return float(np.mean(errors)) if errors else 0.0


def cells(survey: Survey, source: BoolArray, target: BoolArray, outcomes: list[Outcome]) -> list[str]:
    """The rest of a line."""
    implied = np.array([outcome.implied for outcome in outcomes if outcome.implied is not None])
    certified = [outcome for outcome in outcomes if outcome.error is not None]
    words = "{:.0f} to {:.0f} %".format(*(100 * implied.mean(axis=0))) if len(implied) else "no mix fits"
    return [
        f"{100 * survey.labels[source].mean():.0f} %",
        f"{100 * survey.labels[target].mean():.0f} %",
        words,
        f"{mean_error(outcomes):.3f}" if certified else "not certified",
        f"{sum(outcome.refused for outcome in outcomes)} of {len(outcomes)}",
        f"{sum(outcome.refused_with_known for outcome in outcomes)} of {len(outcomes)}",
    ]
