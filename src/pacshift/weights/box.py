"""Counts to a box around the importance weights: the part that PS-W and PS-C share."""

from typing import Literal, TypeAlias, get_args

import numpy as np

from pacshift.bounds import ROUNDING, Interval, clean_shares, clopper_pearson
from pacshift.errors import AssumptionError, InputError
from pacshift.tally import Tally
from pacshift.weights.elimination import EmptyBox, NoBox, eliminate
from pacshift.weights.hull import hull
from pacshift.words.numbers import number_up

Intervals: TypeAlias = Literal["elimination", "strict", "hull"]


def split_delta(delta: float, n_classes: int) -> float:
    """The share of δ for each of K·K confusion cells, K target cells and the threshold, all equal."""
    return delta / (n_classes * n_classes + n_classes + 1)


def check_intervals(intervals: str) -> None:
    """Raise unless ``intervals`` is a value of the option of PS-W and PS-C."""
    if intervals not in get_args(Intervals):
        raise InputError(f"intervals must be one of {', '.join(get_args(Intervals))}, got {intervals!r}.")


def weight_box(tally: Tally, *, delta: float, intervals: Intervals, contamination: float = 0.0) -> Interval:
    """A box that holds w* with probability at least 1 - K(K+1) ``delta``; raises NoBox where there is none.

    If a share ``contamination`` of the target is not label-shifted, w* are the weights of the rest.
    """
    confusion = clopper_pearson(tally.confusion, tally.n_source, delta=delta)
    target = clean_shares(clopper_pearson(tally.target, tally.n_target, delta=delta), contamination)
    try:
        if intervals == "hull":
            box = hull(confusion, target)
        else:
            box = eliminate(confusion, target, form="strict" if intervals == "strict" else "signed")
    except EmptyBox as empty:
        raise AssumptionError(f"label shift is refuted: {empty}. No importance weights fit the counts.") from None
    if not np.isfinite(box.upper).all():
        label = int(np.argmax(box.upper))
        raise NoBox("a weight has no upper bound", cell=(label, label), lower=0.0)
    if box.upper.max() < 1 - ROUNDING:  # source frequencies average the true weights to exactly 1
        raise AssumptionError(
            f"label shift is refuted: weights average to 1, but none can exceed {number_up(box.upper.max())}."
        )
    return box


def lacking(failure: NoBox, tally: Tally, *, delta: float) -> str:
    """Which class has too little data for a box, and roughly how much more would help."""
    label = failure.cell[0]
    share = tally.confusion[label, label] / tally.n_source
    text = (
        f"class {tally.classes[label]!r}: {tally.class_counts[label]} source examples, "
        f"{tally.confusion[label, label]} of them predicted right, cannot bound its importance weight at "
        f"delta={delta:.2g} per cell ({failure})."
    )
    if share == 0:
        return text + " The classifier never gets this class right: merge classes or use PS-LP or PS-LW."
    # Interval widths shrink like 1/sqrt(m): this factor would lift the pivot's lower bound above 0.
    factor = ((share - failure.lower) / share) ** 2
    return text + f" About {max(factor, 1.1):.2g} times the data would help; PS-LP and PS-LW need less."
