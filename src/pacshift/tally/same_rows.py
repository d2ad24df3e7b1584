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

from pacshift.arrays import FloatArray, IntArray
from pacshift.errors import InputError
from pacshift.tally.cells import Cells
from pacshift.tally.grid import BINS, bin_of
from pacshift.tally.inputs import Input, Role
from pacshift.tally.stores import sum_by_key

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


def may_hold(many: "Tally", few: "Tally") -> bool:
    """Whether the rows of ``few`` may be among those of ``many``: no count of theirs is larger.

    Labelled rows are looked for among the labelled ones of ``many`` with their labels, and among unlabelled ones
    without. Counts are coarse, so other rows may fit too; rows that do not fit are others.

    >>> from pacshift import Tally
    >>> period, one = Tally.from_target([[0.9, 0.1], [0.2, 0.8]]), Tally.from_scores([[0.9, 0.1]], [0])
    >>> may_hold(period, one), may_hold(period, one + one), may_hold(one, Tally.from_scores([[0.9, 0.1]], [1]))
    (True, False, False)
    """
    if few.n_source and many.n_source:
        exact = few.grid == many.grid
        return _cells_within(few.source_cells, many.source_cells) and all(
            not exact or _within(*_scores_of(few, label), *_scores_of(many, label))
            for label in range(few.n_classes)
        )
    cells = few.target_cells
    if few.n_source:
        labelled = few.source_cells
        cells = Cells(*sum_by_key(labelled.codes // labelled.n_labels, labelled.counts), 1, labelled.bins)
    if few.softmax:  # computed in another precision it may lie beyond an edge
        return _cells_within(cells.without_bins(), many.target_cells.without_bins())
    bins = few.bins
    if few.n_source and few.score == "probability" and many.bins is not None:
        scores = (_scores_of(few, label) for label in range(few.n_classes))
        bins = np.stack([np.bincount(bin_of(values), counts, BINS).astype(np.int64) for values, counts in scores])
    return _cells_within(cells, many.target_cells) and (
        bins is None or many.bins is None or bool((bins <= many.bins).all())
    )


def _scores_of(part: "Tally", label: int) -> tuple[FloatArray, IntArray]:
    of_label = slice(part.starts[label], part.starts[label + 1])
    return part.values[of_label], part.counts[of_label]


def _cells_within(few: Cells, many: Cells) -> bool:
    if few.bins != many.bins:
        few, many = few.without_bins(), many.without_bins()
    return _within(few.codes, few.counts, many.codes, many.counts)


def _within(keys: FloatArray | IntArray, counts: IntArray, others: FloatArray | IntArray, most: IntArray) -> bool:
    """Whether every key is among the others, which ascend, with at least its count."""
    place = np.searchsorted(others, keys)
    if len(keys) and (not len(others) or place.max() >= len(others)):
        return False
    return bool(((others[place] == keys) & (most[place] >= counts)).all())
