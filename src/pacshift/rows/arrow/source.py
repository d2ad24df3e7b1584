"""A table that can be scanned any number of times, as record batches that know their place; frames as tables.

Rows of frames of other libraries come batch after batch, never as a copy of the whole.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeGuard

import pyarrow as pa
import pyarrow.compute as pc

from pacshift.arrays import Frame, cached_property
from pacshift.errors import InputError, PacshiftError
from pacshift.files.writing import PathLike
from pacshift.rows.columns import Columns
from pacshift.scores.frames import is_lazy
from pacshift.scores.names import shorten

BATCH_VALUES = 1 << 20  # scores in one batch: 8 MB, whatever the number of classes
FRAME = "the frame"  # instead of the name of a file
MAX_LABEL_VALUES = 100_000  # so many classes may be named by the labels alone


class ArrowStream(Protocol):
    """Whatever gives its rows as an Arrow stream: polars, DuckDB, Arrow, newer pandas."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The stream, as a PyCapsule."""


Tables: TypeAlias = PathLike | Sequence[PathLike] | Frame | ArrowStream
"""Files, folders or one frame: all of them together are one table."""


def is_frame(paths: Tables) -> TypeGuard[Frame | ArrowStream]:
    """Whether a table is a frame, and not in files."""
    return hasattr(paths, "__arrow_c_stream__") or hasattr(paths, "iloc") or is_lazy(paths)


@contextmanager
def readable(what: object, remedy: str) -> Iterator[None]:
    """Whatever is raised while a bad file or frame is read becomes one InputError."""
    try:
        yield
    except PacshiftError:
        raise
    except Exception as error:  # damage shows as IndexError, zlib.error, SystemError, MemoryError and others
        reason = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
        reason += " (is the memory enough?)" if isinstance(error, MemoryError) else ""
        raise InputError(f"cannot read {what}: {reason}. {remedy}") from None


def readable_file(file: str | Path) -> Any:
    """The same for a file, whose ending says what it should be; what has none is a frame."""
    kind = Path(file).suffix.lower().removeprefix(".")
    what = "csv file in UTF-8" if kind == "csv" else f"{kind} file"
    whole = f"Is it a whole {what}? Write it again, or rename it to what it is."
    return readable(file, whole if kind else "Give every column one type.")


@dataclass(frozen=True, eq=False)
class Records:
    """A record batch, the file it came from and how many rows of that file stand before it."""

    raw: Any
    file: str
    first_row: int

    @cached_property
    def data(self) -> Any:
        """The record batch, after a look whether it is damaged.

        Arrow trusts the lengths and offsets of a file and would read beyond its memory. The look takes a while, so
        it is left to whoever works on the batch: the cores share it.
        """
        with readable_file(self.file):
            self.raw.validate(full=True)
        return self.raw

    @property
    def n_bytes(self) -> int:
        """What keeping it takes."""
        try:
            return int(self.data.nbytes)
        except pa.ArrowTypeError:  # older releases of Arrow cannot tell for views of texts
            return int(self.data.get_total_buffer_size())


class Source(ABC):
    """A table that can be scanned any number of times, its rows in the same order each time."""

    files: Sequence[Path] = ()
    schema: Any
    """The Arrow schema."""
    n_rows: int | None = None
    usual: Columns | None = None
    """What such tables call their scores and their label, if they always do."""
    class_names: list[Any] | None = None
    """Names of the entries of a list column, if the table knows them."""
    has_text_labels = False
    """Whether labels are read as text, whatever type the schema guesses."""

    def count_rows(self) -> int | None:
        """Rows in all, or None where only a full scan would tell."""
        return self.n_rows

    def batches(
        self, scores: Sequence[str], n_scores: int, labels: Sequence[str] = (), others: Sequence[str] = ()
    ) -> Iterator[Records]:
        """The score columns, with ``n_scores`` scores per row, then label and others; rows in order."""
        rows, last, first_row = max(1, BATCH_VALUES // n_scores), "", 0
        for file, whole in self._read(self._fields(scores, labels, others), rows):
            first_row = first_row if file == last else 0
            for start in range(0, whole.num_rows, rows):
                yield Records(whole.slice(start, rows), file, first_row + start)
            last, first_row = file, first_row + whole.num_rows

    @abstractmethod
    def _read(self, fields: list[Any], rows: int) -> Iterator[tuple[str, Any]]:
        """The name of a file and a record batch of it, not validated yet, with the ``fields`` in this order.

        About ``rows`` rows are wanted at a time; there may be more.
        """

    def _fields(self, scores: Sequence[str], labels: Sequence[str], others: Sequence[str]) -> list[Any]:
        """The columns, with the types that they are read as."""
        return [field_of(self.schema, name, "the table") for name in (*scores, *labels, *others)]

    def label_values(self, column: str) -> list[Any]:
        """The different labels of a column; stops where there are too many for labels."""
        labels: dict[Any, None] = {}
        for batch in self.batches([], 1, [column]):
            labels |= dict.fromkeys(pc.unique(without_codes(batch.data.column(0))).to_pylist())
            if len(labels) > MAX_LABEL_VALUES:
                break
        return list(labels)


def require_fields(schema: Any, fields: Sequence[Any], file: str, first: Path | None) -> None:
    """Refuse a file that lacks columns, or whose columns have not the types of the ``first`` file."""
    for field in fields:
        stored = field_of(schema, field.name, file).type
        if first is not None and stored != field.type:
            raise InputError(
                f"{file}: column {field.name!r} is {stored}, but {field.type} in {first}. Files of one table must "
                "agree: cast one of them."
            )


def field_of(schema: Any, name: str, table: str) -> Any:
    """The one column of this name."""
    n_found = schema.names.count(name)
    if n_found != 1:
        problem = f"{n_found} columns are called {name!r}" if n_found else f"no column {name!r}"
        raise InputError(
            f"{table}: {problem}, but every table needs one. Rename its columns: {shorten(schema.names)}."
        )
    return schema.field(name)


def without_codes(column: Any) -> Any:
    """A column with its values instead of dictionary codes or run lengths."""
    if pa.types.is_run_end_encoded(column.type):
        column = pc.run_end_decode(column)
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


class FrameSource(Source):
    """A frame of pandas or polars, lazy or not, or whatever else gives an Arrow stream: relations of DuckDB."""

    def __init__(self, frame: Any) -> None:
        with readable_file(FRAME):
            # A stream that can be read once only is kept as a table: columns are looked for before rows are read.
            self._frame = frame = pa.table(frame) if hasattr(frame, "read_next_batch") else frame
            if hasattr(frame, "iloc"):  # the index of pandas is not a column
                self.schema = pa.Schema.from_pandas(frame, preserve_index=False).remove_metadata()
                self.n_rows = len(frame)
            elif is_lazy(frame):
                self.schema = pa.table(frame.limit(0).collect()).schema
            else:
                with pa.RecordBatchReader.from_stream(frame) as reader:
                    self.schema = reader.schema
                self.n_rows = getattr(frame, "num_rows", getattr(frame, "height", None))

    def _read(self, fields: list[Any], rows: int) -> Iterator[tuple[str, Any]]:
        with readable_file(FRAME):
            for batch in self._batches(fields, rows):
                yield FRAME, batch

    def _batches(self, fields: list[Any], rows: int) -> Iterator[Any]:
        frame, names = self._frame, [field.name for field in fields]
        if hasattr(frame, "iloc"):
            places = [self.schema.get_field_index(name) for name in names]
            for start in range(0, len(frame), rows):
                part = frame.iloc[start : start + rows, places]
                part.columns = names  # they may be numbers there
                yield pa.RecordBatch.from_pandas(part, schema=pa.schema(fields), preserve_index=False)
        elif is_lazy(frame):
            chosen = frame.select(names)
            # Older versions of polars can only collect the whole.
            by_piece = hasattr(chosen, "collect_batches")
            for piece in chosen.collect_batches(chunk_size=rows) if by_piece else [chosen.collect()]:
                yield from pa.table(piece).to_batches()
        else:
            if hasattr(frame, "project"):  # DuckDB then computes these columns alone
                frame = frame.project(", ".join('"' + name.replace('"', '""') + '"' for name in names))
            with pa.RecordBatchReader.from_stream(frame) as reader:
                for batch in reader:
                    yield batch.select(names)
