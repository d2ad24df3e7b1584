"""Which files are the same: one file under several names, or two with equal bytes."""

import hashlib
import os
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event

from pacshift.errors import InputError
from pacshift.files.writing import PathLike

_HEAD_BYTES = 1 << 16  # files of one size that differ mostly do so within these
_READ_BYTES = 1 << 18  # at a time: fits the cache


def file_sha256(path: PathLike, stop: Event | None = None) -> str:
    """SHA-256 of the bytes of a file; of those before ``stop`` was set, which nobody asks for any more."""
    digest, room = hashlib.sha256(), memoryview(bytearray(_READ_BYTES))
    try:
        with open(path, "rb", buffering=0) as file:
            while (n_read := file.readinto(room)) and not (stop and stop.is_set()):
                digest.update(room[:n_read])  # lets other threads run
        return digest.hexdigest()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}.") from None


@contextmanager
def sha256_beside(paths: Iterable[Path]) -> Iterator[dict[str, "Future[str]"]]:
    """SHA-256 of each file, computed in a thread while the files are read for something else."""
    stop = Event()
    with ThreadPoolExecutor(1, thread_name_prefix="sha256") as pool:
        try:
            yield {str(path): pool.submit(file_sha256, path, stop) for path in paths}
        finally:
            stop.set()


def repeated_files(paths: Iterable[Path]) -> list[list[Path]]:
    """Groups of files that are one file under several names or, where there are none, that hold the same bytes.

    Nothing is read of a file whose size no other has, and little of one that begins like no other. What is not a
    regular file is not looked at: it may have no end.
    """
    regular = [path for path in paths if path.is_file()]
    groups = _alike(regular, _identity)
    if groups:
        return groups
    groups = _alike(regular, lambda path: path.stat().st_size)
    for key in (_head, file_sha256):
        groups = [part for group in groups for part in _alike(group, key)]
    return groups


def _alike(paths: Iterable[Path], key: Callable[[Path], Hashable]) -> list[list[Path]]:
    """The files that share their key with another one."""
    found: dict[Hashable, list[Path]] = {}
    for path in paths:
        found.setdefault(key(path), []).append(path)
    return [group for group in found.values() if len(group) > 1]


def _identity(path: Path) -> Hashable:
    """Equal for links to one file, and for every way to write its path."""
    found = path.stat()
    return (found.st_dev, found.st_ino) if found.st_ino else os.path.realpath(path)


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return hashlib.sha256(file.read(_HEAD_BYTES)).digest()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}.") from None


def counted_twice(first: Path, second: Path) -> InputError:
    """The error for two of ``repeated_files``."""
    if first.samefile(second):
        one = f"{first} is given twice" if first == second else f"{first} and {second} are the same file"
        return InputError(f"{one}: its rows would be counted twice. Name every file once.")
    return InputError(
        f"{first} and {second} have the same content (equal SHA-256): their rows would be counted twice. Leave "
        "one of them out. If they hold different rows that happen to be equal, put these rows into one file."
    )
