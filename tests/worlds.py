"""Worlds whose target error is known exactly: a population and the label mixes of source and target."""

import warnings
from dataclasses import dataclass

import numpy as np

from pacshift import AssumptionError, Oracle, Population, Tally, UninformativeWarning, calibrate
from pacshift.arrays import BoolArray, FloatArray
from pacshift.bounds import Interval
from pacshift.methods import Method
from pacshift.mix.region import prevalence_region
from pacshift.ps_lp.theorem import MANY_ROWS, certified_thresholds, plan_for
from pacshift.ps_lp.tuned import Tuning


@dataclass(frozen=True, eq=False)
class World:
    """Source and target are drawn from one population: label shift holds exactly."""

    population: Population
    source_mix: FloatArray
    target_mix: FloatArray

    @property
    def weights(self) -> FloatArray:
        return np.asarray(self.target_mix / self.source_mix)

    def draw(self, n_source: int, n_target: int, rng: np.random.Generator) -> Tally:
        """Counts of independent rows from source and target."""
        source = Tally.from_scores(*self.population.draw(self.source_mix, n_source, rng))
        return source + Tally.from_target(self.population.draw(self.target_mix, n_target, rng)[0])

    def error(self, thresholds: FloatArray, mix: FloatArray) -> float:
        """True error under a label mix."""
        return self.population.error(thresholds, mix)

    def size(self, thresholds: FloatArray) -> float:
        """True mean size on the target."""
        return self.population.size(thresholds, self.target_mix)


def make_world(
    n_classes: int, *, strength: float, shift: float, rare: float | None = None, seed: int = 0, members: int = 600
) -> World:
    """``shift`` of the target moves onto the last label; ``rare`` is the last label's share of the source."""
    rng = np.random.default_rng([seed, n_classes])
    source = rng.dirichlet(np.full(n_classes, 20.0))
    if rare is not None:
        source[-1] = rare * source[:-1].sum() / (1 - rare)
        source /= source.sum()
    target = (1 - shift) * source + shift * np.eye(n_classes)[-1]
    population = Population.synthetic(n_classes, strength=strength, rows_per_class=members, rng=rng)
    return World(population, source, target)


@dataclass(frozen=True, eq=False)
class Run:
    """What a method did on one draw; a refusal has no thresholds."""

    thresholds: FloatArray | None

    def failed(self, world: World, epsilon: float, *, on: str = "target") -> bool:
        """More than ``epsilon`` missed, or label shift "refuted" where it holds."""
        mix = world.target_mix if on == "target" else world.source_mix
        return self.thresholds is None or world.error(self.thresholds, mix) > epsilon


def run(method: Method, world: World, tally: Tally, epsilon: float, delta: float, seed: int) -> Run:
    method = Oracle(weights=world.weights) if method.needs_weights else method
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UninformativeWarning)  # all labels is a valid answer here
            certificate = calibrate(tally, epsilon=epsilon, delta=delta, rng=seed, method=method)
    except AssumptionError:
        return Run(None)
    return Run(certificate.thresholds)


def proven(
    tally: Tally,
    epsilon: float = 0.1,
    delta: float = 0.05,
    *,
    included: BoolArray | None = None,
    known: Interval | None = None,
    tuning: Tuning | None = None,
) -> dict[str, FloatArray]:
    """The thresholds of every kind that PS-LP certifies."""
    region = prevalence_region(tally.confusion, tally.target, delta=MANY_ROWS.region * delta, known=known)
    nobody, plan = np.zeros(tally.n_classes, bool), plan_for(tally, epsilon=epsilon, delta=delta)
    included = nobody if included is None else included
    return certified_thresholds(tally, region, plan, included=included, tuning=tuning)
