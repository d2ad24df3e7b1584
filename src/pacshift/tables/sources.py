"""Where record batches come from: files and folders opened as one table, with errors a user can act on."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeGuard

import pyarrow as pa
import pyarrow.compute as pc

from pacshift.errors import InputError, PacshiftError
from pacshift.files.reading import require_regular
from pacshift.files.repeated import counted_twice, repeated_files
from pacshift.files.writing import PathLike as PathLike
from pacshift.scores.check import shorten
from pacshift.scores.streams import is_lazy
from pacshift.tables.formats import FORMATS


class ArrowFrame(Protocol):
    """A frame that gives its rows as an Arrow stream: polars, DuckDB, Arrow, newer pandas."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The stream, as a PyCapsule."""


class LazyFrame(Protocol):
    """A lazy frame of polars."""

    def collect_schema(self) -> object:
        """Names and types of its columns."""


Tables: TypeAlias = PathLike | Sequence[PathLike] | ArrowFrame | LazyFrame
"""Files, folders or one frame: all of them together are one table."""

KINDS = {suffix: kind.name for suffix, kind in FORMATS.items()} | {".npz": "npz"}
BATCH_VALUES = 1 << 20  # scores in one batch: 8 MB, whatever the number of classes
MAX_LABEL_VALUES = 100_000  # so many classes may be named by the labels alone


@contextmanager
def readable(what: object, kind: str) -> Iterator[None]:
    """Whatever is raised while a bad file is read becomes one InputError."""
    try:
        yield
    except PacshiftError:
        raise
    except Exception as error:  # damage shows as IndexError, zlib.error, SystemError, MemoryError and others
        said = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
        raise InputError(
            f"cannot read {what}: {said}. Is it a whole {kind} file? Write it again, or rename it to what it is."
        ) from None


@dataclass(frozen=True, slots=True)
class Batch:
    """A record batch, the file it came from and how many rows of that file stand before it."""

    data: Any
    file: str
    first_row: int

    def require_sound(self) -> None:
        """Refuse a damaged batch before anything is computed from it.

        Arrow believes the lengths and offsets of a file and would read beyond its memory. Whoever works on a batch
        calls this first; it takes a while, so the cores share it.
        """
        with readable(self.file, Path(self.file).suffix.removeprefix(".")):
            self.data.validate(full=True)


class Source(Protocol):
    """A table that can be scanned any number of times, its rows in the same order each time."""

    class_names: list[Any] | None
    """Names of the entries of a list column, if the table knows them."""

    @property
    def schema(self) -> Any:
        """The Arrow schema."""

    @property
    def has_text_labels(self) -> bool:
        """Whether labels are read as text, whatever type the schema guesses."""

    def count_rows(self) -> int | None:
        """Rows in all, or None where only a full scan would tell."""

    def batches(
        self, scores: Sequence[str], others: Sequence[str], n_scores: int, label: str | None = None
    ) -> Iterator[Batch]:
        """The score columns, with ``n_scores`` scores per row, then the label, then others; rows in order.

        Call ``Batch.require_sound`` before the values are looked at.
        """

    def label_values(self, column: str, *, whole: bool = True) -> list[Any]:
        """The different labels of a column, hardly more than ``MAX_LABEL_VALUES``; or only of its first rows."""


def distinct_labels(batches: Iterable[Batch], *, whole: bool) -> list[Any]:
    """The different values of the only column of the batches; stops where there are too many for labels."""
    found: dict[Any, None] = {}
    for batch in batches:
        batch.require_sound()
        column = batch.data.column(0)
        column = pc.run_end_decode(column) if pa.types.is_run_end_encoded(column.type) else column
        found |= dict.fromkeys(pc.unique(column).to_pylist())
        if not whole or len(found) > MAX_LABEL_VALUES:
            break
    return list(found)


def is_frame(paths: Any) -> TypeGuard[ArrowFrame]:
    """Whether a table is a frame, and not in files."""
    return hasattr(paths, "__arrow_c_stream__") or hasattr(paths, "iloc") or is_lazy(paths)


def list_files(paths: Tables) -> list[Path]:
    """The files themselves, and all score tables in the folders, in the order of their names; of a frame none.

    Every proof is about independent rows, so a file that would be counted twice is refused.
    """
    if is_frame(paths):
        return []
    several: Any = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    try:
        named = [Path(path) for path in several]
    except TypeError:
        raise InputError(
            f"a table is a file, a folder, a list of them, or a frame, got {type(paths).__name__}."
        ) from None
    files = [file for path in named for file in _expand(path)]
    if not files:
        raise InputError("no table given: name at least one file or folder.")
    kinds = sorted({KINDS[file.suffix.lower()] for file in files})
    if len(kinds) > 1:
        raise InputError(f"one table cannot mix {' and '.join(kinds)} files. Name the files of one kind.")
    for first, second, *_ in repeated_files(files):
        if first.samefile(second) or _has_rows(first):  # files without rows are alike: Spark leaves some
            raise counted_twice(first, second)
    return files


def _has_rows(file: Path) -> bool:
    kind = FORMATS.get(file.suffix.lower())
    if kind is None:  # NPZ: who writes arrays without rows?
        return True
    require_regular(file)
    with readable(file, kind.name):
        return any(batch.num_rows for batch in kind.batches(str(file), list(kind.schema(str(file)))[:1], 1))


def _expand(path: Path) -> list[Path]:
    exists, is_folder = _look_at(path)
    if is_folder:
        # Spark and others leave _SUCCESS, .crc and _metadata beside the data.
        seen = (file for file in path.rglob("*") if file.suffix.lower() in KINDS and file.is_file())
        found = [file for file in seen if not any(part[0] in "._" for part in file.relative_to(path).parts)]
        if not found:
            raise InputError(f"{path}: no table in this folder (looked for {', '.join(KINDS)}).")
        return sorted(found)
    if not exists:
        raise InputError(f"{path}: no such file or folder.")
    if path.suffix.lower() not in KINDS:
        raise InputError(f"{path}: unknown kind of table. Its name must end in {', '.join(KINDS)}.")
    return [path]


def _look_at(path: Path) -> tuple[bool, bool]:
    """Whether the path exists, and whether it is a folder."""
    try:
        return path.exists(), path.is_dir()
    except OSError as error:  # a name that is too long, a folder that may not be entered
        raise InputError(f"cannot read {path}: {error.strerror or error}.") from None


class FileSource:
    """Parquet, Feather and CSV files, one after another."""

    class_names: list[Any] | None = None

    def __init__(self, files: Sequence[Path]) -> None:
        self._files = [str(file) for file in files]
        self._format = FORMATS[files[0].suffix.lower()]
        self._schemas: dict[str, Any] = {}
        for file in files:
            require_regular(file)
        self.schema = self._schema(self._files[0])

    def _schema(self, file: str) -> Any:
        if file not in self._schemas:  # of a CSV it takes a look at the first rows
            with readable(file, self._format.name):
                schema = self._format.schema(file)
                list(schema.names)  # decoded once here, where noise that is no text becomes an InputError
            self._schemas[file] = schema
        return self._schemas[file]

    def count_rows(self) -> int | None:
        total = 0
        for file in self._files:
            with readable(file, self._format.name):
                rows = self._format.count_rows(file)
            if rows is None:
                return None
            total += rows
        return total

    def batches(
        self, scores: Sequence[str], others: Sequence[str], n_scores: int, label: str | None = None
    ) -> Iterator[Batch]:
        """Every file must have the columns in the types of the first, which is checked before the first row."""
        fields = self._fields(scores, others, [] if label is None else [label])
        for file in self._files:
            schema = self._schema(file)
            for field in fields:
                _require_field(schema, field, file, self._files[0], typed=not self._is_csv)
        for file in self._files:
            first_row = 0
            with readable(file, self._format.name):
                for data in self._format.batches(file, fields, max(1, BATCH_VALUES // n_scores)):
                    yield Batch(data, file, first_row)
                    first_row += data.num_rows

    @property
    def _is_csv(self) -> bool:
        return self._format.name == "csv"

    def label_values(self, column: str, *, whole: bool = True) -> list[Any]:
        return distinct_labels(self.batches([], [], 1, column), whole=whole)

    @property
    def has_text_labels(self) -> bool:
        return self._is_csv  # a type guessed from 01, 1.0 or NA would be another name

    def _fields(self, scores: Sequence[str], others: Sequence[str], labels: Sequence[str]) -> list[Any]:
        if not self._is_csv:
            return [self.schema.field(name) for name in (*scores, *labels, *others)]
        # A column of 0 and 1 looks like integers until 0.5 comes.
        numbers = [pa.field(name, pa.float64()) for name in scores]
        texts = [pa.field(name, pa.string()) for name in labels]
        return numbers + texts + [pa.field(name, self._csv_type(name)) for name in others]

    def _csv_type(self, column: str) -> Any:
        """CSV has no types: what looks like a number in one file may be a text in the next."""
        schemas = [self._schema(file) for file in self._files]
        kinds = {schema.field(column).type for schema in schemas if column in schema.names} - {pa.null()}
        return kinds.pop() if len(kinds) == 1 else _widest(kinds)


def _widest(kinds: set[Any]) -> Any:
    return pa.float64() if kinds == {pa.int64(), pa.float64()} else pa.string()


def _require_field(schema: Any, field: Any, file: str, first: str, *, typed: bool) -> None:
    n_found = schema.names.count(field.name)
    if n_found != 1:
        problem = f"{n_found} columns are called {field.name!r}" if n_found else f"no column {field.name!r}"
        raise InputError(
            f"{file}: {problem}, but every file of a table needs one. Its columns are {shorten(schema.names)}."
        )
    found = schema.field(field.name).type
    if typed and found != field.type:
        raise InputError(
            f"{file}: column {field.name!r} is {found}, but {field.type} in {first}. "
            "Files of one table must agree: cast one of them."
        )
