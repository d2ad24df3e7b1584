"""JSON documents read strictly, sealed with a checksum, and marked with when and by what they were written."""

import hashlib
import json
import math
import os
from datetime import UTC, datetime
from functools import cache
from typing import Any

from pacshift.errors import InputError

CHECKSUM = "checksum"
_ALGORITHM = "sha256"

EPOCH_VARIABLE = "SOURCE_DATE_EPOCH"
"""Seconds since 1970 to use instead of the clock, so that files can be made again bit for bit."""

TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


def parse_json(content: bytes) -> Any:
    """The document, or a ValueError: no key twice in an object, no NaN, no number beyond the range of floats.

    >>> parse_json(b'{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ValueError: the key 'a' occurs twice
    """
    try:
        document = json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_object,
            parse_constant=_no_constant,
            parse_float=_finite,
        )
        json.dumps(document, ensure_ascii=False).encode()  # lone surrogates could not be written again
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return document


def seal(document: dict[str, Any]) -> dict[str, Any]:
    """The document with a checksum of everything in it, as the last field."""
    content = {name: value for name, value in document.items() if name != CHECKSUM}
    return content | {CHECKSUM: checksum(content)}


def require_seal(document: dict[str, Any]) -> None:
    """ValueError unless the checksum fits the content."""
    given = document.get(CHECKSUM)
    if given != checksum(document):
        what = "has no checksum" if given is None else "does not match its checksum"
        raise ValueError(f"the content {what}: the file was changed after it was written")


def checksum(document: dict[str, Any]) -> str:
    """SHA-256 of every field but the checksum. Spaces, line ends and the order of keys do not matter.

    >>> checksum({"a": 1.0, "b": "ü"}) == checksum({"b": "ü", "a": 1})
    True
    """
    content = {name: value for name, value in document.items() if name != CHECKSUM}
    text = json.dumps(_canonical(content), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return f"{_ALGORITHM}:{hashlib.sha256(text.encode()).hexdigest()}"


def _canonical(value: Any) -> Any:
    """Whole numbers in one form: programs in other languages write 1.0 as 1."""
    if isinstance(value, dict):
        return {name: _canonical(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_canonical(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _value in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} occurs twice")
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text} is beyond the range of numbers")
    return number


def is_count(value: Any) -> bool:
    """Whether a value of a document is a whole number, 0 or more; ``true`` is none.

    >>> [is_count(value) for value in (0, 7, -1, 2.0, True, None)]
    [True, True, False, False, False, False]
    """
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def require_text(value: Any) -> str:
    """The text itself, or a ValueError."""
    if not isinstance(value, str):
        raise ValueError(f"{value!r} where text belongs")
    return value


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


@cache
def pacshift_version() -> str:
    """The installed version."""
    from importlib.metadata import PackageNotFoundError, version  # 30 ms to import, and few calls ask

    try:
        return version("pacshift")
    except PackageNotFoundError:  # run from its source without being installed
        return "unknown"
