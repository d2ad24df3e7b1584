"""How frequent is each class on the target: width and coverage of intervals, beside ppi_py, on the same draws."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.lab import Blocks, Lab
from benchmarks.page import conditions
from benchmarks.peers import MIX_PEER, JobFailed, run_job
from pacshift import Population, prevalence
from pacshift.arrays import FloatArray
from paper.experiments.summary import markdown_table

DELTA = 0.05
HEADINGS = (
    "classes", "classifier right", "rows of source and target", "draws", "**pacshift**: worst coverage",
    "mean width", "seconds", "ppi_py: worst coverage", "mean width", "seconds",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A made-up classifier with its number of rows; the first class is twice as frequent on the target."""

    n_classes: int
    strength: float
    rows: int

    @cached_property
    def population(self) -> Population:
        return Population.synthetic(self.n_classes, strength=self.strength, rows_per_class=2000, rng=0)

    @property
    def source_mix(self) -> FloatArray:
        return np.full(self.n_classes, 1 / self.n_classes)

    @property
    def target_mix(self) -> FloatArray:
        raised = np.ones(self.n_classes)
        raised[0] = 2.0
        mix: FloatArray = raised / raised.sum()
        return mix

    @property
    def accuracy(self) -> float:
        scores, labels = self.population.scores, self.population.index
        return float((scores.argmax(axis=1) == labels).mean())


CASES = tuple(
    Case(n_classes, strength, rows)
    for n_classes, strengths in ((2, (0.2, 0.6, 2.2)), (10, (4.3,)))
    for strength in strengths
    for rows in (1_000, 10_000)
)
"""Weak and strong classifiers, small and large samples; of two classes right on about 55, 62 and 86 %."""


@dataclass(frozen=True, eq=False)
class Found:
    """Intervals of shape (trials, classes, 2), and the seconds of one trial."""

    intervals: FloatArray
    seconds: float

    def cells(self, truth: FloatArray) -> tuple[str, str, str]:
        """Coverage of the class covered worst, mean width, seconds.

        >>> found = Found(np.array([[[0.1, 0.3], [0.7, 0.9]], [[0.3, 0.5], [0.6, 0.8]]]), 0.02)
        >>> found.cells(np.array([0.2, 0.8]))
        ('0.500', '0.200', '0.02')
        """
        low, high = self.intervals[..., 0], self.intervals[..., 1]
        covered = ((low <= truth) & (truth <= high)).mean(axis=0)
        return f"{covered.min():.3f}", f"{(high - low).mean():.3f}", f"{self.seconds:.2g}"


def run(lab: Lab) -> Blocks:
    """One table: a line per case."""
    most, rows = lab.trials or lab.choose(500, 2), []
    for case in lab.choose(CASES, CASES[:1]):
        trials = most if case.n_classes == 2 else most // 10  # ppi_py takes seconds per draw of ten classes
        lab.say(f"prevalence: {case.n_classes} classes, {case.rows:,} rows, {trials} draws")
        found = [ours(case, trials), theirs(lab, case, trials)]
        size = (f"{case.n_classes}", f"{100 * case.accuracy:.0f} %", f"{case.rows:,}", f"{trials}")
        rows.append((*size, *(cell for one in found for cell in _cells(one, case.target_mix))))
    chance = np.sqrt(DELTA * (1 - DELTA) / most)
    title = (
        f"δ = {DELTA}: coverage should be at least {1 - DELTA:g}. Its standard error is about {chance:.2f} with "
        f"{most} draws. Seconds are processor time per draw."
    )
    table = markdown_table(HEADINGS, rows, left=0).strip()
    command = "prevalence" + (f" --trials {lab.trials}" if lab.trials else "")
    yield "prevalence", "\n\n".join([conditions(command, stage=lab.stage.among((MIX_PEER,))), title, table])


def _cells(found: Found | None, truth: FloatArray) -> Sequence[str]:
    return ("–", "–", "–") if found is None else found.cells(truth)


def draw(case: Case, trial: int) -> tuple[Any, Any, Any]:
    """Scores and labels of the source, scores of the target."""
    rng = np.random.default_rng([case.n_classes, case.rows, trial])
    source, labels = case.population.draw(case.source_mix, case.rows, rng)
    target, _ = case.population.draw(case.target_mix, case.rows, rng)
    return source, labels, target


def ours(case: Case, trials: int) -> Found:
    """All classes at once hold with probability 1 - δ."""
    intervals, seconds = [], 0.0
    for trial in range(trials):
        drawn = draw(case, trial)
        start = time.process_time()
        mix = prevalence(*drawn, delta=DELTA).mix
        seconds += time.process_time() - start
        intervals.append(np.column_stack([mix.lower, mix.upper]))
    return Found(np.array(intervals), seconds / trials)


def theirs(lab: Lab, case: Case, trials: int) -> Found | None:
    """Each class by itself holds with probability 1 - δ, says the library; None where it cannot be asked."""
    if not lab.stage.ready((MIX_PEER,)):
        return None
    draws = [draw(case, trial) for trial in range(trials)]
    with TemporaryDirectory() as name:
        np.savez(
            Path(name, "predictions.npz"),
            labels=[labels for _, labels, _ in draws],
            predicted=[source.argmax(axis=1) for source, _, _ in draws],
            target=[target.argmax(axis=1) for _, _, target in draws],
        )
        job = {"kind": "prevalence", "n_classes": case.n_classes, "delta": DELTA}
        try:
            answer = run_job(lab.stage, MIX_PEER, job, Path(name))
        except JobFailed as failure:
            lab.say(f"prevalence: ppi_py could not answer: {failure}")
            return None
    return Found(np.array(answer["intervals"]), answer["seconds"])
