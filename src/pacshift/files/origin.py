"""When and by what a file is written: the time, the version, and the code itself."""

import hashlib
import os
import sys
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from pacshift.errors import InputError

EPOCH_VARIABLE = "SOURCE_DATE_EPOCH"
"""Seconds since 1970 to use instead of the clock, so that files can be made again bit for bit."""

TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"

PACSHIFT_VERSION: str = sys.modules["pacshift"].__version__
"""Of the code that runs, whatever is installed. An import would be circular."""


def current_time() -> datetime:
    """Now, in UTC, or the moment that ``SOURCE_DATE_EPOCH`` names."""
    text = os.environ.get(EPOCH_VARIABLE, "").strip()
    if not text:
        return datetime.now(UTC)
    try:
        return datetime.fromtimestamp(int(text), UTC)
    except (ValueError, OverflowError, OSError):
        raise InputError(
            f"{EPOCH_VARIABLE} must be a whole number of seconds since 1970, got {text!r}. Correct or unset it."
        ) from None


PACKAGE = Path(__file__).resolve().parents[1]


@cache
def code_identity(package: Path = PACKAGE) -> str | None:
    """The code that runs: ``"source sha256:..."`` of its modules, or None where they cannot be read.

    A checkout, a wheel and an edited copy are told apart by their code, not by where they come from: the same
    modules have the same hash. It takes about 10 ms, once.
    """
    lines = []
    try:
        for module in package.rglob("*.py"):
            source = module.read_bytes().replace(b"\r\n", b"\n")  # as git writes lines on Windows
            lines.append(f"{module.relative_to(package).as_posix()} {hashlib.sha256(source).hexdigest()}\n")
    except OSError:
        return None
    return f"source sha256:{hashlib.sha256(''.join(sorted(lines)).encode()).hexdigest()}" if lines else None
