"""Frames of other libraries as tables: their rows come batch after batch, never as a copy of the whole."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from pacshift.errors import InputError, PacshiftError
from pacshift.rows.arrow.source import Records, Source, batch_rows, cut, numbered
from pacshift.scores.frames import is_lazy, stream_pieces


def frame_source(frame: Any) -> Source:
    """A frame as a table."""
    kind = PandasSource if hasattr(frame, "iloc") else LazySource if is_lazy(frame) else StreamSource
    with _readable_frame():
        return kind(frame)


@contextmanager
def _readable_frame() -> Iterator[None]:
    try:
        yield
    except PacshiftError:
        raise
    except Exception as error:  # whatever a foreign frame raises
        raise InputError(f"cannot read the frame: {error}. Give every column one type.") from None


class _FrameSource(Source):
    """A frame of any library; it can be read any number of times."""

    @abstractmethod
    def _read(self, names: list[str], rows: int) -> Iterator[Any]:
        """Record batches of these columns. About ``rows`` rows each are wanted; there may be more."""

    def batches(
        self, scores: Sequence[str], n_scores: int, labels: Sequence[str] = (), others: Sequence[str] = ()
    ) -> Iterator[Records]:
        """Batches of the columns, cut where the library gives more rows than are wanted."""
        rows = batch_rows(n_scores)
        with _readable_frame():
            wholes = self._read([*scores, *labels, *others], rows)
            yield from numbered((part for whole in wholes for part in cut(whole, rows)), "the frame")


class StreamSource(_FrameSource):
    """Whatever gives an Arrow stream: frames of polars and Arrow, which are not copied, relations of DuckDB."""

    def __init__(self, frame: Any) -> None:
        # A stream that can be read once only is kept as a table: columns are looked for before rows are counted.
        self._frame = pa.table(frame) if hasattr(frame, "read_next_batch") else frame
        with pa.RecordBatchReader.from_stream(self._frame) as reader:
            self.schema = reader.schema
        self.n_rows = getattr(self._frame, "num_rows", getattr(self._frame, "height", None))

    def _read(self, names: list[str], rows: int) -> Iterator[Any]:
        frame = self._frame
        if hasattr(frame, "project"):  # DuckDB then computes these columns alone
            frame = frame.project(", ".join('"' + name.replace('"', '""') + '"' for name in names))
        with pa.RecordBatchReader.from_stream(frame) as reader:
            for batch in reader:
                yield batch.select(names)


class LazySource(_FrameSource):
    """A lazy frame of polars."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self.schema = pa.table(frame.limit(0).collect()).schema

    def _read(self, names: list[str], rows: int) -> Iterator[Any]:
        for piece in stream_pieces(self._frame.select(names)):
            yield from pa.table(piece).to_batches()


class PandasSource(_FrameSource):
    """A frame of pandas. Its index is not a column."""

    def __init__(self, frame: Any) -> None:
        self._frame, self.n_rows = frame, len(frame)
        self.schema = pa.Schema.from_pandas(frame, preserve_index=False).remove_metadata()

    def _read(self, names: list[str], rows: int) -> Iterator[Any]:
        places = [self._place(name) for name in names]
        schema = pa.schema([self.schema.field(place) for place in places])
        for start in range(0, len(self._frame), rows):
            part = self._frame.iloc[start : start + rows, places]
            part.columns = names  # they may be numbers there
            yield pa.RecordBatch.from_pandas(part, schema=schema, preserve_index=False)

    def _place(self, name: str) -> int:
        place: int = self.schema.get_field_index(name)
        if place < 0:
            raise InputError(f"the frame has more than one column {name!r}. Rename or drop one of them.")
        return place
