"""Find the score columns and the label of a table by name; the rules stand in the order they are tried in.

Where columns cannot be known, the message says what is missing, the rule, and the columns that there are.
"""

import fnmatch
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from pacshift.arrays import Label
from pacshift.errors import InputError, param
from pacshift.rows.arrow.batch import Layout, sample_scores
from pacshift.rows.arrow.source import Source, field_of
from pacshift.rows.columns import Columns
from pacshift.scores.check import adds_up, check_classes, foreign_columns
from pacshift.scores.frames import refuse_half_types
from pacshift.scores.names import numbers_if_all, places_by_text, shorten, text_of

DEFAULT_PATTERN = "p_*"


class ColumnsError(InputError):
    """Columns could not be found in a table."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How a table is read, as the command line calls it; ``columns`` are those that a certificate remembers.

    ``scores`` is a pattern, a comma list or one list column.
    """

    label: str | None = None
    scores: str | None = None
    classes: Sequence[Label] | None = None
    by_position: bool = False
    columns: Columns | None = None
    group: str | None = None
    softmax: bool = False
    drop_invalid: bool | float = False


@dataclass(frozen=True, slots=True)
class ScoreColumns:
    """Score columns and the names that they give their classes; ``is_listed``: the user listed them."""

    columns: tuple[str, ...]
    names: tuple[Label, ...]
    is_listed: bool = False


def find_layout(source: Source, options: ReadOptions) -> Layout:
    """Look the columns up by name: those asked for, else those remembered, else by the rules below."""
    schema, names, label, group = source.schema, list(source.schema.names), options.label, options.group
    classes = None if options.classes is None else check_classes(options.classes)
    if label is not None:
        if label == "label" and label not in names and source.usual is not None:
            label = source.usual.label or label
        _require_names(source, label, "label")
    scores = options.scores
    wanted = [] if scores is None else [scores, *(part.strip() for part in scores.split(","))]
    remembered = options.columns if scores is None else None
    if group is not None:
        _require_names(source, group, "group")
        if group in (label, *wanted, *(remembered.scores if remembered else ())):
            raise InputError(
                f"column {group!r} cannot hold the {'labels' if group == label else 'scores'} and name the "
                f"groups. Name another column: {param('group=NAME')}."
            )
    others = [name for name in names if name not in (label, group)]
    if scores is not None:
        chosen = _select_columns(source, scores, others)
    elif remembered is None or (options.by_position and not set(remembered.scores) <= set(names)):
        chosen = _by_default(source, others, label, None if options.by_position else classes)
    else:
        chosen = _find_again(source, remembered.scores, others, classes)
    columns = chosen.columns
    types = ((str(field_of(schema, column, "the table").type), f" in column {column!r}") for column in columns)
    refuse_half_types(types, "the table")
    if len(columns) == 1:
        named, order = _list_classes(source, columns[0], classes, by_position=options.by_position)
        return Layout(columns, named, label, order, bool(classes or source.class_names), group)
    _require_numbers(schema, columns)
    if classes is not None:
        columns = _in_order_of(classes, chosen, by_position=options.by_position)
        return Layout(columns, classes, label, None, True, group)
    pairs = list(zip(chosen.names, columns, strict=True))
    if all(isinstance(name, int) for name in chosen.names):  # p_10 may stand before p_2
        pairs.sort(key=lambda pair: pair[0])
    by_name = check_classes(name for name, _ in pairs)
    return Layout(tuple(column for _, column in pairs), by_name, label, group=group)


def _require_names(source: Source, column: str, role: Literal["label", "group"]) -> None:
    """Refuse a column that is not there once, or cannot hold names."""
    names = list(source.schema.names)
    n_found = names.count(column)
    if n_found != 1:
        problem = f"{n_found} columns are called {column!r}" if n_found else f"no column {column!r}"
        group = "column that says to which group, such as a patient, a row belongs"
        where = group if role == "group" else "label column"
        name_it = f"Name the {where}: {param(f'{role}=NAME')}."
        raise ColumnsError(f"{problem}. {name_it} The columns are {shorten(names, 20)}.")
    stored = kind = source.schema.field(column).type
    while pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        kind = kind.value_type
    is_view = getattr(pa.types, "is_string_view", lambda _kind: False)
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or is_view(kind)
    if not (source.has_text_labels or is_text or _is_number(kind) or pa.types.is_boolean(kind)):
        raise InputError(
            f"{role} column {column!r} holds {stored}: {role}s must be text, numbers or booleans. Convert it, or "
            f"name another column: {param(f'{role}=NAME')}."
        )


def _select_columns(source: Source, scores: str, names: Sequence[str]) -> ScoreColumns:
    """The columns that a pattern or a list names."""
    parts = [scores] if scores in names else [part.strip() for part in scores.split(",")]
    hits = [[part] if part in names else _matching(names, part) for part in parts]
    matches = [name for hit in hits for name in hit]
    matches = matches if len(parts) == 1 else list(dict.fromkeys(matches))
    absent = [part for part, hit in zip(parts, hits, strict=True) if not hit]
    if absent or not _are_scores(source, matches):
        raise ColumnsError(
            f"{param(f'scores={scores!r}')} match {shorten(matches) if matches else 'no column'}"
            + (f", and there is no column {shorten(absent)}" if matches and absent else "")
            + ": they must match two or more number columns, or one column of lists. The columns are "
            f"{shorten(names, 20)}."
        )
    if len(parts) == 1:
        return ScoreColumns(tuple(matches), class_names(matches, scores))
    shared = DEFAULT_PATTERN if len(_matching(matches, DEFAULT_PATTERN)) == len(matches) else "*"
    return ScoreColumns(
        tuple(matches), class_names(matches, shared), is_listed=all(part in names for part in parts)
    )


def _find_again(
    source: Source, scores: tuple[str, ...], names: Sequence[str], classes: tuple[Label, ...] | None
) -> ScoreColumns:
    """The columns of another table, or, where none is here, those that say the names of the same classes."""
    missing = [name for name in scores if source.schema.names.count(name) != 1]
    if not missing:
        return ScoreColumns(scores, classes if classes and len(scores) > 1 else scores)
    if classes and set(scores).isdisjoint(names):
        with suppress(ColumnsError):
            chosen = _by_default(source, names, None, classes)
            if sorted(map(str, map(text_of, chosen.names))) == sorted(map(str, map(text_of, classes))):
                return chosen
    by_class = f", nor columns p_NAME or NAME for each of the classes {shorten(classes)}" if classes else ""
    raise ColumnsError(
        f"the scores were read from the columns {shorten(scores)}, but this table has no column "
        f"{shorten(missing)}{by_class}. Rename its columns, or name its score columns with {param('scores=')}. An "
        f"array in the order of the classes needs {param('by_position=True')}. Its columns are "
        f"{shorten(source.schema.names, 20)}."
    )


def _by_default(
    source: Source, names: Sequence[str], label: str | None, classes: tuple[Label, ...] | None
) -> ScoreColumns:
    """What such tables call their scores, columns named as the classes, by the pattern, as the labels."""
    if source.usual is not None and source.usual.scores[0] in names:
        return ScoreColumns(source.usual.scores, source.usual.scores)
    patterned = _matching(names, DEFAULT_PATTERN)
    by_pattern = class_names(patterned, DEFAULT_PATTERN)
    wanted = {text_of(name) for name in classes or ()}
    if not wanted <= set(map(text_of, by_pattern)) and wanted <= set(names) - set(patterned):
        called = tuple(name for name in names if name in wanted)
        return ScoreColumns(called, called)
    if _are_scores(source, patterned):
        return ScoreColumns(tuple(patterned), by_pattern)
    if label is not None and classes is None:
        return _called_as_labels(source, names, label)
    raise ColumnsError(
        f"no score columns: fewer than two are called {DEFAULT_PATTERN}"
        + (f", and none after the classes {shorten(classes)}" if classes else "")
        + f". {_how_to_name_scores()}. The columns are {shorten(names, 20)}."
    )


def _called_as_labels(source: Source, names: Sequence[str], label: str) -> ScoreColumns:
    """The columns that the labels name; a label without a column is an error."""
    values = {text for value in source.label_values(label) if (text := text_of(value)) is not None}
    if not values:
        raise InputError(
            f"column {label!r} holds no label at all, so that it cannot name the score columns. "
            f"{_how_to_name_scores()}."
        )
    columns = [name for name in names if name in values]
    missing = sorted(values.difference(columns))
    if missing:
        raise ColumnsError(
            f"no score columns: fewer than two are called {DEFAULT_PATTERN}, and the labels {shorten(missing)} of "
            f"column {label!r} have no column of their name. {_how_to_name_scores()}. The "
            f"columns are {shorten(names, 20)}."
        )
    _require_numbers(source.schema, columns)
    _refuse_unlabelled_classes(source, columns, names)
    if len(columns) < 2:
        raise InputError(
            f"all rows have the label {columns[0]!r}, but at least 2 classes are needed. {_how_to_name_scores()}."
        )
    return ScoreColumns(tuple(columns), numbers_if_all(columns))


def _refuse_unlabelled_classes(source: Source, columns: list[str], names: Sequence[str]) -> None:
    """Refuse where other columns may be scores too although no row is labelled so: sets would lack these."""
    floats = [field.name for field in source.schema if pa.types.is_floating(field.type)]
    rest = [name for name in floats if name in names and name not in columns and floats.count(name) == 1]
    sample = sample_scores(source, Layout((*columns, *rest), (*columns, *rest))) if rest else np.empty((0, 1))
    is_labelled = np.arange(len(columns) + len(rest)) < len(columns)
    if not len(sample) or adds_up(sample, is_labelled):
        return
    foreign = foreign_columns(sample, is_labelled.astype(np.int64))
    alike = [name for place, name in enumerate(rest, len(columns)) if place not in foreign]
    if alike:
        raise ColumnsError(
            f"the labels name the score columns {shorten(columns)}, but {shorten(alike)} may be scores too: they "
            f"look alike, and no row is labelled so. Name all score columns: {_how_to_name_scores()}."
        )


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


def _in_order_of(classes: tuple[Label, ...], chosen: ScoreColumns, *, by_position: bool) -> tuple[str, ...]:
    """The column of each class: by name; in their order if asked for, or if columns of other names are listed."""
    places, missing = _places(classes, chosen.names)
    if not missing:
        return tuple(chosen.columns[place] for place in places)
    if not by_position and (not chosen.is_listed or len(missing) < len(classes)):
        raise InputError(
            f"no score column for class {shorten(missing)}: {len(chosen.names)} score columns give the classes "
            f"{shorten(chosen.names)}. Name the classes as the columns do, or match columns and classes in their "
            f"order with {param('by_position=True')}."
        )
    if len(classes) != len(chosen.columns):
        raise InputError(
            f"{len(chosen.columns)} score columns but {len(classes)} classes: matched in their order, both must "
            "be equally many."
        )
    return chosen.columns


def _places(classes: tuple[Label, ...], names: tuple[Label, ...]) -> tuple[tuple[int, ...], list[Label]]:
    """Where the classes are among the names, and those that are not."""
    places = places_by_text(names)
    positions = [places.get(str(text_of(name))) for name in classes]
    missing = [name for name, place in zip(classes, positions, strict=True) if place is None]
    return tuple(place for place in positions if place is not None), missing


def _list_classes(
    source: Source, column: str, classes: tuple[Label, ...] | None, *, by_position: bool
) -> tuple[tuple[Label, ...], tuple[int, ...] | None]:
    """The classes of a column of lists, and where their entries are if not in this order."""
    kind, length = source.schema.field(column).type, None
    if not _is_list(kind) or not _is_number(kind.value_type):
        raise InputError(f"score column {column!r} must hold lists of numbers, it holds {kind}.")
    if pa.types.is_fixed_size_list(kind):
        length = int(kind.list_size)
    for batch in source.batches([column], 64) if length is None else ():
        lengths = batch.data.column(0).value_lengths().drop_null()
        if len(lengths):
            length = int(lengths[0].as_py())
            break
    if length is None:
        raise InputError(f"score column {column!r} holds no list at all: the table has no usable row.")
    inside = None if source.class_names is None else check_classes(source.class_names)
    for names in (inside, classes):
        if names is not None and len(names) != length:
            raise InputError(
                f"score column {column!r} holds lists of {length}, but {len(names)} classes are named."
            )
    if classes is None or inside is None or by_position:
        return classes or inside or check_classes(range(length)), None
    order, missing = _places(classes, inside)
    if missing:
        raise InputError(
            f"no scores for class {shorten(missing)}: class_names are {shorten(inside)}. Name the classes so, or "
            f"match them in their order with {param('by_position=True')}."
        )
    return classes, None if order == tuple(range(length)) else order


def _is_list(kind: Any) -> bool:
    kinds = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(is_kind(kind) for is_kind in kinds)


def _is_number(kind: Any) -> bool:
    # A CSV without rows has no types: its columns are null.
    numbers = (pa.types.is_floating, pa.types.is_integer, pa.types.is_decimal, pa.types.is_null)
    return any(is_kind(kind) for is_kind in numbers)


def _require_numbers(schema: Any, columns: Sequence[str]) -> None:
    for column in columns:
        kind = field_of(schema, column, "the table").type
        if not _is_number(kind):
            raise InputError(
                f"score column {column!r} holds {kind}, not numbers. Convert it, or name the score columns with "
                f"{param('scores=')}."
            )


def _how_to_name_scores() -> str:
    return f"{param('scores=')} takes a pattern such as 'p_*', a comma list of columns, or one column of lists"
