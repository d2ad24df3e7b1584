"""The layout of a table: which columns hold the scores and the label, and what the classes are called."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from pacshift.arrays import Label
from pacshift.certificate.columns import Columns
from pacshift.errors import InputError
from pacshift.scores.check import check_classes
from pacshift.scores.names import numbers_if_all, places_by_text, shorten, text_of
from pacshift.tables.sources import Batch, Source
from pacshift.tables.suggest import is_list, is_number


@dataclass(frozen=True, slots=True)
class Layout:
    """Score columns in the order of ``classes``, or one column of lists; the label column, if there is one.

    ``order`` says which entry of a list belongs to each class, where it is not the entry of the same number.
    ``is_named`` tells whether somebody named the classes, or the names of the columns did.
    """

    columns: tuple[str, ...]
    is_list: bool
    classes: tuple[Label, ...]
    label: str | None
    order: tuple[int, ...] | None = None
    is_named: bool = False

    def batches(self, source: Source, columns: Sequence[str] = ()) -> Iterator[Batch]:
        """The rows of the table: score columns, label, then other ``columns``."""
        others = [name for name in dict.fromkeys(columns) if name not in (*self.columns, self.label)]
        return source.batches(self.columns, others, len(self.classes), self.label)

    def without_label(self) -> "Layout":
        """The same table read as an unlabelled target."""
        return replace(self, label=None)

    @property
    def remembered(self) -> Columns:
        """What a certificate remembers of the table."""
        return Columns(self.columns, self.label)


@dataclass(frozen=True, slots=True)
class Found:
    """Score columns and the names that they give their classes; ``is_listed``: somebody wrote them one by one."""

    columns: tuple[str, ...]
    names: tuple[Label, ...]
    is_listed: bool = False


def class_names(columns: Sequence[str], pattern: str) -> tuple[Label, ...]:
    """What the one star of the pattern stands for; whole numbers where every name is one.

    >>> class_names(["p_0", "p_1"], "p_*"), class_names(["p_cat", "p_dog"], "p_*")
    ((0, 1), ('cat', 'dog'))
    """
    head, star, tail = pattern.partition("*")
    if star and not re.search(r"[*?\[]", head + tail):
        columns = [column[len(head) : len(column) - len(tail)] for column in columns]
    return numbers_if_all(columns)


def in_order(
    found: Found, given: tuple[Label, ...] | None, by_position: bool
) -> tuple[tuple[str, ...], tuple[Label, ...]]:
    """The columns in the order of the classes, and the classes."""
    if given is None:
        # p_10 may stand before p_2 in the file: numbers go in their own order.
        is_numbered = all(isinstance(name, int) for name in found.names)
        order = (
            sorted(range(len(found.names)), key=found.names.__getitem__)
            if is_numbered
            else range(len(found.names))
        )
        return tuple(found.columns[place] for place in order), check_classes(
            [found.names[place] for place in order]
        )
    places = places_by_text(found.names)
    missing = [name for name in given if text_of(name) not in places]
    if not missing:
        ordered = tuple(found.columns[places[str(text_of(name))]] for name in given)
        if by_position and ordered != found.columns:
            raise InputError(
                f"the columns {shorten(found.columns)} are called as the classes {shorten(given)}, but stand in "
                "another order. Leave by_position=True (--by-position) out."
            )
        return ordered, given
    is_paired = by_position or (found.is_listed and len(missing) == len(given))
    if is_paired and len(given) == len(found.columns):
        return found.columns, given
    if is_paired:
        raise InputError(
            f"{len(found.columns)} score columns but {len(given)} classes: matched in their order, both must be "
            "equally many."
        )
    raise InputError(
        f"no score column for class {shorten(missing)}: {len(found.columns)} score columns give the classes "
        f"{shorten(found.names)}. Name the classes as the columns do, or match columns and classes in their order "
        "with by_position=True (--by-position)."
    )


def list_layout(
    source: Source, column: str, given: tuple[Label, ...] | None, label: str | None, by_position: bool
) -> Layout:
    kind = source.schema.field(column).type
    if not is_list(kind) or not is_number(kind.value_type):
        raise InputError(f"score column {column!r} must hold lists of numbers, it holds {kind}.")
    length = kind.list_size if pa.types.is_fixed_size_list(kind) else _first_length(source, column)
    inside = None if source.class_names is None else check_classes(source.class_names)
    for names in (inside, given):
        if names is not None and len(names) != length:
            raise InputError(
                f"score column {column!r} holds lists of {length}, but {len(names)} classes are named."
            )
    if given is None or inside is None or by_position:
        named = given or inside or check_classes(range(length))
        return Layout((column,), True, named, label, is_named=given is not None or inside is not None)
    places = places_by_text(inside)
    missing = [name for name in given if text_of(name) not in places]
    if missing:
        raise InputError(
            f"no scores for class {shorten(missing)}: class_names are {shorten(inside)}. Name the classes so, "
            "or match them in their order with by_position=True (--by-position)."
        )
    order = tuple(places[str(text_of(name))] for name in given)
    return Layout((column,), True, given, label, None if order == tuple(range(length)) else order, is_named=True)


def _first_length(source: Source, column: str) -> int:
    for batch in source.batches([column], [], 64):
        batch.require_sound()
        lengths = batch.data.column(0).value_lengths().drop_null()
        if len(lengths):
            return int(lengths[0].as_py())
    raise InputError(f"score column {column!r} holds no list at all: the table has no usable row.")
