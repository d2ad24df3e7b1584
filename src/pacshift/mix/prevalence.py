"""How frequent is each class on the target? What the user knows of it, and intervals from counts.

"By-products" of the proof page (docs/methods/ps-lp-proof.md). The test of label shift comes first:
``pacshift.prevalence`` asks it (``certification/prevalence.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from pacshift.arrays import IntArray, Label
from pacshift.bounds import ROUNDING, Interval
from pacshift.errors import InputError, param
from pacshift.mix.region import PrevalenceRegion, exact_box, prevalence_region, within_known
from pacshift.mix.shares import share_region
from pacshift.scores.names import by_class
from pacshift.tally import Tally
from pacshift.words.display import short_repr

if TYPE_CHECKING:
    from pacshift.assumption import Assumption


KnownMix: TypeAlias = Mapping[Any, tuple[float, float]]
"""Class name to the least and the largest share that the target may have of it."""

RestsOn: TypeAlias = Literal["label shift", "labels"]

REGION_SHARE = 0.95
"""Share of δ for the label mix; the rest is for the source priors, which only the weights need.
A round number; not measured."""

MAX_SHARP_CLASSES = 200
"""Beyond this many classes the shares are those of PS-LP's region: sharper ones take minutes with 1,000 classes,
and gain little, 3 % at 200."""


def check_known_mix(known_mix: Any, classes: tuple[Label, ...]) -> Interval:
    """Bounds of every class's share of the target; a class that is not named may have any share.

    Parameters
    ----------
    known_mix : mapping of class to pair of float
        The lowest and the highest share that the class can have, both between 0 and 1.
    classes : tuple
        All classes. Keys are compared with them as text.

    Returns
    -------
    Interval
        One pair of bounds per class, in the order of ``classes``.

    Raises
    ------
    InputError
        If a key is not a class, a pair is not 0 <= low <= high <= 1, or no label mix lies within all bounds.

    Examples
    --------
    >>> check_known_mix({"sick": (0, 0.3)}, ("healthy", "sick")).upper
    array([1. , 0.3])
    """
    if not isinstance(known_mix, Mapping):
        raise InputError(
            f"{param('known_mix')} must be a dictionary such as {{'sick': (0, 0.3)}}, got "
            f"{type(known_mix).__name__}."
        )
    lower, upper = np.zeros(len(classes)), np.ones(len(classes))
    for label, ends in by_class(known_mix, classes, "known_mix").items():
        try:
            low, high = (float(end) for end in ends)
        except (TypeError, ValueError):
            low = high = np.nan
        if not (low >= -ROUNDING and low <= high + ROUNDING and high <= 1 + ROUNDING):
            raise InputError(
                f"{param('known_mix')}: the range of {classes[label]!r} must be low and high with 0 <= low <= "
                f"high <= 1, got {ends!r}."
            )
        # 1 - .7 - .3 is 6e-17, .1 + .2 is above .3
        lower[label], upper[label] = max(min(low, high), 0.0), min(max(low, high), 1.0)
    if lower.sum() > 1 + ROUNDING or upper.sum() < 1 - ROUNDING:
        few = upper.sum() < 1
        bounds = f"upper bounds only to {upper.sum():.4g}" if few else f"lower bounds already to {lower.sum():.4g}"
        raise InputError(
            f"{param('known_mix')}: the shares of all classes add up to 1, but these {bounds}. Widen them."
        )
    return Interval(lower, upper)


@dataclass(frozen=True, eq=False)
class Prevalence:
    """What predictions, or labels, tell about the target's mix: all at once with probability 1 - ``delta``.

    Where labels alone answer, ``delta`` is spent on the shares: nothing is said of weights, accuracy and recall,
    whose bounds are 0 and 1 (weights 0 and infinity). What label shift says stands in ``by_label_shift``.

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
    accuracy_at_most : float
        Upper bound of the classifier's accuracy on the target.
    recall : Interval
        For each class, how often its rows are predicted right. Under label shift it is the same on source and
        target.
    rests_on : {"label shift", "labels"}
        What the answer needs to be right.
    n_labels : int
        Labelled target rows behind it.
    by_label_shift : Prevalence or None
        Beside the answer of labels alone: what predictions say under label shift, a statement with a ``delta`` of
        its own. None where label shift is rejected.
    refusal : str
        Why label shift is rejected, where labels answer all the same.

    Examples
    --------
    >>> from pacshift import Tally, prevalence
    >>> tally = Tally.from_scores([[0.9, 0.1], [0.2, 0.8]] * 500, [0, 1] * 500)
    >>> found = prevalence(tally + Tally.from_target([[0.9, 0.1]] * 300 + [[0.2, 0.8]] * 700), delta=0.05)
    >>> found.mix.lower.round(2), found.mix.upper.round(2)
    (array([0.27, 0.67]), array([0.33, 0.73]))
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
    accuracy_at_most: float
    recall: Interval
    rests_on: RestsOn = "label shift"
    n_labels: int = 0
    by_label_shift: Prevalence | None = None
    refusal: str = ""

    __repr__ = short_repr


def mix_intervals(tally: Tally, *, delta: float, known: Interval | None) -> tuple[PrevalenceRegion, Interval]:
    """The region and its box of mixes, right with probability 1 - δ."""
    bound = share_region if tally.n_classes <= MAX_SHARP_CLASSES else prevalence_region
    region = bound(tally.confusion, tally.target, delta=delta, classes=tally.classes, known=known)
    if bound is share_region:
        return region, region.prevalence
    return region, region.prevalence if known is None else within_known(exact_box(*region.all_rows), known, 0.0)
