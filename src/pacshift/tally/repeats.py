"""No row counts twice: tallies that were counted from the same file, or that hold the same counts, do not add.

Every proof is about independent rows. Tallies know what they were counted from (``Tally.inputs``); those of arrays
in memory do not until they are saved, and add up whatever they hold.
"""

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pacshift.errors import InputError
from pacshift.tally.inputs import Input, Role, counts_sha256

if TYPE_CHECKING:
    from pacshift.tally.tally import Tally

MIN_NUMBERS = 50
"""Counts of so many rows, scores or bins do not agree by chance; those of fewer might. A round number."""


def require_distinct(parts: Sequence["Tally"], names: Sequence[str] = ()) -> None:
    """Refuse a sum that would count rows twice; ``names`` says how its parts are called."""
    called = names or [f"tally {place}" for place in range(1, len(parts) + 1)]
    _require_distinct_inputs(parts, called)
    if len(parts) > 1:
        _require_distinct_counts(parts, called)


def _require_distinct_inputs(parts: Sequence["Tally"], names: Sequence[str]) -> None:
    seen: dict[tuple[Role, str], str] = {}
    for name, part in zip(names, parts, strict=True):
        for one in part.inputs:
            if one.sha256 is None or not _is_telling(one):
                continue
            other = seen.get((one.role, one.sha256))
            if other is not None:
                where = f"counted twice in {name}" if other == name else f"in both {other} and {name}"
                what = "the same rows are" if one.name is None else f"the file {one.name!r} is"
                raise InputError(
                    f"{what} {where} ({one.role}, SHA-256 {one.sha256[:12]}…). Rows must be counted once: leave "
                    "one tally out, or count it again without these rows."
                )
            seen[one.role, one.sha256] = name


def _is_telling(one: Input) -> bool:
    """Whether an equal SHA-256 says that the rows are the same: without a file it is that of the counts."""
    return one.name is not None or (one.rows or 0) >= MIN_NUMBERS


def _require_distinct_counts(parts: Sequence["Tally"], names: Sequence[str]) -> None:
    """The same rows in another order or in another kind of file have another SHA-256, but the same counts."""
    seen: dict[tuple[Role, str], str] = {}
    for name, part in zip(names, parts, strict=True):
        for role in sorted({one.role for one in part.inputs}):
            sha256 = rows_sha256(part, role)
            if sha256 is None:
                continue
            key = role, sha256
            if key in seen:
                raise InputError(
                    f"{seen[key]} and {name} hold the same {role} counts, so the same rows. Rows must be counted "
                    "once: leave one of the tallies out."
                )
            seen[key] = name


def _n_numbers(part: "Tally", role: Role) -> int:
    if role == "source":
        return len(part.values)
    return len(part.target_cells.codes) if part.bins is None else int(np.count_nonzero(part.bins))


def rows_sha256(part: "Tally", role: Role) -> str | None:
    """A digest of the rows of one side: equal for the same rows in any order. None where equal means nothing."""
    if _n_numbers(part, role) < MIN_NUMBERS:
        return None
    counts = counts_sha256(part, role)
    if role == "source" or part.bins is None:
        return counts
    bins = np.ascontiguousarray(part.bins, dtype="<i8").tobytes()
    return hashlib.sha256(counts.encode() + bins).hexdigest()
