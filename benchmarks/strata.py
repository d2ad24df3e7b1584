"""What strata cost where they say nothing, and what they certify wrongly without bounds of the mix."""

import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.lab import Blocks, Lab
from benchmarks.page import conditions
from benchmarks.surveys import Survey, halves, read_survey
from pacshift import AssumptionError, Population, UninformativeWarning, calibrate, calibrate_strata
from pacshift.arrays import BoolArray, FloatArray, IntArray
from paper.experiments.datasets import load_dataset
from paper.experiments.summary import markdown_table

EPSILON, DELTA, HARMFUL = 0.1, 0.05, 0.12
COST = {
    "heart-natural": ([80, 20], [95, 5], {1: (0, 0.2)}),
    "agnews": ([31, 31, 7, 31], [13, 13, 61, 13], {2: (0.4, 0.8)}),
}
"""Source mix, target mix and what is known, in every stratum."""
NUMBERS = (1, 2, 4, 8)
BOUNDS = {"no bounds worth the name": 0.9999, "at most 45 % sick in every stratum": 0.45}
"""The largest share that is sick in a stratum is 40 %, so the second is right."""


def run(lab: Lab) -> Blocks:
    """What strata cost; with the survey also what they certify."""
    rows = [(name, str(n), *cost(lab, name, n)) for name in COST for n in NUMBERS[: lab.choose(4, 2)]]
    size, trials = settings(lab)
    headings = "scores", "strata", "together", "every stratum", "error above ε, together", "in some stratum"
    command = conditions("strata" + (f" --trials {lab.trials}" if lab.trials else ""))
    title = (
        f"Labels per set, averages of {trials} draws of {size:,} rows a side, ε = {EPSILON}, δ = {DELTA}. Label "
        "shift holds, and strata are thrown by dice. One stratum is `calibrate` with the same `known_mix`."
    )
    yield "strata-cost", "\n\n".join([command, title, markdown_table(headings, rows, left=1).strip()])
    if lab.data and (Path(lab.data) / "heart" / "brfss2020.parquet").exists():
        yield "strata-danger", "\n\n".join([command, danger(lab)])


def settings(lab: Lab) -> tuple[int, int]:
    """Rows a side, and draws."""
    return lab.choose(20_000, 2_000), lab.trials or lab.choose(5, 1)


def cost(lab: Lab, name: str, n_strata: int) -> list[str]:
    """Sizes and failures of one line."""
    before, after, known = COST[name]
    data = load_dataset(name, lab.data)
    population, found = Population(data.probs, data.labels), []
    size, trials = settings(lab)
    mixes = [np.array(mix) / sum(mix) for mix in (before, after)]
    for seed in range(trials):
        rng = np.random.default_rng([seed, n_strata])
        source, target = (population.draw(mix, size, rng) for mix in mixes)
        own, others = rng.integers(n_strata, size=size), rng.integers(n_strata, size=size)
        mix = dict.fromkeys(range(n_strata), known)
        for each in (False, True):
            cuts = thresholds(source, target[0], own, others, mix, per_stratum=each)
            sizes = [population.size(cut, mixes[1]) for cut in cuts]
            errors = [population.error(cut, mixes[1]) for cut in cuts]
            found.append((np.mean(sizes), max(errors) if each else np.mean(errors)))
    size_of, error_of = np.array(found).reshape(trials, 2, 2).transpose(2, 1, 0)
    lab.say(f"strata: {name} {n_strata}: {size_of.mean(axis=1).round(3).tolist()}")
    return [
        *(f"{one:.3f}" for one in size_of.mean(axis=1)),
        *(f"{(one > EPSILON).sum()} of {trials}" for one in error_of),
    ]


def thresholds(
    source: tuple[NDArray[Any], NDArray[Any]],
    target: NDArray[Any],
    own: IntArray,
    others: IntArray,
    known: Mapping[int, Any],
    *,
    per_stratum: bool,
) -> FloatArray:
    """One line of thresholds per stratum."""
    rates: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UninformativeWarning)
        if len(known) == 1:
            return calibrate(*source, target, known_mix=known[0], **rates).thresholds[None]
        made = calibrate_strata(
            *source, target, strata=own, target_strata=others, known_mix=known, per_stratum=per_stratum, **rates
        )
    parts = made.values() if isinstance(made, dict) else [made]
    return np.concatenate([one.thresholds for one in parts]).reshape(len(known), -1)


def danger(lab: Lab) -> str:
    """How many halves of the people are certified with and without bounds, and how wrong."""
    size, rows = lab.choose(30_000, 3_000), []
    found: dict[str, list[float]] = {name: [] for name in BOUNDS}
    survey = read_survey(lab.data, 2020, part="strata")
    probs, labels = survey.scores, survey.labels
    splits = list(people(survey))[: lab.choose(None, 2)]
    for column, strata, source, target in splits:
        rng = np.random.default_rng(7)
        own, others = (rng.permutation(np.flatnonzero(half))[:size] for half in (source, target))
        for name, most in BOUNDS.items():
            known = {stratum: {1: (0, most)} for stratum in range(strata.max() + 1)}
            rows_of = (probs[own], labels[own]), probs[others], strata[own], strata[others]
            try:
                cuts = thresholds(*rows_of, known, per_stratum=False)
            except AssumptionError:
                continue
            missed = probs[target, labels[target]] < cuts[strata[target], labels[target]]
            found[name].append(float(missed.mean()))
        lab.say(f"strata: {column}: {found}")
    for name, errors in found.items():
        wrong = sum(error > HARMFUL for error in errors)
        rows.append((name, f"{len(errors)} of {len(splits)}", str(wrong), f"{max(errors, default=0):.2f}"))
    title = (
        f"One half of the people of BRFSS 2020 certified for the other half, {size:,} a side, ε = {EPSILON}, "
        f"δ = {DELTA}; strata are four age bands by sex (the other alone where people are split by one of them). "
        "Label shift holds exactly in none of them."
    )
    return f"{title}\n\n" + markdown_table(
        ("known_mix", "certified", f"of these, error above {HARMFUL}", "largest error"), rows, left=1
    )


def people(survey: Survey) -> Iterator[tuple[str, IntArray, BoolArray, BoolArray]]:
    """Both directions of every split that leaves enough people: strata of all, and who is source and target."""
    band, sex = np.minimum(survey.answers["AgeCategory"].astype(int) // 3, 3), survey.answers["Sex"].astype(int)
    for column, answers in survey.answers.items():
        strata = {"Sex": band, "AgeCategory": sex}.get(column, 2 * band + sex)
        for _, source, target in halves(answers):
            if min(source.sum(), target.sum()) >= 5000:
                yield column, strata, source, target
