"""One random row of each group is counted: several rows of one patient are not independent.

"Rows in groups" (docs/methods/groups.md) has the proof. The rows of a group are numbered in an order that their
own scores and labels decide. Which number is counted says a coin that is thrown over the name of the group and a
digest of all rows of the source, or of the target. So every row of a group is equally likely, also where names and
rows repeat from sample to sample, and the choice is the same in whatever order, file, batch or engine rows come.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import IntArray, KeyArray, LabelsLike
from pacshift.errors import InputError
from pacshift.scores.check import name_array
from pacshift.scores.frames import require_same_index
from pacshift.scores.names import is_missing, text_of
from pacshift.scores.transforms import mix_bits
from pacshift.tally.coins import name_hashes, number_hashes
from pacshift.words.numbers import have, plural

_BLOCK_NAMES = 1 << 14  # few texts at a time: each takes more than its place in an array
_BLOCK_KEYS = 1 << 15  # keys are sorted few at a time: near the processor


def check_groups(groups: LabelsLike, *, n_rows: int, name: str, index: Any = None) -> KeyArray:
    """The hash of each row's group by its name as text, so that 1, 1.0 and "1" are one group, or an InputError.

    ``index`` is that of a pandas frame of the rows; groups that have one must have the same.

    >>> check_groups([7, "7", 7.0, "b"], n_rows=4, name="groups") % 1000
    array([  7,   7,   7, 809], dtype=uint64)
    """
    values = name_array(groups, name, "group ids")
    if values.shape != (n_rows,):
        raise InputError(f"{name}: one group id per row is needed ({n_rows:,}), got shape {values.shape}.")
    require_same_index(index, groups, name, what="group ids")
    if values.dtype.kind in "iu":
        return number_hashes(values)
    hashes = np.empty(n_rows, np.uint64)
    for start in range(0, n_rows, _BLOCK_NAMES):
        rows = slice(start, start + _BLOCK_NAMES)
        texts = values[rows].tolist()
        if set(map(type, texts)) != {str} or not all(map(str.strip, texts)):  # nearly always texts are given
            floats = np.array([one if isinstance(one, float) else 0.0 for one in texts])
            require_whole(values[rows] if values.dtype.kind == "f" else floats, name, first=start)
            texts = [_text(one) for one in texts]
            if None in texts:
                raise _bad_groups(values, start + texts.index(None), name)
        hashes[rows] = name_hashes(texts)
    return hashes


def require_whole(ids: NDArray[np.floating[Any]], name: str, *, first: int = 0, of: str = "") -> None:
    """Refuse ids that a float may have rounded, so that two groups became one; NaN names no group."""
    most = 2 ** (np.finfo(ids.dtype).nmant + 1)
    bad = ~((np.abs(ids) < most) & (ids == np.rint(ids)) | np.isnan(ids))
    if bad.any():
        row = int(bad.argmax())
        raise InputError(
            f"{name}: group ids that are floats must be whole numbers below {most:,}, which floats hold exactly; "
            f"found {float(ids[row])} in row {first + row}{of}. Two ids may be one now: pass integers or texts."
        )


def _bad_groups(values: NDArray[Any], row: int, name: str) -> InputError:
    """Why the names of groups cannot be used, of which ``row`` has the first bad one."""
    (first,) = values[[row]].tolist()
    if is_missing(first):
        n_bad = sum(_text(one) is None for one in values.tolist())
        return InputError(
            f"{name}: {have(n_bad, 'row')} no group id, the first is row {row}. Every row must name its group: "
            "fill in the ids, or leave these rows out."
        )
    return InputError(
        f"{name}: group ids must be text, numbers or booleans, got {first!r} in row {row}. Convert them to text."
    )


def _text(name: Any) -> str | None:
    """The text of a group's name; None for what is missing or cannot be a name."""
    if isinstance(name, str):
        return str(name) if name.strip() else None
    return None if is_missing(name) else text_of(name)


def row_keys(scores: NDArray[np.floating[Any]], labels: IntArray | None = None) -> NDArray[np.uint64]:
    """A number of 64 bits for each row, a function of its own scores and label: the order within a group."""
    words = (scores.astype(np.float64) + 0.0).view(np.uint64)  # makes -0.0 and 0.0 one value
    columns = mix_bits(np.arange(1, scores.shape[1] + 1, dtype=np.uint64))
    total = mix_bits(words ^ columns).sum(axis=1, dtype=np.uint64)
    return mix_bits(total if labels is None else total + mix_bits(labels.astype(np.uint64)))


def choose_rows(groups: KeyArray, coins: KeyArray, rows: KeyArray, marks: IntArray | None = None) -> IntArray:
    """Places of one row of each group, ascending (Lemma 1 of docs/methods/groups.md).

    ``groups`` tells groups apart: where they lie in order, nothing has to be sorted. ``coins`` holds the coin of
    each row's group and ``rows`` its ``row_keys``. With the coin u in [0, 1), row number floor(u n) of the n rows
    of a group is chosen; rows that are alike are interchangeable. ``marks`` tell rows of equal scores apart, of
    which some have a label and some have none.
    """
    order = np.argsort(groups, kind="stable")
    in_order = groups[order]
    starts = np.flatnonzero(np.append(True, in_order[1:] != in_order[:-1])[: len(order)])
    del in_order
    sizes, chosen = np.diff(starts, append=len(groups)), order[starts]
    for size in (2 + np.flatnonzero(np.bincount(sizes)[2:])).tolist():  # groups of one size are rows of a matrix
        alike, step = np.flatnonzero(sizes == size), max(1, _BLOCK_KEYS // size)
        for some in (alike[first : first + step] for first in range(0, len(alike), step)):
            members = order[starts[some, None] + np.arange(size)]
            ranked = np.lexsort((rows[members],) if marks is None else (marks[members], rows[members]))
            share = (coins[chosen[some]] >> np.uint64(11)) * 2.0**-53  # numbers of 64 bits as numbers in [0, 1)
            rank = np.minimum(size * share, size - 1).astype(np.int64)[:, None]
            chosen[some] = np.take_along_axis(members, np.take_along_axis(ranked, rank, 1), 1)[:, 0]
    chosen.sort()
    return chosen


def choose_rows_with_labels(groups: KeyArray, coins: KeyArray, rows: KeyArray, marks: IntArray) -> IntArray:
    """The same where some rows have a label, their ``marks`` of 0 and more (Lemma 2 of docs/methods/groups.md).

    Labels must lie on the rows that are chosen, as those of a sheet do, or on all rows of a group.
    """
    has_label, (_, group_index) = marks >= 0, np.unique(groups, return_inverse=True)
    is_whole = (np.bincount(group_index, has_label) == np.bincount(group_index))[group_index]
    places = choose_rows(groups, coins, rows, np.where(is_whole, marks, -1))
    is_stray = has_label & ~is_whole
    is_stray[places] = False
    if is_stray.any():
        raise InputError(
            f"target labels: {plural(int(np.count_nonzero(is_stray)), 'label')} on rows that are not the counted "
            "one of their group: whether a counted row has a label would then depend on the size of its group. "
            "Label the rows that a label sheet of these groups names (pacshift.label_sheet, `pacshift label`), or "
            "all rows of some random groups."
        )
    return places
