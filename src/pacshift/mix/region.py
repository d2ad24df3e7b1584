"""The region: which label mixes the target may have, as a polytope that holds the true one.

Under label shift q = A t, with A[i, j] = P(predicted i given label j) the same on both sides and t the target's
label mix. For a set S of predicted classes, write A_S, q_S for the sums over S. There are two kinds of rows:

* boxes: exact binomial bounds on A_S and q_S leave only mixes with ``A_S lower · t <= q_S upper``;
* sums: for the true t, ``A_S hat · t - q_S hat`` is a centred sum of independent terms, so it is below a
  deviation bound; the variance and the steps in that bound are bounded over the mixes found so far.

Single predicted classes and their complements come first and shape the region; larger sets, whose errors average
out, are kept beside it as extra rows. Known bounds of the mix give rows too. Section "The region" of the proof
page (docs/methods/ps-lp-proof.md).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TypeAlias

import numpy as np

from pacshift.arrays import FloatArray, IntArray, Label
from pacshift.bounds import ROUNDING, Interval, binomial_upper, clean_shares, clopper_pearson
from pacshift.errors import AssumptionError
from pacshift.mix.programs import MixProgram, largest_in_box, least_violation
from pacshift.mix.tails import bernstein_upper, deviation
from pacshift.words.numbers import digits_apart, percent

UpperBound: TypeAlias = Callable[..., FloatArray]
"""Upper bounds of rates from counts, totals and ``delta``."""

MAX_SETS = 4096
"""Sets of predicted classes: all of them up to K = 12, small ones and their complements beyond.
With 512 sizes do not change (up to 20 classes)."""

BOX_SHARE = 0.03
"""Share of the region's delta for its boxes; the sums get the rest.
With 0.01 or 0.1: small +0.3 or -0.5 %, middle and large 0."""

QUICK_BOXES = 3
"""How many boxes are computed from one row at a time, before one by linear programs, and the sums over it.
With 1 or 6: middle and small +0.2 or 0 %."""

MAX_EXACT_BOX_CLASSES = 50
"""Beyond this many classes no box is exact unless asked for: programs take seconds, and change little."""

QUICK_BOX_ROUNDS = 6
"""How often a quick box is computed from the one before. With 2 or 15 nothing changes."""

MIN_ENTRY = 1e-6
"""Smaller entries of a row are not divided by: the room for rounding would grow beyond use."""


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
    eye = np.eye(n_classes)
    single = eye if n_classes == 2 else np.vstack([eye, 1 - eye[::-1]])
    chosen = [np.array(list(combinations(range(n_classes), size))) for size in sizes if size <= largest]
    picked = np.zeros((sum(map(len, chosen)), n_classes))
    first = 0
    for members in chosen:
        picked[first + np.arange(len(members))[:, None], members] = 1.0
        first += len(members)
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

    def sums(self, prevalence: Interval, delta: float) -> tuple[FloatArray, FloatArray]:
        """Step "Sums": rows and right-hand sides, with the width w_S(t) of Lemma 4 as a linear function of t.

        The variance grows with t_j², which lies below its chord between the ends of ``prevalence``.
        """
        seen = self.class_counts > 0
        totals, rate = self.class_counts[seen], Interval(self.rate.lower[:, seen], self.rate.upper[:, seen])
        source, target = _variance_of_mean(rate, totals), _variance_of_mean(self.share, self.n_target)
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


def _variance_of_mean(rate: Interval, n_rows: IntArray | int) -> Interval:
    """Bounds of x (1 - x) / n for x in ``rate``."""
    ends = rate.lower * (1 - rate.lower), rate.upper * (1 - rate.upper)
    return Interval(np.minimum(*ends) / n_rows, largest_variance(rate) / n_rows)


def largest_variance(rate: Interval) -> FloatArray:
    """The largest x (1 - x) for x in ``rate``."""
    nearest = np.clip(0.5, rate.lower, rate.upper)
    return np.asarray(nearest * (1 - nearest))


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


def quick_box(rows: FloatArray, limits: FloatArray) -> Interval:
    """Step "Sums": a box around the region from one row at a time, what the other classes leave for each class.

    Row a·t <= b. As t sums to 1, the same number may be subtracted from all entries of a and from b. With entries
    u >= 0 it says u_j t_j <= b - sum of u_k lower_k over the others, with entries d <= 0 likewise by upper_k.
    """
    least, most = rows.min(axis=1), rows.max(axis=1)
    up, down = rows - least[:, None], rows - most[:, None]
    lower, upper = np.zeros(rows.shape[1]), np.ones(rows.shape[1])
    for _ in range(QUICK_BOX_ROUNDS):
        room = (limits - least - up @ lower)[:, None] + up * lower + ROUNDING
        ends = np.divide(room, up, out=np.ones_like(up), where=up > MIN_ENTRY)
        upper = np.clip(ends.min(axis=0), 0.0, upper)
        room = (limits - most - down @ upper)[:, None] + down * upper + ROUNDING
        ends = np.divide(room, down, out=np.zeros_like(down), where=down < -MIN_ENTRY)
        lower = np.minimum(np.clip(ends.max(axis=0), lower, 1.0), upper)
    return Interval(lower, upper)


def exact_box(rows: FloatArray, limits: FloatArray) -> Interval:
    """Step "Sums": the bounding box of a region, by two linear programs per class.

    Where a region is a point, rounding can put a lower end above its upper one: then the upper one is raised.
    """
    program = MixProgram(rows, limits)
    units = np.eye(rows.shape[1])
    lower: FloatArray = np.clip([-program.largest(-unit) for unit in units], 0.0, 1.0)
    return Interval(lower, np.clip([program.largest(unit) for unit in units], lower, 1.0))


@dataclass(frozen=True, eq=False)
class PrevalenceRegion:
    """All mixes t >= 0 of sum 1 with ``rows t <= limits`` and ``extra_rows t <= extra_limits``.

    Parameters
    ----------
    rows, limits : ndarray
        The inequalities of single predicted classes, shapes ``(R, K)`` and ``(R,)``.
    extra_rows, extra_limits : ndarray
        The inequalities of larger sets of predicted classes.
    prevalence : Interval
        Bounding box of the mixes that satisfy ``rows``.
    accuracy : float
        The least target accuracy of a mix that satisfies ``rows``.
    recall : Interval
        Bounds of P(predicted j given label j) for each class j, by the same events; None in a region made by hand.
    contamination : float
        Largest share of the target that need not be label-shifted.
    """

    rows: FloatArray
    limits: FloatArray
    extra_rows: FloatArray
    extra_limits: FloatArray
    prevalence: Interval
    accuracy: float
    recall: Interval
    contamination: float = 0.0

    @property
    def accuracy_at_most(self) -> float:
        """The largest target accuracy of a mix that satisfies ``rows`` ("By-products" of the proof page).

        Rows that are not label-shifted may all be predicted right.
        """
        largest = MixProgram(self.rows, self.limits).largest(self.recall.upper)
        return min(1.0, (1 - self.contamination) * largest + self.contamination)

    @property
    def all_rows(self) -> tuple[FloatArray, FloatArray]:
        """All inequalities together: rows and limits."""
        return np.vstack([self.rows, self.extra_rows]), np.append(self.limits, self.extra_limits)

    def contains(self, mix: FloatArray) -> bool:
        """Whether a mix is in the region.

        Parameters
        ----------
        mix : array of shape (K,)
            Shares of the classes.

        Returns
        -------
        bool
            True where every inequality holds.
        """
        rows, limits = self.all_rows
        return bool((rows @ mix <= limits).all() and (mix >= 0).all() and np.isclose(mix.sum(), 1))


def prevalence_region(
    confusion: IntArray,
    target: IntArray,
    *,
    delta: float,
    classes: Sequence[Label] | None = None,
    known: Interval | None = None,
    contamination: float = 0.0,
) -> PrevalenceRegion:
    """Compute the label mixes that fit the counts; the true one is among them with probability >= ``1 - delta``.

    Section "The region" of the proof page. Given the label counts, the columns of ``confusion`` are independent
    multinomials. A class without examples may have any column.

    Parameters
    ----------
    confusion : ndarray of int, shape (K, K)
        ``confusion[i, j]`` counts source rows predicted i and labelled j.
    target : ndarray of int, shape (K,)
        ``target[i]`` counts target rows predicted i.
    delta : float
        Allowed probability that the true mix is not in the region.
    classes : sequence, optional
        Class names for the error message; 0 to K-1 by default.
    known : Interval, optional
        Bounds of the target's label mix that you are sure of, arrays of length K.
    contamination : float, default 0
        Largest share of the target that need not be label-shifted. The mix is that of the other rows.

    Returns
    -------
    PrevalenceRegion
        The inequalities, their bounding box and the least accuracy.

    Raises
    ------
    AssumptionError
        If no mix fits: label shift is rejected at level ``delta``, or the known bounds are wrong.

    Examples
    --------
    >>> region = prevalence_region(np.diag([900, 900]), np.array([300, 700]), delta=0.05)
    >>> region.prevalence.lower.round(2), region.prevalence.upper.round(2)
    (array([0.27, 0.67]), array([0.33, 0.73]))
    """
    single, larger = predicted_sets(len(target))
    share = delta / (2 if len(larger) else 1)
    for_boxes, for_sums = share * BOX_SHARE, share * (1 - BOX_SHARE)

    def count(sets: FloatArray, bound: UpperBound) -> SetCounts:
        return SetCounts.of(sets, confusion, target, bound=bound, delta=for_boxes, contamination=contamination)

    counts = count(single, exact_upper)
    stated, stated_limits = known_rows(known, contamination, n_classes=len(target))
    # Boxes: (1-η) A_S lower · t <= q_S upper, divided by 1-η. The rows that are given come last; they are about no
    # set of predicted classes. Raised limits only add mixes; without them a known mix that is exactly true would
    # be lost to rounding.
    boxes, most = counts.rate.lower, counts.share.upper / (1 - contamination)
    rows, limits = np.vstack([boxes, stated]), np.concatenate([most, stated_limits]) + ROUNDING
    prevalence = quick_box(rows, limits)
    # Sums, whose widths are computed over the box of the mixes that are left, in a few rounds.
    last_box = exact_box if len(target) <= MAX_EXACT_BOX_CLASSES else quick_box
    for find_box in [quick_box] * (QUICK_BOXES - 1) + [last_box]:
        sums, widths = counts.sums(prevalence, for_sums / len(single))
        rows, limits = np.vstack([boxes, sums, stated]), np.concatenate([most, widths, stated_limits]) + ROUNDING
        prevalence = find_box(rows, limits)
    extra_rows, extra_limits = np.empty((0, len(target))), np.empty(0)
    if len(larger):
        extra_rows, extra_limits = count(larger, bernstein_upper).sums(prevalence, for_sums / len(larger))
        extra_limits = extra_limits + ROUNDING
    everything = np.vstack([rows, extra_rows]), np.concatenate([limits, extra_limits])
    about = np.vstack([single, single, 0 * stated, larger])
    names = range(len(target)) if classes is None else classes
    require_some_mix(*everything, about, counts, names, has_known=known is not None)
    recall = Interval(*(np.diag(end[: len(target)]) for end in (counts.rate.lower, counts.rate.upper)))
    accuracy = max(0.0, -(1 - contamination) * MixProgram(rows, limits).largest(-recall.lower))
    return PrevalenceRegion(rows, limits, extra_rows, extra_limits, prevalence, accuracy, recall, contamination)


def within_known(box: Interval, known: Interval | None, contamination: float) -> Interval:
    """A box of the region, cut at the bounds that are known: the region itself leaves room for rounding.

    Not with contamination: known bounds are about the whole target, the box about its label-shifted part.

    >>> box = Interval(np.array([0.34 - 1e-9, 0.1]), np.array([0.34 + 1e-9, 0.2]))
    >>> within_known(box, Interval(np.array([0.34, 0.0]), np.array([0.34, 1.0])), 0.0)
    Interval(lower=[0.34, 0.1], upper=[0.34, 0.2])
    """
    if known is None or contamination:
        return box
    lower, upper = np.minimum(known.lower, known.upper), np.maximum(known.lower, known.upper)
    return Interval(np.clip(box.lower, lower, upper), np.clip(box.upper, lower, upper))


def weight_bounds(prevalence: Interval, class_counts: IntArray, *, delta: float) -> Interval:
    """Intervals of w_j = t_j / p_j, from those of t_j and exact ones of the priors p_j ("By-products").

    Unbounded where p_j may be 0.
    """
    priors = clopper_pearson(class_counts, class_counts.sum(), delta=delta / len(class_counts))
    unbounded = np.full(len(class_counts), np.inf)
    upper = np.divide(prevalence.upper, priors.lower, out=unbounded, where=priors.lower > 0)
    return Interval(prevalence.lower / priors.upper, upper)


def require_some_mix(
    rows: FloatArray,
    limits: FloatArray,
    sets: FloatArray,
    counts: SetCounts,
    names: Sequence[Label],
    *,
    has_known: bool,
) -> None:
    """Raise if no mix is left; ``sets`` says which predicted classes each row is about, if it is about any."""
    n_known = int((~sets.any(axis=1)).sum())
    violation, prices = least_violation(rows, limits, 2 * len(counts.observed) + n_known)
    if violation <= 0:
        return
    n_classes = rows.shape[1]
    # The row with the largest price is the one whose right-hand side would have to be loosened most.
    members = sets[int(np.argmax(np.where(sets.any(axis=1), prices, -1.0)))] > 0
    too_few = 2 * members.sum() <= n_classes
    members = members if too_few else ~members
    share = float(counts.observed_share[:n_classes][members].sum())
    violation *= 1 - counts.contamination  # limits were divided by it
    reachable = share + violation if too_few else share - violation
    digits = digits_apart(min(share, reachable), max(share, reachable))
    named = " or ".join(repr(names[label]) for label in np.flatnonzero(members).tolist())
    raise AssumptionError(
        f"label shift is rejected: {percent(share, digits)} of the target is predicted {named}; no mix of the "
        f"source's classes that fits the other predictions can give {'less' if too_few else 'more'} than about "
        f"{percent(reachable, digits)}, beyond sampling error. Either P(x given y) differs between source and "
        f"target, or rows depend on each other{', or the known bounds are wrong' if has_known else ''}. No method "
        "for label shift may be used."
    )
