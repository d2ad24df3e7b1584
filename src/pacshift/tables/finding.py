"""Find the score columns and the label of a table: by name, and by position only if that is asked for."""

import fnmatch
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pacshift.arrays import Label
from pacshift.certificate.columns import Columns
from pacshift.errors import InputError
from pacshift.scores.check import check_classes
from pacshift.scores.names import numbers_if_all, shorten, text_of
from pacshift.scores.plausible import SAMPLE_ROWS, adds_up, foreign_columns
from pacshift.tables.convert import convert
from pacshift.tables.layout import Found, Layout, class_names, in_order, list_layout
from pacshift.tables.npz import LABELS, SCORES, NpzSource
from pacshift.tables.sources import Source
from pacshift.tables.suggest import ColumnsError, guess_label, guess_scores, is_list, is_number

DEFAULT_PATTERN = "p_*"
_HOW = "--scores takes a pattern such as 'p_*', a comma list of columns, or one column of lists"


def find_layout(
    source: Source,
    *,
    label: str | None,
    scores: str | None = None,
    classes: Sequence[Label] | None = None,
    by_position: bool = False,
    columns: Columns | None = None,
) -> Layout:
    """Look the columns up by name.

    ``scores`` is a pattern, a comma list or one list column. Without it, the ``columns`` that a certificate or the
    source remembers are required. Without these, it is ``p_*``, or the columns called as the classes or labels.
    """
    given = None if classes is None else check_classes(classes)
    label = _label_column(source, label)
    if (
        scores is None
        and columns is not None
        and (not by_position or set(columns.scores) <= set(source.schema.names))
    ):
        found = _remembered(source, columns, given)
    elif scores is None:
        found = _by_default(source, label, None if by_position else given)
    else:
        found = _asked_for(source, scores, label, given)
    _require_single(source, found.columns)
    if len(found.columns) == 1:
        return list_layout(source, found.columns[0], given, label, by_position)
    _require_numbers(source.schema, found.columns)
    ordered, named = in_order(found, given, by_position)
    return Layout(ordered, False, named, label, is_named=given is not None)


def _label_column(source: Source, label: str | None) -> str | None:
    names = list(source.schema.names)
    if label == "label" and label not in names and isinstance(source, NpzSource):
        label = LABELS  # what archives call it
    if label is None:
        return None
    n_found = names.count(label)
    if n_found != 1:
        problem = f"{n_found} columns are called {label!r}" if n_found else f"No column {label!r}"
        raise ColumnsError(
            f"{problem}. Name the label column: --label NAME. The columns are {shorten(names)}.",
            () if n_found else _guess_label(source),
        )
    _require_label_type(source, label)
    return label


def _require_label_type(source: Source, label: str) -> None:
    kind = source.schema.field(label).type
    if source.has_text_labels:
        return
    if not _can_be_label(kind):
        raise InputError(
            f"label column {label!r} holds {kind}: labels must be text, numbers or booleans. Convert it, or name "
            "another column: --label NAME."
        )


def _can_be_label(kind: Any) -> bool:
    while pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        kind = kind.value_type
    is_view = getattr(pa.types, "is_string_view", lambda _kind: False)
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or is_view(kind)
    return bool(is_text or is_number(kind) or pa.types.is_boolean(kind))


def _guess_label(source: Source) -> tuple[str, ...]:
    schema = source.schema
    patterned = _matching(schema.names, DEFAULT_PATTERN)
    named = class_names(patterned, DEFAULT_PATTERN) if patterned else schema.names
    likely = [field.name for field in schema if _can_be_label(field.type) and not pa.types.is_floating(field.type)]
    candidates = [name for name in likely if name not in patterned and schema.names.count(name) == 1]
    values = {name: source.label_values(name, whole=False) for name in candidates}
    return guess_label(values, [str(name) for name in named])


def _remembered(source: Source, columns: Columns, given: tuple[Label, ...] | None) -> Found:
    names = list(source.schema.names)
    missing = [name for name in columns.scores if names.count(name) != 1]
    if missing:
        raise ColumnsError(
            f"the scores were read from the columns {shorten(columns.scores)}, but this table has no column "
            f"{shorten(missing)}. Rename its columns, or name its score columns with --scores. Its columns are "
            f"{shorten(names, 20)}.",
            _guess_scores(source, None, given),
        )
    return Found(columns.scores, given if given and len(columns.scores) > 1 else columns.scores)


def _by_default(source: Source, label: str | None, given: tuple[Label, ...] | None) -> Found:
    names = [name for name in source.schema.names if name != label]
    if isinstance(source, NpzSource) and SCORES in names:
        return Found((SCORES,), (SCORES,))
    matches = _matching(names, DEFAULT_PATTERN)
    patterned = Found(tuple(matches), class_names(matches, DEFAULT_PATTERN))
    wanted = None if given is None else [text_of(name) for name in given]
    if wanted is not None and set(wanted) <= set(names) - set(matches) and not _names_all(patterned, wanted):
        return Found(tuple(name for name in names if name in wanted), tuple(n for n in names if n in wanted))
    if len(matches) > 1 or (matches and is_list(source.schema.field(matches[0]).type)):
        return patterned
    if label is not None and given is None:
        return _named_by_labels(source, label, names)
    raise ColumnsError(
        f"no score columns: fewer than two are called {DEFAULT_PATTERN}"
        + (f", and none as the classes {shorten(given)}" if given else "")
        + f". {_HOW}. The columns are {shorten(names, 20)}.",
        _guess_scores(source, label, given),
    )


def _guess_scores(source: Source, label: str | None, given: tuple[Label, ...] | None) -> tuple[str, ...]:
    values = given or ([] if label is None else source.label_values(label, whole=False))
    return guess_scores(source.schema, [text for value in values if (text := text_of(value)) is not None], label)


def _names_all(found: Found, wanted: Sequence[str | None]) -> bool:
    return set(wanted) <= {text_of(name) for name in found.names}


def _named_by_labels(source: Source, label: str, names: Sequence[str]) -> Found:
    """The columns that are called as the labels are."""
    values = sorted({text for value in source.label_values(label) if (text := text_of(value)) is not None})
    if not values:
        raise InputError(
            f"column {label!r} holds no label at all, so that it cannot name the score columns. {_HOW}."
        )
    columns = [name for name in names if name in values]
    missing = [value for value in values if value not in columns]
    if missing:
        raise ColumnsError(
            f"no score columns: fewer than two are called {DEFAULT_PATTERN}, and the labels {shorten(missing)} of "
            f"column {label!r} have no column of their name. {_HOW}. The columns are {shorten(names, 20)}.",
            guess_scores(source.schema, values, label),
        )
    _require_single(source, columns)
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
    sample = _sample(source, [*columns, *rest])
    own = np.arange(len(columns) + len(rest)) < len(columns)
    if not len(sample) or adds_up(sample, own):
        return columns
    if adds_up(sample, np.ones_like(own)):
        return [name for name in names if name in (*columns, *rest)]
    foreign = foreign_columns(sample, own.astype(np.int64))
    alike = [name for place, name in enumerate(rest, len(columns)) if place not in foreign]
    if alike:
        raise ColumnsError(
            f"the labels name the score columns {shorten(columns)}, but {shorten(alike)} may be scores too: they "
            f"look alike, and no row is labelled so. Name all score columns: {_HOW}.",
            ("--scores", ",".join(columns)),
        )
    return columns


def _sample(source: Source, columns: Sequence[str]) -> NDArray[np.floating[Any]]:
    layout = Layout(tuple(columns), False, tuple(columns), None)
    return sample_scores(source, layout)


def sample_scores(source: Source, layout: Layout) -> NDArray[np.floating[Any]]:
    """Usable rows from the beginning of a table."""
    for batch in layout.without_label().batches(source):
        rows = convert(batch, layout.without_label())
        if len(rows.scores):
            return rows.scores[:SAMPLE_ROWS]
    return np.empty((0, len(layout.classes)))


def _asked_for(source: Source, scores: str, label: str | None, given: tuple[Label, ...] | None) -> Found:
    names = [name for name in source.schema.names if name != label]
    parts = [scores] if scores in names else [part.strip() for part in scores.split(",")]
    matches = [name for part in parts for name in ([part] if part in names else _matching(names, part))]
    matches = matches if len(parts) == 1 else list(dict.fromkeys(matches))
    absent = [part for part in parts if part not in names and not _matching(names, part)]
    is_one_list = len(matches) == 1 and is_list(source.schema.field(matches[0]).type)
    if absent or (len(matches) < 2 and not is_one_list):
        raise ColumnsError(
            f"scores {scores!r} match {shorten(matches) if matches else 'no column'}"
            + (f", and there is no column {shorten(absent)}" if matches and absent else "")
            + f": they must match two or more number columns, or one column of lists. The columns are "
            f"{shorten(names, 20)}.",
            _guess_scores(source, label, given),
        )
    if len(parts) == 1:
        return Found(tuple(matches), class_names(matches, scores))
    shared = DEFAULT_PATTERN if all(fnmatch.fnmatchcase(name, DEFAULT_PATTERN) for name in matches) else "*"
    return Found(tuple(matches), class_names(matches, shared), is_listed=all(part in names for part in parts))


def _require_single(source: Source, columns: Sequence[str]) -> None:
    twice = sorted({name for name in columns if source.schema.names.count(name) > 1})
    if twice:
        raise InputError(f"{len(twice)} score column name(s) occur twice: {shorten(twice)}. Rename them.")


def _matching(names: Sequence[str], pattern: str) -> list[str]:
    return [name for name in names if fnmatch.fnmatchcase(name, pattern)]


def _require_numbers(schema: Any, columns: Sequence[str]) -> None:
    for column in columns:
        if not is_number(schema.field(column).type):
            raise InputError(
                f"score column {column!r} holds {schema.field(column).type}, not numbers. "
                "Convert it, or name the score columns with --scores."
            )
