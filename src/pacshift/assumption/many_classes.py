"""The test with more than 60 classes: one direction at four stakes, sparse counts, and no linear programs.

"Directions" of docs/methods/assumption.md, last paragraph.
"""

from dataclasses import dataclass
from math import log

import numpy as np
import scipy  # its parts load when first used

from pacshift.arrays import FloatArray
from pacshift.assumption.bets import Bets, FoldBets, Means, as_rows, bets_if_past_repeats, place_bets
from pacshift.assumption.cells import CellCounts, joined, split
from pacshift.assumption.directions import best_fit
from pacshift.assumption.inequalities import (
    MixRows,
    known_box,
    largest_shares,
    level_shares,
    shares_by_sets,
    suggested_sets,
)
from pacshift.bounds import Interval
from pacshift.tally.cells import N_CONFIDENCE

MAX_PROJECTED_CLASSES = 2000
"""Beyond this many classes the direction looks at confidence alone: K x K numbers would be too many (32 MB
here)."""

STAKES = np.array([0.3, 0.12, 0.07, 0.04])
"""Stakes that the direction is tried with, as shares of the best one for a known mix. Chosen on draws of ImageNet
scores; small, because the mix of many classes is known badly."""

CLIP = 2.5
"""The direction is clipped at so many standard deviations: rare cells must not set the scale. Chosen on draws of
ImageNet scores."""


def many_bets(folds: list[CellCounts], hurdle: float, contamination: float) -> Bets:
    """The bets on every fold but the first, one for each of the stakes (Lemmas 2 to 4)."""
    placed: list[FoldBets] = []
    for place in range(1, len(folds)):
        past, fold = joined(folds[:place]), folds[place]
        found, mix = direction(past)
        # Clipped at a few standard deviations and brought to [0, 1].
        weight = (past.shares + np.asarray(past.rates @ mix)) / 2
        centred = found - weight @ found / max(weight.sum(), 1e-300)
        limit = CLIP * np.sqrt(weight @ centred**2)
        clipped = np.clip(centred, -limit, limit)
        low, high = clipped.min(), clipped.max()
        values = (clipped - low) / (high - low if high > low else 1.0)
        before, now = _means(past, values), _means(fold, values)
        repeated = bets_if_past_repeats(before, now.class_counts, now.n_target)
        stakes = repeated.at_shares(STAKES, mix, hurdle / (len(folds) - 1)).stake
        placed.append(place_bets(stakes, before, now))
    return Bets.of(placed, contamination)


def _means(counts: CellCounts, values: FloatArray) -> Means:
    """Means of the powers of a direction, once for each of the stakes."""
    repeated = np.repeat(values[:, None], len(STAKES), axis=1)
    powers = [repeated**power for power in (1, 2, 3, 4)]
    source = np.array([np.asarray((counts.rates.T @ power).T) for power in powers])
    target = np.array([np.asarray(counts.shares @ power) for power in powers])
    return Means(source, target, counts.class_counts[None, :], np.array([counts.n_target]))


def direction(past: CellCounts) -> tuple[FloatArray, FloatArray]:
    """The marginal direction, solved without signs, then freed of every change of mix; and the best mix."""
    fit = best_fit(past)
    left = past.shares - past.rates @ fit.mix
    if past.n_classes > MAX_PROJECTED_CLASSES:
        residual, spread = (np.bincount(past.confidence, part) for part in (left, fit.variance))
        return np.asarray((residual / spread)[past.confidence]), fit.mix
    # The predicted class and the bin of each cell, as rows of 0 and 1.
    cells, n_rows = np.arange(len(past.target)), past.n_classes + N_CONFIDENCE
    places = np.concatenate([past.predicted, past.n_classes + past.confidence]), np.tile(cells, 2)
    pooled = scipy.sparse.csr_matrix((np.ones(2 * len(cells)), places), (n_rows, len(cells)))
    residual = np.asarray(pooled @ left)
    model = pooled @ past.rates
    weighed = solve_marginals(past, fit.variance, np.column_stack([model.toarray(), residual]))
    gram = np.asarray(model.T @ weighed[:, :-1])
    ridge = max(3e-2 * np.trace(gram) / len(gram), 1e-12)  # against classes that look alike; not measured
    gram = gram + ridge * np.eye(len(gram))
    explained = weighed[:, :-1] @ np.linalg.solve(gram, weighed[:, :-1].T @ residual)
    return np.asarray(pooled.T @ (weighed[:, -1] - explained)), fit.mix


def solve_marginals(past: CellCounts, variance: FloatArray, wanted: FloatArray) -> FloatArray:
    """Solve with the covariance of predicted classes and bins, of which each block but one is diagonal.

    So only 13 equations are left after the predicted classes are eliminated.
    """
    n_classes, shape = past.n_classes, (past.n_classes, N_CONFIDENCE)
    cross: FloatArray = np.zeros(shape)
    np.add.at(cross, (past.predicted, past.confidence), variance)
    ridge = max(1e-6 * 2 * variance.sum() / sum(shape), 1e-12)
    first, second = cross.sum(axis=1) + ridge, np.diag(cross.sum(axis=0) + ridge)
    scaled = cross / first[:, None]
    last = np.linalg.solve(second - cross.T @ scaled, wanted[n_classes:] - scaled.T @ wanted[:n_classes])
    return np.vstack([wanted[:n_classes] / first[:, None] - scaled @ last, last])


@dataclass(frozen=True, eq=False)
class ManyClasses:
    """All bets and bounds of one tally, before anything known of the mix: ``top`` are the largest shares.

    ``hurdle`` is the log-wealth that one of the bets reaches by chance with its part of the level.
    """

    top: FloatArray
    differences: Bets
    hurdle: float

    @classmethod
    def place(cls, counts: CellCounts, *, level: float, contamination: float) -> "ManyClasses":
        """Bet on every fold, and bound the shares also by sets that the first fold suggests (Lemma 5)."""
        spent, folds = level_shares(counts.n_classes), split(counts)
        hurdle = log(len(STAKES) / (spent.differences * level))
        half = spent.tops * level / 2
        top = np.minimum(
            largest_shares(counts, delta=half, contamination=contamination),
            shares_by_sets(suggested_sets(folds[0]), joined(folds[1:]), delta=half, contamination=contamination),
        )
        return cls(top, many_bets(folds, hurdle, contamination), hurdle)

    def rows(self, known: Interval | None = None) -> MixRows:
        """All inequalities of the test, with known bounds of the mix ("The test" of the page)."""
        box = known_box(self.top, known, self.differences.contamination)
        return MixRows(*as_rows(*self.differences.lines(box.lower, box.upper), self.hurdle), box)
