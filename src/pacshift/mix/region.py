"""The region: which label mixes the target may have, as a polytope that holds the true one.

Its rows are in ``region_rows.py``. Single predicted classes and their complements come first and shape the region;
larger sets, whose errors average out, are kept beside it as extra rows. Section "The region" of the proof page
(docs/methods/ps-lp-proof.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pacshift.arrays import FloatArray, IntArray, Label
from pacshift.bounds import ROUNDING, Interval, clopper_pearson
from pacshift.errors import AssumptionError
from pacshift.mix.box import exact_box, quick_box
from pacshift.mix.programs import MixProgram, least_violation
from pacshift.mix.region_rows import SetCounts, UpperBound, exact_upper, known_rows, predicted_sets
from pacshift.mix.tails import bernstein_upper
from pacshift.words.numbers import digits_apart, percent

BOX_SHARE = 0.03
"""Share of the region's delta for its boxes; the sums get the rest.
With 0.01 or 0.1: small +0.3 or -0.5 %, middle and large 0."""

QUICK_BOXES = 3
"""How many boxes are computed from one row at a time, before any linear program.
With 1 or 6: middle and small +0.2 or 0 %."""

ROUNDS = 1
"""How often, after that, a box is computed by linear programs, and the widths of the sums over it.
Not measured."""

MAX_EXACT_BOX_CLASSES = 50
"""Beyond this many classes no box is exact unless asked for: programs take seconds, and change little."""


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
    recall : Interval or None
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
    recall: Interval | None = None
    contamination: float = 0.0

    @property
    def accuracy_at_most(self) -> float:
        """The largest target accuracy of a mix that satisfies ``rows`` ("By-products" of the proof page).

        Rows that are not label-shifted may all be predicted right.
        """
        if self.recall is None:
            return 1.0
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
    rounds: int = ROUNDS,
    exact: bool | None = None,
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
    rounds : int
        How often the widths of the sums are computed anew, over the mixes that are left. More rounds give a
        smaller region and take longer.
    exact : bool, optional
        Whether bounding boxes are computed by linear programs; by default up to 50 classes.

    Returns
    -------
    PrevalenceRegion
        The inequalities, their bounding box and the least accuracy.

    Raises
    ------
    AssumptionError
        If no mix fits: label shift is refuted at level ``delta``, or the known bounds are wrong.

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
    given = known_rows(known, contamination, n_classes=len(target))
    exact = len(target) <= MAX_EXACT_BOX_CLASSES if exact is None else exact
    rows, limits, prevalence = _tightened(counts, for_sums / len(single), given, rounds=rounds, exact=exact)
    extra_rows, extra_limits = np.empty((0, len(target))), np.empty(0)
    if len(larger):
        extra_rows, extra_limits = count(larger, bernstein_upper).sums(prevalence, for_sums / len(larger))
        extra_limits = extra_limits + ROUNDING
    everything = np.vstack([rows, extra_rows]), np.concatenate([limits, extra_limits])
    about = np.vstack([single, single, 0 * given[0], larger])
    _require_some_mix(*everything, about, counts, range(len(target)) if classes is None else classes)
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


def _tightened(
    counts: SetCounts, level: float, given: tuple[FloatArray, FloatArray], *, rounds: int, exact: bool
) -> tuple[FloatArray, FloatArray, Interval]:
    """Boxes, then sums whose widths are computed over the box of the mixes that are left, in a few rounds.

    The rows ``given`` come last; they are about no set of predicted classes.
    """
    boxes, most = counts.rate.lower, counts.box_limits
    # Raised limits only add mixes; without them a known mix that is exactly true would be lost to rounding.
    rows, limits = np.vstack([boxes, given[0]]), np.concatenate([most, given[1]]) + ROUNDING
    prevalence = quick_box(rows, limits)
    for box in [quick_box] * (QUICK_BOXES - 1) + [exact_box if exact else quick_box] * rounds:
        sums, widths = counts.sums(prevalence, level)
        rows, limits = np.vstack([boxes, sums, given[0]]), np.concatenate([most, widths, given[1]]) + ROUNDING
        prevalence = box(rows, limits)
    return rows, limits, prevalence


def _require_some_mix(
    rows: FloatArray, limits: FloatArray, sets: FloatArray, counts: SetCounts, names: Sequence[Label]
) -> None:
    """Raise if no mix is left; ``sets`` says which predicted classes each row is about."""
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
        f"label shift is refuted: {percent(share, digits)} of the target is predicted {named}; no mix of the "
        f"source's classes that fits the other predictions can give {'less' if too_few else 'more'} than about "
        f"{percent(reachable, digits)}, beyond sampling error. Either P(x given y) differs between source and "
        f"target, or rows depend on each other{', or the known bounds are wrong' if n_known else ''}. No method "
        "for label shift may be used."
    )
