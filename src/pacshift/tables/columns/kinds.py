"""Arrow types: which of them can hold scores, and which labels."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from pacshift.errors import InputError
from pacshift.scores.names import shorten


def is_list(kind: Any) -> bool:
    """Whether an Arrow type holds lists."""
    kinds = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(is_kind(kind) for is_kind in kinds)


def is_number(kind: Any) -> bool:
    """Whether an Arrow type can hold scores."""
    # A CSV without rows has no types: its columns are null.
    numbers = (pa.types.is_floating, pa.types.is_integer, pa.types.is_decimal, pa.types.is_null)
    return any(is_kind(kind) for is_kind in numbers)


def can_be_label(kind: Any) -> bool:
    """Whether an Arrow type can hold labels."""
    while pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        kind = kind.value_type
    is_view = getattr(pa.types, "is_string_view", lambda _kind: False)
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or is_view(kind)
    return bool(is_text or is_number(kind) or pa.types.is_boolean(kind))


def require_single(schema: Any, columns: Sequence[str]) -> None:
    """Refuse score columns whose name another column has too."""
    twice = sorted({name for name in columns if schema.names.count(name) > 1})
    if twice:
        raise InputError(f"{len(twice)} score column name(s) occur twice: {shorten(twice)}. Rename them.")


def require_numbers(schema: Any, columns: Sequence[str]) -> None:
    """Refuse score columns that do not hold numbers."""
    for column in columns:
        if not is_number(schema.field(column).type):
            raise InputError(
                f"score column {column!r} holds {schema.field(column).type}, not numbers. "
                "Convert it, or name the score columns with scores=."
            )
