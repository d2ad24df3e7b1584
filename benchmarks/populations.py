"""One half of the people certified for the other half: BRFSS 2015, real populations without label shift."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.lab import Blocks, Lab
from benchmarks.page import conditions
from pacshift import AssumptionError, Tally, UninformativeWarning
from pacshift.arrays import BoolArray, FloatArray, IntArray
from pacshift.assumption import ASSUMPTION_SHARE, check_assumption
from pacshift.bounds import Interval
from pacshift.experiments.summary import markdown_table
from pacshift.methods import PSLP, Task

COLUMNS = ("Sex", "Age", "Income", "Education", "Smoker", "PhysActivity", "GenHlth", "HighBP")
EPSILON, DELTA, HARMFUL = 0.1, 0.05, 0.12
KNOWN = Interval(np.array([0.7, 0.0]), np.array([1.0, 0.3]))
"""Surely at most 30 % have heart disease."""
HEADINGS = (
    "split", "certified for", "sick: source", "sick: target", "sick: implied", "error if certified", "refused",
    "refused with known_mix (0, 0.3)",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Survey:
    """Scores, labels and answers of the people that the classifier was not fitted on."""

    scores: FloatArray
    labels: IntArray
    answers: dict[str, FloatArray]


@dataclass(frozen=True)
class Outcome:
    """One draw: whether it is refused, and what a certificate would have claimed and done."""

    refused: bool
    refused_with_known: bool
    error: float | None
    implied: tuple[float, float] | None


def run(lab: Lab) -> Blocks:
    """Both directions of every split."""
    survey = read_survey(lab.data)
    trials, size = lab.trials or lab.choose(20, 1), lab.choose(30_000, 5_000)
    rows, harmful, missed = [], 0, [0, 0]
    for column in COLUMNS[: lab.choose(None, 2)]:
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


def read_survey(data: str | None) -> Survey:
    """The rows that were not used for fitting, in the order of the scores."""
    folder = Path(data or "") / "heart"
    if not data or not (folder / "brfss2015.parquet").exists():
        raise SystemExit(
            "populations: needs heart/brfss2015.parquet and heart/scores.npz. Name their folder with --data."
        )
    from pyarrow import parquet

    table = parquet.read_table(folder / "brfss2015.parquet")
    kept = ~np.asarray(table["fit"].to_numpy(), bool)
    stored = np.load(folder / "scores.npz")
    if not np.array_equal(table["HeartDiseaseorAttack"].to_numpy()[kept], stored["labels"]):
        raise SystemExit("populations: the rows of brfss2015.parquet and scores.npz do not match.")
    answers = {column: np.asarray(table[column].to_numpy()[kept], float) for column in COLUMNS}
    return Survey(stored["probs"].astype(float), stored["labels"].astype(np.int64), answers)


def halves(answers: FloatArray) -> Iterator[tuple[str, BoolArray, BoolArray]]:
    """Both directions of the split at the median."""
    low = answers <= np.median(answers)
    low = low if low.mean() < 0.9 else answers < np.median(answers)
    yield "higher values", low, ~low
    yield "lower values", ~low, low


def one_draw(survey: Survey, source: BoolArray, target: BoolArray, size: int, trial: int) -> Outcome:
    """Test, and certify as if there were no test."""
    rng = np.random.default_rng([trial, 2015])
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
