"""The layout of a table: which columns hold the scores and the label, and what the classes are called."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from pacshift.arrays import Label
from pacshift.certificate.columns import Columns
from pacshift.errors import InputError
from pacshift.scores.check import check_classes
from pacshift.scores.containers import half_error
from pacshift.scores.names import places_by_text, text_of
from pacshift.tables.columns import refusals
from pacshift.tables.columns.kinds import is_list, is_number, require_numbers
from pacshift.tables.sources.base import Batch, Source


@dataclass(frozen=True, slots=True)
class Layout:
    """Score columns in the order of ``classes``, or one column of lists; the label column, if there is one.

    ``order`` says which entry of a list belongs to each class, where it is not the entry of the same number.
    ``is_named`` tells whether the user named the classes, or the names of the columns did. ``group`` is the column
    that names the group of each row, if there is one.
    """

    columns: tuple[str, ...]
    is_list: bool
    classes: tuple[Label, ...]
    label: str | None
    order: tuple[int, ...] | None = None
    is_named: bool = False
    group: str | None = None

    def batches(self, source: Source, columns: Sequence[str] = ()) -> Iterator[Batch]:
        """The rows of the table: score columns, label, group, then other ``columns``."""
        others = [name for name in dict.fromkeys(columns) if name not in self.needed]
        return source.batches(self.columns, len(self.classes), self.needed[len(self.columns) :], others)

    @property
    def needed(self) -> tuple[str, ...]:
        """Score columns, then the label and the group."""
        return (*self.columns, *(name for name in (self.label, self.group) if name is not None))

    def without_label(self) -> "Layout":
        """The same table read as an unlabelled target."""
        return replace(self, label=None)

    @property
    def remembered(self) -> Columns:
        """What a certificate remembers of the table."""
        return Columns(self.columns, self.label, self.group)


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for; ``columns`` are those that a certificate or the source remembers.

    ``scores`` is a pattern, a comma list or one list column.
    """

    label: str | None
    scores: str | None = None
    classes: Sequence[Label] | None = None
    by_position: bool = False
    columns: Columns | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """Score columns and the names that they give their classes; ``is_listed``: the user listed them."""

    columns: tuple[str, ...]
    names: tuple[Label, ...]
    is_listed: bool = False


def layout_of(source: Source, found: Found, asked: Asked) -> Layout:
    """The columns that were found, matched to the classes: by name, and by position only if that is asked for."""
    classes = None if asked.classes is None else tuple(asked.classes)
    for column in found.columns:
        if "halffloat" in str(source.schema.field(column).type):  # or lists of them
            raise half_error(f"score column {column!r}", "float16")
    if len(found.columns) == 1:
        return _list_layout(source, found.columns[0], classes, asked)
    require_numbers(source.schema, found.columns)
    if classes is None:
        found = _in_own_order(found)
        return Layout(found.columns, False, check_classes(found.names), asked.label)
    ordered = _in_order_of(classes, found, asked.by_position)
    return Layout(ordered, False, classes, asked.label, is_named=True)


def _in_own_order(found: Found) -> Found:
    """As the columns stand. But p_10 may stand before p_2: numbers go in their own order."""
    if not all(isinstance(name, int) for name in found.names):
        return found
    order = sorted(range(len(found.names)), key=found.names.__getitem__)
    return Found(tuple(found.columns[place] for place in order), tuple(found.names[place] for place in order))


def _in_order_of(classes: tuple[Label, ...], found: Found, by_position: bool) -> tuple[str, ...]:
    """The column of each class."""
    places, missing = _places(classes, found.names)
    if not missing:
        ordered = tuple(found.columns[place] for place in places)
        if by_position and ordered != found.columns:
            raise refusals.another_order(found.columns, classes)
        return ordered
    if not (by_position or (found.is_listed and len(missing) == len(classes))):
        raise refusals.no_column_of_class(missing, found.names)
    if len(classes) != len(found.columns):
        raise refusals.not_as_many(found.columns, classes)
    return found.columns


def _places(classes: tuple[Label, ...], names: tuple[Label, ...]) -> tuple[tuple[int, ...], list[Label]]:
    """Where the classes are among the names, and those that are not."""
    places = places_by_text(names)
    found = [places.get(str(text_of(name))) for name in classes]
    missing = [name for name, place in zip(classes, found, strict=True) if place is None]
    return tuple(place for place in found if place is not None), missing


def _list_layout(source: Source, column: str, given: tuple[Label, ...] | None, asked: Asked) -> Layout:
    length = _list_length(source, column)
    inside = None if source.class_names is None else check_classes(source.class_names)
    for names in (inside, given):
        if names is not None and len(names) != length:
            raise InputError(
                f"score column {column!r} holds lists of {length}, but {len(names)} classes are named."
            )
    label, named = asked.label, given or inside
    if given is None or inside is None or asked.by_position:
        return Layout((column,), True, named or check_classes(range(length)), label, is_named=named is not None)
    order, missing = _places(given, inside)
    if missing:
        raise refusals.no_entry_of_class(missing, inside)
    return Layout((column,), True, given, label, None if order == tuple(range(length)) else order, is_named=True)


def _list_length(source: Source, column: str) -> int:
    kind = source.schema.field(column).type
    if not is_list(kind) or not is_number(kind.value_type):
        raise InputError(f"score column {column!r} must hold lists of numbers, it holds {kind}.")
    if pa.types.is_fixed_size_list(kind):
        return int(kind.list_size)
    for batch in source.batches([column], 64):
        batch.require_sound()
        lengths = batch.data.column(0).value_lengths().drop_null()
        if len(lengths):
            return int(lengths[0].as_py())
    raise InputError(f"score column {column!r} holds no list at all: the table has no usable row.")
