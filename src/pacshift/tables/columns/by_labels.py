"""Score columns that are called as the labels are."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pacshift.scores.names import numbers_if_all, text_of
from pacshift.scores.plausible import adds_up, foreign_columns
from pacshift.tables.columns import refusals
from pacshift.tables.columns.kinds import require_numbers, require_single
from pacshift.tables.columns.layout import Found, Layout
from pacshift.tables.rows import sample_scores
from pacshift.tables.sources.base import Source


def named_by_labels(source: Source, label: str, names: Sequence[str]) -> Found:
    """Those of the columns ``names`` that the labels name; a label without a column is an error."""
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
