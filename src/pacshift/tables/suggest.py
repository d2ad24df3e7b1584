"""What to type next where the columns cannot be known: guesses from names, offered and never acted upon."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from pacshift.errors import InputError
from pacshift.scores.names import text_of

MAX_GUESSED_VALUES = 1000


class ColumnsError(InputError):
    """Columns could not be found. ``options`` are those of a command that would probably work; often empty."""

    def __init__(self, message: str, options: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.options = tuple(options)


def is_list(kind: Any) -> bool:
    """Whether an Arrow type holds lists."""
    kinds = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(is_kind(kind) for is_kind in kinds)


def is_number(kind: Any) -> bool:
    """Whether an Arrow type can hold scores."""
    # A CSV without rows has no types: its columns are null.
    numbers = (pa.types.is_floating, pa.types.is_integer, pa.types.is_decimal, pa.types.is_null)
    return any(is_kind(kind) for is_kind in numbers)


def guess_scores(schema: Any, values: Sequence[str], label: str | None) -> tuple[str, ...]:
    """Options that name the score columns of a table whose classes (if known) are ``values``; empty if none fit.

    Which column belongs to which class is never guessed from their order.

    >>> guess_scores(pa.schema({"prob_a": pa.float64(), "prob_b": pa.float64()}), ["a", "b"], None)
    ('--scores', 'prob_*')
    """
    fields = [field for field in schema if field.name != label]
    pattern = _common_pattern([field.name for field in fields if is_number(field.type)], values)
    if pattern is not None:
        return "--scores", pattern
    lists = [field.name for field in fields if is_list(field.type) and is_number(field.type.value_type)]
    # The entries of a list have no names: only numbers tell which class each belongs to.
    if len(lists) == 1 and (label is not None or not values or values == [str(k) for k in range(len(values))]):
        return "--scores", lists[0]
    floats = [field.name for field in fields if pa.types.is_floating(field.type)]
    if len(floats) < 2 or any("," in name for name in floats):
        return ()
    if values and set(values) <= {field.name for field in fields}:
        return "--scores", ",".join(field.name for field in fields if field.name in values)
    if label is None:
        return () if values else ("--scores", ",".join(floats))
    if values and len(values) != len(floats):
        return ()
    return "--scores", ",".join(floats), "--classes", ",".join(f"LABEL OF {name}" for name in floats)


def _common_pattern(columns: Sequence[str], values: Sequence[str]) -> str | None:
    """A pattern with one star that names a column for each value: ``prob_*`` for prob_cat and prob_dog."""
    if not values:
        return None
    first = min(values, key=len)
    for column in columns:
        start = column.find(first)
        while start >= 0:
            head, tail = column[:start], column[start + len(first) :]
            plain = not set("*?[,") & set(head + tail) and (head or tail)
            if plain and all(head + value + tail in columns for value in values):
                return f"{head}*{tail}"
            start = column.find(first, start + 1)
    return None


def guess_label(candidates: dict[str, list[Any]], names: Sequence[str]) -> tuple[str, ...]:
    """The option that names the one column whose values are all names of score columns; empty if none fits."""
    known = set(names)
    fitting = [
        column
        for column, values in candidates.items()
        if 0 < len(values) <= MAX_GUESSED_VALUES
        and {text_of(value) for value in values if value is not None} <= known
    ]
    return ("--label", fitting[0]) if len(fitting) == 1 else ()
