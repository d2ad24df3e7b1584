"""``accept`` keeps its promises, and is sharp: seeded Monte-Carlo in worlds whose errors are known exactly."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from pacshift import AssumptionError, Certificate, Population, Tally, UninformativeWarning, accept
from pacshift.arrays import FloatArray, IntArray
from pacshift.tally.tops import accepted, top_labels

LETTERS = Population.synthetic(["bill", "order", "other"], strength=4, rng=0)


@dataclass(frozen=True)
class World:
    """P(predicted, level of the top score given label), as [label, predicted, level]; and both label mixes."""

    levels: FloatArray
    law: FloatArray
    source_mix: FloatArray
    target_mix: FloatArray

    @classmethod
    def of_target(cls, shares: Any, wrong: Any, source_mix: Any, error: float) -> "World":
        """A share ``error`` of every predicted label is wrong at every score, of the labels that ``wrong`` says:
        every rule errs as much.
        """
        k, joint = len(shares), np.diag(np.asarray(shares, float)) * (1 - error)
        for predicted in range(k):
            others = np.asarray(wrong[predicted], float)
            joint[:, predicted] += shares[predicted] * error * others / others.sum()
        mix, levels = joint.sum(axis=1), np.linspace(0.55, 0.99, 12)
        law = (joint / mix[:, None])[:, :, None] * np.full(12, 1 / 12)
        return cls(levels, law, np.asarray(source_mix, float) / np.sum(source_mix), mix)

    def draw(self, mix: FloatArray, n_rows: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        k, n_levels = len(mix), len(self.levels)
        labels, cell = rng.choice(k, n_rows, p=mix), np.empty(n_rows, int)
        for label in range(k):
            own = labels == label
            cell[own] = rng.choice(k * n_levels, own.sum(), p=self.law[label].ravel() / self.law[label].sum())
        top = self.levels[cell % n_levels]
        scores = np.repeat(((1 - top) / (k - 1))[:, None], k, axis=1)
        scores[np.arange(n_rows), cell // n_levels] = top
        return scores, labels

    def error(self, certificate: Certificate) -> tuple[float, float]:
        """The share of the target that is accepted, and the share of it that is wrong, exactly."""
        kept = self.levels.astype(np.float32) >= certificate.thresholds.astype(np.float32)[:, None]
        mass = np.einsum("j,jgl,gl->", self.target_mix, self.law, kept)
        right = np.einsum("j,jjl,jl->", self.target_mix, self.law, kept)
        return float(mass), float(1 - right / mass) if mass else 0.0


EVEN = 1 - np.eye(3)
WORLDS = {
    "knife": World.of_target([0.4, 0.35, 0.25], EVEN, [1, 1, 1], 0.1005),
    "rare and hard": World.of_target([0.45, 0.45, 0.1], [[0, 0, 1], [0, 0, 1], [1, 1, 0]], [12, 12, 1], 0.1005),
    "good on the source": World.of_target([0.2, 0.8], 1 - np.eye(2), [8, 2], 0.1005),
}


@pytest.mark.montecarlo
@pytest.mark.parametrize("name", WORLDS)
def test_the_promise_holds_where_every_rule_would_break_it(name: str) -> None:
    world, trials, delta = WORLDS[name], 120, 0.2
    rng, failed = np.random.default_rng(5), 0
    for trial in range(trials):
        source, labels = world.draw(world.source_mix, 1500, rng)
        target, _ = world.draw(world.target_mix, 1500, rng)
        found = promised(source, labels, target, error=0.1, delta=delta, rng=trial)
        failed += found is not None and world.error(found)[0] > 0
    assert binom.sf(failed - 1, trials, delta) > 1e-3


def promised(*data: Any, **asked: Any) -> Certificate | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UninformativeWarning)
            return accept(*data, **asked)
    except AssumptionError:
        return None


@pytest.mark.montecarlo
def test_it_is_sharp_where_much_can_be_accepted() -> None:
    """Nearly as much as the best thresholds that know the target, and the errors come close to the limit."""
    letters = LETTERS
    everyone, truth = letters.draw([0.3, 0.3, 0.4], 60_000, rng=8)
    label, top = top_labels(everyone)
    wrong = np.array(letters.classes, object)[label] != truth
    order = np.argsort(-top, kind="stable")
    best = float((np.cumsum(wrong[order]) <= 0.03 * np.arange(1, 60_001)).nonzero()[0].max() / 60_000)
    shares, errors = [], []
    for trial in range(12):
        source, kinds = letters.draw([0.6, 0.3, 0.1], 10_000, rng=100 + trial)
        target, _ = letters.draw([0.3, 0.3, 0.4], 10_000, rng=200 + trial)
        found = accept(source, kinds, target, error=0.03, classes=letters.classes)
        kept = accepted(label, top, found.thresholds)
        shares.append(kept.mean())
        errors.append(wrong[kept].mean())
    assert np.mean(shares) > 0.9 * best
    assert 0.015 < np.mean(errors) < 0.03


@pytest.mark.montecarlo
def test_lemma_5_labels_alone_promise_it_exactly() -> None:
    """No label shift: the source is another world. Failures are at most δ, and close to it where rules are few."""
    world, other, trials, delta = WORLDS["knife"], WORLDS["rare and hard"], 250, 0.2
    rng, failed = np.random.default_rng(6), 0
    source, labels = other.draw(other.source_mix, 1000, rng)
    for trial in range(trials):
        target, truth = world.draw(world.target_mix, 1200, rng)
        known = [int(label) if row < 800 else None for row, label in enumerate(truth)]
        tally = Tally.from_scores(source, labels) + Tally.from_target(target)
        task_labels = Tally.from_scores(target[:800], truth[:800])
        if trial % 2:  # by rows and by counts
            found = promised(source, labels, target, error=0.1, delta=delta, target_labels=known)
        else:
            found = promised(tally, error=0.1, delta=delta, target_labels=task_labels)
        assert found is not None
        failed += world.error(found)[0] > 0
    assert binom.sf(failed - 1, trials, delta) > 1e-3
    assert failed > 0.2 * delta * trials  # sharp: the test is exact, the sequence begins where it may pass


@pytest.mark.montecarlo
def test_the_table_by_label_holds_the_truth() -> None:
    letters, failed, trials = LETTERS, 0, 40
    everyone, truth = letters.draw([0.3, 0.3, 0.4], 100_000, rng=9)
    label, top = top_labels(everyone)
    wrong = np.array(letters.classes, object)[label] != truth
    for trial in range(trials):
        source, kinds = letters.draw([0.6, 0.3, 0.1], 3000, rng=300 + trial)
        target, _ = letters.draw([0.3, 0.3, 0.4], 3000, rng=400 + trial)
        found = accept(source, kinds, target, error=0.05, delta=0.2, classes=letters.classes)
        assert found.accepted is not None
        assert found.accepted_error is not None
        kept = accepted(label, top, found.thresholds)
        share = np.array([kept[label == each].mean() for each in range(3)])
        rate = np.array([wrong[kept & (label == each)].mean() for each in range(3)])
        failed += not (found.accepted.contains(share).all() and found.accepted_error.contains(rate).all())
    assert binom.sf(failed - 1, trials, 0.2) > 1e-3
