"""Columns of a table: those that a certificate was made from, those that are kept beside an answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from pacshift.errors import InputError
from pacshift.files.codec import Rules
from pacshift.scores.names import shorten


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of the labelled table: new tables must have the score columns under the same names.

    Parameters
    ----------
    scores : tuple of str
        One column per class, in the order of the classes, or the one column that holds lists.
    label : str or None
        Column of the true labels.
    group : str or None
        Column that names the group of each row, if one row of each group was counted.
    """

    scores: tuple[str, ...]
    label: str | None = None
    group: str | None = None

    @property
    def used(self) -> tuple[str | None, ...]:
        """All of them."""
        return (*self.scores, self.label, self.group)

    _RULES: ClassVar[Rules] = {
        "score columns differ": lambda self: len(set(self.scores)) == len(self.scores),
    }


def require_columns(keep: Sequence[str], columns: Sequence[str], taken: Sequence[str]) -> None:
    """Raise where a column to ``keep`` is not there once, or has a name that is ``taken`` in the output."""
    absent = [name for name in keep if list(columns).count(name) != 1 or name in taken]
    if absent:
        called = f"{shorten(taken[:-1])} or {taken[-1]!r}"
        raise InputError(
            f"cannot keep {shorten(absent)}: each must be one column of the table and not be called {called}. "
            f"The columns are {shorten(columns, 20)}."
        )
