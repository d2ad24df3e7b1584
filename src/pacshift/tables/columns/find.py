"""Find the score columns and the label of a table by name; the rules stand in the order they are tried in."""

import fnmatch
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from pacshift.arrays import Label
from pacshift.certificate.columns import Columns
from pacshift.scores.check import check_classes
from pacshift.scores.names import numbers_if_all, text_of
from pacshift.scores.plausible import adds_up, foreign_columns
from pacshift.tables.columns import refusals
from pacshift.tables.columns.kinds import can_be_label, is_list, require_numbers, require_single
from pacshift.tables.columns.layout import Asked, Found, Layout, layout_of
from pacshift.tables.columns.refusals import DEFAULT_PATTERN
from pacshift.tables.rows import sample_scores
from pacshift.tables.sources.base import Source


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
    require_single(source.schema, found.columns)
    if asked.group in found.columns:
        raise refusals.group_is_used(str(asked.group), "scores")
    return replace(layout_of(source, found, asked), group=asked.group)


def _label_column(source: Source, label: str | None) -> str | None:
    names = list(source.schema.names)
    if label is None:
        return None
    if label in ("label", source.label_file) and label not in names and source.usual is not None:
        label = source.usual.label or label
    if names.count(label) != 1:
        raise refusals.no_label_column(label, names)
    kind = source.schema.field(label).type
    if not source.has_text_labels and not can_be_label(kind):
        raise refusals.not_labels(label, kind)
    return label


def _require_group_column(source: Source, asked: Asked) -> None:
    group, names = asked.group, list(source.schema.names)
    if group is None:
        return
    if names.count(group) != 1:
        raise refusals.no_group_column(group, names)
    if group == asked.label:
        raise refusals.group_is_used(group, "labels")
    kind = source.schema.field(group).type
    if not source.has_text_labels and not can_be_label(kind):
        raise refusals.not_groups(group, kind)


def _asked_for(source: Source, scores: str, asked: Asked) -> Found:
    names = _candidates(source, asked)
    parts = [scores] if scores in names else [part.strip() for part in scores.split(",")]
    if asked.group in parts:
        raise refusals.group_is_used(str(asked.group), "scores")
    hits = [[part] if part in names else _matching(names, part) for part in parts]
    matches = [name for hit in hits for name in hit]
    matches = matches if len(parts) == 1 else list(dict.fromkeys(matches))
    absent = [part for part, hit in zip(parts, hits, strict=True) if not hit]
    if absent or not _are_scores(source, matches):
        raise refusals.not_matched(scores, matches, absent, names)
    if len(parts) == 1:
        return Found(tuple(matches), class_names(matches, scores))
    shared = DEFAULT_PATTERN if len(_matching(matches, DEFAULT_PATTERN)) == len(matches) else "*"
    return Found(tuple(matches), class_names(matches, shared), is_listed=all(part in names for part in parts))


def _remembered(source: Source, columns: Columns, given: tuple[Label, ...] | None) -> Found:
    names = list(source.schema.names)
    missing = [name for name in columns.scores if names.count(name) != 1]
    if missing:
        raise refusals.not_as_remembered(columns.scores, missing, names)
    return Found(columns.scores, given if given and len(columns.scores) > 1 else columns.scores)


def _candidates(source: Source, asked: Asked) -> list[str]:
    return [name for name in source.schema.names if name not in (asked.label, asked.group)]


def _by_default(source: Source, asked: Asked) -> Found:
    names = _candidates(source, asked)
    for rule in (_usual, _called_as_classes, _called_by_pattern, _called_as_labels):
        found = rule(source, asked, names)
        if found is not None:
            return found
    raise refusals.no_scores(asked.classes, names)


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
        raise refusals.no_labels(label)
    columns = [name for name in names if name in values]
    missing = sorted(values.difference(columns))
    if missing:
        raise refusals.labels_without_column(missing, label, names)
    require_single(source.schema, columns)
    require_numbers(source.schema, columns)
    chosen = _with_unlabelled_classes(source, columns, names)
    if len(chosen) < 2:
        raise refusals.one_label(chosen[0])
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
        raise refusals.perhaps_scores(columns, alike)
    return columns


def _are_scores(source: Source, columns: Sequence[str]) -> bool:
    """Two columns or more, or one of lists."""
    fields = [field for field in source.schema if field.name in columns[:1]]  # by name it must be there once
    return len(columns) > 1 or any(is_list(field.type) for field in fields)


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
