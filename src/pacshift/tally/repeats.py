"""No row counts twice: tallies that were counted from the same file, or that hold the same counts, do not add.

Every proof is about independent rows. Tallies know what they were counted from (``Tally.inputs``); those of arrays
in memory do not until they are saved, and add up whatever they hold.
"""

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pacshift.arrays import FloatArray, IntArray
from pacshift.errors import InputError
from pacshift.tally.cells import Cells
from pacshift.tally.histogram import BINS, bin_of
from pacshift.tally.inputs import Input, Role, counts_sha256
from pacshift.tally.stores import sum_by_key

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
        own = few.source_cells
        cells = Cells(*sum_by_key(own.codes // own.n_labels, own.counts), 1, own.bins)
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
    own = slice(part.starts[label], part.starts[label + 1])
    return part.values[own], part.counts[own]


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
