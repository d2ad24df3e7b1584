"""One trial of one panel: draw source, target and test data to the mixes, run every method, measure."""

import inspect
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np

from pacshift.arrays import FloatArray, IntArray
from pacshift.assumption import check_assumption
from pacshift.certification.delta import ASSUMPTION_SHARE
from pacshift.errors import AssumptionError, InputError
from pacshift.evaluation import evaluate
from pacshift.methods import METHODS, PSC, PSW, Guarantee, Method, Oracle, Task
from pacshift.methods.base import check_method
from pacshift.scores.check import ScoreMatrix
from pacshift.scores.transforms import resolve_transform
from pacshift.simulate import Population, resample
from pacshift.tally import Tally
from paper.experiments.datasets import Dataset, load_dataset, load_scores
from paper.experiments.panels import Panel

PAPER_SCORES = {"WCP": "aps"}
"""The authors run WCP on randomised APS scores; every other method on its default score."""

AS_PUBLISHED: dict[str, Method] = {name: kind() for name, kind in METHODS.items()} | {
    "PS-W": PSW(intervals="elimination"),
    "PS-C": PSC(intervals="elimination"),
}
"""What a name stands for in the experiments: the published form, whatever the package's default is."""

Status = Literal["ok", "trivial", "refused"]


@dataclass(frozen=True)
class Experiment:
    """A panel together with everything that determines its numbers."""

    panel: Panel
    seed: int = 0
    population: bool = False
    """Draw source and target from one base, so that the true error of a threshold is known exactly."""
    data_dir: str | None = None
    scores_file: str | None = None
    """Own data: this file is used instead of the panel's data set."""


@dataclass(frozen=True)
class TrialRow:
    """What one method achieved in one trial; one row of the results table."""

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
    """Over all rows that the target is drawn from, weighted to the target mix: no noise of a test draw."""
    best_size: float
    """Mean size of the smallest sets that a single threshold with a true error of at most ε can give."""
    promise: Guarantee = "none"
    """What the method promises."""
    refuted: bool = False
    """Whether ``calibrate`` would refuse this draw, because its test refutes label shift."""


def named(methods: Sequence[str | Method]) -> dict[str, Method]:
    """Methods by the name that tables show, each once: those of the paper as published, and objects of one's own.

    >>> list(named(["PS", PSW(intervals="hull"), "PS"]))
    ['PS', "PS-W(intervals='hull')"]
    """
    found: dict[str, Method] = {}
    for method in methods:
        if isinstance(method, str):
            if method not in METHODS:
                raise InputError(f"method {method!r} is unknown. Use some of {', '.join(METHODS)}, or an object.")
            found[method] = AS_PUBLISHED[method]
            continue
        name = check_method(method).name
        usual, options = AS_PUBLISHED.get(name), dict[str, Any]()
        if is_dataclass(method):
            options = {option.name: option.default for option in fields(method)}
            options |= asdict(usual) if type(usual) is type(method) and is_dataclass(usual) else {}
        other = {
            option: getattr(method, option) for option in options if getattr(method, option) != options[option]
        }
        if method != usual and (other or name in METHODS):
            name += f"({', '.join(f'{option}={value!r}' for option, value in other.items())})"
        if found.setdefault(name, method) != method:
            raise InputError(f"two methods are called {name!r}. Give each a name of its own.")
    return found


def identity(name: str, method: Method) -> str:
    """Changes with the code of a method that is not the package's: a log must not answer for an older one."""
    kind = type(method)
    if kind.__module__.startswith("pacshift."):
        return name
    try:
        code = inspect.getsource(kind)
    except (OSError, TypeError):  # typed into an interpreter
        code = ""
    return f"{name} {zlib.crc32((code + repr(method)).encode()):08x}"


def run_trial(experiment: Experiment, trial: int, methods: Sequence[str | Method]) -> tuple[TrialRow, ...]:
    """Run ``methods``, names or objects, on the same draw. The result depends only on the arguments."""
    draw = Draw(experiment, trial)
    return tuple(_run_method(draw, name, method) for name, method in named(methods).items())


def _run_method(draw: "Draw", name: str, method: Method) -> TrialRow:
    panel = draw.experiment.panel
    score = PAPER_SCORES.get(method.name, method.default_score)
    status: Status = "refused"  # if the draw itself refutes label shift: no certificate, hence no sets to measure
    error = size = empty = true_error = np.nan
    with suppress(AssumptionError):
        thresholds = thresholds_of(draw, method, score)
        error, size, empty = draw.measure(score, thresholds)
        known = draw.experiment.population  # measured on the whole target already
        true_error = error if known else draw.true_error(score, thresholds)
        status = "trivial" if np.isneginf(thresholds).all() else "ok"
    measured = error, size, empty, true_error, draw.best_size
    return TrialRow(panel.name, draw.trial, name, status, *measured, method.guarantee, draw.refuted)


def thresholds_of(draw: "Draw", method: Method, score: str) -> FloatArray:
    """The thresholds of a method by itself, as published: without the test of label shift that ``calibrate`` runs.

    The paper splits a finite base in two halves. They are not exactly label-shifted copies of each other, and with
    many rows drawn from few the test notices it: ``Draw.refuted``.
    """
    panel = draw.experiment.panel
    method = Oracle(weights=panel.weights) if method.needs_weights else method
    task = Task(epsilon=panel.epsilon, delta=panel.delta, seed=draw.experiment.seed)
    return method.solve(draw.tally(score), task).thresholds


class Draw:
    """The data of one trial, computed when first used: methods that share a score transform share its tally."""

    def __init__(self, experiment: Experiment, trial: int) -> None:
        self.experiment = experiment
        self.trial = trial
        self.base = load_base(experiment)
        self._tallies: dict[str, Tally] = {}
        self._populations: dict[str, Population] = {}
        self._test_scores: dict[str, FloatArray] = {}
        rng, panel = self.rng("draw"), experiment.panel
        everything = np.arange(len(self.base.labels))
        labels, groups = self.base.labels, self.base.groups
        first, second = (everything, everything) if experiment.population else halves(labels, rng, groups)
        self.target_base = second
        self.source = first[resample(self.base.labels[first], panel.source_mix, panel.n_source, rng)]
        self.target = second[resample(self.base.labels[second], panel.target_mix, panel.n_target, rng)]
        self.test = second[resample(self.base.labels[second], panel.target_mix, panel.n_test, rng)]

    def rng(self, purpose: str) -> np.random.Generator:
        """A separate generator per purpose: adding a method never changes the numbers of another one."""
        key = [zlib.crc32(word.encode()) for word in (self.experiment.panel.drawn_name, purpose)]
        return np.random.default_rng([self.experiment.seed, self.trial, *key])

    def tally(self, score: str) -> Tally:
        """The counts that calibration sees."""
        if score not in self._tallies:
            probs, labels = self.base.probs, self.base.labels
            source = Tally.from_scores(probs[self.source], labels[self.source], score=score)
            self._tallies[score] = source + Tally.from_target(probs[self.target])
        return self._tallies[score]

    def population(self, score: str) -> Population:
        """All rows that the target is drawn from, where the true error of thresholds is known."""
        if score not in self._populations:
            scores = self._transformed(score, self.target_base)
            self._populations[score] = Population(scores, self.base.labels[self.target_base])
        return self._populations[score]

    def measure(self, score: str, thresholds: FloatArray) -> tuple[float, float, float]:
        """Error, mean size and share of empty sets: of the test rows, or in population mode of the target."""
        if self.experiment.population:
            population, mix = self.population(score), self.experiment.panel.target_mix
            return (
                population.error(thresholds, mix),
                population.size(thresholds, mix),
                population.empty(thresholds, mix),
            )
        if score not in self._test_scores:
            self._test_scores[score] = self._transformed(score, self.test)
        found = evaluate(self._test_scores[score] >= thresholds, self.base.labels[self.test])
        return found.error, found.size, found.empty

    def true_error(self, score: str, thresholds: FloatArray) -> float:
        """Error over all rows that the target is drawn from, weighted to the target mix."""
        return self.population(score).error(thresholds, self.experiment.panel.target_mix)

    def _transformed(self, score: str, rows: IntArray) -> FloatArray:
        """f(x, y) of some rows of the base."""
        scores = ScoreMatrix(self.base.probs[rows], tuple(range(self.base.n_classes)))
        return resolve_transform(score).of_all(scores)

    @cached_property
    def refuted(self) -> bool:
        """Whether the test of label shift that ``calibrate`` runs first refutes it on this draw."""
        level = ASSUMPTION_SHARE * self.experiment.panel.delta
        return check_assumption(self.tally("probability"), level=level).refuted

    @cached_property
    def best_size(self) -> float:
        """Mean size at the largest single threshold whose true target error is at most ε."""
        population, panel = self.population("probability"), self.experiment.panel
        return population.size(population.best_threshold(panel.epsilon, panel.target_mix), panel.target_mix)


def halves(
    labels: IntArray, rng: np.random.Generator, groups: IntArray | None = None
) -> tuple[IntArray, IntArray]:
    """Two random halves of the rows, each with half of every class (about half where groups stay whole)."""
    if groups is not None:
        names = np.unique(groups)
        is_first = np.isin(groups, rng.permutation(names)[: len(names) // 2])
        return np.flatnonzero(is_first), np.flatnonzero(~is_first)
    order = rng.permutation(len(labels))
    by_class = order[np.argsort(labels[order], kind="stable")]
    return by_class[::2], by_class[1::2]


def load_base(experiment: Experiment) -> Dataset:
    """The scores that the experiment draws from."""
    return _base(experiment.panel.dataset, experiment.data_dir, experiment.scores_file)


@lru_cache(maxsize=2)
def _base(name: str, data_dir: str | None, scores_file: str | None) -> Dataset:
    """Kept, because a worker runs many trials of one panel."""
    return load_scores(scores_file) if scores_file else load_dataset(name, data_dir)
