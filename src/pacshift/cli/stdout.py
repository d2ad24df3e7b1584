"""Standard output that arrives whole, or the command fails: a file on a full disk must not look like an answer."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def whole_output() -> Iterator[None]:
    """What was printed inside has been written when this ends; an OSError, if it cannot be, is raised once.

    Python itself would try again when it ends, say so in its own words and take an exit code of its own.
    """
    _use_buffer()
    try:
        try:
            yield
        finally:
            _flush()
    except BrokenPipeError:
        raise  # `pacshift ... | head` is no error
    except OSError:
        _drop_what_is_left()
        raise


def _use_buffer() -> None:
    """Without buffers (PYTHONUNBUFFERED, usual in containers) Python silently drops what does not fit."""
    raw = getattr(sys.stdout, "buffer", None)
    if isinstance(raw, io.RawIOBase):
        encoding, errors = sys.stdout.encoding, sys.stdout.errors
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(raw), encoding=encoding, errors=errors, line_buffering=True
        )


def _drop_what_is_left() -> None:
    try:
        _flush()
    except OSError:
        with suppress(OSError, ValueError):  # what is no file cannot be full either
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _flush() -> None:
    if sys.stdout is not None:  # as it is where the shell has closed it
        sys.stdout.flush()
