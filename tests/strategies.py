"""Hypothesis strategies: hard cases on purpose, because tame ones hide every unsound version."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from pacshift.arrays import FloatArray, IntArray
from pacshift.bounds import Interval, clopper_pearson
from pacshift.tally import Tally

seeds = st.integers(0, 2**32 - 1)
class_counts = st.one_of(st.integers(2, 6), st.integers(2, 30))


@dataclass(frozen=True, eq=False)
class BoxedSystem:
    """Boxes, and one system inside them that has a solution ``weights`` >= 0."""

    confusion: Interval
    target: Interval
    inner_confusion: FloatArray
    inner_target: FloatArray
    weights: FloatArray


@dataclass(frozen=True, eq=False)
class Counts:
    """What a tally counts, without the scores."""

    confusion: IntArray
    target: IntArray

    def boxes(self, delta: float) -> tuple[Interval, Interval]:
        return (
            clopper_pearson(self.confusion, int(self.confusion.sum()), delta=delta),
            clopper_pearson(self.target, int(self.target.sum()), delta=delta),
        )


def rates(rng: np.random.Generator, n_classes: int, accuracy: float) -> FloatArray:
    """``A[i, j] = P(g = i given j)`` of a classifier that is right ``accuracy`` more often than by chance.

    One in five says another class than it means, always the same one.
    """
    noise = rng.dirichlet(np.full(n_classes, 0.5), n_classes).T
    means = rng.permutation(n_classes) if rng.random() < 0.2 else np.arange(n_classes)
    return np.asarray(accuracy * np.eye(n_classes) + (1 - accuracy) * noise)[means]


def mix(rng: np.random.Generator, n_classes: int, evenness: float) -> FloatArray:
    """A label mix; a small ``evenness`` makes some classes very rare or absent."""
    return np.asarray(rng.dirichlet(np.full(n_classes, evenness)))


class Truth:
    """A source and a target under label shift, some classes rare or without any example."""

    def __init__(self, seed: int, n_classes: int, accuracy: float, n_source: int, n_target: int) -> None:
        rng = np.random.default_rng(seed)
        self.rates = rates(rng, n_classes, accuracy)
        self.mix = mix(rng, n_classes, float(rng.choice([0.3, 3.0])))
        self.class_counts = rng.multinomial(n_source, mix(rng, n_classes, float(rng.choice([0.3, 3.0]))))
        self.n_target = n_target
        self.rng = rng

    def draw(self) -> tuple[IntArray, IntArray]:
        laws = zip(self.class_counts, self.rates.T, strict=True)
        columns = [self.rng.multinomial(m, p / p.sum()) for m, p in laws]
        return np.array(columns).T, self.rng.multinomial(self.n_target, self.rates @ self.mix)


@st.composite
def counts(draw: st.DrawFn) -> Counts:
    """Tiny to large counts of weak to strong classifiers, zeros and rare classes included."""
    n_classes, rng = draw(class_counts), np.random.default_rng(draw(seeds))
    table = rates(rng, n_classes, draw(st.sampled_from([0.0, 0.3, 0.7, 0.95, 1.0])))
    source, target = (mix(rng, n_classes, draw(st.sampled_from([0.3, 1.0, 30.0]))) for _ in range(2))
    m, n = (draw(st.sampled_from([1, 20, 200, 3_000, 100_000, 10**7])) for _ in range(2))
    joint = (table * source).ravel()
    return Counts(
        rng.multinomial(m, joint / joint.sum()).reshape(n_classes, n_classes),
        rng.multinomial(n, table @ target / (table @ target).sum()),
    )


@st.composite
def boxed_systems(draw: st.DrawFn) -> BoxedSystem:
    """A system with a solution >= 0, in boxes of any width; its cells often sit at an end of their box.

    Cells are multiples of 2**-30 and weights of 2**-10, so that ``confusion @ weights`` is exact in floats.
    """
    n_classes, rng = draw(class_counts), np.random.default_rng(draw(seeds))
    table = rates(rng, n_classes, draw(st.sampled_from([0.0, 0.3, 0.7, 0.95, 1.0])))
    confusion = np.rint(table * mix(rng, n_classes, draw(st.sampled_from([0.3, 1.0, 30.0]))) * 2**30) / 2**30
    weights = np.rint(rng.exponential(size=n_classes) * 2**10) / 2**10
    weights[rng.random(n_classes) < draw(st.sampled_from([0.0, 0.3]))] = 0
    width = draw(st.sampled_from([0.0, 1e-6, 1e-3, 0.02, 0.2, 1.0]))
    target = confusion @ weights
    return BoxedSystem(_around(rng, confusion, width), _around(rng, target, width), confusion, target, weights)


def _around(rng: np.random.Generator, point: FloatArray, width: float) -> Interval:
    """Ends at 0, a third or all of the way; relative below so that ends stay >= 0, absolute above."""
    reach = rng.choice([0.0, 0.3, 1.0], size=(2, *point.shape)) * width
    return Interval(point * (1 - reach[0]), point * (1 + reach[1]) + reach[1] * width / point.size)


@st.composite
def tallies(draw: st.DrawFn) -> Tally:
    """Random classifiers, weak and strong, with few or many rows; no two scores tie."""
    rng, n_classes = np.random.default_rng(draw(seeds)), draw(st.integers(2, 5))
    rows = draw(st.sampled_from([40, 400, 4000]))
    return drawn_tally(rng, n_classes, rows, draw(st.sampled_from([0.5, 2.0, 5.0])))


def drawn_scores(
    rng: np.random.Generator, n_classes: int, rows: int, strength: float
) -> tuple[FloatArray, IntArray]:
    labels = rng.choice(n_classes, rows, p=rng.dirichlet(np.full(n_classes, 5.0)))
    logits = strength * np.eye(n_classes)[labels] + rng.gumbel(size=(rows, n_classes))
    odds = np.exp(logits)
    return odds / odds.sum(axis=1, keepdims=True), labels


def drawn_tally(rng: np.random.Generator, n_classes: int, rows: int, strength: float) -> Tally:
    scores, labels = drawn_scores(rng, n_classes, rows, strength)
    return Tally.from_scores(scores, labels) + Tally.from_target(drawn_scores(rng, n_classes, rows, strength)[0])


@st.composite
def labelled(draw: st.DrawFn) -> tuple[FloatArray, IntArray]:
    """Scores with ties, zeros of both signs and labels that leave classes empty."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size, n_classes = draw(st.integers(1, 60)), draw(st.integers(2, 40))
    kind = draw(st.sampled_from(["dirichlet", "coarse", "logits", "huge"]))
    if kind == "dirichlet":
        scores = rng.dirichlet(np.full(n_classes, 0.3), size)
    elif kind == "coarse":
        scores = rng.choice([0.0, -0.0, 0.25, 0.5, 1.0], (size, n_classes))
    else:
        scores = rng.normal(0, 5 if kind == "logits" else 1e37, (size, n_classes))
    labels = rng.integers(0, draw(st.integers(1, n_classes)), size)
    return scores, labels


def are_probabilities(scores: FloatArray) -> bool:
    """As far as bins care: what is a little above 1 may have been rounded."""
    return bool(scores.min() >= 0 and scores.max() < 1.125)
