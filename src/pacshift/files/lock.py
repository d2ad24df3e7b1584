"""A lock on a folder: one process at a time changes what is in it. It ends with its process, however that ends."""

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pacshift.errors import InputError

try:
    import fcntl
except ImportError:  # pragma: no cover  # Windows
    fcntl = None  # type: ignore[assignment]
    import msvcrt

LOCK_NAME = ".lock"
"""The file in the folder that is locked. It is never removed: two processes would lock two files of one name."""

WAIT_SECONDS = 60.0
"""How long to wait for another process. A nightly run takes seconds; one that takes longer is worth a message."""

_POLL_SECONDS = 0.05
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL)  # file systems without locks


class FolderLock:
    """Locks a folder for this object; asking again inside does no harm.

    It is written here and not taken from a library because the core depends on three packages only, and a state
    folder must be safe without extras.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._depth = folder, 0

    @contextmanager
    def held(self) -> Iterator[bool]:
        """Hold the lock; yields whether it was taken just now, so that others may have been here before."""
        handle = None if self._depth else self._take()
        self._depth += 1
        try:
            yield self._depth == 1
        finally:
            self._depth -= 1
            if handle is not None:
                os.close(handle)  # which unlocks

    def _take(self) -> int:
        try:
            handle = os.open(self._folder / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise InputError(f"cannot use {self._folder} as state folder: {error.strerror or error}.") from None
        end = time.monotonic() + WAIT_SECONDS
        try:
            while not _try_lock(handle):
                if time.monotonic() > end:
                    raise InputError(
                        f"{self._folder} is in use by another process, for more than {WAIT_SECONDS:.0f} seconds. "
                        "Let one monitor at a time use a state folder, and run this one again."
                    )
                time.sleep(_POLL_SECONDS)
        except BaseException:
            os.close(handle)
            raise
        return handle


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
