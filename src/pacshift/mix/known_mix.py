"""What the user knows about the target's label mix, checked: from a dictionary to bounds for every class."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pacshift.arrays import Label
from pacshift.bounds import ROUNDING, Interval
from pacshift.errors import InputError
from pacshift.scores.names import by_class


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
            f"known_mix must be a dictionary such as {{'sick': (0, 0.3)}}, got {type(known_mix).__name__}."
        )
    lower, upper = np.zeros(len(classes)), np.ones(len(classes))
    for label, ends in by_class(known_mix, classes, "known_mix").items():
        lower[label], upper[label] = _pair(classes[label], ends)
    if lower.sum() > 1 + ROUNDING or upper.sum() < 1 - ROUNDING:
        raise InputError(
            "known_mix: no label mix lies within these bounds. The shares of all classes sum to 1, but the lower "
            f"bounds sum to {lower.sum():.4g} and the upper bounds to {upper.sum():.4g}. Widen the bounds."
        )
    return Interval(lower, upper)


def _pair(name: Any, ends: Any) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in ends)
    except (TypeError, ValueError):
        low = high = np.nan
    if not (low >= -ROUNDING and low <= high + ROUNDING and high <= 1 + ROUNDING):
        raise InputError(
            f"known_mix: the share of {name!r} must be given as two numbers, 0 <= low <= high <= 1, got {ends!r}."
        )
    return max(min(low, high), 0.0), min(max(low, high), 1.0)  # 1 - .7 - .3 is 6e-17, .1 + .2 is above .3
