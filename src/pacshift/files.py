"""Files that are written completely or not at all, and files that are looked at before they are read."""

import errno
import hashlib
import os
import re
import secrets
import stat
import zipfile
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pacshift.errors import InputError

try:
    import fcntl
except ImportError:  # pragma: no cover  # Windows: drafts of killed processes are not found there
    fcntl = None  # type: ignore[assignment]

PathLike: TypeAlias = str | os.PathLike[str]

MAX_BYTES_VARIABLE = "PACSHIFT_MAX_BYTES"
DEFAULT_MAX_BYTES = 4_000_000_000
"""What one file may take in memory when it cannot be read in pieces: 4 GB."""

JSON_GROWTH = 16
"""A parsed JSON file takes up to about this many times its size."""

MAX_NAME_BYTES = 255
"""File names of all common file systems end here."""

_HEAD_BYTES = 1 << 16  # files of one size that differ mostly do so within these

_DRAFT = re.compile(r"\.pacshift-[0-9a-f]{12}-.*\.part(\.[^.]*)?", re.DOTALL)


@contextmanager
def atomic_write(path: PathLike, *, overwrite: bool = True) -> Iterator[Path]:
    """Yield a temporary path in the folder of ``path``; rename it on success, remove it on failure or Ctrl-C.

    A draft is locked while its process lives. The next write removes those that are not: their process was killed.
    """
    final = check_output(path, overwrite=overwrite)
    draft, lock = final.with_name(_draft_name(final)), None
    try:  # from before the draft exists: a signal may arrive at any moment
        _remove_stale_drafts(final.parent)
        lock = _create_locked(draft)
        yield draft
        _flush(lock)  # a full disk is noticed here at the latest, before the old file is replaced
        os.replace(draft, final)
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        draft.unlink(missing_ok=True)
        if lock is not None:
            os.close(lock)


def _flush(handle: int) -> None:
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS):  # file systems that cannot
            raise


def check_output(path: PathLike, *, overwrite: bool, inputs: Iterable[PathLike] = ()) -> Path:
    """The file to write, links followed. A folder, a device or one of the ``inputs`` is refused."""
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
    for read in inputs:
        if mode is not None and os.path.exists(read) and os.path.samefile(read, final):
            raise InputError(
                f"cannot write {path}: it is the same file as the input {read}, which would be lost. "
                "Choose another name."
            )
    if mode is not None and not overwrite:
        raise InputError(
            f"{path} exists already. Choose another name (-o NAME), or overwrite it (--force, overwrite=True)."
        )
    return final


def _cannot_write(path: PathLike, error: Exception) -> InputError:
    return InputError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}.")


def _create_locked(draft: Path) -> int:
    """Make a new empty file; the open handle that is returned locks it."""
    while True:
        handle = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        if fcntl is not None:
            with suppress(OSError):  # a file system without locks: then nobody removes drafts either
                fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return handle
        os.close(handle)  # another process took it for a stale draft before it was locked


def _draft_name(final: Path) -> str:
    """A name not longer than file systems allow. The suffix stays last: np.savez adds its own if it is missing."""
    head, tail = f".pacshift-{secrets.token_hex(6)}-", f".part{final.suffix}"
    room = MAX_NAME_BYTES - len(os.fsencode(head + tail))
    stem = os.fsencode(final.stem)[: max(room, 0)].decode("utf-8", "ignore")
    return f"{head}{stem}{tail if room >= 0 else '.part'}"


def _remove_stale_drafts(folder: Path) -> None:
    """Remove what killed processes left in ``folder``: drafts that nobody holds a lock on."""
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


def max_bytes() -> int:
    """How many bytes of one file may be in memory at once: ``PACSHIFT_MAX_BYTES``, by default 4 GB."""
    text = os.environ.get(MAX_BYTES_VARIABLE, "").strip() or str(DEFAULT_MAX_BYTES)
    if not re.fullmatch(r"[0-9]{1,18}", text) or not int(text):
        raise InputError(f"{MAX_BYTES_VARIABLE} must be a whole number of bytes above 0, got {text!r}.")
    return int(text)


def too_large(path: PathLike, size: int) -> InputError:
    """The error for a file that would fill the memory."""
    return InputError(
        f"cannot read {path}: it would take {size:,} bytes of memory, the limit is {max_bytes():,}. If the "
        f"file is right, raise the limit: set the environment variable {MAX_BYTES_VARIABLE}. Large tables are "
        "better kept as Parquet."
    )


def read_document(path: PathLike) -> bytes:
    """The content of a JSON file, or an InputError before more is read than the limit allows."""
    limit = max_bytes() // JSON_GROWTH
    try:
        with open(path, "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) and not stat.S_ISFIFO(found.st_mode):
                raise InputError(f"cannot read {path}: it is a device. Name a regular file.")
            content = b"" if found.st_size > limit else file.read(limit + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}.") from None
    if max(found.st_size, len(content)) > limit:
        raise too_large(path, max(found.st_size, len(content)) * JSON_GROWTH)
    return content


def require_regular(path: PathLike) -> None:
    """Refuse devices, pipes and empty files before anything is read from them."""
    try:
        found = os.stat(path)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}.") from None
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"cannot read {path}: it is not a regular file. Write the table to a file first.")
    if not found.st_size:
        raise InputError(f"cannot read {path}: the file is empty. Leave it out or write it again.")


def read_arrays(path: PathLike, names: Iterable[str] | None = None) -> dict[str, NDArray[Any]]:
    """The arrays of an .npz file, never unpickled; all of them or those among ``names``.

    Sizes are looked up before anything is unpacked. Damage ends in a ValueError that says what was found.
    """
    require_regular(path)
    try:
        with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
            if unpacked > max_bytes():
                raise too_large(path, unpacked)
            return _unpack(file, names)
    except InputError:
        raise
    except Exception as error:  # damaged archives raise a dozen kinds, from zlib.error to SystemError
        raise ValueError(str(error) or type(error).__name__) from None


def _unpack(file: BinaryIO, names: Iterable[str] | None) -> dict[str, NDArray[Any]]:
    file.seek(0)
    with np.load(file, allow_pickle=False) as arrays:
        wanted = [name for name in arrays.files if names is None or name in names]
        found = {name: arrays[name] for name in wanted}
    if not all(isinstance(array, np.ndarray) for array in found.values()):
        raise ValueError("a member is not an array")  # NumPy hands out other members as bytes
    return found


def file_sha256(path: PathLike) -> str:
    """SHA-256 of the bytes of a file."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}.") from None


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
