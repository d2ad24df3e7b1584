"""How frequent is each class on the target? Intervals for the label mix, at the whole δ and without any sets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from pacshift.arrays import IntArray, Label, LabelsLike, ScoresLike
from pacshift.assumption import Assumption
from pacshift.bounds import Interval
from pacshift.certification.certify import checked_assumption
from pacshift.defaults import DELTA
from pacshift.display import short_repr
from pacshift.errors import InputError
from pacshift.mix.box import exact_box
from pacshift.mix.known_mix import check_known_mix
from pacshift.mix.region import PrevalenceRegion, prevalence_region, weight_intervals, within_known
from pacshift.scores.check import check_rate
from pacshift.tally import Tally

KnownMix: TypeAlias = Mapping[Any, tuple[float, float]]
"""Class name to the least and the largest share that the target may have of it."""

REGION_SHARE = 0.95
"""Share of δ for the label mix; the rest is for the source priors, which only the weights need."""

MAX_ROUNDS_CLASSES, MAX_EXACT_CLASSES = 50, 200
"""Up to the first number of classes the region is tightened several times, up to the second by linear programs."""

ROUNDS = 5
"""How often the region is tightened where classes are few."""


@dataclass(frozen=True, eq=False)
class Prevalence:
    """What the predictions tell about the target's labels. All of it holds at once with probability 1 - ``delta``.

    Parameters
    ----------
    classes : tuple
        Class names.
    mix : Interval
        Share of each class on the target.
    weights : Interval
        Importance weights: share on the target divided by share on the source.
    accuracy : float
        Lower bound of the classifier's accuracy on the target.
    delta : float
        Allowed probability that any of it is wrong.
    class_counts, predicted_counts : ndarray of int
        Source rows per label and target rows per predicted label.
    known_mix : dict
        Bounds on the mix that the user was sure of.
    assumption : Assumption
        What the test of label shift saw.

    Examples
    --------
    >>> tally = Tally.from_scores([[0.9, 0.1], [0.2, 0.8]] * 500, [0, 1] * 500)
    >>> found = prevalence_tally(tally + Tally.from_target([[0.9, 0.1]] * 300 + [[0.2, 0.8]] * 700), delta=0.05)
    >>> found.mix.lower.round(2), found.mix.upper.round(2)
    (array([0.26, 0.66]), array([0.34, 0.74]))
    """

    classes: tuple[Label, ...]
    mix: Interval
    weights: Interval
    accuracy: float
    delta: float
    class_counts: IntArray
    predicted_counts: IntArray
    known_mix: KnownMix
    assumption: Assumption

    __repr__ = short_repr


def prevalence(
    source_scores: ScoresLike,
    source_labels: LabelsLike,
    target_scores: ScoresLike,
    *,
    delta: float = DELTA,
    classes: Sequence[Label] | None = None,
    known_mix: KnownMix | None = None,
) -> Prevalence:
    """Bound the share of every class on the target, from predictions alone.

    Assumes label shift: among rows of one class, scores have the same law on source and target. The intervals are
    valid at every sample size and for every classifier; a weak one gives wide intervals. Proof: section
    "By-products" of the docs page "PS-LP: the proof".

    Parameters
    ----------
    source_scores : array_like or frame
        Scores of the labelled source, one row per example, one column per class.
    source_labels : array_like
        True label of each source row, matched to ``classes`` by value.
    target_scores : array_like or frame
        Scores of the unlabelled target.
    delta : float, default 0.05
        Allowed probability that an interval is wrong, for all of them together. Between 0 and 1.
    classes : sequence, optional
        Names of the columns. Default: the column names of a frame, else 0 to K-1.
    known_mix : mapping, optional
        Bounds that you are sure of: class name to (least, largest) share on the target, each between 0 and 1.

    Returns
    -------
    Prevalence
        Intervals for the mix and the weights, and a lower bound of the accuracy on the target.

    Raises
    ------
    InputError
        If the data or a parameter break a rule.
    AssumptionError
        If no label mix fits the counts: label shift, or what was said to be known, is refuted.

    Examples
    --------
    >>> source, labels = [[0.9, 0.1], [0.2, 0.8]] * 500, [0, 1] * 500
    >>> target = [[0.9, 0.1]] * 300 + [[0.2, 0.8]] * 700
    >>> found = prevalence(source, labels, target, delta=0.05, known_mix={1: (0.0, 0.7)})
    >>> found.mix.upper.round(2), found.accuracy > 0.9
    (array([0.33, 0.7 ]), True)
    """
    source = Tally.from_scores(source_scores, source_labels, classes=classes, soft=False)
    target = Tally.from_target(target_scores, classes=source.classes, soft=False, bins=False)
    return prevalence_tally(source + target, delta=delta, known_mix=known_mix)


def prevalence_tally(tally: Tally, *, delta: float = DELTA, known_mix: KnownMix | None = None) -> Prevalence:
    """Bound the share of every class on the target, from counts.

    Parameters
    ----------
    tally : Tally
        Counts of the labelled source and of the unlabelled target.
    delta : float, default 0.05
        Allowed probability that an interval is wrong, for all of them together. Between 0 and 1.
    known_mix : mapping, optional
        Bounds that you are sure of: class name to (least, largest) share on the target.

    Returns
    -------
    Prevalence
        Intervals for the mix and the weights, and a lower bound of the accuracy on the target.

    Raises
    ------
    InputError
        If source or target are empty, or a parameter breaks a rule.
    AssumptionError
        If no label mix fits the counts: label shift, or what was said to be known, is refuted.

    Examples
    --------
    >>> tally = Tally.from_scores([[0.9, 0.1], [0.2, 0.8]] * 500, [0, 1] * 500)
    >>> tally = tally + Tally.from_target([[0.2, 0.8]] * 700)
    >>> prevalence_tally(tally, delta=0.05).mix.lower.round(2)
    array([0.  , 0.99])
    """
    delta = check_rate(delta, "delta")
    for what, rows in (("labelled source", tally.n_source), ("target", tally.n_target)):
        if not rows:
            raise InputError(f"no {what} rows: prevalence needs a labelled source and an unlabelled target.")
    known = None if known_mix is None else check_known_mix(known_mix, tally.classes)
    assumption = checked_assumption(tally, delta=delta, known=known)
    many = tally.n_classes > MAX_ROUNDS_CLASSES
    region = prevalence_region(
        tally.confusion,
        tally.target,
        delta=REGION_SHARE * delta,
        classes=tally.classes,
        rounds=1 if many else ROUNDS,
        exact=tally.n_classes <= MAX_EXACT_CLASSES,
        known=known,
    )
    mix = within_known(region.prevalence if many and known is None else _box(region), known, 0.0)
    weights = weight_intervals(mix, tally.class_counts, delta=(1 - REGION_SHARE) * delta)
    return Prevalence(
        classes=tally.classes,
        mix=mix,
        weights=weights,
        accuracy=region.accuracy,
        delta=delta,
        class_counts=tally.class_counts,
        predicted_counts=tally.target,
        known_mix=dict(known_mix or {}),
        assumption=assumption,
    )


def _box(region: PrevalenceRegion) -> Interval:
    """The exact bounding box of the region, all of its rows together."""
    return exact_box(np.vstack([region.rows, region.extra_rows]), np.append(region.limits, region.extra_limits))
