"""Files that are the same: one file under several names, or several with the same bytes, by their SHA-256."""

import hashlib
import os
from collections.abc import Callable, Hashable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event

from pacshift.errors import InputError
from pacshift.files.writing import PathLike

_HEAD_BYTES = 1 << 16  # files of one size that differ mostly do so within these
_READ_BYTES = 1 << 18  # at a time: fits the cache


def file_sha256(path: PathLike, stop: Event | None = None, *, head: int | None = None) -> str:
    """SHA-256 of the bytes of a file, or of its ``head``.

    If ``stop`` is set meanwhile, of the bytes before: nobody asks for it any more.
    """
    digest, room = hashlib.sha256(), memoryview(bytearray(head or _READ_BYTES))
    try:
        with open(path, "rb", buffering=0) as file:
            while (n_read := file.readinto(room)) and not (stop and stop.is_set()):
                digest.update(room[:n_read])  # lets other threads run
                if head:
                    break
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


def find_same_files(paths: Iterable[Path]) -> list[list[Path]]:
    """Groups of files that are one file under several names or, where there are none, that hold the same bytes.

    Nothing is read of a file whose size no other has, and little of one that begins like no other. What is not a
    regular file is not looked at: it may have no end.
    """

    def identity(path: Path) -> Hashable:
        """Equal for links to one file, and for every way to write its path."""
        status = path.stat()
        return (status.st_dev, status.st_ino) if status.st_ino else os.path.realpath(path)

    def split_by(groups: list[list[Path]], key: Callable[[Path], Hashable]) -> list[list[Path]]:
        """The files of each group that share their key with another one."""
        by_key: dict[Hashable, list[Path]] = {}
        for place, path in ((place, path) for place, group in enumerate(groups) for path in group):
            by_key.setdefault((place, key(path)), []).append(path)
        return [group for group in by_key.values() if len(group) > 1]

    groups = [[path for path in paths if path.is_file()]]
    same = split_by(groups, identity)
    if same:
        return same
    for key in (lambda path: path.stat().st_size, partial(file_sha256, head=_HEAD_BYTES), file_sha256):
        groups = split_by(groups, key)
    return groups


def same_file_error(first: Path, second: Path) -> InputError:
    """Why two of ``find_same_files`` cannot both be counted."""
    if first.samefile(second):
        what = f"{first} is given twice" if first == second else f"{first} and {second} are the same file"
        return InputError(f"{what}: its rows would be counted twice. Name every file once.")
    return InputError(
        f"{first} and {second} have the same content (equal SHA-256): their rows would be counted twice. Leave "
        "one of them out. If they hold different rows that happen to be equal, put these rows into one file."
    )
