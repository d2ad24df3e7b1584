"""PS-LP, the default: the target error bounded over all label mixes that the counts leave open."""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from pacshift.arrays import BoolArray, FloatArray, IntArray
from pacshift.bounds import Interval, clopper_pearson
from pacshift.errors import InputError
from pacshift.methods.base import BoundCurve, Guarantee, Solution, Task, one_threshold
from pacshift.methods.class_wise import PSLW
from pacshift.shift.region import PrevalenceRegion, prevalence_region
from pacshift.shift.wealth import Wealth
from pacshift.tally import Tally
from pacshift.threshold import largest_threshold

MOST_CLASSES = 200
"""Above this many classes PS-LW's rule takes over: no program of this size would end in reasonable time."""

CURVE_POINTS = 31


@dataclass(frozen=True)
class Shares:
    """How δ is spent, as shares that sum to 1. None of them looks at the data."""

    region: float = 0.11
    """The true label mix lies outside the region."""
    misses: float = 0.01
    """A miss rate is above its bound at the critical threshold."""
    priors: float = 0.01
    """A source prior is outside its interval; for the weights on the certificate alone."""
    fallback: float = 0.02
    """PS-LW, asked only where no single threshold passes, is wrong."""
    wealth: float = 0.85
    """The bets win too much at the critical threshold."""


SHARES = Shares()


@dataclass(frozen=True)
class PSLP:
    """The largest threshold at which every admissible mix with an error of ε or more is refuted by bets.

    ``unseen`` says what becomes of classes without source examples: with ``"all"`` they may always be missed,
    with ``"include"`` they are in every set and never are. Deterministic; the proof is the docs page "PS-LP".
    """

    unseen: Literal["all", "include"] = "all"

    name: ClassVar[str] = "PS-LP"
    guarantee: ClassVar[Guarantee] = "pac-target"
    needs_target: ClassVar[bool] = True
    needs_soft: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.unseen not in ("all", "include"):
            raise InputError(f"unseen must be 'all' or 'include', got {self.unseen!r}.")

    def solve(self, tally: Tally, task: Task) -> Solution:
        if tally.n_classes > MOST_CLASSES:
            return _class_by_class(tally, task)
        counts = tally.class_counts
        included = (counts == 0) & (self.unseen == "include")
        region = prevalence_region(
            tally.confusion, tally.target, delta=SHARES.region * task.delta, classes=tally.classes
        )
        wealth = Wealth(
            region,
            counts,
            tally.target,
            epsilon=task.epsilon,
            delta=SHARES.wealth * task.delta,
            miss_delta=SHARES.misses * task.delta,
            included=included,
        )
        threshold = largest_threshold(tally, wealth.passes)
        thresholds = np.where(included, -np.inf, one_threshold(tally, threshold))
        if threshold == -np.inf:
            thresholds = PSLW().solve(tally, replace(task, delta=SHARES.fallback * task.delta)).thresholds
        return Solution(
            thresholds,
            weights=weight_intervals(region.prevalence, counts, delta=SHARES.priors * task.delta),
            prevalence=region.prevalence,
            accuracy=region.accuracy,
            reasons=_reasons(tally, task, region, included, thresholds)
            if threshold == -np.inf
            else _always(tally, included),
            curve=None if threshold == -np.inf else bound_curve(tally, wealth, threshold),
        )


def weight_intervals(prevalence: Interval, class_counts: IntArray, *, delta: float) -> Interval:
    """Intervals for w_j = t_j / p_j from those of t_j and exact ones of p_j; infinite where p_j may be 0."""
    priors = clopper_pearson(class_counts, class_counts.sum(), delta=delta / len(class_counts))
    with np.errstate(divide="ignore"):
        return Interval(prevalence.lower / priors.upper, np.divide(prevalence.upper, priors.lower))


def bound_curve(tally: Tally, wealth: Wealth, threshold: float) -> BoundCurve:
    """Upper bounds of the target error at thresholds with up to three times the misses of the chosen one."""
    chosen = int(tally.misses(threshold).sum())
    most = min(3 * max(chosen, 10), tally.n_source - 1)
    # Only the scores up to there are sorted: the others are most of them.
    last = tally.positions(np.nextafter(largest_threshold(tally, lambda misses: misses.sum() <= most), np.inf))
    low = np.concatenate([np.arange(start, end) for start, end in zip(tally.starts[:-1], last, strict=True)])
    order = low[np.argsort(tally.values[low], kind="stable")]
    missed = np.cumsum(tally.counts[order])
    places = np.searchsorted(missed, np.linspace(0, most, CURVE_POINTS).astype(np.int64), side="right")
    thresholds = np.union1d(tally.values[order[places]], [threshold] if np.isfinite(threshold) else [])
    prices = wealth.prices(tally.misses(threshold))
    bounds: FloatArray = np.array([wealth.bound(tally.misses(value), prices) for value in thresholds])
    # The error grows with the threshold, and so must what is said about it.
    return BoundCurve(thresholds, np.minimum.accumulate(bounds[::-1])[::-1])


def _class_by_class(tally: Tally, task: Task) -> Solution:
    """PS-LW's rule at the whole δ; which rule is used depends on K alone."""
    found = PSLW().solve(tally, task)
    reason = (
        f"{tally.n_classes} classes are more than the {MOST_CLASSES} for which PS-LP solves linear programs: "
        "each class got its own threshold by PS-LW's rule, right for any label mix. The target was not used."
    )
    return Solution(found.thresholds, reasons=(reason, *found.reasons))


def _always(tally: Tally, included: BoolArray) -> tuple[str, ...]:
    return tuple(
        f"class {tally.classes[label]!r} is in every set: it has no source example."
        for label in np.flatnonzero(included).tolist()
    )


def _reasons(
    tally: Tally, task: Task, region: PrevalenceRegion, included: BoolArray, thresholds: FloatArray
) -> tuple[str, ...]:
    """What stood in the way of a single threshold, and what was answered instead."""
    label = int(np.argmax(np.where(included, -1.0, region.prevalence.upper / np.sqrt(tally.class_counts + 1))))
    lacking = (
        f"no single threshold passes: class {tally.classes[label]!r} may be up to "
        f"{region.prevalence.upper[label]:.2g} of the target, and its {tally.class_counts[label]} source examples "
        f"cannot rule out that errors exceed epsilon={task.epsilon:g} at delta={task.delta:g}. Add source "
        "examples of this class, or target rows."
    )
    kept = [tally.classes[label] for label in np.flatnonzero(thresholds > -np.inf).tolist()]
    if not kept:
        return (*_always(tally, included), lacking)
    answer = f"PS-LW's rule, right for any label mix, gave thresholds of their own to {len(kept)} classes."
    return lacking, answer
