"""Find the score columns and the label of a table by name; the rules stand in the order they are tried in."""

import fnmatch
import re
from collections.abc import Sequence
from dataclasses import dataclass

from pacshift.arrays import Label
from pacshift.certificate.columns import Columns
from pacshift.scores.check import check_classes
from pacshift.scores.names import numbers_if_all, text_of
from pacshift.tables.columns import refusals
from pacshift.tables.columns.by_labels import named_by_labels
from pacshift.tables.columns.kinds import can_be_label, is_list, require_single
from pacshift.tables.columns.layout import Found, Layout, layout_of
from pacshift.tables.columns.refusals import DEFAULT_PATTERN
from pacshift.tables.sources.base import Source


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
    if scores is not None:
        found = _asked_for(source, scores, label)
    elif columns is not None and (not by_position or set(columns.scores) <= set(source.schema.names)):
        found = _remembered(source, columns, given)
    else:
        found = _by_default(_Search(source, label, None if by_position else given))
    require_single(source.schema, found.columns)
    return layout_of(source, found, classes=given, label=label, by_position=by_position)


def _label_column(source: Source, label: str | None) -> str | None:
    names = list(source.schema.names)
    if label == "label" and label not in names and source.usual is not None:
        label = source.usual.label
    if label is None:
        return None
    if names.count(label) != 1:
        raise refusals.no_label_column(label, names)
    kind = source.schema.field(label).type
    if not source.has_text_labels and not can_be_label(kind):
        raise refusals.not_labels(label, kind)
    return label


def _asked_for(source: Source, scores: str, label: str | None) -> Found:
    names = [name for name in source.schema.names if name != label]
    parts = [scores] if scores in names else [part.strip() for part in scores.split(",")]
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


@dataclass(frozen=True, slots=True)
class _Search:
    """A table in which nobody named the score columns; ``classes`` are those that columns may be called as."""

    source: Source
    label: str | None
    classes: tuple[Label, ...] | None

    @property
    def names(self) -> list[str]:
        return [name for name in self.source.schema.names if name != self.label]


def _by_default(search: _Search) -> Found:
    for rule in (_usual, _called_as_classes, _called_by_pattern, _called_as_labels):
        found = rule(search)
        if found is not None:
            return found
    raise refusals.no_scores(search.classes, search.names)


def _usual(search: _Search) -> Found | None:
    """The name that such tables have for their scores."""
    usual = search.source.usual
    return None if usual is None or usual.scores[0] not in search.names else Found(usual.scores, usual.scores)


def _called_as_classes(search: _Search) -> Found | None:
    """The columns called as the classes, unless those of the pattern are."""
    if search.classes is None:
        return None
    wanted, names = {text_of(name) for name in search.classes}, search.names
    patterned = _matching(names, DEFAULT_PATTERN)
    by_pattern = {text_of(name) for name in class_names(patterned, DEFAULT_PATTERN)}
    if wanted <= by_pattern or not wanted <= set(names) - set(patterned):
        return None
    called = tuple(name for name in names if name in wanted)
    return Found(called, called)


def _called_by_pattern(search: _Search) -> Found | None:
    matches = _matching(search.names, DEFAULT_PATTERN)
    if not _are_scores(search.source, matches):
        return None
    return Found(tuple(matches), class_names(matches, DEFAULT_PATTERN))


def _called_as_labels(search: _Search) -> Found | None:
    if search.label is None or search.classes is not None:
        return None
    return named_by_labels(search.source, search.label, search.names)


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
