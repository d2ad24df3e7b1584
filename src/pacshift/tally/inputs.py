"""What a tally was counted from: files with their names, rows, columns and SHA-256, or rows in memory."""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import numpy as np

from pacshift.files.codec import COUNT, Value, is_count, pattern

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
        Rows counted, with groups one of each; None for one of several files that a cluster has read.
    columns : tuple of str
        Columns that were read; empty for arrays and tallies.
    sha256 : str or None
        SHA-256 of the file's bytes, or of the counts of rows in memory. None where it was not computed.
    left_out : int or None
        Rows of the file that were not counted, because they cannot be used (``drop_invalid``). None where it is
        not known: for one of several files that a cluster has read.
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

    def _require_consistent(self) -> None:
        if self.left_out is None and self.left_out_why:
            raise ValueError("reasons why rows were left out, but not how many")
        if self.rows_read is not None and self.rows_read < (self.rows or 0) + (self.left_out or 0):
            raise ValueError(f"{self.rows_read} rows in all, fewer than were counted and left out")


def why_in_words(why: Sequence[tuple[str, int]]) -> str:
    """Reasons with their numbers of rows, in brackets and with a blank in front.

    >>> why_in_words([("no label", 1200)]), why_in_words([])
    (' (1,200 with no label)', '')
    """
    listed = ", ".join(f"{count:,} with {reason}" for reason, count in sorted(why))
    return f" ({listed})" if listed else ""


def together(inputs: Sequence[Input]) -> tuple[int | None, tuple[tuple[str, int], ...], int | None]:
    """What all of ``inputs`` leave out, why, and of how many rows; None where one of them does not say."""
    why = sum((Counter(dict(one.left_out_why)) for one in inputs), Counter[str]())
    return (
        _total([one.left_out for one in inputs]),
        tuple(sorted(why.items())),
        _total([one.rows_read for one in inputs]),
    )


def _total(numbers: Sequence[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


def merged(parts: Sequence["Tally"]) -> tuple[tuple[Input, ...], int]:
    """The inputs of a sum, and how many more there are. How the parts are ordered or grouped does not matter."""
    found = sorted((one for part in parts for one in part.inputs), key=_sort_key)
    n_more = sum(part.n_more_inputs for part in parts)
    return tuple(found[:MAX_INPUTS]), n_more + max(0, len(found) - MAX_INPUTS)


def _sort_key(one: Input) -> tuple[str, str, str, int, tuple[str, ...]]:
    return one.role, one.name or "", one.sha256 or "", one.rows or 0, one.columns


def all_inputs(tally: "Tally") -> list[Input]:
    """The inputs of a tally, and an entry for rows in memory that none of them stands for."""
    found = list(tally.inputs)
    sides: tuple[tuple[Role, int], ...] = (("source", tally.n_source), ("target", tally.n_target))
    for role, n_rows in sides:
        own = [one for one in found if one.role == role]
        known = [one.rows for one in own if one.rows is not None]
        rest = n_rows - sum(known)
        if rest and len(known) == len(own) and not tally.n_more_inputs:
            found.append(Input(role, None, rest, (), None if own else counts_sha256(tally, role)))
        elif len(own) == 1 and not rest and own[0].name is None and own[0].sha256 is None:  # one frame
            found[found.index(own[0])] = replace(own[0], sha256=counts_sha256(tally, role))
    return found


def counts_sha256(tally: "Tally", role: Role) -> str:
    """SHA-256 of the counts of one side. How the rows were ordered or split does not change it.

    >>> from pacshift import Tally
    >>> north, south = (Tally.from_scores([[0.9, 0.1], [0.2, 0.8]], labels) for labels in ([0, 1], [1, 1]))
    >>> counts_sha256(north + south, "source") == counts_sha256(south + north, "source")
    True
    """
    cells = tally.source_cells if role == "source" else tally.target_cells
    digest = hashlib.sha256(json.dumps([role, list(tally.classes)]).encode())
    scores = (tally.values, tally.counts, tally.starts) if role == "source" else ()
    for array in (cells.codes, cells.counts, *scores):
        digest.update(np.ascontiguousarray(array, "<f8" if array.dtype.kind == "f" else "<i8").data)
    return digest.hexdigest()


def limited(inputs: Sequence[Input], n_more: int = 0) -> tuple[Input, ...]:
    """At most ``MAX_INPUTS`` entries; the last one stands for the rest, by the SHA-256 of their SHA-256."""
    if len(inputs) + n_more <= MAX_INPUTS:
        return tuple(inputs)
    shown, rest = inputs[: MAX_INPUTS - 1], inputs[MAX_INPUTS - 1 :]
    sha256 = hashlib.sha256("\n".join(str(one.sha256) for one in rest).encode()).hexdigest()
    name, left_out = f"{len(rest) + n_more:,} more files", (None, (), None) if n_more else together(rest)
    return (*shown, Input(inputs[-1].role, name, None, (), None if n_more else sha256, *left_out))


def printable(text: str) -> str:
    """Text that UTF-8 can hold: bytes of a file name that are not text are written as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()
