"""From a record batch to checked rows: a score matrix and label indices, unusable rows counted and set aside."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pacshift.arrays import BoolArray, IntArray, Label
from pacshift.rows.arrow.layout import Layout
from pacshift.rows.arrow.source import Records, Source, without_codes
from pacshift.rows.faults import BAD_SCORES, NO_LABEL, UNKNOWN, Faults
from pacshift.scores.check import SAMPLE_ROWS, is_finite, unusable_rows
from pacshift.scores.names import NOT_FOUND, find_name, is_missing, match_labels, places_by_text, text_of
from pacshift.tally.coins import name_hashes

NULL = -2  # instead of a column index, as NOT_FOUND is


@dataclass(frozen=True, slots=True)
class ScoreRows:
    """The usable rows of a batch.

    ``kept`` marks them among the rows of the batch; it is None where every row is usable.
    """

    scores: NDArray[np.floating[Any]]
    index: IntArray | None
    kept: BoolArray | None
    faults: Faults


def score_rows(batch: Records, layout: Layout, *, softmax: bool = False, some_labels: bool = False) -> ScoreRows:
    """Scores as a matrix, labels as column indices; rows that cannot be used are counted and left out.

    With ``softmax`` the scores are logits, which stay as they are here; a class may be ruled out with -inf. With
    ``some_labels`` a row without a label can be used.
    """
    raw = raw_scores(batch, layout)
    scores = raw if isinstance(raw, np.ndarray) else _column_matrix(raw)
    index = batch_labels(batch, layout)
    faulty = {} if is_finite(scores) else {BAD_SCORES: unusable_rows(scores, softmax=softmax)}
    if index is not None and len(index) and index.min() < 0:
        faulty |= {UNKNOWN: index == NOT_FOUND} | ({} if some_labels else {NO_LABEL: index == NULL})
    if not any(rows.any() for rows in faulty.values()):
        return ScoreRows(scores, index, None, Faults())
    bad = np.logical_or.reduce(list(faulty.values()))
    faults = _faults(batch, layout, faulty, bad)
    return ScoreRows(scores[~bad], None if index is None else index[~bad], ~bad, faults)


def sample_scores(source: Source, layout: Layout) -> NDArray[np.floating[Any]]:
    """Usable rows from the beginning of a table."""
    unlabelled = layout.without_label()
    for batch in unlabelled.batches(source):
        batch.require_sound()
        rows = score_rows(batch, unlabelled)
        if len(rows.scores):
            return rows.scores[:SAMPLE_ROWS]
    return np.empty((0, len(layout.classes)))


def raw_scores(batch: Records, layout: Layout) -> NDArray[np.floating[Any]] | list[NDArray[np.floating[Any]]]:
    """A matrix from a list column, else the score columns as they lie in memory. What is null becomes NaN."""
    columns = batch.data.columns
    if layout.is_list:
        matrix = _list_matrix(columns[0], len(layout.classes))
        return matrix if layout.order is None else matrix[:, layout.order]
    return [_numbers(column) for column in columns[: len(layout.columns)]]


def batch_labels(batch: Records, layout: Layout) -> IntArray | None:
    """Column index of each label, ``NULL`` or ``NOT_FOUND``; None where the table has no labels."""
    return None if layout.label is None else _label_index(batch.data.column(len(layout.columns)), layout.classes)


def _faults(batch: Records, layout: Layout, faulty: dict[str, BoolArray], bad: BoolArray) -> Faults:
    unknown = faulty.pop(UNKNOWN, np.zeros_like(bad))
    unusable = np.logical_or.reduce([np.zeros_like(bad), *faulty.values()])
    return Faults(
        n_rows=int(unusable.sum()),
        reasons=Counter({reason: int(rows.sum()) for reason, rows in faulty.items() if rows.any()}),
        first=first_place(batch, unusable),
        n_unknown=int(unknown.sum()),
        first_unknown=first_place(batch, unknown, value_of=len(layout.columns)),
    )


def first_place(batch: Records, rows: BoolArray, *, value_of: int | None = None) -> str:
    """Where the first of the rows is, with its value in a column; "" if there is none."""
    if not rows.any():
        return ""
    place = int(rows.argmax())
    value = "" if value_of is None else f"{batch.data.column(value_of)[place].as_py()!r} in "
    return f"{value}row {batch.first_row + place} of {batch.file}"


def _column_matrix(columns: Sequence[NDArray[np.floating[Any]]]) -> NDArray[np.floating[Any]]:
    """K columns as an (n, K) matrix that lies column after column, as Arrow has them."""
    matrix = np.empty((len(columns), len(columns[0])), np.result_type(*columns))
    with np.errstate(invalid="ignore"):  # NaN of the signalling kind: found later like any NaN
        for row, column in zip(matrix, columns, strict=True):
            row[:] = column
    return matrix.T


def _list_matrix(column: Any, n_classes: int) -> NDArray[np.floating[Any]]:
    """A column of lists as an (n, K) matrix; a null list or one of another length becomes NaN."""
    right = pc.fill_null(pc.equal(pc.list_value_length(column), n_classes), False)
    whole = pc.all(right).as_py() is not False
    flat = _numbers((column if whole else column.filter(right)).flatten()).reshape(-1, n_classes)
    if whole:
        return flat
    matrix = np.full((len(column), n_classes), np.nan, flat.dtype)
    matrix[right.to_numpy(zero_copy_only=False)] = flat
    return matrix


def plain_array(column: Any) -> NDArray[Any]:
    """The numbers of a column; of floats, nulls become NaN.

    Arrow's ``to_numpy`` would load pandas, which takes 0.4 s and 50 MB.
    """
    if column.null_count:
        return np.asarray(column.to_numpy(zero_copy_only=False))
    return np.from_dlpack(column)


def _numbers(column: Any) -> NDArray[np.floating[Any]]:
    if not pa.types.is_floating(column.type):
        column = column.cast(pa.float64(), safe=False)
    return plain_array(column)


def _label_index(column: Any, classes: tuple[Label, ...]) -> IntArray:
    """Column of each label by name (see ``scores.names``); ``NULL`` or ``NOT_FOUND`` if there is none."""
    column = pc.run_end_decode(column) if pa.types.is_run_end_encoded(column.type) else column
    if pa.types.is_integer(column.type) and not column.null_count:
        return match_labels(plain_array(column), classes)
    encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    places = places_by_text(classes)
    values = encoded.dictionary.to_pylist()
    # One entry more, for nulls: they get the index -1, which is the last.
    lookup = np.array([*(_look_up(value, places) for value in values), NULL], np.int64)
    codes = encoded.indices.fill_null(-1) if encoded.indices.null_count else encoded.indices
    return np.asarray(lookup[plain_array(codes)])


def _look_up(value: Any, places: dict[str, int]) -> int:
    return NULL if value is None or value != value else find_name(value, places)


def group_names(batch: Records, layout: Layout) -> tuple[NDArray[np.uint64], BoolArray]:
    """The hash of the name of each row's group, and which rows name none."""
    column = without_codes(batch.data.column(len(layout.columns) + (layout.label is not None)))
    encoded = column.dictionary_encode()
    names = [None if is_missing(name) else text_of(name) for name in [*encoded.dictionary.to_pylist(), None]]
    codes = plain_array(encoded.indices.fill_null(len(names) - 1))
    return name_hashes(name or "" for name in names)[codes], np.array([name is None for name in names])[codes]


def without_view(column: Any) -> Any:
    """Texts that Arrow can take from; views as plain texts, which older releases of Arrow cannot cast."""
    is_view = getattr(pa.types, "is_string_view", lambda _kind: False)
    if not is_view(column.type):
        return column
    try:
        return column.cast(pa.string())
    except pa.ArrowNotImplementedError:
        return pa.array(column.to_pylist(), pa.string())
