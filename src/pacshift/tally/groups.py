"""One random row of each group is counted: several rows of one patient are not independent.

"Rows in groups" (docs/methods/groups.md) has the proof. The number of the row is a coin that belongs to the name
of the group alone; the rows of a group are numbered in an order that their own scores and labels decide. So every
row of a group is equally likely, and the choice is the same in whatever order, file, batch or engine rows come.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import FloatArray, IntArray, LabelsLike
from pacshift.errors import InputError
from pacshift.scores.check import ScoreMatrix, is_finite, name_array, not_finite_error, unusable_rows
from pacshift.scores.frames import require_same_index
from pacshift.scores.names import is_missing, text_of
from pacshift.scores.softmax import to_probabilities
from pacshift.scores.transforms import mixed
from pacshift.tally.coins import group_coins


@dataclass(frozen=True, slots=True, eq=False)
class GroupIds:
    """The group of each row: ``names[place[r]]``."""

    names: Sequence[str]
    place: IntArray

    @property
    def keys(self) -> NDArray[np.uint64]:
        """The coin of each row's group."""
        return group_coins(self.names)[self.place]


def check_groups(groups: LabelsLike, *, n_rows: int, name: str, index: Any = None) -> GroupIds:
    """The group of each row by its name as text, so that 1, 1.0 and "1" are one group, or an InputError.

    ``index`` is that of a pandas frame of the rows; groups that have one must have the same.

    >>> check_groups([7, "7", 7.0, "b"], n_rows=4, name="groups").place
    array([0, 0, 0, 1])
    """
    values = name_array(groups, name, "group ids")
    if values.shape != (n_rows,):
        raise InputError(f"{name}: one group id per row is needed ({n_rows:,}), got shape {values.shape}.")
    require_same_index(index, groups, name, what="group ids")
    distinct: Sequence[Any]
    if values.dtype.kind == "O":
        listed = values.tolist()
        distinct, place = listed, np.arange(n_rows)
    else:
        found, place = np.unique(values, return_inverse=True)
        distinct = found.tolist()
    texts = [None if is_missing(one) else text_of(one) for one in distinct]
    bad = np.array([text is None for text in texts], bool)[place]
    if bad.any():
        raise _no_group(values, bad, name)
    numbers = {text: number for number, text in enumerate(dict.fromkeys(map(str, texts)))}
    return GroupIds(list(numbers), np.array([numbers[str(text)] for text in texts], np.int64)[place])


def _no_group(values: NDArray[Any], bad: NDArray[np.bool_], name: str) -> InputError:
    row = int(bad.argmax())
    first = values[[row]].tolist()[0]
    if is_missing(first):
        return InputError(
            f"{name}: {int(bad.sum()):,} row(s) have no group id, the first is row {row}. Every row must name its "
            "group: fill in the ids, or leave these rows out."
        )
    return InputError(
        f"{name}: group ids must be text, numbers or booleans, got {first!r} in row {row}. Convert them to text."
    )


def row_keys(scores: NDArray[np.floating[Any]], labels: IntArray | None = None) -> NDArray[np.uint64]:
    """A number of 64 bits for each row, a function of its own scores and label: the order within a group."""
    words = (scores.astype(np.float64) + 0.0).view(np.uint64)  # makes -0.0 and 0.0 one value
    columns = mixed(np.arange(1, scores.shape[1] + 1, dtype=np.uint64))
    total = mixed(words ^ columns).sum(axis=1, dtype=np.uint64)
    return mixed(total if labels is None else total + mixed(labels.astype(np.uint64)))


def choose_rows(groups: NDArray[np.uint64], rows: NDArray[np.uint64], marks: IntArray | None = None) -> IntArray:
    """Places of one row of each group, ascending (Lemma 1 of docs/methods/groups.md).

    ``groups`` holds the coin of each row's group and ``rows`` its ``row_keys``. With the coin u in [0, 1), row
    number floor(u n) of the n rows of a group is chosen; rows that are alike are interchangeable. ``marks`` tell
    rows of equal scores apart, of which some have a label and some have none.
    """
    order = np.lexsort((rows, groups) if marks is None else (marks, rows, groups))
    starts = np.flatnonzero(np.diff(groups[order], prepend=groups[order[:1]] ^ np.uint64(1)))
    sizes = np.diff(starts, append=len(groups))
    return np.sort(order[starts + np.minimum(sizes * uniform(groups[order[starts]]), sizes - 1).astype(np.int64)])


def uniform(keys: NDArray[np.uint64]) -> FloatArray:
    """Numbers of 64 bits as numbers in [0, 1)."""
    return np.asarray((keys >> np.uint64(11)) * 2.0**-53)


def one_row_per_group(
    groups: LabelsLike | GroupIds,
    scores: ScoreMatrix,
    labels: IntArray | None = None,
    *,
    name: str = "groups",
    marks: IntArray | None = None,
    softmax: bool = False,
) -> IntArray:
    """Places of one random row of each group, ascending.

    ``labels`` are column indices; rows that differ in their label alone are told apart by it. ``marks`` as in
    ``choose_rows``: the scores of the chosen rows are the same with and without. With ``softmax`` they are logits.

    >>> from pacshift.scores.check import check_scores
    >>> rows = check_scores([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]], name="source")
    >>> one_row_per_group(["ann", "bob", "ann", "bob"], rows)
    array([1, 2])
    """
    if not isinstance(groups, GroupIds):
        groups = check_groups(groups, n_rows=len(scores), name=name, index=scores.index)
    keys = np.empty(len(scores), np.uint64)
    for rows in scores.blocks():
        block = scores.values[rows]
        if not is_finite(block) and unusable_rows(block, softmax=softmax).any():
            # Also rows that will not be chosen: nothing is left out silently.
            raise not_finite_error(to_probabilities(scores, name=name) if softmax else scores, name)
        keys[rows] = row_keys(block, None if labels is None else labels[rows])
    return choose_rows(groups.keys, keys, marks)
