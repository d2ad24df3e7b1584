"""Which files a table consists of, their rows one file after another, and any table opened."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from glob import glob
from pathlib import Path
from typing import Any

import pyarrow as pa

from pacshift.errors import InputError
from pacshift.files.reading import require_regular
from pacshift.files.writing import FOLDER_TABLES, is_in_table
from pacshift.rows.arrow.arrays import NpySource, NpzSource
from pacshift.rows.arrow.formats import FORMATS
from pacshift.rows.arrow.frames import frame_source
from pacshift.rows.arrow.source import Records, Source, Tables, batch_rows, is_frame, numbered, readable
from pacshift.rows.columns import Columns
from pacshift.scores.names import shorten
from pacshift.tally.once import counted_twice, repeated_files

KINDS = {suffix: kind.name for suffix, kind in FORMATS.items()} | {".npz": "npz", ".npy": "npy"}

LOGS = {
    "_delta_log": "a Delta table",
    ".hoodie": "a Hudi table",
    "metadata/*.metadata.json": "an Iceberg table",
    "manifest/manifest-list-*": "a Paimon table",
    "_spark_metadata": "the output of a Spark stream",
}
"""What lies beside the files of a table whose log says which of them, and which of their rows, still count."""

UNFINISHED = ("_temporary/[0-9]*", "_started_*")
"""What Spark, and Spark at Databricks, leave beside their files until the last one is written."""


def list_files(paths: Tables) -> list[Path]:
    """The files themselves, and all score tables in the folders, in the order of their names.

    Every proof is about independent rows, so a file that would be counted twice is refused, and so are folders
    where a log says which files count.
    """
    several: Any = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    try:
        named = [Path(path) for path in several]
        if any(not os.fspath(path) for path in several):  # Path would make it this folder
            raise InputError("a table has the empty name ''. Is a variable not set? Write '.' for this folder.")
    except TypeError:
        raise InputError(
            f"a table is a file, a folder, a list of them, or a frame, got {type(paths).__name__}."
        ) from None
    files = [file for path in named for file in _expand(path)]
    if not files:
        raise InputError("no table given: name at least one file or folder.")
    _require_plain(files)
    kinds = sorted({KINDS[file.suffix.lower()] for file in files})
    if len(kinds) > 1:
        raise InputError(f"one table cannot mix {' and '.join(kinds)} files. Name the files of one kind.")
    for first, second, *_ in repeated_files(files):
        if first.samefile(second) or _has_rows(first):  # files without rows are alike: Spark leaves some
            raise counted_twice(first, second)
    return files


def _has_rows(file: Path) -> bool:
    kind = FORMATS.get(file.suffix.lower())
    if kind is None:  # NPZ and NPY: who writes arrays without rows?
        return True
    require_regular(file)
    with readable(file, kind.name):
        return any(batch.num_rows for batch in kind.batches(str(file), list(kind.schema(str(file)))[:1], 1))


def _expand(path: Path) -> list[Path]:
    try:
        exists, is_folder = path.exists(), path.is_dir()
    except OSError as error:  # a name that is too long, a folder that may not be entered
        raise InputError(f"cannot read {path}: {error.strerror or error}.") from None
    if is_folder:
        # Spark and others leave _SUCCESS, .crc and _metadata beside the data.
        found = [file for file in path.rglob("*") if is_in_table(file, path) and file.is_file()]
        if not found:
            raise InputError(f"{path}: no table in this folder (looked for {', '.join(FOLDER_TABLES)}).")
        return sorted(found)
    if not exists and (str(path) == "-" or re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", str(path))):
        raise InputError(f"{path}: URLs and standard input are not read. Save the table as a file first.")
    if not exists and (found := sorted(map(Path, glob(str(path))))):  # a pattern, which no file is called
        return [file for one in found for file in _expand(one)]
    if not exists:
        raise InputError(f"{path}: no such file or folder.")
    if path.suffix.lower() not in KINDS:
        raise InputError(f"{path}: unknown kind of table. Its name must end in {', '.join(KINDS)}.")
    return [path]


def _require_plain(files: Iterable[Path]) -> None:
    """Refuse files of a table that has a log, however they were named: dead ones lie among them."""
    named = {file.parent for file in files} | {
        Path(os.path.realpath(file)).parent for file in files if file.is_symlink()
    }
    nearest = {one for folder in named for one in (folder.absolute(), folder.resolve())}
    for folder in sorted(nearest.union(*(folder.parents for folder in nearest))):
        committed = glob("_committed_*", root_dir=folder)  # at Databricks, with the files that it replaced
        replaced = any(_names_removed(folder / name) for name in committed)
        for log, what in (LOGS | ({committed[0]: "the output of several jobs"} if replaced else {})).items():
            if glob(log, root_dir=folder):
                raise InputError(
                    f"{folder} is {what}: {log} says which of its files and rows still count, and pacshift does "
                    "not read it. Read the table with its own library and pass the frame, or write its rows to a "
                    "new folder of plain files."
                )
        begun = [mark for pattern in UNFINISHED for mark in glob(pattern, root_dir=folder)]
        done = {name.replace("_committed_", "_started_") for name in committed}
        if not done.issuperset(begun):
            raise InputError(
                f"{folder} holds {min(set(begun) - done)}: a job is still writing its files, or broke off. Wait "
                "for it or run it again; if the files are whole, move them to another folder."
            )


def _names_removed(commit: Path) -> bool:
    with suppress(OSError):
        return re.search(rb'"removed"\s*:\s*\[\s*"', commit.read_bytes()) is not None
    return False


class FileSource(Source):
    """Files of one format, whose columns must have the types of the first file. Labels of a CSV are texts."""

    def __init__(self, files: Sequence[Path]) -> None:
        self.files = files
        self._format = FORMATS[files[0].suffix.lower()]
        self._schemas: dict[str, Any] = {}
        for file in files:
            require_regular(file)
        self._first = str(files[0])
        self.schema = self._schema(self._first)
        self._is_csv = self._format.name == "csv"
        self.has_text_labels = self._is_csv  # a type guessed from 01, 1.0 or NA would be another name

    def _schema(self, file: str) -> Any:
        if file not in self._schemas:  # of a CSV it takes a look at the first rows
            with readable(file, self._format.name):
                schema = self._format.schema(file)
                list(schema.names)  # decoded once here, where noise that is no text becomes an InputError
            self._schemas[file] = schema
        return self._schemas[file]

    def count_rows(self) -> int | None:
        total = 0
        for file in map(str, self.files):
            with readable(file, self._format.name):
                rows = self._format.count_rows(file)
            if rows is None:
                return None
            total += rows
        return total

    def batches(
        self, scores: Sequence[str], n_scores: int, labels: Sequence[str] = (), others: Sequence[str] = ()
    ) -> Iterator[Records]:
        """Every file must have the columns, which is checked before the first row."""
        fields = self._fields(scores, labels, others)
        for file in map(str, self.files):
            for field in fields:
                self._require_field(file, field)
        for file in map(str, self.files):
            with readable(file, self._format.name):
                yield from numbered(self._format.batches(file, fields, batch_rows(n_scores)), file)

    def _fields(self, scores: Sequence[str], labels: Sequence[str], others: Sequence[str]) -> list[Any]:
        if not self._is_csv:
            return [self.schema.field(name) for name in (*scores, *labels, *others)]
        # A column of 0 and 1 looks like integers until 0.5 comes.
        numbers = [pa.field(name, pa.float64()) for name in scores]
        texts = [pa.field(name, pa.string()) for name in labels]
        return numbers + texts + [pa.field(name, self._csv_type(name)) for name in others]

    def _csv_type(self, column: str) -> Any:
        """CSV has no types: what looks like a number in one file may be a text in the next."""
        schemas = [self._schema(str(file)) for file in self.files]
        kinds = {schema.field(column).type for schema in schemas if column in schema.names} - {pa.null()}
        if len(kinds) == 1:
            return kinds.pop()
        return pa.float64() if kinds == {pa.int64(), pa.float64()} else pa.string()

    def _require_field(self, file: str, field: Any) -> None:
        schema = self._schema(file)
        n_found = schema.names.count(field.name)
        if n_found != 1:
            problem = f"{n_found} columns are called {field.name!r}" if n_found else f"no column {field.name!r}"
            raise InputError(
                f"{file}: {problem}, but every file of a table needs one. Its columns are {shorten(schema.names)}."
            )
        found = schema.field(field.name).type
        if not self._is_csv and found != field.type:
            raise InputError(
                f"{file}: column {field.name!r} is {found}, but {field.type} in {self._first}. "
                "Files of one table must agree: cast one of them."
            )


def open_source(
    paths: Tables, *, label: str | None, scores: str | None = None, columns: Columns | None = None
) -> Source:
    """The table; archives and arrays are told what they may be called."""
    if is_frame(paths):
        return frame_source(paths)
    files = list_files(paths)
    kind = KINDS[files[0].suffix.lower()]
    if kind not in ("npz", "npy"):
        return FileSource(files)
    remembered = columns.scores[0] if columns is not None and len(columns.scores) == 1 else None
    arrays = NpzSource if kind == "npz" else NpySource
    return arrays(files, scores=scores or remembered, label=label)
