"""Fields of a certificate that are computed when first asked for."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from pacshift.arrays import read_only

Value = TypeVar("Value")


class LazyField(Generic[Value]):
    """A field that holds a value, or a function that computes it, which runs once, at the first look."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, owner: Any, kind: type) -> Value | None:
        if owner is None:
            return None
        given = owner.__dict__[self.name]
        if callable(given):
            given = owner.__dict__[self.name] = read_only(given())
        found: Value | None = given
        return found

    def __set__(self, owner: Any, given: Value | Callable[[], Value | None] | None) -> None:
        given = None if isinstance(given, LazyField) else given  # its default
        owner.__dict__[self.name] = given if callable(given) else read_only(given)
