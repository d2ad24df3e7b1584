"""What every source of rows gives: batches, each with the place it came from."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeGuard

import pyarrow as pa
import pyarrow.compute as pc

from pacshift.arrays import Frame
from pacshift.errors import InputError, PacshiftError
from pacshift.files.writing import PathLike
from pacshift.rows.columns import Columns
from pacshift.scores.frames import is_lazy

BATCH_VALUES = 1 << 20  # scores in one batch: 8 MB, whatever the number of classes
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
def readable(what: object, kind: str) -> Iterator[None]:
    """Whatever is raised while a bad file is read becomes one InputError."""
    try:
        yield
    except PacshiftError:
        raise
    except Exception as error:  # damage shows as IndexError, zlib.error, SystemError, MemoryError and others
        said = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
        said += " (is the memory enough?)" if isinstance(error, MemoryError) else ""
        raise InputError(
            f"cannot read {what}: {said}. Is it a whole {kind} file? Write it again, or rename it to what it is."
        ) from None


@dataclass(frozen=True, slots=True)
class Records:
    """A record batch, the file it came from and how many rows of that file stand before it."""

    data: Any
    file: str
    first_row: int

    def require_sound(self) -> None:
        """Refuse a damaged batch before anything is computed from it.

        Arrow trusts the lengths and offsets of a file and would read beyond its memory. Code that works on a batch
        calls this first; it takes a while, so the cores share it.
        """
        with readable(self.file, Path(self.file).suffix.removeprefix(".")):
            self.data.validate(full=True)


class Source(ABC):
    """A table that can be scanned any number of times, its rows in the same order each time."""

    files: Sequence[Path] = ()
    schema: Any
    """The Arrow schema."""
    n_rows: int | None = None
    usual: Columns | None = None
    """What such tables call their scores and their label, if they always do."""
    label_file: str | None = None
    """The file that holds the labels, if it is not the one with the scores: its column is called as usual."""
    class_names: list[Any] | None = None
    """Names of the entries of a list column, if the table knows them."""
    has_text_labels = False
    """Whether labels are read as text, whatever type the schema guesses."""

    def count_rows(self) -> int | None:
        """Rows in all, or None where only a full scan would tell."""
        return self.n_rows

    @abstractmethod
    def batches(
        self, scores: Sequence[str], n_scores: int, labels: Sequence[str] = (), others: Sequence[str] = ()
    ) -> Iterator[Records]:
        """The score columns, with ``n_scores`` scores per row, then label and others; rows in order.

        Call ``Records.require_sound`` before the values are looked at.
        """

    def label_values(self, column: str) -> list[Any]:
        """The different labels of a column; stops where there are too many for labels."""
        found: dict[Any, None] = {}
        for batch in self.batches([], 1, [column]):
            batch.require_sound()
            found |= dict.fromkeys(pc.unique(without_codes(batch.data.column(0))).to_pylist())
            if len(found) > MAX_LABEL_VALUES:
                break
        return list(found)


def without_codes(column: Any) -> Any:
    """A column with its values instead of dictionary codes or run lengths."""
    if pa.types.is_run_end_encoded(column.type):
        column = pc.run_end_decode(column)
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def batch_rows(n_scores: int) -> int:
    """Rows in one batch."""
    return max(1, BATCH_VALUES // n_scores)


def cut(batch: Any, rows: int) -> Iterator[Any]:
    """A record batch in pieces of at most ``rows`` rows."""
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


def numbered(batches: Iterable[Any], file: str) -> Iterator[Records]:
    """Batches with their place in the file."""
    first_row = 0
    for data in batches:
        yield Records(data, file, first_row)
        first_row += data.num_rows
