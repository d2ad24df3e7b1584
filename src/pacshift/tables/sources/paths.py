"""Which files a table consists of."""

import os
from pathlib import Path
from typing import Any

from pacshift.errors import InputError
from pacshift.files.reading import require_regular
from pacshift.files.repeated import counted_twice, repeated_files
from pacshift.tables.sources.base import Tables, is_frame, readable
from pacshift.tables.sources.formats import FORMATS

KINDS = {suffix: kind.name for suffix, kind in FORMATS.items()} | {".npz": "npz"}


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
