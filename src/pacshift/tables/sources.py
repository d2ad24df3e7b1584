"""Where record batches come from: files and folders opened as one table, with errors a user can act on."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds

from pacshift.errors import InputError
from pacshift.scores import shorten

PathLike: TypeAlias = str | os.PathLike[str]

FORMATS = {".parquet": "parquet", ".feather": "feather", ".arrow": "feather", ".csv": "csv", ".npz": "npz"}
BATCH_VALUES = 1 << 20  # scores in one batch: 8 MB, whatever the number of classes
_READ_AHEAD = {"batch_readahead": 4, "fragment_readahead": 2}  # more costs memory and gains no speed


@dataclass(frozen=True, slots=True)
class Batch:
    """A record batch, the file it came from and how many rows of that file stand before it."""

    data: Any
    file: str
    first_row: int


class Source(Protocol):
    """A table that can be scanned any number of times, its rows in the same order each time."""

    @property
    def schema(self) -> Any:
        """The Arrow schema."""

    def count_rows(self) -> int | None:
        """Rows in all, or None where only a full scan would tell."""

    def batches(self, scores: Sequence[str], others: Sequence[str], n_scores: int) -> Iterator[Batch]:
        """The score columns, which hold ``n_scores`` scores a row, then the other columns; rows in order."""


def list_files(paths: PathLike | Sequence[PathLike]) -> list[Path]:
    """The files themselves, and all score tables in the folders, in the order of their names."""
    named = [Path(path) for path in ([paths] if isinstance(paths, (str, os.PathLike)) else paths)]
    files = [file for path in named for file in _expand(path)]
    if not files:
        raise InputError("no table given: name at least one file or folder.")
    kinds = sorted({FORMATS[file.suffix.lower()] for file in files})
    if len(kinds) > 1:
        raise InputError(f"one table cannot mix {' and '.join(kinds)} files. Name the files of one kind.")
    return files


def _expand(path: Path) -> list[Path]:
    if path.is_dir():
        # Spark and others leave _SUCCESS, .crc and _metadata beside the data.
        seen = (file for file in path.rglob("*") if file.suffix.lower() in FORMATS and file.is_file())
        found = [file for file in seen if not any(part[0] in "._" for part in file.relative_to(path).parts)]
        if not found:
            raise InputError(f"{path}: no table in this folder (looked for {', '.join(FORMATS)}).")
        return sorted(found)
    if not path.exists():
        raise InputError(f"{path}: no such file or folder.")
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"{path}: unknown kind of table. Its name must end in {', '.join(FORMATS)}.")
    return [path]


@contextmanager
def readable(what: object, kind: str) -> Iterator[None]:
    """Whatever Arrow or the system says about a bad file becomes one InputError."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeError) as error:
        said = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
        raise InputError(
            f"cannot read {what}: {said}. Is it a whole {kind} file? Write it again, or rename it to what it is."
        ) from None


class DatasetSource:
    """Parquet, Feather and CSV files through pyarrow.dataset."""

    def __init__(self, files: Sequence[Path]) -> None:
        self.kind = FORMATS[files[0].suffix.lower()]
        self.what = files[0] if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
        self._files = [str(file) for file in files]
        for file in files:
            if file.stat().st_size == 0:
                raise InputError(f"cannot read {file}: the file is empty. Leave it out or write it again.")
        with readable(files[0], self.kind):
            self.schema = _named(self._open(self._files[:1]).schema)

    def _open(self, files: list[str], schema: Any = None) -> Any:
        style: Any = self.kind
        if self.kind == "csv":
            style = ds.CsvFileFormat(convert_options=pyarrow.csv.ConvertOptions(strings_can_be_null=True))
        return ds.dataset(files, format=style, schema=schema)

    def count_rows(self) -> int | None:
        if self.kind == "csv":
            return None
        with readable(self.what, self.kind):
            return int(self._open(self._files, self.schema).count_rows())

    def batches(self, scores: Sequence[str], others: Sequence[str], n_scores: int) -> Iterator[Batch]:
        """Scan on all cores. Every file must have the columns in the types of the first one."""
        rows = max(1, BATCH_VALUES // n_scores)
        dataset = self._checked(scores, others)
        scanner = dataset.scanner(columns=[*scores, *others], batch_size=rows, **_READ_AHEAD)
        file, first_row = "", 0
        with readable(self.what, self.kind):
            for tagged in scanner.scan_batches():
                if tagged.fragment.path != file:
                    file, first_row = tagged.fragment.path, 0
                yield Batch(tagged.record_batch, file, first_row)
                first_row += tagged.record_batch.num_rows

    def _checked(self, scores: Sequence[str], others: Sequence[str]) -> Any:
        """The dataset, every file's schema looked at: Arrow itself would fill a missing column with nulls."""
        wanted = [self.schema.field(name) for name in (*scores, *others)]
        if self.kind == "csv":  # a column of 0 and 1 looks like integers until 0.5 comes
            numbers = [field.with_type(pa.float64()) for field in wanted[: len(scores)]]
            wanted = numbers + [self._csv_field(field) for field in wanted[len(scores) :]]
        dataset = self._open(self._files, pa.schema(wanted))
        for fragment in dataset.get_fragments():
            with readable(fragment.path, self.kind):
                schema = _named(fragment.physical_schema)
            for field in wanted:
                _require_field(schema, field, fragment.path, self._files[0], typed=self.kind != "csv")
        return dataset

    def _csv_field(self, field: Any) -> Any:
        """CSV has no types: what looks like a number in one file may be a text in the next."""
        kinds = {self._csv_type(file, field.name) for file in self._files} - {pa.null()}
        return field.with_type(kinds.pop() if len(kinds) == 1 else _widest(kinds))

    def _csv_type(self, file: str, column: str) -> Any:
        with readable(file, self.kind):
            schema = _named(self._open([file]).schema)
        return schema.field(column).type if column in schema.names else pa.null()


def _named(schema: Any) -> Any:
    """The schema, its column names decoded once here, where noise that is no text becomes an InputError."""
    list(schema.names)
    return schema


def _widest(kinds: set[Any]) -> Any:
    return pa.float64() if kinds == {pa.int64(), pa.float64()} else pa.string()


def _require_field(schema: Any, field: Any, file: str, first: str, *, typed: bool) -> None:
    if schema.names.count(field.name) != 1:
        raise InputError(
            f"{file}: column {field.name!r} occurs {schema.names.count(field.name)} times, it must occur once in "
            f"every file of the table. Its columns are {shorten(schema.names)}."
        )
    found = schema.field(field.name).type
    if typed and found != field.type:
        raise InputError(
            f"{file}: column {field.name!r} is {found}, but {field.type} in {first}. "
            "Files of one table must agree: cast one of them."
        )
