"""Files that are written completely or not at all, cells that no spreadsheet runs, and a lock on a folder.

The lock lets one thread of one process at a time change what is in a folder. It ends with its process, however it
ends.
"""

import errno
import os
import re
import secrets
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import Any, TypeAlias

from pacshift.errors import InputError, param

try:
    import fcntl
except ImportError:  # pragma: no cover  # Windows: drafts of killed processes are not found there
    fcntl = None  # type: ignore[assignment]
    import msvcrt

PathLike: TypeAlias = str | os.PathLike[str]


MAX_NAME_BYTES = 255
"""File names of all common file systems end here."""


FOLDER_TABLES = (".parquet", ".feather", ".arrow", ".csv", ".npz")
"""Files of a folder that is given as a table."""


_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL)  # file systems without locks, or fsync
_DRAFT = re.compile(r"\.pacshift-[0-9a-f]{12}-.*\.part(\.[^.]*)?", re.DOTALL)


@contextmanager
def atomic_write(path: PathLike, *, overwrite: bool = True, private: bool = False) -> Iterator[Path]:
    """Yield a temporary path in the folder of ``path``; rename it on success, remove it on failure or Ctrl-C.

    A draft is locked while its process lives. The next write removes those that are not: their process was killed.
    Who may read a file that is replaced may read the new one; one that is ``private`` only its owner.
    """
    final = check_output(path, overwrite=overwrite)
    # A name not longer than file systems allow. The suffix stays last: np.savez adds its own if it is missing.
    head, tail = f".pacshift-{secrets.token_hex(6)}-", f".part{final.suffix}"
    room = MAX_NAME_BYTES - len(os.fsencode(head + tail))
    stem = os.fsencode(final.stem)[: max(room, 0)].decode("utf-8", "ignore")
    draft, lock = final.with_name(f"{head}{stem}{tail if room >= 0 else '.part'}"), None
    old = final.stat() if final.exists() else None
    mode = 0o600 if private else stat.S_IMODE(old.st_mode) if old is not None else None
    try:  # from before the draft exists: a signal may arrive at any moment
        _remove_stale_drafts(final.parent)
        lock = _create_and_lock(draft, 0o666 if mode is None else 0o600)
        yield draft
        try:
            os.fsync(lock)  # a full disk is noticed here at the latest, before the old file is replaced
        except OSError as error:
            if error.errno not in _NO_LOCKS:  # file systems that cannot
                raise
        if old is not None and hasattr(os, "chown"):
            with suppress(OSError):  # a group that this user is not in
                os.chown(draft, -1, old.st_gid)
        if mode is not None:
            os.chmod(draft, mode)
        os.replace(draft, final)
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        draft.unlink(missing_ok=True)
        if lock is not None:
            os.close(lock)


def check_output(path: PathLike, *, overwrite: bool, inputs: Iterable[PathLike] = ()) -> Path:
    """The file to write, links followed.

    A folder, a device or one of the ``inputs`` is refused, and a table in a folder among them.
    """
    try:
        final = Path(os.path.realpath(path))
        mode = final.stat().st_mode if final.exists() else None
        has_folder = final.parent.is_dir()
    except (OSError, ValueError) as error:  # a name that is too long, a null character
        raise _cannot_write(path, error) from None
    if not has_folder or (mode is not None and stat.S_ISDIR(mode)):
        raise InputError(f"cannot write {path}: it must name a file in a folder that exists.")
    if mode is not None and not stat.S_ISREG(mode):
        raise InputError(f"cannot write {path}: it is a device or a pipe. Name a regular file.")
    for source in inputs:
        if mode is not None and os.path.exists(source) and os.path.samefile(source, final):
            raise InputError(
                f"cannot write {path}: it is the same file as the input {source}, which would be lost. "
                "Choose another name."
            )
        if os.path.isdir(source) and is_in_table(final, Path(os.path.realpath(source))):
            raise InputError(
                f"cannot write {path}: it lies in the folder {source}, which is read as a table, and would be a "
                "part of it next time. Choose another folder."
            )
    if mode is not None and not overwrite:
        raise InputError(
            f"{path} exists already. Choose another name, or overwrite it with {param('overwrite=True')}."
        )
    return final


def is_in_table(file: Path, folder: Path) -> bool:
    """Whether a file is read as a part of the table when the folder is given as one."""
    if file.suffix.lower() not in FOLDER_TABLES or not file.is_relative_to(folder):
        return False
    return not any(part[0] in "._" for part in file.relative_to(folder).parts)


def _cannot_write(path: PathLike, error: Exception) -> InputError:
    return InputError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}.")


def _create_and_lock(draft: Path, mode: int) -> int:
    """Make a new empty file; the open handle that is returned locks it."""
    while True:
        handle = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        if fcntl is not None:
            with suppress(OSError):  # a file system without locks: then drafts are not removed either
                fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return handle
        os.close(handle)  # another process took it for a stale draft before it was locked


def _remove_stale_drafts(folder: Path) -> None:
    """Remove what killed processes left in ``folder``: drafts that are not locked."""
    if fcntl is None:  # pragma: no cover
        return
    with os.scandir(folder) as entries:
        drafts = [entry.path for entry in entries if _DRAFT.fullmatch(entry.name)]
    for draft in drafts:
        with suppress(OSError):  # locked: its process lives; gone: renamed or removed meanwhile
            handle = os.open(draft, os.O_RDONLY)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(draft)
            finally:
                os.close(handle)


FORMULA = r"^'*[=+\-@\t\r\n＝＋－＠]"
NUMBER = r"^[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"  # begins with a sign, yet is no formula


def escape_cell(text: str) -> str:
    """One text. One that has apostrophes in front already gets one more, so that no two texts become the same.

    >>> escape_cell("=1+1"), escape_cell("'=1+1"), escape_cell("-3.5"), escape_cell("wren")
    ("'=1+1", "''=1+1", '-3.5', 'wren')
    """
    risky = re.match(FORMULA, text) and not re.fullmatch(NUMBER[1:-1], text)
    return f"'{text}" if risky else text


def unescape_cell(text: str) -> str:
    """The text that ``escape_cell`` was given.

    >>> unescape_cell("'=1+1"), unescape_cell("''=1+1"), unescape_cell("'wren")
    ('=1+1', "'=1+1", "'wren")
    """
    inner = text[1:]
    return inner if text.startswith("'") and escape_cell(inner) == text else text


LOCK_NAME = ".lock"
"""The file in the folder that is locked. It is never removed: two processes would lock two files of one name."""

WAIT_SECONDS = 60.0
"""How long to wait for another process. A nightly run takes seconds; one that takes longer is worth a message."""

_POLL_SECONDS = 0.05


@dataclass(eq=False)
class _Turn:
    """Which thread of a process has its turn, and how often it asked."""

    lock: Any = field(default_factory=RLock)
    depth: int = 0


class FolderLock:
    """One thread of one process at a time; asking again inside does no harm. Without a folder only threads wait.

    It is written here and not taken from a library because the core depends on three packages only, and a state
    folder must be safe without extras. A copy, and a forked child, begin without the turns of the original.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._turns: dict[int, _Turn] = {}  # by process: in a child the thread is gone that has its turn

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_turns": {}}

    @contextmanager
    def held(self) -> Iterator[bool]:
        """Hold the lock; yields whether it was taken just now, so that others may have been here before."""
        process = os.getpid()
        turn = self._turns.setdefault(process, _Turn())
        with turn.lock:
            handle = None
            try:
                if not turn.depth and self._folder is not None:
                    handle = self._open(self._folder)
                    self._wait_for(handle)
                turn.depth += 1
                try:
                    yield turn.depth == 1
                finally:
                    turn.depth -= 1
            finally:
                if handle is not None:
                    if fcntl is not None and os.getpid() == process:  # a child has the handle, too
                        with suppress(OSError):
                            fcntl.flock(handle, fcntl.LOCK_UN)
                    os.close(handle)

    @staticmethod
    def _open(folder: Path) -> int:
        try:
            return os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise InputError(f"cannot use {folder} as state folder: {error.strerror or error}.") from None

    def _wait_for(self, handle: int) -> None:
        end = time.monotonic() + WAIT_SECONDS
        while not _try_lock(handle):
            if time.monotonic() > end:
                raise InputError(
                    f"{self._folder} is in use by another process, for more than {WAIT_SECONDS:.0f} seconds. "
                    "Let one monitor at a time use a state folder, and run this one again."
                )
            time.sleep(_POLL_SECONDS)


def _try_lock(handle: int) -> bool:
    """Whether the lock is ours now, or the file system has none."""
    try:
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:  # pragma: no cover
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
    except OSError as error:
        return error.errno in _NO_LOCKS
    return True
