"""Which columns of a table hold the scores and the label, and what the classes are called."""

import fnmatch
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from pacshift.arrays import Label
from pacshift.errors import InputError
from pacshift.scores.check import check_classes, shorten
from pacshift.tables.npz import LABELS, SCORES, NpzSource
from pacshift.tables.sources import Batch, Source


@dataclass(frozen=True, slots=True)
class Layout:
    """Score columns in the order of ``classes``, or one column of lists; the label column, if there is one."""

    columns: tuple[str, ...]
    is_list: bool
    classes: tuple[Label, ...]
    label: str | None

    def batches(self, source: Source, columns: Sequence[str] = ()) -> Iterator[Batch]:
        """The rows of the table: score columns, label, then other ``columns``."""
        others = [*([self.label] if self.label else []), *(name for name in columns if name not in self.columns)]
        return source.batches(self.columns, others, len(self.classes))

    def without_label(self) -> "Layout":
        """The same table read as an unlabelled target."""
        return replace(self, label=None)


def find_layout(source: Source, *, label: str | None, scores: str, classes: Sequence[Label] | None) -> Layout:
    """Look the names up in the schema; read a first row only where a list column does not tell its length."""
    names = list(source.schema.names)
    given = None if classes is None else check_classes(classes)
    if isinstance(source, NpzSource):
        scores = scores if scores in names else SCORES
        label = label if label is None or label in names else LABELS
        given = given or (check_classes(source.class_names) if source.class_names else None)
    if label is not None and names.count(label) != 1:
        n_found = names.count(label)
        problem = f"{n_found} columns are called {label!r}" if n_found else f"No column {label!r}"
        raise InputError(f"{problem}. Name the label column: --label NAME. The columns are {shorten(names)}.")
    matches = [name for name in names if name != label and (name == scores or fnmatch.fnmatchcase(name, scores))]
    if len(matches) == 1 and _is_list(source.schema.field(matches[0]).type):
        return Layout((matches[0],), True, _list_classes(source, matches[0], given), label)
    if len(matches) < 2 or len(set(matches)) < len(matches):
        raise InputError(
            f"scores {scores!r} match {shorten(matches) if matches else 'no column'}: they must match two or more "
            f"number columns of different names, or one column of lists. The columns are {shorten(names, 20)}."
        )
    _require_numbers(source.schema, matches)
    columns, classes = _order(matches, class_names(matches, scores), given)
    return Layout(columns, False, classes, label)


def class_names(columns: Sequence[str], pattern: str) -> tuple[Label, ...]:
    """What the one star of the pattern stands for; whole numbers where every name is one.

    >>> class_names(["p_0", "p_1"], "p_*"), class_names(["p_cat", "p_dog"], "p_*")
    ((0, 1), ('cat', 'dog'))
    """
    head, star, tail = pattern.partition("*")
    if star and not re.search(r"[*?\[]", head + tail):
        columns = [column[len(head) : len(column) - len(tail)] for column in columns]
    return numbers_if_all(columns)


def numbers_if_all(names: Sequence[str]) -> tuple[Label, ...]:
    """Names that are all whole numbers become ints, so that tables with and without labels agree."""
    if all(re.fullmatch(r"-?\d{1,18}", name) for name in names) and len({int(name) for name in names}) == len(
        names
    ):
        return tuple(int(name) for name in names)
    return tuple(names)


def _order(
    columns: list[str], names: tuple[Label, ...], given: tuple[Label, ...] | None
) -> tuple[tuple[str, ...], tuple[Label, ...]]:
    place = {text_of(name): column for name, column in zip(names, columns, strict=True)}
    if given is None:
        # p_10 may stand before p_2 in the file: numbers go in their own order.
        ordered = sorted(names, key=float) if all(isinstance(name, int) for name in names) else list(names)
        return tuple(place[text_of(name)] for name in ordered), check_classes(ordered)
    missing = [name for name in given if text_of(name) not in place]
    if not missing:
        return tuple(place[text_of(name)] for name in given), given
    if len(missing) == len(given) == len(columns):
        return tuple(columns), given  # other names altogether: taken by position
    raise InputError(
        f"no score column for class {shorten(missing)}: {len(columns)} score columns give the classes "
        f"{shorten(names)}. Name the classes as the columns do, or all of them in the order of the columns."
    )


def text_of(name: Any) -> str:
    """The text by which names of different types are compared: 1, 1.0 and '1' are the same."""
    if isinstance(name, float) and name.is_integer():
        name = int(name)
    return str(name)


def _list_classes(source: Source, column: str, given: tuple[Label, ...] | None) -> tuple[Label, ...]:
    kind = source.schema.field(column).type
    if not _is_number(kind.value_type):
        raise InputError(f"score column {column!r} must hold lists of numbers, it holds {kind}.")
    length = kind.list_size if pa.types.is_fixed_size_list(kind) else _first_length(source, column)
    if given is None:
        return check_classes(range(length))
    if len(given) != length:
        raise InputError(f"score column {column!r} holds lists of {length}, but {len(given)} classes are named.")
    return given


def _first_length(source: Source, column: str) -> int:
    for batch in source.batches([column], [], 64):
        batch.require_sound()
        lengths = batch.data.column(0).value_lengths().drop_null()
        if len(lengths):
            return int(lengths[0].as_py())
    raise InputError(f"score column {column!r} holds no list at all: the table has no usable row.")


def _require_numbers(schema: Any, columns: Sequence[str]) -> None:
    for column in columns:
        if not _is_number(schema.field(column).type):
            raise InputError(
                f"score column {column!r} holds {schema.field(column).type}, not numbers. "
                "Choose the score columns with a narrower pattern."
            )


def _is_list(kind: Any) -> bool:
    return any(
        is_kind(kind) for is_kind in (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    )


def _is_number(kind: Any) -> bool:
    # A CSV without rows has no types: its columns are null.
    numbers = (pa.types.is_floating, pa.types.is_integer, pa.types.is_decimal, pa.types.is_null)
    return any(is_kind(kind) for is_kind in numbers)
