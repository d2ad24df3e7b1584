"""The rows of the region: which label mixes the counts of each set of predicted classes allow.

Under label shift q = A t, with A[i, j] = P(predicted i given label j) the same on both sides and t the target's
label mix. For a set S of predicted classes, write A_S, q_S for the sums over S. There are two kinds of rows:

* boxes: exact binomial bounds on A_S and q_S leave only mixes with ``A_S lower · t <= q_S upper``;
* sums: for the true t, ``A_S hat · t - q_S hat`` is a centred sum of independent terms, so it is below a
  deviation bound; the variance and the steps in that bound are bounded over the mixes found so far.

Section "The region" of the proof page (docs/methods/ps-lp-proof.md). Known bounds of the mix give rows too.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TypeAlias

import numpy as np

from pacshift.arrays import FloatArray, IntArray
from pacshift.bounds import Interval, binomial_upper, clean_shares
from pacshift.mix.programs import largest_in_box
from pacshift.mix.tails import deviation

UpperBound: TypeAlias = Callable[..., FloatArray]
"""Upper bounds of rates from counts, totals and ``delta``."""

MAX_SETS = 4096
"""Sets of predicted classes: all of them up to K = 12, small ones and their complements beyond.
With 512 sizes do not change (up to 20 classes)."""


def predicted_sets(n_classes: int, most: int = MAX_SETS) -> tuple[FloatArray, FloatArray]:
    """Sets S of predicted classes as 0/1 rows: single ones, then larger ones, both with their complements.

    Step "The region". Read backwards, the rows are the complements in order.

    >>> [len(sets) for sets in predicted_sets(2)], [len(sets) for sets in predicted_sets(4)]
    ([2, 0], [8, 6])
    """
    sizes = range(2, n_classes // 2 + 1)
    counted, largest = 2 * n_classes, 1
    for size in sizes:
        counted += (1 if 2 * size == n_classes else 2) * comb(n_classes, size)
        if counted > most:
            break
        largest = size
    larger = [c for size in sizes if size <= largest for c in combinations(range(n_classes), size)]
    eye = np.eye(n_classes)
    single = eye if n_classes == 2 else np.vstack([eye, 1 - eye[::-1]])
    picked = np.zeros((len(larger), n_classes))
    for row, members in enumerate(larger):
        picked[row, list(members)] = 1.0
    halves = picked.sum(axis=1) * 2 == n_classes  # these hold their complements already
    return single, np.vstack([picked, 1 - picked[~halves][::-1]])


@dataclass(frozen=True, eq=False)
class SetCounts:
    """For each set S and label j: bounds on A_Sj (``rate``) and q_S (``share``), and what was observed."""

    rate: Interval
    share: Interval
    observed: FloatArray
    observed_share: FloatArray
    class_counts: IntArray
    n_target: int
    contamination: float = 0.0

    @classmethod
    def of(
        cls,
        sets: FloatArray,
        confusion: IntArray,
        target: IntArray,
        *,
        bound: UpperBound,
        delta: float,
        contamination: float = 0.0,
    ) -> "SetCounts":
        """Step "Boxes": one-sided bounds for each set and label."""
        totals, n_target = confusion.sum(axis=0), int(target.sum())
        inside, share = sets @ confusion, sets @ target
        each = delta / (len(sets) * (len(target) + 1))
        # The family holds all complements, so its upper bounds give all lower bounds without further events.
        rate = np.where(totals > 0, bound(inside, totals, delta=each), 1.0)
        most = bound(share, n_target, delta=each)
        # A class without examples adds 0 to the sums: its true, unknown part only makes them smaller.
        return cls(
            Interval(1 - rate[::-1], rate),
            Interval(1 - most[::-1], most),
            inside / np.maximum(totals, 1),
            share / n_target,
            totals,
            n_target,
            contamination,
        )

    @property
    def box_limits(self) -> FloatArray:
        """Right-hand sides of the boxes: those of (1-η) A_S lower · t <= q_S upper, divided by 1-η."""
        return self.share.upper / (1 - self.contamination)

    def sums(self, prevalence: Interval, delta: float) -> tuple[FloatArray, FloatArray]:
        """Step "Sums": rows and right-hand sides, with the width w_S(t) of Lemma 4 as a linear function of t.

        The variance grows with t_j², which lies below its chord between the ends of ``prevalence``.
        """
        seen = self.class_counts > 0
        totals, rate = self.class_counts[seen], Interval(self.rate.lower[:, seen], self.rate.upper[:, seen])
        source, target = _variance(rate), _variance(self.share)
        source, target = (
            Interval(v.lower / n, v.upper / n) for v, n in ((source, totals), (target, self.n_target))
        )
        clean = 1 - self.contamination  # below t stands for (1-η) t, which sums to 1-η
        low, high = clean * prevalence.lower[seen], clean * prevalence.upper[seen]
        least, most = (
            clean * (1 - min(float(end[~seen].sum()), 1.0)) for end in (prevalence.upper, prevalence.lower)
        )
        chord, at_zero = source.upper * (low + high), target.upper - source.upper @ (low * high)
        variance = Interval(
            target.lower + _least_squares(source.lower, low, least),
            at_zero + chord @ low + largest_in_box(chord, high - low, most - float(low.sum())),
        )
        width, slope = deviation(
            variance,
            step=max(float(np.max(high / totals, initial=0.0)), 1 / self.n_target),
            fine_variance=target.lower,
            fine_step=1 / self.n_target,
            delta=np.full(len(self.observed), delta),
        )
        rows = self.observed.copy()
        rows[:, seen] -= slope[:, None] * chord
        return rows, (self.observed_share + width + slope * (at_zero - variance.lower)) / clean


def _variance(rate: Interval) -> Interval:
    """Bounds of x (1 - x) for x in ``rate``."""
    ends = rate.lower * (1 - rate.lower), rate.upper * (1 - rate.upper)
    middle = (rate.lower <= 0.5) & (rate.upper >= 0.5)
    return Interval(np.minimum(*ends), np.where(middle, 0.25, np.maximum(*ends)))


def _least_squares(coefficients: FloatArray, low: FloatArray, total: float) -> FloatArray:
    """For each row a lower bound of sum c_j t_j² over t >= low of sum >= ``total`` (Cauchy-Schwarz)."""
    with np.errstate(divide="ignore"):
        spread = total**2 / (1 / coefficients).sum(axis=1)
    return np.asarray(np.maximum(coefficients @ low**2, spread))


def exact_upper(count: IntArray, total: IntArray, *, delta: float) -> FloatArray:
    """Clopper-Pearson's upper bounds; equal counts, of which many classes have many, are computed once."""
    pairs, place = np.unique(
        np.stack(np.broadcast_arrays(count, total)).reshape(2, -1), axis=1, return_inverse=True
    )
    return np.asarray(binomial_upper(*pairs, delta=delta)[place].reshape(np.shape(count)))


def known_rows(known: Interval | None, contamination: float, *, n_classes: int) -> tuple[FloatArray, FloatArray]:
    """Bounds of the whole target's label shares s as rows of the mix t of its label-shifted part ("Known mix").

    That of t_j >= lower says that the other classes together have at most 1 - lower.

    >>> known_rows(Interval(np.array([0.2, 0.0]), np.array([1.0, 0.6])), 0.0, n_classes=2)[1]
    array([1. , 0.6, 0.8, 1. ])
    """
    if known is None:
        return np.empty((0, n_classes)), np.empty(0)
    clean = clean_shares(known, contamination)
    return np.vstack([np.eye(n_classes), 1 - np.eye(n_classes)]), np.concatenate([clean.upper, 1 - clean.lower])
