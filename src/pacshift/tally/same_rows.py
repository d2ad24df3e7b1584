"""No row counts twice: digests of what was counted, and which tallies hold the same rows.

Every proof is about independent rows. Tallies know what they were counted from (``Tally.inputs``): files with
their names, rows, columns and SHA-256. Those of arrays in memory do not until they are saved, and add up whatever
they hold.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pacshift.errors import InputError
from pacshift.tally.inputs import Input, Role

if TYPE_CHECKING:
    from pacshift.tally.tally import Tally


def list_inputs(tally: "Tally") -> list[Input]:
    """The inputs of a tally, and an entry for rows in memory that none of them stands for."""
    inputs = list(tally.inputs)
    sides: tuple[tuple[Role, int], ...] = (("source", tally.n_source), ("target", tally.n_target))
    for role, n_rows in sides:
        of_role = [entry for entry in tally.inputs if entry.role == role]
        known = [entry.rows for entry in of_role if entry.rows is not None]
        rest = n_rows - sum(known)
        if rest and len(known) == len(of_role) and not tally.n_more_inputs:
            inputs.append(Input(role, None, rest, (), None if of_role else counts_sha256(tally, role)))
        elif len(of_role) == 1 and not rest and of_role[0].name is None and of_role[0].sha256 is None:  # one frame
            inputs[inputs.index(of_role[0])] = replace(of_role[0], sha256=counts_sha256(tally, role))
    return inputs


def counts_sha256(tally: "Tally", role: Role) -> str | None:
    """SHA-256 of the counts of one side. How the rows were ordered or split does not change it.

    Of scores that nobody sorted two sums stand for all. None of a target of which only the number is known.

    >>> from pacshift import Tally
    >>> north, south = (Tally.from_scores([[0.9, 0.1], [0.2, 0.8]], labels) for labels in ([0, 1], [1, 1]))
    >>> counts_sha256(north + south, "source") == counts_sha256(south + north, "source")
    True
    """
    cells = tally.source_cells if role == "source" else tally.target_cells
    digest = hashlib.sha256(json.dumps([role, list(tally.classes)]).encode())
    arrays: list[NDArray[Any]] = [cells.codes, cells.counts]
    if role == "target" and cells.bins == "not counted":
        return None
    if role == "source" and tally.raw is not None:
        digest.update(tally.raw.digest().astype("<u8").data)
    elif role == "source":
        all_differ = len(tally.values) == tally.n_source  # then all counts are 1: half of the bytes
        arrays += [tally.values, *([] if all_differ else [tally.counts]), tally.starts]
    for array in arrays:
        digest.update(np.ascontiguousarray(array, "<f8" if array.dtype.kind == "f" else "<i8").data)
    return digest.hexdigest()


MIN_NUMBERS = 50
"""Counts of so many rows, scores or bins do not agree by chance; those of fewer might. A round number."""


def require_distinct(parts: Sequence["Tally"], names: Sequence[str] = ()) -> None:
    """Refuse a sum that would count rows twice; ``names`` says how its parts are called.

    The same rows in another order or in another kind of file have another SHA-256, but the same counts.
    """
    files: dict[tuple[Role, str], str] = {}
    counts: dict[tuple[Role, str | None], str] = {}
    for name, part in zip(names or [f"tally {place + 1}" for place in range(len(parts))], parts, strict=True):
        for entry in part.inputs:
            # Without a file it is the SHA-256 of counts, and those of few rows agree by chance.
            if entry.sha256 is None or (entry.name is None and (entry.rows or 0) < MIN_NUMBERS):
                continue
            other = files.get((entry.role, entry.sha256))
            if other is not None:
                where = f"counted twice in {name}" if other == name else f"in both {other} and {name}"
                what = "the same rows are" if entry.name is None else f"the file {entry.name!r} is"
                raise InputError(
                    f"{what} {where} ({entry.role}, SHA-256 {entry.sha256[:12]}…). Rows must be counted once: "
                    "leave one tally out, or count it again without these rows."
                )
            files[entry.role, entry.sha256] = name
        for role in sorted({entry.role for entry in part.inputs}) if len(parts) > 1 else ():
            key = role, rows_sha256(part, role)
            if key in counts:
                raise InputError(
                    f"{counts[key]} and {name} hold the same {role} counts, so the same rows. Rows must be "
                    "counted once: leave one of the tallies out."
                )
            if key[1] is not None:
                counts[key] = name


def rows_sha256(part: "Tally", role: Role) -> str | None:
    """A digest of the rows of one side: equal for the same rows in any order. None where equal means nothing."""
    if role == "target" and part.bins is not None:
        if np.count_nonzero(part.bins) < MIN_NUMBERS:
            return None
        bins = np.ascontiguousarray(part.bins, dtype="<i8").tobytes()
        return hashlib.sha256(str(counts_sha256(part, role)).encode() + bins).hexdigest()
    numbers = part.values if role == "source" else part.target_cells.codes
    return None if len(numbers) < MIN_NUMBERS else counts_sha256(part, role)
