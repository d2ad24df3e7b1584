"""What was counted: files and rows in memory with their SHA-256, what was left out of them, rows of groups."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypeAlias

from pacshift.files.codec import COUNT, Rules, Value, is_count, pattern

if TYPE_CHECKING:
    from pacshift.tally.tally import Tally


Role: TypeAlias = Literal["source", "target"]

MAX_INPUTS = 200
"""Inputs listed per tally or certificate; of others only the number is known. A round number: about 40 kB of
JSON."""

SHA256 = pattern("a SHA-256", "[0-9a-f]{64}")
REASONS = Value(
    "numbers of rows by reason",
    lambda why: isinstance(why, dict) and all(map(is_count, why.values())),
    {"type": "object", "additionalProperties": COUNT.schema},
    lambda why: tuple(why.items()),
    dict,
)


@dataclass(frozen=True, slots=True)
class Input:
    """One file that a certificate or a tally was made from, or rows in memory.

    Parameters
    ----------
    role : {"source", "target"}
        What the rows were used as.
    name : str or None
        Name of the file; None for arrays and frames.
    rows : int or None
        Rows counted, with groups one of each; None for what stands for several files.
    columns : tuple of str
        Columns that were read; empty for arrays and tallies.
    sha256 : str or None
        SHA-256 of the file's bytes, or of the counts of rows in memory. None where it was not computed.
    left_out : int or None
        Rows of the file that were not counted, because they cannot be used (``drop_invalid``). None where it is
        not known.
    left_out_why : tuple of (str, int)
        Reasons, each with its number of rows. A row may be left out for two of them.
    rows_read : int or None
        Rows of the file in all: counted, left out, and not chosen of their group. None where it is not known.
    """

    role: Role
    name: str | None
    rows: int | None
    columns: tuple[str, ...]
    sha256: Annotated[str | None, SHA256.or_null]
    left_out: int | None = 0
    left_out_why: Annotated[tuple[tuple[str, int], ...], REASONS] = ()
    rows_read: int | None = None

    @property
    def left_out_in_words(self) -> str:
        """How many rows were left out and why; "" if there were none or nobody knows."""
        if not self.left_out:
            return ""
        of_all = "" if self.rows_read is None else f" of {self.rows_read:,}"
        return f"{self.left_out:,}{of_all} rows{why_in_words(self.left_out_why)}"

    _RULES: ClassVar[Rules] = {
        "no reason leaves out more rows than are left out": lambda self: all(
            count <= (self.left_out or 0) for _, count in self.left_out_why
        ),
        "no more rows are counted and left out than are read": lambda self: (
            self.rows_read is None or (self.rows or 0) + (self.left_out or 0) <= self.rows_read
        ),
    }


@dataclass(frozen=True, slots=True)
class Grouped:
    """What is known of rows of which one per group was counted.

    Parameters
    ----------
    rows : int
        Rows in all, of which one per group was counted.
    parts : int
        Parts whose rows were chosen apart from each other and then added. A group must not be in two of them;
        nothing can check it, because a tally holds no names of groups.
    shared : int
        Groups of the target whose name is also one of the source, where both were at hand.
    """

    rows: int
    parts: int = 1
    shared: int = 0

    def __add__(self, other: "Grouped") -> "Grouped":
        return Grouped(self.rows + other.rows, self.parts + other.parts, self.shared + other.shared)

    _RULES: ClassVar[Rules] = {
        "every part of grouped rows has a row": lambda self: 1 <= self.parts <= self.rows,
        "no more groups are shared than there are rows": lambda self: self.shared <= self.rows,
    }


def why_in_words(why: Sequence[tuple[str, int]]) -> str:
    """Reasons with their numbers of rows, in brackets and with a blank in front.

    >>> why_in_words([("no label", 1200)]), why_in_words([])
    (' (1,200 with no label)', '')
    """
    listed = ", ".join(f"{count:,} with {reason}" for reason, count in sorted(why))
    return f" ({listed})" if listed else ""


def sum_left_out(inputs: Sequence[Input]) -> tuple[int | None, tuple[tuple[str, int], ...], int | None]:
    """What all of ``inputs`` leave out, why, and of how many rows; None where one of them does not say."""
    why = sum((Counter(dict(entry.left_out_why)) for entry in inputs), Counter[str]())
    return (
        _sum_known([entry.left_out for entry in inputs]),
        tuple(sorted(why.items())),
        _sum_known([entry.rows_read for entry in inputs]),
    )


def _sum_known(numbers: Sequence[int | None]) -> int | None:
    """The sum, or None where a number is not known."""
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


def merge_inputs(parts: Sequence["Tally"]) -> tuple[tuple[Input, ...], int]:
    """The inputs of a sum, and how many more there are. How the parts are ordered or grouped does not matter."""
    inputs = sorted(
        (entry for part in parts for entry in part.inputs),
        key=lambda entry: (entry.role, entry.name or "", entry.sha256 or "", entry.rows or 0, entry.columns),
    )
    n_more = sum(part.n_more_inputs for part in parts)
    return tuple(inputs[:MAX_INPUTS]), n_more + max(0, len(inputs) - MAX_INPUTS)


def shorten_inputs(inputs: Sequence[Input], n_more: int = 0) -> tuple[Input, ...]:
    """At most ``MAX_INPUTS`` entries; the last one stands for the rest, by the SHA-256 of their SHA-256."""
    if len(inputs) + n_more <= MAX_INPUTS:
        return tuple(inputs)
    shown, rest = inputs[: MAX_INPUTS - 1], inputs[MAX_INPUTS - 1 :]
    sha256 = hashlib.sha256("\n".join(str(entry.sha256) for entry in rest).encode()).hexdigest()
    name, left_out = f"{len(rest) + n_more:,} more files", (None, (), None) if n_more else sum_left_out(rest)
    return (*shown, Input(inputs[-1].role, name, None, (), None if n_more else sha256, *left_out))


def printable(text: str) -> str:
    """Text that UTF-8 can hold: bytes of a file name that are not text are written as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()
