"""Inequalities in the label mix that the true one keeps with a chosen probability, and whether any mix keeps all.

How the level of the test pays for them, and Lemmas 5 and 6 of docs/methods/assumption.md: bounds of what classes
and sets of cells can hold. Bets compare means by their variance. Where a set holds 1 % of a class's source rows
and 0.01 % of the target, bounds of both shares say more.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import log
from typing import TypeAlias

import numpy as np

from pacshift.arrays import FloatArray, cached_property, scipy
from pacshift.assumption.bets import Mixture, as_rows, cutting_planes, wealth_lines
from pacshift.assumption.cells import FEW_CLASSES, CellCounts, even_folds, join_folds, split
from pacshift.assumption.directions import MANY_STAKES, Stages, difference_bets, many_bets, share_bets
from pacshift.bounds import ROUNDING, Interval, binomial_lower, binomial_upper, clean_shares
from pacshift.mix.programs import MixProgram, largest_means
from pacshift.mix.region import quick_box
from pacshift.tally.cells import N_CONFIDENCE

MAX_BOX_CLASSES = 30
"""Up to this many classes: there are about 26 K² bounds, which beyond would take longer than all the rest."""

NEWTON_STEPS = 6
"""Steps towards the root, each from below. Six are within 1e-6 of it wherever a bound exceeds 1e-8; fewer would
only be lower."""

BELOW = 1e-11
"""So much, in logarithms, is subtracted for rounding."""


@dataclass(frozen=True)
class LevelShares:
    """How the level of the test is spent; the shares add up to 1."""

    tops: float = 0.05
    """A class is more frequent in the target than its largest share says."""
    boxes: float = 0.05
    """A rate is outside its bound."""
    class_shares: float = 0.1
    """A bet on a class's share wins too much."""
    differences: float = 0.8
    """The bets on a difference win too much."""


FEW_SHARES = LevelShares()
"""Up to 30 classes. Chosen on heart, CIFAR-10 and Entity-13; other shares refuse about as many."""
WITHOUT_BOXES = LevelShares(boxes=0.0, differences=0.85)
MANY_SHARES = LevelShares(tops=0.5, boxes=0.0, class_shares=0.0, differences=0.5)
"""With many classes the largest shares are all that bounds the mix. Chosen on draws of ImageNet scores."""


def level_shares(n_classes: int) -> LevelShares:
    """The shares of the level, fixed by the number of classes ("The test" of the page)."""
    if n_classes > FEW_CLASSES:
        return MANY_SHARES
    return FEW_SHARES if n_classes <= MAX_BOX_CLASSES else WITHOUT_BOXES


def largest_shares(counts: CellCounts, *, delta: float, contamination: float = 0.0) -> FloatArray:
    """Upper bounds of all t_j at once, right with probability at least ``1 - delta`` (Lemma 5 of the page).

    For S = "predicted j with at least this confidence", (1-η) t_j A_Sj <= q_S.
    """
    source, target = np.zeros((2, counts.n_classes, N_CONFIDENCE))
    cell = np.arange(len(counts.predicted))  # of its own class each cell counts the rows that are right
    right = np.asarray(counts.source[cell, counts.predicted], float).ravel()
    np.add.at(source, (counts.predicted, counts.confidence), right)
    np.add.at(target, (counts.predicted, counts.confidence), counts.target)
    inside, seen = (np.cumsum(part[:, ::-1], axis=1) for part in (source, target))
    return np.asarray(_ratios(counts, inside.T, seen.T, delta, contamination).min(axis=0))


def _ratios(
    counts: CellCounts, inside: FloatArray, seen: FloatArray, delta: float, contamination: float
) -> FloatArray:
    """Upper bounds of t_j, all right with probability at least ``1 - delta``, by sets S_j of cells (..., K).

    ``inside`` counts source rows of class j in S_j, ``seen`` target rows in it.
    """
    each = delta / (2 * inside.size)
    rate = binomial_lower(inside, counts.class_counts, delta=each)
    share = binomial_upper(seen, counts.n_target, delta=each)
    ratio = np.divide(share, (1 - contamination) * rate, out=np.ones_like(rate), where=rate > 0)
    return np.asarray(np.minimum(ratio, 1.0))


def suggested_sets(first: CellCounts) -> "scipy.sparse.csc_matrix":
    """For each class a set of predicted classes, as a column of 0 and 1, that a first fold suggests.

    Classes that are rarely recognised show themselves in several predictions together. Predicted classes are taken
    in the order of how typical they are of the class, as long as the bound of ``shares_by_sets`` would profit.
    """
    source, target = _count_by_prediction(first)
    frequency = (target + 1) / (first.n_target + first.n_classes)
    chosen = []
    for label in range(first.n_classes):
        part = slice(source.indptr[label], source.indptr[label + 1])
        predicted, rows = source.indices[part], source.data[part]
        order = np.argsort(-rows / frequency[predicted], kind="stable")
        inside = np.cumsum(rows[order])
        gain = (inside - np.sqrt(inside)) / np.cumsum(frequency[predicted[order]])
        chosen.append(predicted[order[: int(np.argmax(gain)) + 1]] if len(order) else order)
    columns = np.repeat(np.arange(first.n_classes), [len(some) for some in chosen])
    places = np.concatenate(chosen).astype(np.int64), columns
    return scipy.sparse.csc_matrix((np.ones(len(columns)), places), source.shape)


def shares_by_sets(
    sets: "scipy.sparse.csc_matrix", rest: CellCounts, *, delta: float, contamination: float = 0.0
) -> FloatArray:
    """Upper bounds of all t_j at once by one set per class that was chosen on other rows (Lemma 5)."""
    source, target = _count_by_prediction(rest)
    inside = np.asarray(source.multiply(sets).sum(axis=0)).ravel()
    return _ratios(rest, inside, sets.T @ target, delta, contamination)


def _count_by_prediction(counts: CellCounts) -> "tuple[scipy.sparse.csc_matrix, FloatArray]":
    """Counts [predicted, label] and [predicted], without confidence."""
    places = counts.predicted, np.arange(len(counts.predicted))
    pooling = scipy.sparse.csr_matrix(
        (np.ones(len(counts.target)), places), (counts.n_classes, len(counts.target))
    )
    return scipy.sparse.csc_matrix(pooling @ counts.source), np.asarray(pooling @ counts.target)


def box_sets(counts: CellCounts) -> FloatArray:
    """Sets of cells as rows of 0 and 1; how many there are depends on the number of classes alone.

    Confidence below each edge and from it on, over all classes; each predicted class and all but it; each
    predicted class with confidence below each edge and from it on.
    """
    confidence, edges = counts.confidence, np.arange(1, N_CONFIDENCE)[:, None]
    ranges = np.vstack([confidence < edges, confidence >= edges]).astype(float)
    predicted = np.eye(counts.n_classes)[:, counts.predicted]
    both = (predicted[:, None, :] * ranges[None]).reshape(-1, len(confidence))
    return np.vstack([ranges, predicted, 1 - predicted, both])


def box_rows(counts: CellCounts, *, delta: float, contamination: float) -> tuple[FloatArray, FloatArray]:
    """Rows A_S lower · t <= q_S upper / (1-η), which all hold with probability >= ``1 - delta`` (Lemma 6)."""
    sets = box_sets(counts)
    exponent = np.log(len(sets) * (counts.n_classes + 1) / delta)  # one bound per set and class, one per set
    rate = chernoff_lower(sets @ counts.source, counts.class_counts, exponent)
    share = 1 - chernoff_lower((1 - sets) @ counts.target, np.asarray(counts.n_target), exponent)
    useful = (rate > share[:, None]).any(axis=1)  # a row whose entries are all below its limit says nothing
    return rate[useful], share[useful] / (1 - contamination)


def chernoff_lower(count: FloatArray, total: FloatArray, exponent: float) -> FloatArray:
    """The least p with total · kl(count / total, p) <= exponent: a lower bound of a binomial rate (Lemma 6).

    In x = log p, kl is convex and falls up to the root: Newton's steps from below never pass it. So the answer may
    be too low by a little, never too high. 0 where nothing was counted.

    >>> chernoff_lower(np.array([0.0, 10.0, 50.0]), np.array(100.0), 3.0).round(3)
    array([0.   , 0.042, 0.379])
    """
    count, total = np.broadcast_arrays(np.rint(count), np.maximum(total, 1.0))  # matrix products round
    lower, some = np.zeros(count.shape), count > 0
    rate, allowed = count[some] / total[some], exponent / total[some]
    rest = 1 - rate
    entropy = rate * np.log(rate) + rest * np.log(np.maximum(rest, 1e-300))
    # Both ends are below the root: kl(z, p) >= z log(z / p) - z, and >= (z - p)² / 2z for p <= z.
    by_square = rate - np.sqrt(2 * rate * allowed)
    x = np.maximum(np.log(rate) - allowed / rate - 1, np.log(np.maximum(by_square, 1e-300)))
    for _ in range(NEWTON_STEPS):
        p = np.exp(x)
        excess = entropy - rate * x - rest * np.log1p(-p) - allowed
        x = x + np.maximum(excess, 0.0) * (1 - p) / np.maximum(rate - p, 1e-300)  # the slope is (p - z) / (1 - p)
    lower[some] = np.exp(x - BELOW)
    return lower


def known_box(top: FloatArray, known: Interval | None, contamination: float) -> Interval:
    """Bounds of the mix t of the label-shifted part: its largest shares, and what is known ("Known mix")."""
    if known is None:
        return Interval(np.zeros_like(top), top)
    clean = clean_shares(known, contamination)
    return Interval(np.maximum(clean.lower - ROUNDING, 0.0), np.minimum(top, clean.upper + ROUNDING))


@dataclass(frozen=True, eq=False)
class MixRows:
    """Inequalities that the true mix keeps with probability at least ``1 - level``.

    They are ``rows t <= limits`` and a box of the largest shares of Lemma 5 and the bounds that are known. The
    rows are looked at one by one: this is for many classes, where there is no time for more.
    """

    rows: FloatArray
    limits: FloatArray
    box: Interval

    @cached_property
    def refuted(self) -> bool:
        """Whether no mix keeps the box and one of the rows."""
        if self._box_is_empty:
            return True
        least = -largest_means(-self.rows, self.box)
        return bool((least > self.limits + ROUNDING).any())

    def largest(self, cost: FloatArray) -> float:
        """The largest ``cost · t`` over the mixes of the box."""
        return float(largest_means(cost[None], self.box)[0])

    @property
    def _box_is_empty(self) -> bool:
        low, top = self.box.lower, self.box.upper  # what is known may contradict a largest share
        return bool(top.sum() < 1 - ROUNDING or low.sum() > 1 + ROUNDING or (low > top + ROUNDING).any())

    @property
    def looser(self) -> list["MixRows"]:
        """What some of the inequalities leave alone: here the largest shares of the classes, and known bounds."""
        return [replace(self, rows=self.rows[:0], limits=self.limits[:0])]


@dataclass(frozen=True, eq=False)
class JointRows(MixRows):
    """Inequalities that some mix must keep all at once, by linear programs; for few classes.

    Here the box may be sharper by what follows from the rows, and there is the ``mixture`` of the bets on a
    difference.
    """

    mixture: Mixture | None = None

    @cached_property
    def refuted(self) -> bool:
        """Whether no mix keeps all inequalities."""
        return self._box_is_empty or self._planes[2]

    def largest(self, cost: FloatArray) -> float:
        """The largest ``cost · t`` over the mixes that are left."""
        return self._program.largest(cost)

    @property
    def looser(self) -> list[MixRows]:
        """The mixes up to the largest shares; those that the classes' shares leave, whatever else differs."""
        shares = replace(self, mixture=None)
        return [replace(shares, rows=self.rows[:0], limits=self.limits[:0]), shares]

    @cached_property
    def _program(self) -> MixProgram:
        return MixProgram(*self._planes[:2])

    @cached_property
    def _planes(self) -> tuple[FloatArray, FloatArray, bool]:
        """Rows and box as rows with entries >= 0: t_j >= l says that the other classes together have 1 - l."""
        eye = np.eye(len(self.box.upper))
        limits = np.concatenate([self.limits, self.box.upper, 1 - self.box.lower])
        return cutting_planes(np.vstack([self.rows, eye, 1 - eye]), limits, self.mixture)


RowsWithin: TypeAlias = Callable[[Interval | None], MixRows]
"""All inequalities of the test, given bounds of the mix that are known. All bets were placed before these."""


def few_classes(counts: CellCounts, *, level: float, contamination: float) -> RowsWithin:
    """The test with up to 60 classes: bet on every fold and bound every rate ("The test" of the page)."""
    spent, n_classes = level_shares(counts.n_classes), counts.n_classes
    largest = largest_shares(counts, delta=spent.tops * level, contamination=contamination)
    boxes: tuple[FloatArray, FloatArray] = np.empty((0, n_classes)), np.empty(0)
    if spent.boxes:
        boxes = box_rows(counts, delta=spent.boxes * level, contamination=contamination)
    # The log-wealth that bets on classes' shares, and the mean of those on a difference, reach by chance with
    # their parts of the level.
    hurdle = log(2 * n_classes / (spent.class_shares * level))
    difference_hurdle = log(1 / (spent.differences * level))
    stages = Stages.of(counts, *even_folds(counts))
    shares, differences = share_bets(stages, hurdle), difference_bets(stages, difference_hurdle)
    start = stages.fits.mix[-stages.n_splits :].mean(axis=0)  # what the last pasts suggest

    def rows_within(known: Interval | None) -> JointRows:
        box = known_box(largest, known, contamination)
        # Smaller largest shares make sharper rows; the same events pay for both rounds.
        low, top = box.lower, box.upper
        for _ in range(2):
            rows, limits = as_rows(*wealth_lines(shares, low, top, contamination), hurdle)
            rows, limits = np.vstack([rows, boxes[0]]), np.append(limits, boxes[1])
            sharper = quick_box(rows, limits)
            low, top = np.maximum(box.lower, sharper.lower), np.minimum(box.upper, sharper.upper)
        mixture = Mixture(*wealth_lines(differences, low, top, contamination), difference_hurdle, start)
        return JointRows(rows, limits, Interval(low, top), mixture)

    return rows_within


def many_classes(counts: CellCounts, *, level: float, contamination: float) -> RowsWithin:
    """The test with more classes, without linear programs; the first fold suggests sets for Lemma 5."""
    spent, folds = level_shares(counts.n_classes), split(counts)
    hurdle = log(len(MANY_STAKES) / (spent.differences * level))  # one bet reaches it by chance with its part
    half = spent.tops * level / 2
    largest = np.minimum(
        largest_shares(counts, delta=half, contamination=contamination),
        shares_by_sets(suggested_sets(folds[0]), join_folds(folds[1:]), delta=half, contamination=contamination),
    )
    differences = many_bets(folds, hurdle)

    def rows_within(known: Interval | None) -> MixRows:
        box = known_box(largest, known, contamination)
        return MixRows(*as_rows(*wealth_lines(differences, box.lower, box.upper, contamination), hurdle), box)

    return rows_within
