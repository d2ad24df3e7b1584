"""Which files a table consists of, and any table opened."""

import os
import re
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from glob import glob
from pathlib import Path
from typing import Any, TypeAlias

from pacshift.errors import InputError, users_line
from pacshift.files.same import find_same_files, same_file_error
from pacshift.files.writing import FOLDER_TABLES, is_in_table
from pacshift.rows.arrow.formats import FORMATS, FileSource
from pacshift.rows.arrow.source import FrameSource, Source, Tables, is_frame, readable_file
from pacshift.rows.columns import Columns
from pacshift.scores.names import shorten
from pacshift.words.numbers import one_of

Refuse: TypeAlias = Callable[[Path, InputError], None]
"""Is told of a file that is left out, and why."""

KINDS = {suffix: kind.__name__.lower() for suffix, kind in FORMATS.items()}

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

_OTHER_TABLES = ".npy .jsonl .ndjson .pq .parq .tsv .xlsx .xls .ods .orc .avro .ipc .arrows .tally"
_COMPRESSED = ".gz .bz2 .xz .zst .lz4 .snappy .zip .tar .tgz .7z"
MAY_HOLD_ROWS = {*_OTHER_TABLES.split(), *_COMPRESSED.split()}
"""Tables of other kinds, and compressed ones, that are not read in a folder."""

HIDDEN_ON_WINDOWS = ("Thumbs.db", "desktop.ini")
"""What it leaves in folders, as others leave hidden files."""


def list_files(paths: Tables, refuse: Refuse | None = None) -> list[Path]:
    """The files themselves, and all score tables in the folders, in the order of their names.

    Every proof is about independent rows, so a file that would be counted twice is refused, and so are folders
    where a log says which files count. ``refuse`` is for files that are read one by one, of whatever kind: it is
    called with one that cannot be read or would be counted twice, and why, and the others are listed.
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
    files = [file for path in named for file in _expand(path, refuse)]
    if not files:
        raise InputError("no table given: name at least one file or folder.")
    _require_plain(files)
    kinds = sorted({KINDS[file.suffix.lower()] for file in files})
    if len(kinds) > 1 and refuse is None:
        raise InputError(f"one table cannot mix {' and '.join(kinds)} files. Name the files of one kind.")
    for first, *others in find_same_files(files):
        for second in others:
            if first.samefile(second) or _has_rows(first):  # files without rows are alike: Spark leaves some
                if refuse is None:
                    raise same_file_error(first, second)
                refuse(second, same_file_error(first, second))
                files.remove(second)
    return files


def _has_rows(file: Path) -> bool:
    kind = FORMATS[file.suffix.lower()]
    if not issubclass(kind, FileSource):  # who writes arrays without rows?
        return True
    try:
        source = kind([file])
        with readable_file(file):
            return any(batch.num_rows for batch in source.batches_of(str(file), list(source.schema)[:1], 1))
    except InputError:  # nobody knows
        return True


def _expand(path: Path, refuse: Refuse | None) -> list[Path]:
    try:
        if path.is_dir():
            return _find_tables(path, refuse)
        exists = path.exists()
    except OSError as error:  # a name that is too long, a folder that may not be entered
        raise InputError(f"cannot read {error.filename or path}: {error.strerror or error}.") from None
    if path.is_symlink() and not exists:
        raise InputError(
            f"{path} is a link to {os.readlink(path)!r}, which cannot be found. Name the file itself."
        )
    if not exists and (str(path) == "-" or re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", str(path))):
        raise InputError(f"{path}: URLs and standard input are not read. Save the table as a file first.")
    if not exists and (matches := sorted(map(Path, glob(str(path))))):  # a pattern, which no file is called
        return [file for match in matches for file in _expand(match, refuse)]
    if not exists:
        raise InputError(f"{path}: no such file or folder.")
    if path.suffix.lower() not in KINDS:
        raise InputError(
            f"{path}: unknown file type. Use {one_of(list(KINDS))}. Arrays become a table with "
            "np.savez('scores.npz', probs=scores, labels=labels), and need no file in Python."
        )
    return [path]


def _find_tables(folder: Path, refuse: Refuse | None) -> list[Path]:
    """The tables in a folder and below it, in the order of their names.

    What may hold rows but would not be read is refused, with ``refuse`` alone; a warning names other files. Hidden
    ones are no data: Spark and others leave _SUCCESS, .crc and _metadata beside it.
    """

    def fail(error: OSError) -> None:  # otherwise passed over
        raise error

    tables, unread, others = list[Path](), dict[Path, str](), list[Path]()
    for place, folders, names in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if name[0] not in "._"]
        for path in (Path(place, name) for name in [*folders, *names] if name[0] not in "._"):
            if path.is_symlink() and not path.exists():
                unread[path] = f"{path} (a link to nothing)"
            elif path.is_symlink() and path.is_dir():
                if not path.resolve().is_relative_to(folder.resolve()):  # else its files are found anyway
                    unread[path] = f"{path} (a link to another folder)"
            elif path.suffix.lower() in MAY_HOLD_ROWS:
                unread[path] = str(path)
            elif is_in_table(path, folder) and path.is_file():
                tables.append(path)
            elif not path.is_dir() and path.name not in HIDDEN_ON_WINDOWS:
                others.append(path)
    _require_plain(tables)
    for files in [[file] for file in sorted(unread)] if refuse else [sorted(unread)] if unread else []:
        error = InputError(
            f"{folder}: {shorten([unread[file] for file in files])} may hold rows, but would not be counted: of a "
            f"folder {', '.join(FOLDER_TABLES)} are read. Convert it, or move what is no part of the table."
        )
        if refuse is None:
            raise error
        refuse(files[0], error)
    if not tables:
        raise InputError(f"{folder}: no table in this folder (looked for {', '.join(FOLDER_TABLES)}).")
    if others:
        listed = shorten(sorted(map(str, others)))
        warnings.warn(f"{folder}: left out, because these are no tables: {listed}.", stacklevel=users_line())
    return sorted(tables)


def _require_plain(files: Iterable[Path]) -> None:
    """Refuse files of a table that has a log, however they were named: dead ones lie among them."""
    named = {file.parent for file in files} | {
        Path(os.path.realpath(file)).parent for file in files if file.is_symlink()
    }
    nearest = {one for folder in named for one in (folder.absolute(), folder.resolve())}
    for folder in sorted(nearest.union(*(folder.parents for folder in nearest))):
        committed, replaced = glob("_committed_*", root_dir=folder), False
        for name in committed:  # at Databricks, with the files that it replaced
            with suppress(OSError):
                replaced |= re.search(rb'"removed"\s*:\s*\[\s*"', (folder / name).read_bytes()) is not None
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


def open_source(
    paths: Tables, *, label: str | None, scores: str | None = None, columns: Columns | None = None
) -> Source:
    """The table; archives are told what their arrays may be called."""
    if is_frame(paths):
        return FrameSource(paths)
    files = list_files(paths)
    kind = FORMATS[files[0].suffix.lower()]
    if issubclass(kind, FileSource):
        return kind(files)
    remembered = columns.scores[0] if columns is not None and len(columns.scores) == 1 else None
    return kind(files, scores=scores or remembered, label=label)
