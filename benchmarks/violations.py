"""Targets that are not label-shifted, from simulated and real scores: what the test of label shift should see."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import softmax

from pacshift import Population, Tally
from pacshift.arrays import FloatArray, IntArray

NEW_SHARE = 0.1
"""Share of the target that belongs to a class which the source does not have."""
SIMULATED_MIXES = np.array([0.6, 0.3, 0.1]), np.array([0.2, 0.3, 0.5])
MAIN_SHARE = 0.4
"""Share of the last class in the target of the real scores; the others are equally frequent."""

BLOCK = 25_000
"""Rows of 1,000 classes that are in memory at once."""

Draw = Callable[[int, np.random.Generator], Tally]
"""Counts of so many rows on each side."""


@dataclass(frozen=True)
class Violation:
    """A way to break label shift."""

    data: str
    name: str
    draw: Draw


def counted(source: tuple[Any, Any], target: Any, n_classes: int) -> Tally:
    """Both sides as counts."""
    classes = range(n_classes)
    tally = Tally.from_scores(*source, classes=classes, soft=False)
    return tally + Tally.from_target(target, classes=classes, soft=False, bins=False)


def changed(
    population: Population, mixes: tuple[FloatArray, FloatArray], change: Callable[..., FloatArray]
) -> Draw:
    """The target's logarithmic scores are changed row by row."""

    def draw(rows: int, rng: np.random.Generator) -> Tally:
        source = population.draw(mixes[0], rows, rng)
        target = np.asarray(population.draw(mixes[1], rows, rng)[0], float)
        logits = np.log(np.maximum(target, 1e-30))
        return counted(source, softmax(change(logits, rng), axis=1), target.shape[1])

    return draw


def hardest_half(population: Population, mixes: tuple[FloatArray, FloatArray]) -> Draw:
    """Of the target's most frequent class only the half with the lowest scores of the true label is left."""
    members = np.flatnonzero(population.index == np.argmax(mixes[1]))
    order = members[np.argsort(population.scores[members, population.index[members]], kind="stable")]
    weights = np.ones(len(population.index))
    weights[order[len(order) // 2 :]] = 0.0
    hard = Population(population.scores, population.index, row_weights=weights)

    def draw(rows: int, rng: np.random.Generator) -> Tally:
        source, target = population.draw(mixes[0], rows, rng), hard.draw(mixes[1], rows, rng)[0]
        return counted(source, target, len(mixes[0]))

    return draw


def new_class(population: Population) -> Draw:
    """The classifier does not know the last class, whose rows make up a tenth of the target."""
    last = len(population.classes) - 1
    scores = np.asarray(population.scores[:, :last], float) + 1e-12
    scores /= scores.sum(axis=1, keepdims=True)
    old = population.index < last
    known, new = Population(scores[old], population.index[old]), scores[~old]

    def draw(rows: int, rng: np.random.Generator) -> Tally:
        n_new = int(rng.binomial(rows, NEW_SHARE))
        source = known.draw(np.ones(last), rows, rng)
        target = known.draw(rng.dirichlet(np.full(last, 5.0)), rows - n_new, rng)[0]
        return counted(source, np.vstack([target, new[rng.integers(len(new), size=n_new)]]), last)

    return draw


def add_to(label: int, amount: float) -> Callable[..., FloatArray]:
    """A constant on one logit."""
    return lambda logits, rng: logits + amount * np.eye(logits.shape[1])[label]


def scale(factor: float) -> Callable[..., FloatArray]:
    """Logits times a factor: probabilities to a power."""
    return lambda logits, rng: logits * factor


def noise(deviation: float) -> Callable[..., FloatArray]:
    """Normal noise on every logit."""
    return lambda logits, rng: logits + deviation * rng.standard_normal(logits.shape)


def replaced(share: float) -> Callable[..., FloatArray]:
    """Some rows say nothing any more: normal noise instead of their logits."""

    def change(logits: FloatArray, rng: np.random.Generator) -> FloatArray:
        gone = rng.random((len(logits), 1)) < share
        return np.where(gone, rng.standard_normal(logits.shape), logits)

    return change


def simulated(strength: float, name: str) -> Iterator[Violation]:
    """Three classes as in examples/label_shift_refuted.py, from a larger population."""
    population = Population.synthetic(3, strength=strength, rows_per_class=20_000, rng=0)
    changes: dict[str, Callable[..., FloatArray]] = {"none (label shift holds)": scale(1.0)}
    changes |= {f"one logit +{amount:g}": add_to(0, amount) for amount in (0.5, 2, 3, 4)}
    changes |= {f"temperature {1 / factor:g}": scale(factor) for factor in (1 / 0.8, 0.8)}
    changes |= {"logits times 0.3": scale(0.3)}
    changes |= {f"noise of sd {deviation:g} on logits": noise(deviation) for deviation in (0.5, 2)}
    for change in changes:
        yield Violation(name, change, changed(population, SIMULATED_MIXES, changes[change]))


def real(name: str, population: Population) -> Iterator[Violation]:
    """The same on real scores: powers of the probabilities, a harder class, a new class."""
    n_classes = len(population.classes)
    source = np.bincount(population.index, minlength=n_classes) / len(population.index)
    target = np.full(n_classes, (1 - MAIN_SHARE) / (n_classes - 1))
    target[-1] = MAIN_SHARE
    mixes = source, target
    yield Violation(name, "none (label shift holds)", changed(population, mixes, scale(1.0)))
    for power in (0.67, 1.5):
        yield Violation(name, f"probabilities to the power {power:g}", changed(population, mixes, scale(power)))
    yield Violation(name, "main class: hardest half", hardest_half(population, mixes))
    if n_classes > 2:
        yield Violation(name, "new class, 10 % of the target", new_class(population))


MIX_SPREAD = 5.0
"""Parameter of the Dirichlet laws of both mixes in ``nineteen``, for every class. Not tuned."""


def nineteen(name: str, population: Population) -> Iterator[Violation]:
    """Label shift itself and 19 ways to break it, small and large, with random mixes on both sides."""
    changes: dict[str, Callable[..., FloatArray]] = {"none (label shift holds)": scale(1.0)}
    changes |= {f"probabilities to the power {power:g}": scale(power) for power in (0.67, 0.8, 1.25, 1.5)}
    changes |= {f"noise of sd {deviation:g} on logits": noise(deviation) for deviation in (0.5, 1, 2)}
    changes |= {f"one logit +{amount:g}": add_to(0, amount) for amount in (0.5, 1, 2)}
    changes |= {f"new kind of row, {100 * share:g} %": replaced(share) for share in (0.05, 0.1, 0.2)}
    changes |= {"a tenth of each row spread evenly": spread(0.1)}
    for change in changes:
        yield Violation(name, change, random_mixes(population, changes[change]))
    for power in (0.67, 1.5):
        yield Violation(
            name, f"main class: to the power {power:g}", random_mixes(population, scale(power), main=True)
        )
    for title, part in {"hardest half": (0.0, 0.5), "easiest half": (0.5, 1.0)}.items():
        yield Violation(name, f"main class: {title}", random_mixes(population, scale(1.0), part, main=True))
    hardest = random_mixes(population, scale(1.0), (0.0, 0.75))
    yield Violation(name, "every class: hardest three quarters", hardest)


def random_mixes(
    population: Population,
    change: Callable[..., FloatArray],
    part: tuple[float, float] = (0.0, 1.0),
    *,
    main: bool = False,
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
        logits = np.log(np.maximum(np.asarray(target, float), 1e-30))
        logits = np.where(chosen[labels][:, None], change(logits, rng), logits)
        return counted(source, softmax(logits, axis=1), len(classes))

    return draw


def spread(share: float) -> Callable[..., FloatArray]:
    """A share of every row's probability is spread evenly over the classes."""
    return lambda logits, rng: np.log((1 - share) * softmax(logits, axis=1) + share / logits.shape[1])


def imagenet(folder: Path) -> Iterator[Violation]:
    """A thousand classes: ResNet-50's five largest probabilities, the rest shared evenly."""
    stored = np.load(folder / "imagenet" / "top5_resnet50.npz")
    classes, top, labels = (stored[key] for key in ("top_class", "top_prob", "labels"))

    def draw(power: float, hard: bool) -> Draw:
        def counts(rows: int, rng: np.random.Generator) -> Tally:
            weights = np.exp(rng.normal(0, 0.5, 1000))[labels]
            if hard:
                weights = np.where(top[:, 0] < np.median(top[:, 0]), weights, 0.0)
            source = rng.integers(len(labels), size=rows)
            target = rng.choice(len(labels), rows, p=weights / weights.sum())
            parts = zip(np.array_split(source, rows // BLOCK), np.array_split(target, rows // BLOCK), strict=True)
            return Tally.sum(count_block(*part) for part in parts)

        def count_block(source: IntArray, target: IntArray) -> Tally:
            full = [filled(classes[chosen], top[chosen]) for chosen in (source, target)]
            raised = full[1] ** np.float32(power)
            return counted((full[0], labels[source]), raised / raised.sum(axis=1, keepdims=True), 1000)

        return counts

    kinds = {"none (label shift holds)": (1.0, False), "probabilities to the power 0.67": (0.67, False)}
    kinds |= {"probabilities to the power 1.5": (1.5, False), "every class: less confident half": (1.0, True)}
    for name, (power, hard) in kinds.items():
        yield Violation("ImageNet, 1,000 classes", name, draw(power, hard))


def filled(classes: FloatArray, top: FloatArray) -> FloatArray:
    """Rows of 1,000 probabilities from the five largest."""
    rest = np.maximum(1 - top.sum(axis=1), 1e-6) / (1000 - top.shape[1])
    rows = np.repeat(rest[:, None].astype(np.float32), 1000, axis=1)
    np.put_along_axis(rows, classes.astype(np.int64), top.astype(np.float32), axis=1)
    return rows
