"""How often does each method break its promise? Draws from a population whose true error is known exactly."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import softmax

from benchmarks.lab import Blocks, Lab, first_labels, quiet
from pacshift import AssumptionError, Certificate, Oracle, Population, Rows, Tally, calibrate
from pacshift.methods import METHODS
from pacshift.methods.base import Method
from pacshift.methods.guarantee import MEANINGS
from pacshift.methods.ps_w import PSW
from pacshift.scores.check import check_scores
from pacshift.scores.transforms import resolve_transform
from paper.experiments.summary import markdown_table

EPSILON, DELTA, SEED = 0.1, 0.1, 0
SOURCE_MIX = np.array([0.45, 0.35, 0.20])
TARGET_MIX = np.array([0.20, 0.20, 0.60])
N_LABELS = 400
"""Labelled target rows of methods that need some."""
PLAIN = {"probability": "probability", "aps": "aps-plain"}
"""Scores without random ties: the true error stays a count."""
HEADINGS = (
    "method", "promises", "target error above ε", "share", "mean target error", "mean set size", "all labels",
)  # fmt: skip


@dataclass
class Outcomes:
    """What happened to one method so far."""

    counts: Counter[str] = field(default_factory=Counter)
    errors: list[float] = field(default_factory=list)
    sizes: list[float] = field(default_factory=list)

    def add(self, certificate: Certificate, truth: Population) -> None:
        """One calibration, judged."""
        error = truth.error(certificate.thresholds, TARGET_MIX)
        self.counts["failed" if error > EPSILON else "trivial" if certificate.trivial else "kept"] += 1
        self.errors.append(error)
        self.sizes.append(truth.size(certificate.thresholds, TARGET_MIX))


def run(lab: Lab) -> Blocks:
    """Two sample sizes, one table each."""
    trials, parts = lab.trials or lab.choose(300, 3), []
    for size in lab.choose((1000, 10_000), (1000,)):
        lab.say(f"guarantee: {trials} trials with {size:,} source and target rows")
        title = f"**m = {size:,}, n = {size:,}, ε = {EPSILON}, δ = {DELTA}, {trials} trials**"
        parts += [title, table(measure(size, trials), trials).strip()]
    yield "guarantee", "\n\n".join(parts)


def make_population(rng: np.random.Generator, *, size: int = 30_000, spread: float = 1.1) -> Population:
    """Three Gaussian classes in the plane, the third the hardest; scores are the posterior on the source."""
    centres = np.array([[0.0, 2.2], [-1.9, -1.1], [0.4, 0.1]])
    labels = np.repeat(np.arange(3), size // 3)
    points = centres[labels] + spread * rng.standard_normal((len(labels), 2))
    distance = ((points[:, None, :] - centres) ** 2).sum(axis=2)
    return Population(softmax(np.log(SOURCE_MIX) - distance / (2 * spread**2), axis=1), labels)


def transform(population: Population, score: str) -> Population:
    """The same rows with other scores."""
    matrix = check_scores(population.scores, name="population")
    return Population(resolve_transform(score).of_all(matrix), population.index)


def variants() -> Iterator[tuple[str, Method]]:
    """Every method with its defaults, and PS-W with its sharper options."""
    for name, method in METHODS.items():
        yield name, method()
        if name == "PS-W":
            yield "PS-W, elimination", PSW(intervals="elimination")  # as published
            yield "PS-W, worst class", PSW(worst_case="class")


def measure(size: int, trials: int) -> dict[str, Outcomes]:
    """Calibrate every method on the same draws and compare with the truth."""
    population = make_population(np.random.default_rng(SEED))
    truths = {score: transform(population, score) for score in PLAIN.values()}
    outcomes = {name: Outcomes() for name, _ in variants()}
    for trial in range(trials):
        rng = np.random.default_rng([SEED, trial])
        source, target = population.draw(SOURCE_MIX, size, rng), population.draw(TARGET_MIX, size, rng)
        tallies = {
            score: Tally.from_scores(*source, score=score) + Tally.from_target(target[0]) for score in truths
        }
        for name, method in variants():
            score = PLAIN[method.default_score]
            request: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, "method": method}
            request["rng"] = np.random.default_rng([SEED, trial, 1])
            try:
                with quiet():  # counted in the last column
                    if method.needs_labels:  # then by rows
                        labels = first_labels(target[1], N_LABELS)
                        certificate = calibrate(*source, Rows(target[0], labels), **request)
                    else:
                        if method.needs_weights:
                            request["method"] = Oracle(weights=TARGET_MIX / SOURCE_MIX)
                        certificate = calibrate(tallies[score], **request)
            except AssumptionError:
                outcomes[name].counts["refused"] += 1
            else:
                outcomes[name].add(certificate, truths[score])
    return outcomes


def table(outcomes_by_method: dict[str, Outcomes], trials: int) -> str:
    """One row per method."""
    methods, rows = dict(variants()), []
    for name, outcomes in outcomes_by_method.items():
        failed = outcomes.counts["failed"]
        means = f"{np.mean(outcomes.errors):.4f}", f"{np.mean(outcomes.sizes):.3f}"
        counts = f"{failed}", f"{failed / trials:.3f}", *means, f"{outcomes.counts['trivial']}"
        rows.append((name, MEANINGS[methods[name].guarantee].in_short, *counts))
    return markdown_table(HEADINGS, rows)
