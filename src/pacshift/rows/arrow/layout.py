"""The layout of a table: which columns hold the scores and the label, and what the classes are called."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pacshift.arrays import Label
from pacshift.errors import InputError
from pacshift.rows.arrow.source import Records, Source
from pacshift.rows.columns import Columns


class ColumnsError(InputError):
    """Columns could not be found in a table."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for; ``columns`` are those that a certificate or the source remembers.

    ``scores`` is a pattern, a comma list or one list column.
    """

    label: str | None
    scores: str | None = None
    classes: Sequence[Label] | None = None
    by_position: bool = False
    columns: Columns | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """Score columns in the order of ``classes``, or one column of lists; the label column, if there is one.

    ``order`` says which entry of a list belongs to each class, where it is not the entry of the same number.
    ``is_named`` tells whether the user named the classes, or the names of the columns did. ``group`` is the column
    that names the group of each row, if there is one.
    """

    columns: tuple[str, ...]
    is_list: bool
    classes: tuple[Label, ...]
    label: str | None
    order: tuple[int, ...] | None = None
    is_named: bool = False
    group: str | None = None

    def batches(self, source: Source, columns: Sequence[str] = ()) -> Iterator[Records]:
        """The rows of the table: score columns, label, group, then other ``columns``."""
        others = [name for name in dict.fromkeys(columns) if name not in self.needed]
        return source.batches(self.columns, len(self.classes), self.needed[len(self.columns) :], others)

    @property
    def needed(self) -> tuple[str, ...]:
        """Score columns, then the label and the group."""
        return (*self.columns, *(name for name in (self.label, self.group) if name is not None))

    def without_label(self) -> "Layout":
        """The same table read as an unlabelled target."""
        return replace(self, label=None)

    @property
    def remembered(self) -> Columns:
        """What a certificate remembers of the table."""
        return Columns(self.columns, self.label, self.group)
