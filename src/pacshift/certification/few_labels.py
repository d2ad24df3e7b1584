"""A few labels of the target beside a method that assumes label shift: they bound the target's label mix.

The docs page "A few target labels" (docs/methods/few-labels.md) has the proofs. The labelled rows must be a random
sample of the target. They are counted on their own, and among the unlabelled rows too. A row of a new kind, which
has no class, stays unlabelled; ``contamination`` allows for such rows. What the labels certify without label shift
is PS-T (``pacshift.paths.labelled``).
"""

from collections.abc import Sequence

import numpy as np

from pacshift.arrays import Label
from pacshift.bounds import ROUNDING, Interval, clean_shares, clopper_pearson
from pacshift.certification.request import Request
from pacshift.errors import AssumptionError, InputError
from pacshift.paths.labelled import LabelledTarget
from pacshift.tally import Tally
from pacshift.words.numbers import between, given


def check_labelled(labelled: Tally, tally: Tally) -> Tally:
    """The counts of the labelled rows, or an InputError if they do not fit the others."""
    kinds = [(part.classes, part.score, part.softmax) for part in (labelled, tally)]
    if kinds[0] != kinds[1]:
        raise InputError(
            "target_labels: the labelled target rows must be counted with the classes and the score of the "
            "source, and with softmax=True if the source was."
        )
    if not 0 < labelled.n_source <= tally.n_target:
        raise InputError(
            f"target_labels: {labelled.n_source:,} labelled rows, but the target has {tally.n_target:,} rows. "
            "Count the labelled rows among the target as well, and label at least one."
        )
    return labelled


def mix_bounds(labelled: Tally, n_unknown: int = 0, *, delta: float) -> Interval:
    """Bounds of the target's label mix, right for all classes at once with probability at least 1 - δ (Lemma 1).

    The mix of the rows that have a class: those of a new kind are not labelled (Lemma 2). Each of ``n_unknown``
    rows that nobody could label may be of any class.

    >>> labelled = Tally.from_scores([[0.9, 0.1], [0.2, 0.8]] * 50, [0, 0] * 50)
    >>> mix_bounds(labelled, delta=0.05).lower.round(3)
    array([0.957, 0.   ])
    """
    counts, total, level = labelled.class_counts, labelled.n_source + n_unknown, delta / labelled.n_classes
    least, most = (clopper_pearson(count, total, delta=level) for count in (counts, counts + n_unknown))
    return Interval(least.lower, most.upper)


def mix_within(request: Request, labelled: LabelledTarget, *, delta: float) -> Interval:
    """Bounds of the target's mix: what the labelled rows show at ``delta``, and what the user knows.

    Right at all planned looks at once: each has its share. Without a class are rows that nobody could label.
    """
    counted, level = labelled.counted, delta / len(labelled.looks)
    found = mix_bounds(counted, labelled.n_without_class, delta=level)
    return both_bounds(request.known, found, counted.classes, level=delta, contamination=request.contamination)


def both_bounds(
    known: Interval | None,
    found: Interval,
    classes: Sequence[Label],
    *,
    level: float,
    contamination: float = 0.0,
) -> Interval:
    """The mixes within both. If there is none: AssumptionError, of chance at most ``level`` if both are right.

    With contamination the two may be about different rows: all of the target, and those that have a class. What
    both bound is the mix of the label-shifted part (Lemma 2), so they contradict each other only there.
    """
    if known is None:
        return found
    lower, upper = np.maximum(known.lower, found.lower), np.minimum(known.upper, found.upper)
    clean = clean_shares(Interval(lower, upper), contamination)
    wrong = clean.lower > clean.upper + ROUNDING
    if wrong.any() or clean.lower.sum() > 1 + ROUNDING or clean.upper.sum() < 1 - ROUNDING:
        label = int(np.argmax(lower - upper))
        raise AssumptionError(
            "the labelled target rows contradict known_mix: by the labels "
            f"{between(found.lower[label], found.upper[label])} of the target is {classes[label]!r}, by known_mix "
            f"{between(known.lower[label], known.upper[label])}. If both were right, the chance of this would be "
            f"at most {given(level)}. "
            "Correct known_mix, or check that the labelled rows are a random sample of the target."
        )
    # Ends cross by rounding or, with contamination, by what the two are about: turned, they are wider and valid.
    return Interval(np.minimum(lower, upper), np.maximum(lower, upper))


def require_both_grouped(tally: Tally, labelled: Tally | None) -> None:
    """Refuse labelled target rows that are draws of another kind than the target they belong to."""
    if labelled is not None and (labelled.source_grouped is None) != (tally.target_grouped is None):
        raise InputError(
            "target_labels: the labelled rows and the target must both be counted with groups=, or both without."
        )
