"""One trial of one panel: draw source, target and test data to the mixes, run every method, measure."""

import warnings
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np

from pacshift.arrays import FloatArray, IntArray
from pacshift.calibrate import calibrate_tally
from pacshift.errors import AssumptionError, UninformativeWarning
from pacshift.experiments.datasets import Dataset, load_dataset, load_scores
from pacshift.experiments.panels import Panel
from pacshift.scores.check import ScoreMatrix
from pacshift.scores.transforms import resolve_transform
from pacshift.simulate import resample
from pacshift.tally import Tally

SCORE_OF = {"WCP": "aps", "APS": "aps"}
"""The authors run these two on randomised APS scores; every other method on the probability itself."""

Status = Literal["ok", "trivial", "refused"]


@dataclass(frozen=True)
class Experiment:
    """A panel together with all that decides its numbers."""

    panel: Panel
    seed: int = 0
    population: bool = False
    """Draw source and target from one base, so that the true error of a threshold is known exactly."""
    data_dir: str | None = None
    scores_file: str | None = None
    """Own data: this file takes the place of the panel's data set."""


@dataclass(frozen=True)
class TrialRow:
    """What one method did in one trial; a row of the results table."""

    panel: str
    trial: int
    method: str
    status: Status
    error: float
    """On the test rows, as the paper measures it; in population mode the true error."""
    size: float
    empty: float
    """Share of empty sets."""
    true_error: float
    """Over the whole base of the target, weighted to the target mix: no noise of a test draw."""
    best_size: float
    """Mean size of the smallest sets any single threshold could give at error <= ε, knowing everything."""


def run_trial(experiment: Experiment, trial: int, methods: Sequence[str]) -> tuple[TrialRow, ...]:
    """Run ``methods`` on the same draw. The result depends on nothing but the arguments."""
    draw = Draw(experiment, trial)
    return tuple(_run_method(draw, method) for method in methods)


def _run_method(draw: "Draw", method: str) -> TrialRow:
    panel = draw.experiment.panel
    score = SCORE_OF.get(method, "probability")
    status: Status = "ok"
    error = size = empty = true_error = np.nan
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UninformativeWarning)  # "trivial" in the table says it
            certificate = calibrate_tally(
                draw.tally(score),
                epsilon=panel.epsilon,
                delta=panel.delta,
                method=method,
                weights=panel.weights if method == "ORACLE" else None,
                rng=draw.rng(method),
            )
        error, size, empty = draw.measure(score, certificate.thresholds)
        known = draw.experiment.population  # measured on the whole target already
        true_error = error if known else draw.true_error(score, certificate.thresholds)
        status = "trivial" if certificate.trivial else "ok"
    except AssumptionError:
        status = "refused"  # the draw itself refutes label shift: no certificate, hence no sets to measure
    return TrialRow(panel.name, draw.trial, method, status, error, size, empty, true_error, draw.best_size)


class Draw:
    """The data of one trial, made when first asked for: methods that share a score share its tally."""

    def __init__(self, experiment: Experiment, trial: int) -> None:
        self.experiment = experiment
        self.trial = trial
        self.base = load_base(experiment)
        self._tallies: dict[str, Tally] = {}
        self._matrices: dict[str, FloatArray] = {}
        rng, panel = self.rng("draw"), experiment.panel
        everything = np.arange(len(self.base.labels))
        first, second = (everything, everything) if experiment.population else halves(self.base.labels, rng)
        self.target_base = second
        self.source = first[resample(self.base.labels[first], panel.source_mix, panel.n_source, rng)]
        self.target = second[resample(self.base.labels[second], panel.target_mix, panel.n_target, rng)]
        self.test = second[resample(self.base.labels[second], panel.target_mix, panel.n_test, rng)]

    def rng(self, purpose: str) -> np.random.Generator:
        """A generator of its own for every purpose: adding a method never changes another one's numbers."""
        key = [zlib.crc32(word.encode()) for word in (self.experiment.panel.name, purpose)]
        return np.random.default_rng([self.experiment.seed, self.trial, *key])

    def tally(self, score: str) -> Tally:
        """The counts that calibration sees."""
        if score not in self._tallies:
            probs, labels = self.base.probs, self.base.labels
            self._tallies[score] = Tally.from_scores(
                probs[self.source], labels[self.source], score=score, rng=self.rng("source " + score)
            ) + Tally.from_target(probs[self.target])
        return self._tallies[score]

    @cached_property
    def target_weights(self) -> FloatArray:
        """Weight of each row of the target's base that gives the base exactly the target mix."""
        labels = self.base.labels[self.target_base]
        counts = np.bincount(labels, minlength=self.experiment.panel.n_classes)
        return np.asarray((np.array(self.experiment.panel.target_mix) / np.maximum(counts, 1))[labels])

    def measure(self, score: str, thresholds: FloatArray) -> tuple[float, float, float]:
        """Error, mean size and share of empty sets: of the test rows, or in population mode of the target."""
        if self.experiment.population:
            rows, weights = self.target_base, self.target_weights
        else:
            rows, weights = self.test, np.full(len(self.test), 1 / len(self.test))
        sets = self.matrix(score, rows) >= thresholds
        sizes = np.count_nonzero(sets, axis=1)
        missed = ~sets[np.arange(len(rows)), self.base.labels[rows]]
        # Sums, not `@`: the same bits on any number of BLAS threads.
        return (
            float(weights[missed].sum()),
            float((weights * sizes).sum()),
            float(weights[sizes == 0].sum()),
        )

    def true_error(self, score: str, thresholds: FloatArray) -> float:
        """Error over the whole base of the target, weighted to the target mix."""
        labels = self.base.labels[self.target_base]
        truth = self.matrix(score, self.target_base)[np.arange(len(labels)), labels]
        return float(self.target_weights[truth < thresholds[labels]].sum())

    def matrix(self, score: str, rows: IntArray) -> FloatArray:
        """f(x, y) of the test rows or the target's base; kept for the next method with this score."""
        key = f"{'base' if rows is self.target_base else 'test'} {score}"
        if key not in self._matrices:
            scores = ScoreMatrix(self.base.probs[rows], tuple(range(self.base.n_classes)))
            blocks = resolve_transform(score).blocks(scores, self.rng(key))
            self._matrices[key] = np.concatenate([block for _, block in blocks])
        return self._matrices[key]

    @cached_property
    def best_size(self) -> float:
        """Mean size at the largest threshold whose true target error is at most ε."""
        labels = self.base.labels[self.target_base]
        probs = self.matrix("probability", self.target_base)
        truth = probs[np.arange(len(labels)), labels]
        threshold = best_threshold(truth, self.target_weights, self.experiment.panel.epsilon)
        return float((self.target_weights * np.count_nonzero(probs >= threshold, axis=1)).sum())


def best_threshold(scores: FloatArray, weights: FloatArray, epsilon: float) -> float:
    """Largest threshold that weighs at most ``epsilon`` of the true-label ``scores`` below it.

    >>> best_threshold(np.array([0.1, 0.2, 0.3, 0.4]), np.full(4, 0.25), 0.3)
    0.2
    """
    order = np.argsort(scores)
    below = np.cumsum(weights[order])  # weight lost by a threshold just above each score
    position = int(np.searchsorted(below, epsilon * (1 + 1e-12), side="right"))
    return float(scores[order][min(position, len(scores) - 1)])


def halves(labels: IntArray, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Two random halves of the rows, each with half of every class."""
    order = rng.permutation(len(labels))
    by_class = order[np.argsort(labels[order], kind="stable")]
    return by_class[::2], by_class[1::2]


def load_base(experiment: Experiment) -> Dataset:
    """The scores that the experiment draws from."""
    return _base(experiment.panel.dataset, experiment.data_dir, experiment.scores_file)


@lru_cache(maxsize=2)
def _base(name: str, data_dir: str | None, scores_file: str | None) -> Dataset:
    """A worker keeps the base of the panel it is at."""
    return load_scores(scores_file) if scores_file else load_dataset(name, data_dir)
