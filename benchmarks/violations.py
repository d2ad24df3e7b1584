"""Targets that are not label-shifted, from simulated and real scores: what the test of label shift should see."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from pacshift import Population, Tally
from pacshift.arrays import FloatArray

SIMULATED_MIXES = np.array([0.6, 0.3, 0.1]), np.array([0.2, 0.3, 0.5])
SMALLEST = 1e-30
"""Logarithms are taken of at least this."""
MIX_SPREAD = 5.0
"""Parameter of the Dirichlet laws of both mixes, for every class. Not tuned."""

Change = Callable[[FloatArray, np.random.Generator], FloatArray]
Draw = Callable[[int, np.random.Generator], Tally]
"""Counts of so many rows on each side."""


@dataclass(frozen=True)
class Violation:
    """A way to break label shift."""

    data: str
    name: str
    draw: Draw


def add_to(label: int, amount: float) -> Change:
    """A constant on one logit."""
    return lambda logits, rng: logits + amount * np.eye(logits.shape[1])[label]


def scale(factor: float) -> Change:
    """Logits times a factor: probabilities to a power."""
    return lambda logits, rng: logits * factor


def noise(deviation: float) -> Change:
    """Normal noise on every logit."""
    return lambda logits, rng: logits + deviation * rng.standard_normal(logits.shape)


def replace_rows(share: float) -> Change:
    """Some rows say nothing any more: normal noise instead of their logits."""

    def change(logits: FloatArray, rng: np.random.Generator) -> FloatArray:
        gone = rng.random((len(logits), 1)) < share
        return np.where(gone, rng.standard_normal(logits.shape), logits)

    return change


def spread(share: float) -> Change:
    """A share of every row's probability is spread evenly over the classes."""
    return lambda logits, rng: np.log((1 - share) * softmax(logits, axis=1) + share / logits.shape[1])


def nineteen(name: str, population: Population) -> Iterator[Violation]:
    """Label shift itself and 19 ways to break it, small and large, with random mixes on both sides."""
    same = scale(1.0)
    changes = {"none (label shift holds)": same}
    changes |= {f"probabilities to the power {power:g}": scale(power) for power in (0.67, 0.8, 1.25, 1.5)}
    changes |= {f"noise of sd {deviation:g} on logits": noise(deviation) for deviation in (0.5, 1, 2)}
    changes |= {f"one logit +{amount:g}": add_to(0, amount) for amount in (0.5, 1, 2)}
    changes |= {f"new kind of row, {100 * share:g} %": replace_rows(share) for share in (0.05, 0.1, 0.2)}
    changes |= {"a tenth of each row spread evenly": spread(0.1)}
    kinds: dict[str, dict[str, Any]] = {title: {"change": change} for title, change in changes.items()}
    for power in (0.67, 1.5):
        kinds[f"main class: to the power {power:g}"] = {"change": scale(power), "main": True}
    kinds["main class: hardest half"] = {"change": same, "part": (0.0, 0.5), "main": True}
    kinds["main class: easiest half"] = {"change": same, "part": (0.5, 1.0), "main": True}
    kinds["every class: hardest three quarters"] = {"change": same, "part": (0.0, 0.75)}
    for title, options in kinds.items():
        yield Violation(name, title, random_mixes(population, **options))


def random_mixes(
    population: Population, change: Change, part: tuple[float, float] = (0.0, 1.0), *, main: bool = False
) -> Draw:
    """Another mix on each side in every draw. The target's rows, or those of its main class, are changed.

    ``part``: only these of them are left, in the order of the true label's score, hardest first.
    """
    classes, index = range(len(population.classes)), population.index
    true = population.scores[np.arange(len(index)), index]
    rank = np.empty(len(index))
    for label in classes:
        members = np.flatnonzero(index == label)
        rank[members[np.argsort(true[members], kind="stable")]] = np.arange(len(members)) / len(members)
    left = (rank >= part[0]) & (rank < part[1])

    def draw(rows: int, rng: np.random.Generator) -> Tally:
        mixes = rng.dirichlet(np.full(len(classes), MIX_SPREAD), 2)
        source = population.draw(mixes[0], rows, rng)
        chosen = np.full(len(classes), True) if not main else np.arange(len(classes)) == np.argmax(mixes[1])
        weights = np.where(chosen[index], left, True).astype(float)
        target, labels = Population(population.scores, index, row_weights=weights).draw(mixes[1], rows, rng)
        logits = np.log(np.maximum(np.asarray(target, float), SMALLEST))
        logits = np.where(chosen[labels][:, None], change(logits, rng), logits)
        tally = Tally.from_scores(*source, classes=classes, soft=False)
        return tally + Tally.from_target(softmax(logits, axis=1), classes=classes, soft=False, bins=False)

    return draw
