"""From a record batch to checked rows: a score matrix and label indices, unusable rows counted and set aside."""

from collections import Counter as Reasons
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pacshift.arrays import BoolArray, IntArray, KeyArray, Label, cached_property
from pacshift.rows.arrow.source import Records, Source, without_codes
from pacshift.rows.base import BAD_SCORES, LARGE_SCORES, NO_LABEL, WITHOUT_LABEL, Batch, Faults, Labels, Matrix
from pacshift.rows.choice import require_whole
from pacshift.rows.columns import Columns
from pacshift.scores.check import SAMPLE_ROWS, is_finite, unusable_rows
from pacshift.scores.kind import require_logits
from pacshift.scores.names import NOT_FOUND, find_name, is_missing, match_labels, places_by_text, text_of
from pacshift.scores.transforms import softmax
from pacshift.tally.coins import name_hashes, number_hashes
from pacshift.tally.counter import Counter


@dataclass(frozen=True, slots=True)
class Layout:
    """Score columns in the order of ``classes``, or a single one of lists; the label column, if there is one.

    ``order`` says which entry of a list belongs to each class, where it is not the entry of the same number.
    ``is_named`` tells whether the user named the classes, or the names of the columns did. ``group`` is the column
    that names the group of each row, if there is one.
    """

    columns: tuple[str, ...]
    classes: tuple[Label, ...]
    label: str | None = None
    order: tuple[int, ...] | None = None
    is_named: bool = False
    group: str | None = None

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
class UsableRows:
    """The usable rows of a batch; ``kept`` marks them among all, and is None where every row is usable."""

    scores: Matrix
    index: IntArray | None
    kept: BoolArray | None


@dataclass(frozen=True, eq=False)
class ArrowBatch(Batch):
    """A record batch; its scores are made a matrix when somebody asks for them. Executors of Spark use it too."""

    records: Records
    layout: Layout
    kind: Labels
    is_logits: bool
    first: int = 0
    faults: Faults = field(default_factory=Faults)

    @property
    def file(self) -> str:  # type: ignore[override]
        return self.records.file

    @property
    def n_rows(self) -> int:
        return int(self.records.raw.num_rows)

    @property
    def data(self) -> Any:
        """The record batch of Arrow, with the columns that were asked for."""
        return self.records.data

    @cached_property
    def rows(self) -> UsableRows:
        """Scores as a matrix, labels as column indices, found when somebody asks for them.

        Rows that cannot be used are counted among the faults. Logits stay as they are; a class may be ruled out
        with -inf. Where some rows have labels, one without can be used.
        """
        raw, index = self._raw_scores(), self._label_index()
        scores = raw if isinstance(raw, np.ndarray) else _column_matrix(raw)
        bad = dict[str, BoolArray]()
        if not is_finite(scores):
            unusable, infinite = unusable_rows(scores, softmax=self.is_logits), ~np.isfinite(scores).all(axis=1)
            bad = {BAD_SCORES: unusable & infinite, LARGE_SCORES: unusable & ~infinite}
        unknown = np.zeros(len(scores), bool)
        if index is not None and len(index) and index.min() < 0:
            unknown = index == NOT_FOUND
            bad |= {} if self.kind == "some" else {WITHOUT_LABEL: index == NO_LABEL}
        unusable = np.logical_or.reduce([np.zeros_like(unknown), *bad.values()])
        kept = ~(unusable | unknown)
        if kept.all():
            return UsableRows(scores, index, None)
        self.faults.add(
            Faults(
                n_rows=int(unusable.sum()),
                reasons=Reasons({why: int(rows.sum()) for why, rows in bad.items() if rows.any()}),
                first=self._first_place(unusable),
                n_unknown=int(unknown.sum()),
                first_unknown=self._first_place(unknown, value_of=len(self.layout.columns)),
            )
        )
        return UsableRows(scores[kept], None if index is None else index[kept], kept)

    @property
    def kept(self) -> BoolArray | None:
        return self.rows.kept

    @property
    def raw_scores(self) -> Matrix:
        return self.rows.scores

    @cached_property
    def scores(self) -> Matrix:
        if not self.is_logits or not len(self.raw_scores):
            return self.raw_scores
        require_logits(self.raw_scores, name="target" if self.kind == "none" else "source")
        return softmax(self.raw_scores)

    @property
    def labels(self) -> IntArray | None:
        return self.rows.index

    def count(self, counter: Counter) -> None:
        """The columns as they lie in the file; bad rows are only looked for where there are some."""
        if not counter.labelled and self.kind != "none":
            return replace(self, kind="none").count(counter)
        if self.is_logits:
            if len(self.scores):
                counter.count(self.scores, self.labels)
            return
        labels, n_counted = self._label_index(), 0
        if self.n_rows and (labels is None or labels.min() >= 0):
            n_counted = counter.count(self._raw_scores(), labels)
        if n_counted < self.n_rows:
            records = Records(self.data.slice(n_counted), self.file, self.records.first_row + n_counted)
            rest = replace(self, records=records).rows  # finds the bad rows
            if len(rest.scores):
                counter.count(rest.scores, rest.index)

    def take(self, places: IntArray) -> "ArrowBatch":
        columns = [_without_view(column).take(pa.array(places)) for column in self.data.columns]
        data = pa.RecordBatch.from_arrays(columns, self.data.schema.names)
        return replace(self, records=replace(self.records, raw=data), faults=Faults())

    def group_names(self) -> tuple[KeyArray, BoolArray | None]:
        column = without_codes(self.data.column(len(self.layout.columns) + (self.layout.label is not None)))
        if pa.types.is_integer(column.type):
            missing = plain_array(column.is_null().cast(pa.uint8())).astype(bool) if column.null_count else None
            return number_hashes(plain_array(column.fill_null(0))), missing
        if pa.types.is_floating(column.type):
            first, name = self.records.first_row, f"column {self.layout.group!r}"
            require_whole(plain_array(column), name, first=first, of=f" of {self.file}")
        encoded = column.dictionary_encode()
        names = [None if is_missing(name) else text_of(name) for name in [*encoded.dictionary.to_pylist(), None]]
        codes = plain_array(encoded.indices.fill_null(len(names) - 1))
        return name_hashes(name or "" for name in names)[codes], np.array([name is None for name in names])[codes]

    def leave_out(self, rows: BoolArray, why: str) -> None:
        n_bad = int(rows.sum())
        self.faults.add(Faults(n_bad, Reasons({why: n_bad}), self._first_place(rows)))

    def cells(self, place: int, columns: Sequence[str]) -> list[Any]:
        return [without_codes(self.data.column(name).slice(place, 1))[0].as_py() for name in columns]

    def _first_place(self, rows: BoolArray, *, value_of: int | None = None) -> str:
        """Where the first of the rows is, with its value in a column; "" if there is none."""
        if not rows.any():
            return ""
        place = int(rows.argmax())
        value = "" if value_of is None else f"{self.data.column(value_of)[place].as_py()!r} in "
        return f"{value}row {self.records.first_row + place} of {self.file}"

    def _raw_scores(self) -> Matrix | list[Matrix]:
        """A matrix from a list column, else the score columns as they lie in memory. What is null becomes NaN."""
        layout, columns, n_classes = self.layout, self.data.columns, len(self.layout.classes)
        if len(layout.columns) > 1:
            return [_numbers(column) for column in columns[: len(layout.columns)]]
        column = columns[0]
        right = pc.fill_null(pc.equal(pc.list_value_length(column), n_classes), False)
        whole = pc.all(right).as_py() is not False
        matrix = _numbers((column if whole else column.filter(right)).flatten()).reshape(-1, n_classes)
        if not whole:  # a null list or one of another length becomes NaN
            flat, matrix = matrix, np.full((len(column), n_classes), np.nan, matrix.dtype)
            matrix[right.to_numpy(zero_copy_only=False)] = flat
        return matrix if layout.order is None else matrix[:, layout.order]

    def _label_index(self) -> IntArray | None:
        """Column of each label by name (see ``scores.names``), ``NO_LABEL`` or ``NOT_FOUND``."""
        if self.kind == "none" or self.layout.label is None:
            return None
        column, classes = self.data.column(len(self.layout.columns)), self.layout.classes
        column = pc.run_end_decode(column) if pa.types.is_run_end_encoded(column.type) else column
        if pa.types.is_integer(column.type) and not column.null_count:
            return match_labels(plain_array(column), classes)
        encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        places, values = places_by_text(classes), encoded.dictionary.to_pylist()
        positions = [NO_LABEL if value is None or value != value else find_name(value, places) for value in values]
        # One entry more, for nulls: they get the index -1, which is the last.
        codes = encoded.indices.fill_null(-1) if encoded.indices.null_count else encoded.indices
        return np.asarray(np.array([*positions, NO_LABEL], np.int64)[plain_array(codes)])


def sample_scores(source: Source, layout: Layout) -> Matrix:
    """Usable rows from the beginning of a table."""
    for records in source.batches(layout.columns, len(layout.classes)):
        scores = ArrowBatch(records, layout, "none", is_logits=False).raw_scores
        if len(scores):
            return scores[:SAMPLE_ROWS]
    return np.empty((0, len(layout.classes)))


def _column_matrix(columns: Sequence[Matrix]) -> Matrix:
    """K columns as an (n, K) matrix that lies column after column, as Arrow has them."""
    matrix = np.empty((len(columns), len(columns[0])), np.result_type(*columns))
    with np.errstate(invalid="ignore"):  # NaN of the signalling kind: found later like any NaN
        for row, column in zip(matrix, columns, strict=True):
            row[:] = column
    return matrix.T


def plain_array(column: Any) -> NDArray[Any]:
    """The numbers of a column; of floats, nulls become NaN.

    Arrow's ``to_numpy`` would load pandas, which takes 0.4 s and 50 MB.
    """
    if column.null_count:
        return np.asarray(column.to_numpy(zero_copy_only=False))
    return np.from_dlpack(column)


def _numbers(column: Any) -> Matrix:
    return plain_array(column if pa.types.is_floating(column.type) else column.cast(pa.float64(), safe=False))


def _without_view(column: Any) -> Any:
    """Texts that Arrow can take from; views as plain texts, which older releases of Arrow cannot cast."""
    is_view = getattr(pa.types, "is_string_view", lambda _kind: False)
    if not is_view(column.type):
        return column
    try:
        return column.cast(pa.string())
    except pa.ArrowNotImplementedError:
        return pa.array(column.to_pylist(), pa.string())
