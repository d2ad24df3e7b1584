"""Worlds in which the truth is known: named ones where a program once failed, and random ones without end."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import beta, betabinom

from benchmarks.hunt_laws import NEW_KIND, Atoms, Law, Piece, Pieces
from pacshift import Population
from pacshift.arrays import FloatArray, IntArray

CLASSES = (2, 3, 5, 10, 25, 60, 120, 250)
CLASS_CHANCE = (0.4, 0.2, 0.12, 0.1, 0.08, 0.05, 0.03, 0.02)
MAX_SCORES = 3_000_000
"""Scores in one matrix of a random world."""


GEOMETRIC, GEOMETRIC_MEAN = 0, 4
"""Stands for groups of random sizes, and their mean."""

SIZES = ((1,), (2,), (20,), (GEOMETRIC,), (1, 20))
"""Sizes of groups by class; the last: groups of one class are large, those of another small."""


@dataclass(frozen=True, eq=False)
class Sample:
    """What a user would have, and the labels of the target, which a user has of few rows."""

    source: FloatArray
    labels: IntArray
    target: FloatArray
    target_labels: IntArray
    groups: Any
    """The group of each source row: its number, or the id that it goes by."""
    target_groups: Any


@dataclass(frozen=True, eq=False)
class World:
    """A law, the label mixes on both sides, and how many rows are drawn.

    Parameters
    ----------
    counts : source rows per class
        Drawn as they are, or on average if ``iid``.
    mix : label mix of the target
    stranger : (label, looks)
        Rows that contaminate the target, where it is asked for: their label, and the class they look like.
    other_law : law of the target's rows
        None where label shift holds: rows of a class look the same on both sides.
    sizes : rows of a group, by its class
        ``counts``, ``mix`` and ``n_target`` are about groups, of which each has one class. A random row of a group
        has the law of this class, so that promises about a random row of a random group are judged as they are
        about rows. The sizes are taken in turn; ``GEOMETRIC`` stands for random ones.
    alike : bool
        The rows of a group lie evenly over their law, so that groups hold nearly the same. Else they are
        independent.
    """

    kind: str
    law: Law
    counts: tuple[float, ...]
    mix: tuple[float, ...]
    n_target: int
    epsilon: float = 0.1
    iid: bool = False
    in_order: bool = False
    stranger: tuple[int, int] = (NEW_KIND, 0)
    other_law: Law | None = None
    sizes: tuple[int, ...] = (1,)
    alike: bool = False

    @property
    def target_law(self) -> Law:
        """How rows of each class look in the target."""
        return self.other_law or self.law

    @property
    def n_source(self) -> int:
        """Source rows in all."""
        return round(sum(self.counts))

    @property
    def source_mix(self) -> FloatArray:
        """The label mix of the source."""
        return np.array(self.counts) / sum(self.counts)

    @property
    def weights(self) -> FloatArray:
        """The importance weights; a class that is nowhere has weight 0."""
        priors, mix = self.source_mix, np.array(self.mix)
        return np.asarray(np.divide(mix, priors, out=np.zeros_like(mix), where=priors > 0))

    def draw(self, rng: np.random.Generator, *, strangers: float = 0.0) -> Sample:
        """Fresh rows of both sides; ``strangers`` is their share of the target."""
        n_classes = self.law.n_classes
        if self.iid:
            labels = rng.choice(n_classes, self.n_source, p=self.source_mix)
        else:
            labels = np.repeat(np.arange(n_classes), np.array(self.counts, np.int64))
        hidden = rng.choice(n_classes, self.n_target, p=np.array(self.mix) / sum(self.mix))
        looks, strange = hidden.copy(), rng.random(self.n_target) < strangers
        hidden[strange], looks[strange] = self.stranger
        (own, places), (others, target_places) = self._in_groups(labels, rng), self._in_groups(looks, rng)
        source, target = self.law.draw(labels[own], places), self.target_law.draw(looks[others], target_places)
        order, target_order = (self._order(*one, rng) for one in ((source, labels[own]), (target, looks[others])))
        own, others = own[order], others[target_order]
        numbers = (len(labels) - 1 - own, len(hidden) - 1 - others)  # from the last class on
        return Sample(source[order], labels[own], target[target_order], hidden[others], *numbers)

    def _in_groups(self, labels: IntArray, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
        """For each row the number of its group, and its place in the law, by the classes of the groups."""
        sizes = np.resize(self.sizes, self.law.n_classes)[labels]
        sizes = np.where(sizes == GEOMETRIC, rng.geometric(1 / GEOMETRIC_MEAN, len(labels)), sizes)
        groups = np.repeat(np.arange(len(labels)), sizes)
        places = rng.random(len(groups))
        if self.alike:
            number = np.arange(len(groups)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
            places = (number + places[np.repeat(np.cumsum(sizes) - sizes, sizes)]) / sizes[groups]
        return groups, places

    def _order(self, scores: FloatArray, labels: IntArray, rng: np.random.Generator) -> IntArray:
        """The places of the rows: by class and score, or in random order."""
        true = scores[np.arange(len(labels)), labels]
        return np.lexsort((true, labels)) if self.in_order else rng.permutation(len(labels))

    def __str__(self) -> str:
        counts = [f"{count:,.0f}" for count in self.counts]
        shown = " / ".join(counts) if len(counts) <= 3 else f"{min(self.counts):,.0f} to {max(self.counts):,.0f}"
        main = int(np.argmax(self.mix))
        return (
            f"{self.kind}, K = {len(counts)}, {shown} rows a class{' on average' * self.iid}"
            f"{' in order' * self.in_order}, n = {self.n_target:,}, {100 * self.mix[main]:.0f} % of class {main}, "
            f"ε = {self.epsilon:g}{', no label shift' * (self.other_law is not None)}"
            f"{', groups that hold the same' * (self.alike and self.sizes != (1,))}"
        )


def sizes_in_words(sizes: tuple[int, ...]) -> str:
    """How large groups are.

    >>> sizes_in_words((1, 20)), sizes_in_words((GEOMETRIC,))
    ('groups of 1 or 20', 'groups of 4 on average')
    """
    return "groups of " + " or ".join(
        f"{GEOMETRIC_MEAN} on average" if size == GEOMETRIC else str(size) for size in sizes
    )


def coin_world(counts: tuple[float, float], *, law: Law | None = None, iid: bool = False) -> World:
    """Two classes that no row confuses; all of the target is of the second, with scores from .5 to 1."""
    plain = Pieces((((0.6, 1.0, 1.0),), ((0.5, 1.0, 1.0),)), (1, 0))
    return World("two classes apart", law or plain, counts, (0.0, 1.0), 5_000, iid=iid)


def tied_world(counts: tuple[float, float]) -> World:
    """The second class has two scores alone; to miss the lower one is to miss a little more than ε."""
    law = Pieces((((0.6, 1.0, 1.0),), ((0.6, 0.6, 0.101), (0.9, 0.9, 0.899))), (1, 0))
    return coin_world(counts, law=law)


def rows_world(counts: tuple[float, float]) -> World:
    """Two classes that are confused at times: scores that curves from score rows follow, unlike those apart."""
    pieces = ((0.0, 0.5, 0.1), (0.5, 1.0, 0.9))
    return World("two classes confused", Pieces((pieces, pieces), (1, 0)), counts, (0.0, 1.0), 5_000)


def weights_world() -> World:
    """Known weights (.4, 1.9): all errors are of the first class, of whose sorted rows few are kept."""
    law = Pieces((((0.0, 1.0, 1.0),), ((0.9, 1.0, 1.0),)), (1, 0))
    return World("known weights", law, (1200, 800), (0.24, 0.76), 2_000)


def ordered_world() -> World:
    """One class of scores from .5 to 1, another of few rows, given in the order of their scores."""
    law = Pieces((((0.5, 1.0, 1.0),), ((0.5, 1.0, 1.0),)), (1, 0)).atoms(20_000)
    return World("rows in order", law, (1000, 1000), (0.5, 0.5), 2_000, in_order=True)


def labels_world(n_target: int) -> World:
    """Label shift is false: in the target the first class is often taken for the other, and it alone is missed."""
    easy = Pieces((((0.6, 1.0, 1.0),), ((0.7, 1.0, 1.0),)), (1, 0))
    hard = Pieces((((0.3, 0.9, 1.0),), ((0.9, 1.0, 1.0),)), (1, 0))
    return World(
        "labels alone", easy, (500, 500), (0.6, 0.4), n_target, epsilon=0.3, in_order=True, other_law=hard
    )


def knife_world(*errors: float, shifted: bool = True) -> World:
    """Of every predicted label 10.05 % are wrong at every score: every rule that accepts anything errs too much.

    Or each label has an error of its own. Where label shift is false, the source's rows are surer, and nearly all
    right.
    """
    shares, tops, error = np.array([0.4, 0.35, 0.25]), np.linspace(0.66, 0.995, 12), np.array(errors or (0.1005,))
    joint = np.diag(shares) * (1 - error) + (1 - np.eye(3)) * shares * error / 2  # by label and predicted label
    label, predicted, level = (part.ravel() for part in np.indices((3, 3, len(tops))))
    rows = np.repeat((1 - tops[level])[:, None] / 2, 3, axis=1)
    rows[np.arange(len(rows)), predicted] = tops[level]
    law = Atoms(rows, label, joint[label, predicted])
    right = Atoms(rows, label, np.where(label == predicted, 1.0, 1e-3) * (level + 1) ** 2)
    mix = tuple(joint.sum(axis=1).tolist())
    if shifted:
        return World("knife", law, (500, 500, 500), mix, 1500)
    return World("knife", right, (400, 400, 400), mix, 1500, other_law=law)


def ties_world() -> World:
    """In half of the rows two labels differ by less than single precision tells, and the higher one is right."""
    close = float(np.nextafter(0.5, 0))
    rows = np.array([[0.97, 0.03], [0.5, close], [0.03, 0.97], [close, 0.5]])
    return World("ties", Atoms(rows, np.array([0, 0, 1, 1]), np.ones(4)), (700, 700), (0.2, 0.8), 1500)


def patients_world(n_patients: int) -> World:
    """Patients with 20 rows of one decimal each, 10.1 % of them below .5; others with a row each, apart."""
    edges = np.append(np.arange(0.05, 1.0, 0.1), 1.0)
    chances = np.diff(beta.cdf(edges, 4, 1.7135), prepend=0.0)
    hard = [(round(place / 10, 1),) * 2 + (float(chance),) for place, chance in enumerate(chances)]
    law = Pieces((((0.9, 0.9, 1.0),), hard), (1, 0)).atoms()
    return World("patients", law, (600, n_patients), (0.0, 1.0), 500, sizes=(1, 20))


def two_kinds_world() -> World:
    """Each patient of the second class has a row of either kind, on both sides; the first has one kind alone."""
    law = Pieces((((0.6, 0.6, 1.0),), ((0.4, 0.4, 0.5), (0.9, 0.9, 0.5))), (1, 0)).atoms()
    return World("two kinds of rows", law, (500, 700), (0.1, 0.9), 700, sizes=(2,), alike=True)


def visits_world() -> World:
    """Half of the patients come once and are easy, half come 20 times and are hard; label shift holds."""
    easy, hard = ((0.3, 0.5, 0.02), (0.5, 1.0, 0.98)), ((0.0, 0.5, 0.6), (0.5, 1.0, 0.4))
    return World("visits", Pieces((easy, hard), (1, 0)), (400, 400), (0.5, 0.5), 600, sizes=(1, 20))


def swapped_world() -> World:
    """Three classes, of which each is nearly always taken for the next: what is predicted is not what is meant."""
    pieces: tuple[Piece, ...] = ((0.05, 0.5, 0.95), (0.5, 0.8, 0.05))
    return World(
        "classes swapped", Pieces((pieces,) * 3, (1, 2, 0)), (1500, 1500, 1500), (0.2, 0.2, 0.6), 4_000, iid=True
    )


def forest_world(trees: int, epsilon: float) -> World:
    """Scores are votes of trees: a few fractions that other float types round up or down."""
    votes, chances = np.arange(trees + 1), betabinom.pmf(np.arange(trees + 1), trees, 5, 2)
    own = np.column_stack([votes / trees, (trees - votes) / trees])
    law = Atoms(np.vstack([own, own[:, ::-1]]), np.repeat([0, 1], trees + 1), np.tile(chances, 2))
    return World("votes of trees", law, (8_000, 8_000), (0.6, 0.4), 5_000, epsilon=epsilon)


def long_tail_world() -> World:
    """Too many classes for linear programs, with 15 to 400 rows each; one is recognised half the time."""
    n_classes, weak, rng = 201, 100, np.random.default_rng(7)
    made = Population.synthetic(n_classes, strength=8.0, rows_per_class=20, rng=rng)
    scores = np.array(made.scores, float)
    scores[np.flatnonzero(made.index == weak)[::2], weak] *= 1e-3
    scores /= scores.sum(axis=1, keepdims=True)
    counts = np.round(np.geomspace(15, 400, n_classes))
    mix = 0.98 * rng.dirichlet(np.full(n_classes, 0.5)) + 0.02 * (np.arange(n_classes) == weak)
    law = Atoms(scores, made.index, np.ones(len(scores)))
    return World("long tail", law, tuple(counts.tolist()), tuple(mix.tolist()), 20_000)


def random_world(
    rng: np.random.Generator, *, iid: bool, finite: bool, shifted: bool = True, sizes: tuple[int, ...] = (1,)
) -> World:
    """Any world: rows over orders of magnitude, any mix, ties, steps, twins among classes, hardly any rows.

    Where it is not label-``shifted``, the target has a law of its own, of any kind.
    """
    n_classes = int(rng.choice(CLASSES, p=CLASS_CHANCE))
    epsilon = float(rng.choice([0.02, 0.05, 0.1, 0.2, 0.3]))
    mix = _mix(n_classes, rng)
    counts = _counts(n_classes, rng)
    if iid:
        counts = np.maximum(counts, 0.5)
    kind = str(rng.choice(list(LAWS)))
    laws = [LAWS[kind](n_classes, epsilon, mix, rng)]
    if not shifted:
        laws.append(LAWS[str(rng.choice(list(LAWS)))](n_classes, epsilon, mix, rng))
    # Where there are groups, rows repeat: few points of a law.
    points = 400 if sizes == (1,) else 8
    laws = [law.atoms(points) if finite and isinstance(law, Pieces) else law for law in laws]
    most = MAX_SCORES // n_classes // max(*sizes, GEOMETRIC_MEAN if GEOMETRIC in sizes else 1, 1)
    return World(
        kind,
        laws[0],
        tuple((counts * min(1.0, most / counts.sum())).tolist() if iid else np.minimum(counts, most).tolist()),
        tuple(mix.tolist()),
        int(min(10 ** rng.uniform(1.5, 4.3), most)),
        epsilon=epsilon,
        iid=iid,
        in_order=bool(rng.random() < 0.5),
        stranger=_stranger(n_classes, rng),
        other_law=None if shifted else laws[1],
        sizes=sizes,
        alike=bool(rng.random() < 0.5),
    )


def _mix(n_classes: int, rng: np.random.Generator) -> FloatArray:
    """All of one class, nearly all of one class, few classes, or many."""
    corner = np.eye(n_classes)[rng.integers(n_classes)]
    kind = rng.random()
    if kind < 0.35:
        return np.asarray(corner)
    if kind < 0.6:
        share = rng.uniform(0.5, 0.99)
        return np.asarray(share * corner + (1 - share) * rng.dirichlet(np.ones(n_classes)))
    return np.asarray(rng.dirichlet(np.full(n_classes, rng.choice([0.2, 1.0, 20.0]))))


def _counts(n_classes: int, rng: np.random.Generator) -> FloatArray:
    """From a few dozen rows to tens of thousands; at times some classes have 0 to 3."""
    total = 10 ** rng.uniform(1.5, 4.7) * min(n_classes, 10) ** 0.5
    counts = np.floor(total * rng.dirichlet(np.full(n_classes, rng.choice([0.3, 1.0, 10.0])))) + 1
    if rng.random() < 0.3:
        rare = rng.permutation(n_classes)[: rng.integers(1, max(2, n_classes // 4 + 1))]
        counts[rare] = rng.integers(0, 4, len(rare))
    return np.asarray(counts if counts.sum() else counts + 1)


def _stranger(n_classes: int, rng: np.random.Generator) -> tuple[int, int]:
    """A new kind, or one class in the clothes of another."""
    label, looks = rng.permutation(n_classes)[:2].tolist()
    return (NEW_KIND if rng.random() < 0.5 else label), looks


def _apart(n_classes: int, epsilon: float, mix: FloatArray, rng: np.random.Generator) -> Law:
    """No row is confused; the score of the true label is spread evenly."""
    low = rng.choice([0.5, 0.6, 0.9], n_classes)
    return Pieces([((float(least), 1.0, 1.0),) for least in low], _others(n_classes, rng))


def _steps(n_classes: int, epsilon: float, mix: FloatArray, rng: np.random.Generator) -> Law:
    """The main class jumps from no misses to a little more than ε at one tied score."""
    pieces: list[tuple[Piece, ...]] = []
    main = int(np.argmax(mix))
    for label in range(n_classes):
        jump = min(1.02 * epsilon / mix[main], 0.9) if label == main else rng.uniform(0, 0.3)
        low, high = np.sort(rng.uniform(0.2, 1.0, 2)).tolist()
        ends = (high, high) if rng.random() < 0.5 else (high, 1.0)
        pieces.append(((low, low, jump), (*ends, 1 - jump)))
    return Pieces(pieces, _others(n_classes, rng))


def _twins(n_classes: int, epsilon: float, mix: FloatArray, rng: np.random.Generator) -> Law:
    """The first two classes are predicted nearly alike, but one of them has far lower scores when it is missed."""
    wrong = 0.5 - rng.choice([0.0, 0.01, 0.05])
    easy: tuple[Piece, ...] = ((0.4, 0.5, wrong), (0.5, 1.0, 1 - wrong))
    hard: tuple[Piece, ...] = ((0.0, 0.5, 1 - wrong), (0.5, 1.0, wrong))
    rest: tuple[Piece, ...] = ((0.3, 1.0, 1.0),)
    return Pieces([easy, hard] + [rest] * (n_classes - 2), _others(n_classes, rng))


def _overlap(n_classes: int, epsilon: float, mix: FloatArray, rng: np.random.Generator) -> Law:
    """Classes of an imagined classifier, from no better than chance to good; in a third of worlds many ties."""
    strength, rows = float(rng.choice([0.0, 1.0, 3.0, 6.0])), max(20, 4_000 // n_classes)
    made = Population.synthetic(n_classes, strength=strength, rows_per_class=rows, rng=rng)
    scores = np.asarray(made.scores, float)
    if rng.random() < 1 / 3:
        scores = np.round(scores, 1 if n_classes < 10 else 2) + 1e-3
        scores /= scores.sum(axis=1, keepdims=True)
    return Atoms(scores, made.index, np.ones(len(scores)))


def _others(n_classes: int, rng: np.random.Generator) -> list[int]:
    """For each class the one that it is confused with: its neighbour, or always one of the first two."""
    if rng.random() < 0.5:
        return [label ^ 1 if label ^ 1 < n_classes else 0 for label in range(n_classes)]
    return [int(label == 0) for label in range(n_classes)]


LAWS: dict[str, Callable[[int, float, FloatArray, np.random.Generator], Law]] = {
    "classes apart": _apart,
    "steps": _steps,
    "twins": _twins,
    "overlap": _overlap,
}
"""Kinds of random worlds: a new kind is one more entry."""
