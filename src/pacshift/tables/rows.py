"""From a record batch to checked rows: a score matrix and label indices, unusable rows counted and set aside."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pacshift.arrays import BoolArray, IntArray, Label
from pacshift.errors import InputError
from pacshift.scores.check import is_finite, shorten, unusable_rows
from pacshift.scores.names import NOT_FOUND, find_name, match_labels, places_by_text
from pacshift.scores.plausible import SAMPLE_ROWS
from pacshift.tables.columns.layout import Layout
from pacshift.tables.sources.base import Batch, Source
from pacshift.tally.inputs import why_in_words

NULL = -2  # instead of a column index, as NOT_FOUND is
BAD_SCORES = "scores that are null, NaN or infinite, or a list of another length"
NO_LABEL = "no label"
UNKNOWN = "unknown label"


@dataclass(slots=True)
class Faults:
    """Rows that cannot be used: how many, why, and where the first is. Adds up over batches in order."""

    n_rows: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    first: str = ""
    n_unknown: int = 0
    first_unknown: str = ""

    def add(self, other: "Faults") -> None:
        """Count another batch's faults; it must come later in the table."""
        self.n_rows += other.n_rows
        self.reasons += other.reasons
        self.first = self.first or other.first
        self.n_unknown += other.n_unknown
        self.first_unknown = self.first_unknown or other.first_unknown

    def raise_if_any(self, classes: tuple[Label, ...], *, drop_invalid: bool, n_usable: int = 1) -> None:
        """Unknown labels are never dropped: to leave a class out changes what is estimated."""
        if self.n_unknown:
            is_number = re.match(r"'[-+]?[.0-9]", self.first_unknown)
            hint = " Names are compared as text: '01' and '1.0' are not 1." if is_number else ""
            raise InputError(
                f"{self.n_unknown} label(s) have no score column, the first is {self.first_unknown}. The classes "
                f"are {shorten(classes)}.{hint} Pass classes= with the label names, or fix the labels."
            )
        if self.n_rows and not n_usable:
            raise InputError(f"the table has no usable row: {self.in_words}. At least one example is needed.")
        if self.n_rows and not drop_invalid:
            raise InputError(f"{self.in_words}. Fix them, or leave them out with drop_invalid=True.")

    @property
    def in_words(self) -> str:
        """How many rows, why, and where the first is."""
        return (
            f"{self.n_rows} row(s) cannot be used{why_in_words(list(self.reasons.items()))}, the first is "
            f"{self.first}"
        )


@dataclass(frozen=True, slots=True)
class ScoreRows:
    """The usable rows of a batch.

    ``kept`` marks them among the rows of the batch; it is None where every row is usable.
    """

    scores: NDArray[np.floating[Any]]
    index: IntArray | None
    kept: BoolArray | None
    faults: Faults


def score_rows(batch: Batch, layout: Layout, *, softmax: bool = False) -> ScoreRows:
    """Scores as a matrix, labels as column indices; rows that cannot be used are counted and left out.

    With ``softmax`` the scores are logits, which stay as they are here; a class may be ruled out with -inf.
    """
    raw = raw_scores(batch, layout)
    scores = raw if isinstance(raw, np.ndarray) else _column_matrix(raw)
    index = batch_labels(batch, layout)
    faulty = {} if is_finite(scores) else {BAD_SCORES: unusable_rows(scores, softmax=softmax)}
    if index is not None and len(index) and index.min() < 0:
        faulty |= {NO_LABEL: index == NULL, UNKNOWN: index == NOT_FOUND}
    if not faulty:
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


def raw_scores(batch: Batch, layout: Layout) -> NDArray[np.floating[Any]] | list[NDArray[np.floating[Any]]]:
    """A matrix from a list column, else the score columns as they lie in memory. What is null becomes NaN."""
    columns = batch.data.columns
    if layout.is_list:
        matrix = _list_matrix(columns[0], len(layout.classes))
        return matrix if layout.order is None else matrix[:, layout.order]
    return [_numbers(column) for column in columns[: len(layout.columns)]]


def batch_labels(batch: Batch, layout: Layout) -> IntArray | None:
    """Column index of each label, ``NULL`` or ``NOT_FOUND``; None where the table has no labels."""
    return None if layout.label is None else _label_index(batch.data.column(len(layout.columns)), layout.classes)


def _faults(batch: Batch, layout: Layout, faulty: dict[str, BoolArray], bad: BoolArray) -> Faults:
    unknown = faulty.pop(UNKNOWN, np.zeros_like(bad))
    unusable = np.logical_or.reduce([np.zeros_like(bad), *faulty.values()])
    return Faults(
        n_rows=int(unusable.sum()),
        reasons=Counter({reason: int(rows.sum()) for reason, rows in faulty.items() if rows.any()}),
        first=first_place(batch, unusable),
        n_unknown=int(unknown.sum()),
        first_unknown=first_place(batch, unknown, value_of=len(layout.columns)),
    )


def first_place(batch: Batch, rows: BoolArray, *, value_of: int | None = None) -> str:
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
