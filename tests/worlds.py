"""Worlds whose target error is known exactly: finitely many score rows with a known law for each label."""

import warnings
from dataclasses import dataclass

import numpy as np

from pacshift import AssumptionError, Tally, UninformativeWarning, calibrate_tally
from pacshift.arrays import FloatArray
from pacshift.methods import Method


@dataclass(frozen=True, eq=False)
class World:
    """``law[x, j]`` is P(row x given label j), the same on source and target: label shift holds exactly."""

    rows: FloatArray
    law: FloatArray
    source_mix: FloatArray
    target_mix: FloatArray

    @property
    def weights(self) -> FloatArray:
        return np.asarray(self.target_mix / self.source_mix)

    def draw(self, n_source: int, n_target: int, rng: np.random.Generator) -> Tally:
        """Independent rows from source and target."""
        source = rng.multinomial(n_source, (self.law * self.source_mix).ravel())
        target = rng.multinomial(n_target, self.law @ self.target_mix)
        cell = np.repeat(np.arange(len(source)), source)
        row, label = np.divmod(cell, self.law.shape[1])
        shown = np.repeat(np.arange(len(target)), target)
        return Tally.from_scores(self.rows[row], label) + Tally.from_target(self.rows[shown])

    def error(self, thresholds: FloatArray, mix: FloatArray) -> float:
        """P(the true label is not in the set), exactly."""
        return float(((self.rows < thresholds) * self.law).sum(axis=0) @ mix)

    def size(self, thresholds: FloatArray) -> float:
        """Mean number of labels in a set on the target."""
        return float((self.rows >= thresholds).sum(axis=1) @ (self.law @ self.target_mix))


def make_world(
    n_classes: int, *, strength: float, shift: float, rare: float | None = None, seed: int = 0, members: int = 600
) -> World:
    """``members`` equally likely rows a label, whose logits favour the label by ``strength``.

    ``shift`` of the target moves onto the last label; ``rare`` is the last label's share of the source.
    """
    rng = np.random.default_rng([seed, n_classes])
    source = rng.dirichlet(np.full(n_classes, 20.0))
    if rare is not None:
        source[-1] = rare * source[:-1].sum() / (1 - rare)
        source /= source.sum()
    target = (1 - shift) * source + shift * np.eye(n_classes)[-1]
    label = np.repeat(np.arange(n_classes), members)
    # A bias a class keeps the scores from being calibrated, as those of a trained classifier are not.
    logits = strength * np.eye(n_classes)[label] + rng.gumbel(size=(len(label), n_classes))
    logits += rng.normal(0, 0.3, n_classes)
    # The last label is the hardest: a shift onto it hurts whoever does not look.
    logits[label == n_classes - 1, -1] -= strength / 4
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    law = np.eye(n_classes)[label] / members
    return World(odds / odds.sum(axis=1, keepdims=True), law, source, target)


@dataclass(frozen=True, eq=False)
class Run:
    """What a method did on one draw; a refusal has no thresholds."""

    thresholds: FloatArray | None

    def failed(self, world: World, epsilon: float, *, on: str = "target") -> bool:
        """More than ``epsilon`` missed, or label shift "refuted" where it holds."""
        mix = world.target_mix if on == "target" else world.source_mix
        return self.thresholds is None or world.error(self.thresholds, mix) > epsilon


def run(method: Method, world: World, tally: Tally, epsilon: float, delta: float, seed: int) -> Run:
    weights = world.weights if method.name == "ORACLE" else None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UninformativeWarning)  # all labels is a valid answer here
            certificate = calibrate_tally(
                tally, epsilon=epsilon, delta=delta, method=method, weights=weights, rng=seed
            )
    except AssumptionError:
        return Run(None)
    return Run(certificate.thresholds)
