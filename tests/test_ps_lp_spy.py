"""A path made by a spy: nothing of the rows that certify may show in the rows that a path is made from.

The proof (docs/methods/ps-lp-proof.md, "The path") allows any function of held-out rows and target. The spy is the
worst one. It knows the true miss rates, and of all thresholds that err a little more than ε it takes those that
look best on the rows that it is shown. If these tell nothing of the rows that certify, at most a share δ of its
paths pass. Curves fitted to the same rows have so few parameters that they would hardly show a leak.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.stats import binomtest

from pacshift import AssumptionError, Tally
from pacshift.arrays import FloatArray, IntArray
from pacshift.bounds import Interval
from pacshift.paths.sample import RowSample
from pacshift.ps_lp.theorem import TUNED
from pacshift.ps_lp.tuned import HeldOut, HeldOutRows, tune
from worlds import proven

N_CLASSES, ROWS_PER_CLASS, N_TARGET = 20, 600, 4000
EPSILON, DELTA = 0.1, 0.05
WANTED = 1.003 * EPSILON
"""Error of the spy's thresholds: too large, and hardly so."""
RATES = np.linspace(0.0, 2.5 * EPSILON, 200)
"""Miss rates of one class among which the spy chooses; they stay below the cap at 3 ε."""


def scores_of(labels: IntArray, rng: np.random.Generator) -> FloatArray:
    """The score of the true label is uniform from 0.5 to 1, so that a threshold v misses a share 2 v - 1."""
    own = rng.uniform(0.5, 1.0, len(labels))
    rows = np.repeat(((1 - own) / (N_CLASSES - 1))[:, None], N_CLASSES, axis=1)
    rows[np.arange(len(labels)), labels] = own
    return rows


@dataclass(frozen=True)
class Jump:
    """Curves of a path that misses nothing, and then jumps to one vector of miss rates."""

    rates: FloatArray

    def scores_at(self, level: FloatArray | float) -> FloatArray:
        return np.where(np.asarray(level) >= 0, 0.5 + self.rates / 2, 0.0)


def spy(shown: HeldOutRows, mix: FloatArray) -> Jump:
    """The miss rates with mean ``WANTED`` of which the shown rows see least.

    A class takes the rate with the most to hide, plus a price per unit of rate that grows until the mean is
    reached; the last classes whose rates the price moves take what is left.
    """
    own = [np.sort(shown.scores[shown.labels == label, label]) for label in range(N_CLASSES)]
    hidden = np.array([RATES - np.searchsorted(scores, 0.5 + RATES / 2) / len(scores) for scores in own])
    total, rates = N_CLASSES * WANTED, np.zeros(N_CLASSES)
    for price in np.linspace(-1.5, 1.5, 301):
        dearer = RATES[(hidden + price * RATES).argmax(axis=1)]
        if dearer.sum() >= total:
            steps = dearer - rates
            return Jump(rates + np.clip(total - rates.sum() - (np.cumsum(steps) - steps), 0.0, steps))
        rates = dearer
    raise AssertionError("no price is high enough")


def errs_too_much(seed: int, certify_all: bool) -> bool:
    """Whether the spy's path is certified, or the region misses, which is part of δ. The mix is known."""
    rng = np.random.default_rng([seed, 77])
    labels = np.repeat(np.arange(N_CLASSES), ROWS_PER_CLASS)
    source, target = scores_of(labels, rng), scores_of(rng.integers(0, N_CLASSES, N_TARGET), rng)
    tally = Tally.from_scores(source, labels) + Tally.from_target(target)
    tuning = tune(tally, epsilon=EPSILON, sample=lambda: RowSample.of(source, labels, target))
    assert tuning.on_rows
    if certify_all:
        tuning = replace(tuning, held=np.zeros_like(tuning.held))
    mix = np.full(N_CLASSES, 1 / N_CLASSES)
    try:
        found = proven(tally, EPSILON, DELTA, known=Interval(mix, mix), tuning=tuning)
    except AssumptionError:
        return True
    return bool(np.clip(2 * found[TUNED] - 1, 0, 1) @ mix > EPSILON)


def passed(draws: int, *, certify_all: bool = False) -> int:
    """How many of the spy's paths are certified although they err too much."""
    return sum(errs_too_much(seed, certify_all) for seed in range(draws))


def chance(failures: int, draws: int) -> float:
    """How likely so many failures are, if they came in a share δ of draws."""
    return float(binomtest(failures, draws, DELTA, alternative="greater").pvalue)


@pytest.fixture(autouse=True)
def _planned_by_a_spy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pacshift.ps_lp.tuned.fit_row_curves", spy)


@pytest.mark.montecarlo
def test_a_spy_learns_nothing_of_the_rows_that_certify() -> None:
    """From 10 of 60 on it fails: a rate of 5 δ is seen with probability 0.95, one of 3 δ with 0.41."""
    assert chance(passed(60), 60) > 1e-3


@pytest.mark.montecarlo
def test_a_spy_that_is_shown_rows_that_certify_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Break the path on purpose: it is made from all rows of the sample."""

    def everything(tally: Tally, held: HeldOut, sample: RowSample) -> HeldOutRows:
        return HeldOutRows(sample.source, sample.labels, sample.target)

    monkeypatch.setattr("pacshift.ps_lp.tuned.held_out_rows", everything)
    assert chance(passed(10), 10) < 1e-6


@pytest.mark.montecarlo
def test_held_out_rows_that_certify_too_are_found() -> None:
    """Break the search on purpose: held-out rows are not taken out of those that certify."""
    assert chance(passed(30, certify_all=True), 30) < 1e-3
