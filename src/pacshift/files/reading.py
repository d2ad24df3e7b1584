"""Files that are looked at before they are read: devices, empty files, and what would fill the memory."""

import os
import re
import stat
import zipfile
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.errors import InputError
from pacshift.files.writing import PathLike

MAX_BYTES_VARIABLE = "PACSHIFT_MAX_BYTES"


DEFAULT_MAX_BYTES = 4_000_000_000
"""What one file may take in memory when it cannot be read in pieces: 4 GB."""


JSON_GROWTH = 16
"""A parsed JSON file takes up to about this many times its size."""


def max_bytes() -> int:
    """How many bytes of one file may be in memory at once: ``PACSHIFT_MAX_BYTES``, by default 4 GB."""
    text = os.environ.get(MAX_BYTES_VARIABLE, "").strip() or str(DEFAULT_MAX_BYTES)
    if not re.fullmatch(r"[0-9]{1,100}", text) or not int(text):
        raise InputError(f"{MAX_BYTES_VARIABLE} must be a whole number of bytes above 0, got {text!r}.")
    return min(int(text), 10**18)  # what a file can have; Python reads no more than that at once


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
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) and not stat.S_ISFIFO(status.st_mode):
                raise InputError(f"cannot read {path}: it is a device. Name a regular file.")
            content = b"" if status.st_size > limit else file.read(limit + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}.") from None
    if max(status.st_size, len(content)) > limit:
        raise too_large(path, max(status.st_size, len(content)) * JSON_GROWTH)
    return content


def require_regular(path: PathLike) -> None:
    """Refuse devices, pipes and empty files before anything is read from them."""
    try:
        status = os.stat(path)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}.") from None
    if not stat.S_ISREG(status.st_mode):
        raise InputError(f"cannot read {path}: it is not a regular file. Write the table to a file first.")
    if not status.st_size:
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
            file.seek(0)
            with np.load(file, allow_pickle=False) as arrays:
                wanted = {name: arrays[name] for name in arrays.files if names is None or name in names}
        if not all(isinstance(array, np.ndarray) for array in wanted.values()):
            raise ValueError("a member is not an array")  # NumPy hands out other members as bytes
        return wanted
    except InputError:
        raise
    except Exception as error:  # damaged archives raise a dozen kinds, from zlib.error to SystemError
        raise ValueError(str(error) or type(error).__name__) from None
