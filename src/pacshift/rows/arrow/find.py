"""Find the score columns and the label of a table by name; the rules stand in the order they are tried in.

Where columns cannot be known, the message says what is missing, the rule, and the columns that there are.
"""

import fnmatch
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from pacshift.arrays import Label
from pacshift.errors import InputError
from pacshift.rows.arrow.layout import Asked, ColumnsError, Layout
from pacshift.rows.arrow.records import sample_scores
from pacshift.rows.arrow.source import Source
from pacshift.rows.columns import Columns
from pacshift.scores.check import adds_up, check_classes, foreign_columns
from pacshift.scores.frames import half_error
from pacshift.scores.names import numbers_if_all, places_by_text, shorten, text_of

DEFAULT_PATTERN = "p_*"
_HOW = "scores= takes a pattern such as 'p_*', a comma list of columns, or one column of lists"


@dataclass(frozen=True, slots=True)
class Found:
    """Score columns and the names that they give their classes; ``is_listed``: the user listed them."""

    columns: tuple[str, ...]
    names: tuple[Label, ...]
    is_listed: bool = False


def find_layout(source: Source, asked: Asked) -> Layout:
    """Look the columns up by name: those asked for, else those remembered, else by the rules below."""
    classes = None if asked.classes is None else check_classes(asked.classes)
    asked = replace(asked, classes=classes, label=_label_column(source, asked.label))
    _require_group_column(source, asked)
    remembered = asked.columns
    if asked.scores is not None:
        found = _asked_for(source, asked.scores, asked)
    elif remembered is not None and (not asked.by_position or set(remembered.scores) <= set(source.schema.names)):
        found = _remembered(source, remembered, classes)
    else:
        found = _by_default(source, replace(asked, classes=None) if asked.by_position else asked)
    _require_single(source.schema, found.columns)
    if asked.group in found.columns:
        raise _group_is_used(asked.group, "scores")
    return replace(_layout_of(source, found, asked), group=asked.group)


def _label_column(source: Source, label: str | None) -> str | None:
    names = list(source.schema.names)
    if label is None:
        return None
    if label in ("label", source.label_file) and label not in names and source.usual is not None:
        label = source.usual.label or label
    if names.count(label) != 1:
        raise ColumnsError(
            f"{_not_one(label, names)}. Name the label column: label=NAME. The columns are {shorten(names)}."
        )
    kind = source.schema.field(label).type
    if not source.has_text_labels and not _can_be_label(kind):
        raise InputError(
            f"label column {label!r} holds {kind}: labels must be text, numbers or booleans. Convert it, or name "
            "another column: label=NAME."
        )
    return label


def _require_group_column(source: Source, asked: Asked) -> None:
    group, names = asked.group, list(source.schema.names)
    if group is None:
        return
    if names.count(group) != 1:
        raise ColumnsError(
            f"{_not_one(group, names)}. Name the column that says to which group, such as a patient, a row "
            f"belongs: group=NAME. The columns are {shorten(names, 20)}."
        )
    if group == asked.label:
        raise _group_is_used(group, "labels")
    kind = source.schema.field(group).type
    if not source.has_text_labels and not _can_be_label(kind):
        raise InputError(
            f"group column {group!r} holds {kind}: ids of groups must be text, numbers or booleans. Convert it, "
            "or name another column: group=NAME."
        )


def _not_one(column: str, names: list[str]) -> str:
    n_found = names.count(column)
    return f"{n_found} columns are called {column!r}" if n_found else f"No column {column!r}"


def _group_is_used(group: str | None, what: str) -> InputError:
    return InputError(
        f"column {group!r} cannot hold the {what} and name the groups. Name another column: group=NAME."
    )


def _asked_for(source: Source, scores: str, asked: Asked) -> Found:
    names = _candidates(source, asked)
    parts = [scores] if scores in names else [part.strip() for part in scores.split(",")]
    if asked.group in parts:
        raise _group_is_used(asked.group, "scores")
    hits = [[part] if part in names else _matching(names, part) for part in parts]
    matches = [name for hit in hits for name in hit]
    matches = matches if len(parts) == 1 else list(dict.fromkeys(matches))
    absent = [part for part, hit in zip(parts, hits, strict=True) if not hit]
    if absent or not _are_scores(source, matches):
        raise ColumnsError(
            f"scores {scores!r} match {shorten(matches) if matches else 'no column'}"
            + (f", and there is no column {shorten(absent)}" if matches and absent else "")
            + ": they must match two or more number columns, or one column of lists. The columns are "
            f"{shorten(names, 20)}."
        )
    if len(parts) == 1:
        return Found(tuple(matches), class_names(matches, scores))
    shared = DEFAULT_PATTERN if len(_matching(matches, DEFAULT_PATTERN)) == len(matches) else "*"
    return Found(tuple(matches), class_names(matches, shared), is_listed=all(part in names for part in parts))


def _remembered(source: Source, columns: Columns, given: tuple[Label, ...] | None) -> Found:
    names = list(source.schema.names)
    missing = [name for name in columns.scores if names.count(name) != 1]
    if missing:
        raise ColumnsError(
            f"the scores were read from the columns {shorten(columns.scores)}, but this table has no column "
            f"{shorten(missing)}. Rename its columns, or name its score columns with scores=. An array in the "
            f"order of the classes needs by_position=True. Its columns are {shorten(names, 20)}."
        )
    return Found(columns.scores, given if given and len(columns.scores) > 1 else columns.scores)


def _candidates(source: Source, asked: Asked) -> list[str]:
    return [name for name in source.schema.names if name not in (asked.label, asked.group)]


def _by_default(source: Source, asked: Asked) -> Found:
    names = _candidates(source, asked)
    for rule in (_usual, _called_as_classes, _called_by_pattern, _called_as_labels):
        found = rule(source, asked, names)
        if found is not None:
            return found
    raise ColumnsError(
        f"no score columns: fewer than two are called {DEFAULT_PATTERN}"
        + (f", and none after the classes {shorten(asked.classes)}" if asked.classes else "")
        + f". {_HOW}. The columns are {shorten(names, 20)}."
    )


def _usual(source: Source, _asked: Asked, names: Sequence[str]) -> Found | None:
    """The name that such tables have for their scores."""
    usual = source.usual
    return None if usual is None or usual.scores[0] not in names else Found(usual.scores, usual.scores)


def _called_as_classes(_source: Source, asked: Asked, names: Sequence[str]) -> Found | None:
    """The columns named after the classes, unless those of the pattern are."""
    wanted = {text_of(name) for name in asked.classes or ()}
    patterned = _matching(names, DEFAULT_PATTERN)
    by_pattern = {text_of(name) for name in class_names(patterned, DEFAULT_PATTERN)}
    if wanted <= by_pattern or not wanted <= set(names) - set(patterned):
        return None
    called = tuple(name for name in names if name in wanted)
    return Found(called, called)


def _called_by_pattern(source: Source, _asked: Asked, names: Sequence[str]) -> Found | None:
    matches = _matching(names, DEFAULT_PATTERN)
    if not _are_scores(source, matches):
        return None
    return Found(tuple(matches), class_names(matches, DEFAULT_PATTERN))


def _called_as_labels(source: Source, asked: Asked, names: Sequence[str]) -> Found | None:
    """The columns that the labels name; a label without a column is an error."""
    label = asked.label
    if label is None or asked.classes is not None:
        return None
    values = {text for value in source.label_values(label) if (text := text_of(value)) is not None}
    if not values:
        raise InputError(
            f"column {label!r} holds no label at all, so that it cannot name the score columns. {_HOW}."
        )
    columns = [name for name in names if name in values]
    missing = sorted(values.difference(columns))
    if missing:
        raise ColumnsError(
            f"no score columns: fewer than two are called {DEFAULT_PATTERN}, and the labels {shorten(missing)} of "
            f"column {label!r} have no column of their name. {_HOW}. The columns are {shorten(names, 20)}."
        )
    _require_single(source.schema, columns)
    _require_numbers(source.schema, columns)
    chosen = _with_unlabelled_classes(source, columns, names)
    if len(chosen) < 2:
        raise InputError(f"all rows have the label {chosen[0]!r}, but at least 2 classes are needed. {_HOW}.")
    return Found(tuple(chosen), numbers_if_all(chosen))


def _with_unlabelled_classes(source: Source, columns: list[str], names: Sequence[str]) -> list[str]:
    """Add columns that are scores too although no row is labelled so: without them rows do not add up to 1."""
    floats = [field.name for field in source.schema if pa.types.is_floating(field.type)]
    rest = [name for name in floats if name in names and name not in columns and floats.count(name) == 1]
    if not rest:
        return columns
    both = (*columns, *rest)
    sample = sample_scores(source, Layout(both, False, both, None))
    own = np.arange(len(both)) < len(columns)
    if not len(sample) or adds_up(sample, own):
        return columns
    if adds_up(sample, np.ones_like(own)):
        return [name for name in names if name in both]
    foreign = foreign_columns(sample, own.astype(np.int64))
    alike = [name for place, name in enumerate(rest, len(columns)) if place not in foreign]
    if alike:
        raise ColumnsError(
            f"the labels name the score columns {shorten(columns)}, but {shorten(alike)} may be scores too: they "
            f"look alike, and no row is labelled so. Name all score columns: {_HOW}."
        )
    return columns


def _are_scores(source: Source, columns: Sequence[str]) -> bool:
    """Two columns or more, or one of lists."""
    fields = [field for field in source.schema if field.name in columns[:1]]  # by name it must be there once
    return len(columns) > 1 or any(_is_list(field.type) for field in fields)


def _matching(names: Sequence[str], pattern: str) -> list[str]:
    return [name for name in names if fnmatch.fnmatchcase(name, pattern)]


def class_names(columns: Sequence[str], pattern: str) -> tuple[Label, ...]:
    """What the one star of the pattern stands for; whole numbers where every name is one.

    >>> class_names(["p_0", "p_1"], "p_*"), class_names(["p_cat", "p_dog"], "p_*")
    ((0, 1), ('cat', 'dog'))
    """
    head, star, tail = pattern.partition("*")
    if star and not re.search(r"[*?\[]", head + tail):
        columns = [column[len(head) : len(column) - len(tail)] for column in columns]
    return numbers_if_all(columns)


def _layout_of(source: Source, found: Found, asked: Asked) -> Layout:
    """The columns that were found, matched to the classes: by name, and by position only if that is asked for."""
    classes = None if asked.classes is None else tuple(asked.classes)
    for column in found.columns:
        if "halffloat" in str(source.schema.field(column).type):  # or lists of them
            raise half_error(f"score column {column!r}", "float16")
    if len(found.columns) == 1:
        return _list_layout(source, found.columns[0], classes, asked)
    _require_numbers(source.schema, found.columns)
    columns, names = found.columns, found.names
    if classes is not None:
        return Layout(_in_order_of(classes, found, asked.by_position), False, classes, asked.label, is_named=True)
    if all(isinstance(name, int) for name in names):  # p_10 may stand before p_2: numbers go in their own order
        order = sorted(range(len(names)), key=names.__getitem__)
        columns, names = tuple(columns[place] for place in order), tuple(names[place] for place in order)
    return Layout(columns, False, check_classes(names), asked.label)


def _in_order_of(classes: tuple[Label, ...], found: Found, by_position: bool) -> tuple[str, ...]:
    """The column of each class."""
    places, missing = _places(classes, found.names)
    if not missing:
        ordered = tuple(found.columns[place] for place in places)
        if by_position and ordered != found.columns:
            raise InputError(
                f"the columns {shorten(found.columns)} are named after the classes {shorten(classes)}, but in "
                "another order. Leave by_position=True out."
            )
        return ordered
    if not (by_position or (found.is_listed and len(missing) == len(classes))):
        raise InputError(
            f"no score column for class {shorten(missing)}: {len(found.names)} score columns give the classes "
            f"{shorten(found.names)}. Name the classes as the columns do, or match columns and classes in their "
            "order with by_position=True."
        )
    if len(classes) != len(found.columns):
        raise InputError(
            f"{len(found.columns)} score columns but {len(classes)} classes: matched in their order, both must be "
            "equally many."
        )
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
        raise InputError(
            f"no scores for class {shorten(missing)}: class_names are {shorten(inside)}. Name the classes so, "
            "or match them in their order with by_position=True."
        )
    return Layout((column,), True, given, label, None if order == tuple(range(length)) else order, is_named=True)


def _list_length(source: Source, column: str) -> int:
    kind = source.schema.field(column).type
    if not _is_list(kind) or not _is_number(kind.value_type):
        raise InputError(f"score column {column!r} must hold lists of numbers, it holds {kind}.")
    if pa.types.is_fixed_size_list(kind):
        return int(kind.list_size)
    for batch in source.batches([column], 64):
        batch.require_sound()
        lengths = batch.data.column(0).value_lengths().drop_null()
        if len(lengths):
            return int(lengths[0].as_py())
    raise InputError(f"score column {column!r} holds no list at all: the table has no usable row.")


def _is_list(kind: Any) -> bool:
    kinds = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(is_kind(kind) for is_kind in kinds)


def _is_number(kind: Any) -> bool:
    # A CSV without rows has no types: its columns are null.
    numbers = (pa.types.is_floating, pa.types.is_integer, pa.types.is_decimal, pa.types.is_null)
    return any(is_kind(kind) for is_kind in numbers)


def _can_be_label(kind: Any) -> bool:
    while pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        kind = kind.value_type
    is_view = getattr(pa.types, "is_string_view", lambda _kind: False)
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or is_view(kind)
    return bool(is_text or _is_number(kind) or pa.types.is_boolean(kind))


def _require_single(schema: Any, columns: Sequence[str]) -> None:
    twice = sorted({name for name in columns if schema.names.count(name) > 1})
    if twice:
        raise InputError(f"{len(twice)} score column name(s) occur twice: {shorten(twice)}. Rename them.")


def _require_numbers(schema: Any, columns: Sequence[str]) -> None:
    for column in columns:
        if not _is_number(schema.field(column).type):
            raise InputError(
                f"score column {column!r} holds {schema.field(column).type}, not numbers. "
                "Convert it, or name the score columns with scores=."
            )
