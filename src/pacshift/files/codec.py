"""Frozen dataclasses to checked, sealed JSON and back: what may stand in a field is written once.

A ``Kind`` says of a value in a document how it is checked and read, how it is written and how a JSON Schema
describes it. The kind of a dataclass follows from the types of its fields (``record``), and from
``Annotated[float, SHARE]`` where the type does not say enough. A class may have ``_RULES`` that its fields keep.
Whatever is wrong with a document is a ValueError that names field, value and rule.
"""

import hashlib
import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from types import NoneType
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from pacshift.errors import InputError
from pacshift.files.writing import PathLike, atomic_write

T = TypeVar("T")
Document: TypeAlias = dict[str, Any]
"""A JSON object, read from a file or to be written."""
Rules: TypeAlias = Mapping[str, Callable[[Any], Any]]
"""What every honest file keeps, in words, and whether it does."""
CHECKSUM = "checksum"
_ALGORITHM = "sha256"
_LARGEST = float(np.finfo(np.float64).max)


class Kind(ABC):
    """What may stand at a place of a document; ``absent`` if it may be left out for None."""

    absent = False

    @abstractmethod
    def read(self, value: Any, path: str) -> Any:
        """What is made of the value at ``path``, or a ValueError."""

    @abstractmethod
    def write(self, value: Any) -> Any:
        """The value as it stands in a document."""

    @property
    @abstractmethod
    def schema(self) -> dict[str, Any]:
        """The part of a JSON Schema that describes it."""

    @property
    def or_null(self) -> "Kind":
        """The same, or null for None."""
        return OrNull(self)


@dataclass(frozen=True)
class Value(Kind):
    """One text, number or flag. ``make`` makes what is read of it, ``plain`` what is written."""

    what: str
    fits: Callable[[Any], bool]
    described: Mapping[str, Any]
    make: Callable[[Any], Any] = lambda value: value
    plain: Callable[[Any], Any] = lambda value: value

    def read(self, value: Any, path: str) -> Any:
        if not self.fits(value):
            raise ValueError(f"{path}: {value!r} where {self.what} belongs")
        return self.make(value)

    def write(self, value: Any) -> Any:
        return self.plain(value)

    @property
    def schema(self) -> dict[str, Any]:
        return dict(self.described)


@dataclass(frozen=True)
class OrNull(Kind):
    """A kind, or null for None; with ``absent`` nothing is written for None."""

    kind: Kind
    absent: bool = False

    def read(self, value: Any, path: str) -> Any:
        return None if value is None and not self.absent else self.kind.read(value, path)

    def write(self, value: Any) -> Any:
        return None if value is None else self.kind.write(value)

    @property
    def schema(self) -> dict[str, Any]:
        return self.kind.schema if self.absent else {"anyOf": [self.kind.schema, {"type": "null"}]}


@dataclass(frozen=True)
class ListOf(Kind):
    """A list of ``least`` to ``most`` entries; ``make`` makes what is read of them."""

    kind: Kind
    make: Callable[[list[Any]], Any] = tuple
    least: int = 0
    most: int | None = None

    def read(self, value: Any, path: str) -> Any:
        if not isinstance(value, list):
            raise ValueError(f"{path}: {value!r} where a list belongs")
        if not self.least <= len(value) <= (len(value) if self.most is None else self.most):
            most = "or more" if self.most is None else f"to {self.most}"
            wanted = self.least if self.least == self.most else f"{self.least} {most}"
            raise ValueError(f"{path}: {len(value)} entries where {wanted} belong")
        return self.make([self.kind.read(one, f"{path}[]") for one in value])

    def write(self, value: Any) -> Any:
        return [self.kind.write(one) for one in (value.tolist() if isinstance(value, np.ndarray) else value)]

    @property
    def schema(self) -> dict[str, Any]:
        ends = {"minItems": self.least or None, "maxItems": self.most}
        return {"type": "array", "items": self.kind.schema} | {name: end for name, end in ends.items() if end}


@dataclass(frozen=True)
class Entries(Kind):
    """An object with these entries, read into a dictionary. What else it holds is for others to read."""

    kinds: Mapping[str, Kind]

    def read(self, value: Any, path: str) -> Any:
        if not isinstance(value, dict):
            raise ValueError(f"{path}: {value!r} where an object belongs")
        record = {}
        for name, kind in self.kinds.items():
            if name in value:
                record[name] = kind.read(value[name], f"{path}.{name}" if path else name)
            elif kind.absent:
                record[name] = None
            else:
                raise ValueError(f"it lacks {name!r}{f' in {path}' if path else ''}")
        return record

    def write(self, value: Any) -> Any:
        kinds = {name: kind for name, kind in self.kinds.items() if value[name] is not None or not kind.absent}
        return {name: kind.write(value[name]) for name, kind in kinds.items()}

    @property
    def schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "required": [name for name, kind in self.kinds.items() if not kind.absent],
            "properties": {name: kind.schema for name, kind in self.kinds.items()},
        }


@dataclass(frozen=True)
class Record(Entries):
    """An object that is a dataclass, entry by entry."""

    cls: type

    def read(self, value: Any, path: str) -> Any:
        entry = self.cls(**super().read(value, path))
        require(getattr(self.cls, "_RULES", {}), entry)
        return entry

    def write(self, value: Any) -> Any:
        return super().write({name: getattr(value, name) for name in self.kinds})


def record(cls: type, **kinds: Kind) -> Record:
    """The kind of a dataclass: ``kinds`` of some fields, of others what follows from their types."""
    hints = get_type_hints(cls, include_extras=True)
    return Record({one.name: kinds.get(one.name) or _kind_of(hints[one.name]) for one in fields(cls)}, cls)


def _kind_of(hint: Any) -> Kind:
    """The kind of a field, read off its type."""
    parts, origin = get_args(hint), get_origin(hint)
    if origin is Annotated:
        return next(part for part in parts if isinstance(part, Kind))
    if hint in _PLAIN:
        return _PLAIN[hint]
    if origin is Literal:
        return choice(*parts)
    if origin is tuple:
        entry, length = _kind_of(parts[0]), None if parts[-1] is ... else len(parts)
        return ListOf(entry, least=length or 0, most=length)
    if NoneType in parts:
        (filled,) = (part for part in parts if part is not NoneType)
        return _kind_of(filled).or_null
    if origin is np.ndarray:
        return NUMBERS if get_args(parts[1])[0] is np.float64 else COUNTS
    if is_dataclass(hint) and isinstance(hint, type):
        return record(hint)
    raise TypeError(f"no kind is known for {hint!r}: annotate the field with one")


def require(rules: Rules, content: Any) -> None:
    """ValueError with the first of the rules that the content of a file breaks."""
    for rule, holds in rules.items():
        if not holds(content):
            raise ValueError(f"it breaks the rule that {rule}")


def is_number(value: Any) -> bool:
    """Whether a value of a document is a finite number; ``true`` is none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= _LARGEST


def is_count(value: Any) -> bool:
    """Whether a value of a document is a whole number from 0 on that 64 bits can hold; ``true`` is none.

    >>> [is_count(value) for value in (0, 7, -1, 2.0, True, None)]
    [True, True, False, False, False, False]
    """
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def choice(*values: str) -> Value:
    """One of some texts."""
    what = f"one of {', '.join(values)}"
    return Value(what, lambda value: isinstance(value, str) and value in values, {"enum": list(values)})


def number(what: str, fits: Callable[[float], bool], **ends: float) -> Value:
    """A finite number that ``fits``; ``ends`` say so in words of a JSON Schema."""
    described = {"type": "number", **ends}
    return Value(what, lambda value: is_number(value) and fits(value), described, float, float)


def pattern(what: str, described: str, fits: Callable[[str], bool] = lambda _: True) -> Value:
    """A text that a regular expression describes; ``fits`` may look closer."""
    form = re.compile(described)

    def is_one(value: Any) -> bool:
        return isinstance(value, str) and form.fullmatch(value) is not None and fits(value)

    return Value(what, is_one, {"type": "string", "pattern": f"^{described}$"})


def plain(value: Any) -> Any:
    """Any value as JSON can hold it: infinities, and what JSON has no form for, become text."""
    if isinstance(value, (np.generic, np.ndarray)):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return value if value is None or isinstance(value, (bool, int, str)) else repr(value)


TEXT = Value("text", lambda value: isinstance(value, str), {"type": "string"})
FLAG = Value("true or false", lambda value: isinstance(value, bool), {"type": "boolean"})
COUNT = Value("a count", is_count, {"type": "integer", "minimum": 0, "maximum": 2**63 - 1}, plain=int)
NUMBER = number("a number", lambda _: True)
SHARE = number("a share between 0 and 1", lambda value: 0 <= value <= 1, minimum=0, maximum=1)
RATE = number("a share above 0 and below 1", lambda value: 0 < value < 1, exclusiveMinimum=0, exclusiveMaximum=1)
OBJECT = Value("an object", lambda value: isinstance(value, dict), {"type": "object"}, plain=plain)
ANYTHING = Value("anything", lambda _: True, {})
NUMBERS = ListOf(NUMBER, lambda values: np.array(values, np.float64))
COUNTS = ListOf(COUNT, lambda values: np.array(values, np.int64))
_PLAIN: dict[Any, Kind] = {str: TEXT, bool: FLAG, int: COUNT, float: NUMBER, dict[str, Any]: OBJECT}


def parse_json(content: bytes) -> Any:
    """The document, or a ValueError: no key twice in an object, no NaN, no number beyond the range of floats.

    >>> parse_json(b'{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ValueError: the key 'a' occurs twice
    """

    def entries(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"the key {twice!r} occurs twice")
        return dict(pairs)

    def no_constant(name: str) -> None:
        raise ValueError(f"{name} is not a JSON number")

    def finite(text: str) -> float:
        if math.isinf(float(text)):
            raise ValueError(f"{text} is beyond the range of numbers")
        return float(text)

    text = content.decode("utf-8")
    try:
        document = json.loads(text, object_pairs_hook=entries, parse_constant=no_constant, parse_float=finite)
        json.dumps(document, ensure_ascii=False).encode()  # lone surrogates could not be written again
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return document


def seal(document: Document) -> Document:
    """The document with a checksum of everything in it, as the last field."""
    content = {name: value for name, value in document.items() if name != CHECKSUM}
    return content | {CHECKSUM: checksum(content)}


def require_seal(document: Document) -> None:
    """ValueError unless the checksum fits the content."""
    recorded = document.get(CHECKSUM)
    if recorded != checksum(document):
        what = "has no checksum" if recorded is None else "does not match its checksum"
        raise ValueError(f"the content {what}: the file was changed after it was written")


def checksum(document: Document) -> str:
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


def write_document(document: Document, path: PathLike, *, overwrite: bool = True) -> None:
    """Write a document as JSON that a person can read, whole or not at all."""
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    with atomic_write(path, overwrite=overwrite) as draft:
        draft.write_text(text + "\n", encoding="utf-8")


def parse_document(
    content: bytes,
    path: PathLike,
    form: str,
    version: int,
    check: Callable[[Document], T],
    *,
    what: str = "certificate",
) -> T:
    """What ``check`` makes of the document of a ``form`` and version, or an InputError that says what is wrong."""
    try:
        document = parse_json(content)
    except ValueError as error:
        raise InputError(f"{path} is not a {what}: it is not JSON ({error}).") from None
    if not isinstance(document, dict) or document.get("format") != form:
        raise InputError(f"{path} is not a {what}: it does not say format {form!r}.")
    stated = document.get("version")
    if type(stated) is not int or stated != version:  # True == 1
        raise InputError(
            f"{path}: {what} version {stated!r}, this pacshift reads {version}. Update pacshift or make the "
            f"{what} again."
        )
    try:
        return check(document)
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        cause = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(
            f"{path}: damaged {what}: {cause}. Ask its maker for the original, or make it again."
        ) from None
