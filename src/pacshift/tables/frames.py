"""Frames of other libraries as tables: their rows come batch after batch, never as a copy of the whole."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import pyarrow as pa

from pacshift.errors import InputError, PacshiftError
from pacshift.scores.streams import is_lazy, stream_pieces
from pacshift.tables.sources import BATCH_VALUES, Batch, distinct_labels


class Frame(Protocol):
    """What a library's frame can be asked. It can be read any number of times."""

    @property
    def schema(self) -> Any:
        """The Arrow schema."""

    @property
    def n_rows(self) -> int | None:
        """Rows in all, or None where only reading them would tell."""

    def batches(self, names: list[str], rows: int) -> Iterator[Any]:
        """Record batches of these columns. About ``rows`` rows each are wanted; there may be more."""


class ArrowFrame:
    """Whatever gives an Arrow stream: frames of polars and Arrow, which are not copied, relations of DuckDB."""

    def __init__(self, frame: Any) -> None:
        # A stream that can be read once only is kept as a table: columns are looked for before rows are counted.
        self._frame = pa.table(frame) if hasattr(frame, "read_next_batch") else frame
        with pa.RecordBatchReader.from_stream(self._frame) as reader:
            self.schema = reader.schema
        self.n_rows = getattr(self._frame, "num_rows", getattr(self._frame, "height", None))

    def batches(self, names: list[str], rows: int) -> Iterator[Any]:
        frame = self._frame
        if hasattr(frame, "project"):  # DuckDB then computes these columns alone
            frame = frame.project(", ".join('"' + name.replace('"', '""') + '"' for name in names))
        with pa.RecordBatchReader.from_stream(frame) as reader:
            for batch in reader:
                yield batch.select(names)


class LazyFrame:
    """A lazy frame of polars."""

    n_rows = None

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self.schema = pa.table(frame.limit(0).collect()).schema

    def batches(self, names: list[str], rows: int) -> Iterator[Any]:
        for piece in stream_pieces(self._frame.select(names)):
            yield from pa.table(piece).to_batches()


class PandasFrame:
    """A frame of pandas. Its index is not a column."""

    def __init__(self, frame: Any) -> None:
        self._frame, self.n_rows = frame, len(frame)
        self.schema = pa.Schema.from_pandas(frame, preserve_index=False).remove_metadata()

    def batches(self, names: list[str], rows: int) -> Iterator[Any]:
        places = [self._place(name) for name in names]
        schema = pa.schema([self.schema.field(place) for place in places])
        for start in range(0, self.n_rows, rows):
            part = self._frame.iloc[start : start + rows, places]
            part.columns = names  # they may be numbers there
            yield pa.RecordBatch.from_pandas(part, schema=schema, preserve_index=False)

    def _place(self, name: str) -> int:
        place: int = self.schema.get_field_index(name)
        if place < 0:
            raise InputError(f"the frame has more than one column {name!r}. Rename or drop one of them.")
        return place


class FrameSource:
    """A frame as a table."""

    class_names: list[Any] | None = None
    has_text_labels = False

    def __init__(self, frame: Any) -> None:
        kind = PandasFrame if hasattr(frame, "iloc") else LazyFrame if is_lazy(frame) else ArrowFrame
        try:
            self._frame: Frame = kind(frame)
        except Exception as error:  # whatever a foreign frame raises
            raise _unreadable(error) from None
        self.schema = self._frame.schema

    def count_rows(self) -> int | None:
        return self._frame.n_rows

    def batches(
        self, scores: Sequence[str], others: Sequence[str], n_scores: int, label: str | None = None
    ) -> Iterator[Batch]:
        """Batches of the columns, cut where the library gives more rows than are wanted."""
        names, first_row = [*scores, *([] if label is None else [label]), *others], 0
        rows = max(1, BATCH_VALUES // n_scores)
        try:
            for whole in self._frame.batches(names, rows):
                for start in range(0, whole.num_rows, rows):
                    data = whole.slice(start, rows)
                    yield Batch(data, "the frame", first_row)
                    first_row += data.num_rows
        except PacshiftError:
            raise
        except Exception as error:
            raise _unreadable(error) from None

    def label_values(self, column: str, *, whole: bool = True) -> list[Any]:
        return distinct_labels(self.batches([], [], 1, column), whole=whole)


def _unreadable(error: Exception) -> InputError:
    return InputError(f"cannot read the frame: {error}. Give every column one type.")
