"""Names of classes, labels and columns: compared as text, so that 1, 1.0 and "1" are one name.

Only the canonical text of a number counts. "01", "1.0" and "1e3" are texts, and names of their own.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import IntArray, Label
from pacshift.errors import InputError, param

_Value = TypeVar("_Value")

NOT_FOUND = -1
_WHOLE_NUMBER = re.compile(r"0|-?[1-9][0-9]*")
_MAX_EXACT = 2.0**53  # from here on a float stands for several whole numbers


def text_of(name: Any) -> str | None:
    """The text by which a name is compared; None for what cannot be a name.

    >>> [text_of(name) for name in (1, 1.0, "1", "01", 0.5, True, None)]
    ['1', '1', '1', '01', '0.5', 'True', None]
    """
    value = name.item() if isinstance(name, np.generic) else name
    if isinstance(value, (str, int)):
        return str(value)
    if not isinstance(value, (float, Decimal)) or not math.isfinite(value):
        return None
    is_exact = isinstance(value, Decimal) or abs(value) < _MAX_EXACT
    return str(int(value)) if is_exact and value == int(value) else str(value)


def is_missing(name: Any) -> bool:
    """Whether nothing was said: None, NaN, NA or an empty text.

    >>> [is_missing(name) for name in (None, float("nan"), " ", 0, "nan")]
    [True, True, True, False, False]
    """
    return not name.strip() if isinstance(name, str) else is_null(name)


def is_null(value: Any) -> bool:
    """Whether a value is None, NaN or what pandas calls NA or NaT.

    >>> [is_null(value) for value in (None, float("nan"), "", 0)]
    [True, True, False, False]
    """
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def numbers_if_all(names: Sequence[str]) -> tuple[Label, ...]:
    """Names that are all whole numbers, written as Python writes them, become ints.

    >>> numbers_if_all(["1", "10"]), numbers_if_all(["01", "10"])
    ((1, 10), ('01', '10'))
    """
    if all(_WHOLE_NUMBER.fullmatch(name) and len(name) < 19 for name in names):
        return tuple(int(name) for name in names)
    return tuple(names)


def places_by_text(names: Iterable[Any]) -> dict[str, int]:
    """Position of each name by its text. A boolean is also found by 1 or 0, unless another name is called so."""
    listed = list(names)
    places = {text: place for place, name in enumerate(listed) if (text := text_of(name)) is not None}
    for place, name in enumerate(listed):
        if isinstance(name, (bool, np.bool_)):
            places.setdefault(str(int(name)), place)
    return places


def find_name(value: Any, places: Mapping[str, int]) -> int:
    """Position of a name, or ``NOT_FOUND``."""
    text = text_of(value)
    if text is None:
        return NOT_FOUND
    if text not in places and isinstance(value, (bool, np.bool_)):
        text = str(int(value))
    return places.get(text, NOT_FOUND)


def by_class(by_name: Mapping[Any, _Value], classes: Sequence[Label], name: str) -> dict[int, _Value]:
    """What a dictionary says of classes, by their positions; its keys are names, so 1 and "1" are the same.

    >>> by_class({"1": 0.3}, (0, 1), "label_error")
    {1: 0.3}
    """
    places, by_place = places_by_text(classes), dict[int, _Value]()
    for key, value in by_name.items():
        place = find_name(key, places)
        if place == NOT_FOUND:
            raise InputError(f"{param(name)}: {key!r} is not a class. The classes are {shorten(classes)}.")
        if place in by_place:
            raise InputError(f"{param(name)}: class {classes[place]!r} is named twice. Name every class once.")
        by_place[place] = value
    return by_place


def match_labels(values: NDArray[Any], classes: tuple[Label, ...]) -> IntArray:
    """Position of each label among the classes, or ``NOT_FOUND``; fast where labels have one type."""
    kind, is_position = values.dtype.kind, classes == tuple(range(len(classes)))
    if kind in "iu" and is_position and values.min(initial=0) >= 0 and values.max(initial=0) < len(classes):
        return values.astype(np.int64, copy=False)  # labels that are their own position: the most frequent case
    places = places_by_text(classes)
    if kind in "iu":
        limits = np.iinfo(values.dtype)
        numbers = {int(text): place for text, place in places.items() if _WHOLE_NUMBER.fullmatch(text)}
        held = {number: place for number, place in numbers.items() if limits.min <= number <= limits.max}
        return _look_up(np.array(list(held), values.dtype), np.array(list(held.values()), np.int64), values)
    if kind == "U":  # a longer name is none of them, and would widen a copy of all
        fitting = {text: place for text, place in places.items() if 4 * len(text) <= values.itemsize}
        return _look_up(np.array(list(fitting), values.dtype), np.array(list(fitting.values()), np.int64), values)
    if kind in "bf":
        distinct, inverse = np.unique(values, return_inverse=True)
        matched = np.array([find_name(value, places) for value in distinct.tolist()], np.int64)
        return np.asarray(matched[inverse.reshape(-1)], np.int64)
    each_place = (
        places.get(value, NOT_FOUND) if type(value) is str else find_name(value, places)
        for value in values.tolist()
    )
    return np.fromiter(each_place, np.int64, len(values))


def _look_up(names: NDArray[Any], places: NDArray[Any], values: NDArray[Any]) -> IntArray:
    """Place of each value among names of the same type."""
    if not len(names):
        return np.full(len(values), NOT_FOUND, np.int64)
    order = np.argsort(names)
    nearest = np.searchsorted(names[order], values).clip(max=len(names) - 1)
    return np.where(names[order][nearest] == values, places[order][nearest], NOT_FOUND).astype(np.int64)


def suggest_names(labels: Iterable[Any], classes: Sequence[Label], name: str = "labels") -> str:
    """What to do with labels, called ``name``, that are positions among classes of other names; else "".

    >>> suggest_names([1, 0, 1], ("cat", "dog"))
    " If labels are positions, pass their names: np.array(['cat', 'dog'])[labels]."
    >>> suggest_names([1, 2], ("cat", "dog")), suggest_names([0, 3], (1, 2))
    ('', '')
    """
    positions = set(map(str, range(len(classes))))
    if not positions.isdisjoint(places_by_text(classes)) or not positions.issuperset(map(text_of, labels)):
        return ""
    listed = repr(list(classes)) if len(classes) <= MAX_LISTED else "classes"
    return f" If labels are positions, pass their names: np.array({listed})[{name}]."


MAX_LISTED = 6
"""Names that a message lists. A round number."""


def shorten(names: Sequence[Any], max_shown: int = MAX_LISTED) -> str:
    """A list for a message, cut where it grows long."""
    shown = ", ".join(repr(name) for name in names[:max_shown])
    return shown if len(names) <= max_shown else f"{shown}, ... ({len(names)} in all)"
