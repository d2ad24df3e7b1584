"""Thresholds to sets: a boolean matrix, lists of class names, and how large they are."""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from math import gcd
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import BoolArray, FloatArray, IntArray, Label, scratch
from pacshift.parallel import even_slices, run_all
from pacshift.scores.check import MAX_SCORE, ScoreMatrix, not_finite_error
from pacshift.scores.transforms import Transform
from pacshift.tally.counter import BLOCK_VALUES

if TYPE_CHECKING:
    from pacshift.rows.rule import Rule

MAX_TRANSPOSED_CLASSES = 64
"""Up to so many classes sizes are added up class after class. With 10 classes that takes a quarter of the time,
with 100 as long as row after row, with 1,000 half as long again."""


def make_sets(scores: ScoreMatrix, rule: "Rule", transform: Transform) -> BoolArray:
    """Whether each label is in each row's set, on all cores."""
    make = rule.maker(_compared_type(scores, transform), scores.block_rows)
    result = np.empty(scores.values.shape, np.bool_)

    def job(chunk: slice) -> None:
        for rows in scores.blocks(chunk):
            make(_transform_block(scores, transform, rows), scores.values[rows], result[rows])

    run_all([partial(job, part) for part in even_slices(len(scores), BLOCK_VALUES // len(scores.classes))])
    return result


def _compared_type(scores: ScoreMatrix, transform: Transform) -> np.dtype[Any]:
    """The type of the numbers that thresholds are compared with."""
    return scores.values.dtype if transform.function is None else np.dtype(np.float64)


def _transform_block(scores: ScoreMatrix, transform: Transform, rows: slice) -> NDArray[Any]:
    block = transform.of_block(scores, rows)
    if not block.max() <= MAX_SCORE:  # the cheapest look that finds NaN; -inf compares as it should
        raise not_finite_error(scores, "scores")
    return block


def exact_cuts(thresholds: FloatArray, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Thresholds in the type of the scores, rounded up: ``x >= τ`` then says the same in fewer bits."""
    cuts = thresholds if (thresholds != thresholds[0]).any() else thresholds[0]
    with np.errstate(over="ignore"):  # beyond the type's range: ±inf, and the next line corrects -inf
        rounded = np.asarray(cuts).astype(dtype)
    return np.where(rounded < cuts, np.nextafter(rounded, np.asarray(np.inf, dtype)), rounded)


def add_top(sets: BoolArray, raw: NDArray[Any]) -> BoolArray:
    """Put the label with the highest score into sets that hold none, the first on ties."""
    if sets.ndim == 1:  # a service asks for one row: the quickest look
        if 1 not in sets.tobytes():
            sets[raw.argmax()] = True
        return sets
    empty = np.flatnonzero(~sets.any(axis=1))
    if len(empty):
        sets[empty, raw[empty].argmax(axis=1)] = True
    return sets


def shown_names(classes: Sequence[Label]) -> list[Any]:
    """The class names as sets in files, on clusters and in databases hold them, where a list has one type.

    They keep their own where all share it; others become texts, as do whole numbers of 64 bits without a sign.

    >>> shown_names([0, 1]), shown_names(["cat", 1])
    ([0, 1], ['cat', '1'])
    """
    kinds = {type(label) for label in classes}
    is_large = kinds == {int} and max(map(abs, classes)) >= 2**63  # type: ignore[arg-type]  # of integers alone
    return [str(label) for label in classes] if is_large or len(kinds) > 1 else list(classes)


def label_lists(sets: BoolArray, scores: ScoreMatrix) -> list[list[Label]]:
    """The class names in each set, the highest score first; of equal scores the first column comes first."""
    rows, columns = np.nonzero(sets)
    order = np.lexsort((columns, -scores.values[rows, columns], rows))
    names = [scores.classes[column] for column in columns[order].tolist()]
    ends = np.cumsum([0, *sets.sum(axis=1).tolist()]).tolist()
    return [names[start:end] for start, end in pairwise(ends)]


def set_sizes(scores: ScoreMatrix, rules: Sequence["Rule"], transform: Transform) -> list[IntArray]:
    """By rule, how many sets hold 0, 1, ..., K labels. The sets themselves are not kept.

    Scores are transformed once for all rules: with adaptive scores that is nearly all of the time.
    """
    counters = [rule.size_counter(_compared_type(scores, transform), scores.block_rows) for rule in rules]

    def job(chunk: slice) -> IntArray:
        counts = np.zeros((len(rules), len(scores.classes) + 1), np.int64)
        for rows in scores.blocks(chunk):
            block = _transform_block(scores, transform, rows)
            counts += [count(block, scores.values[rows]) for count in counters]
        return counts

    parts = even_slices(len(scores), BLOCK_VALUES // len(scores.classes))
    return list(np.sum(run_all([partial(job, part) for part in parts]), axis=0))


def labels_at(scores: ScoreMatrix, thresholds: Sequence[FloatArray]) -> list[int]:
    """For each of several thresholds, how many labels all sets hold together. No score is NaN: they were counted.

    Sizes of single sets are not needed for it, which saves two thirds of the time of ``set_sizes``.
    """
    cuts = [exact_cuts(one, scores.values.dtype) for one in thresholds]
    cuts = [np.tile(cut, (scores.block_rows, 1)) if cut.ndim else cut for cut in cuts]  # as in make_sets

    def job(chunk: slice) -> list[int]:
        totals = [0] * len(cuts)
        for rows in scores.blocks(chunk):
            block = scores.values[rows]
            reached = scratch("sets", block.shape, np.bool_)
            for place, cut in enumerate(cuts):
                np.greater_equal(block, cut[: len(block)] if cut.ndim else cut, out=reached)
                totals[place] += int(np.count_nonzero(reached))
        return totals

    parts = even_slices(len(scores), BLOCK_VALUES // len(scores.classes))
    return list(map(sum, zip(*run_all([partial(job, part) for part in parts]), strict=True)))


def block_sizes(block: NDArray[Any], cuts: NDArray[Any]) -> NDArray[Any]:
    """The sizes of the sets of a block."""
    n_classes = block.shape[1]
    room = np.min_scalar_type(n_classes)
    lies_by_class = block.strides[0] < block.strides[1]
    if not cuts.ndim and n_classes <= MAX_TRANSPOSED_CLASSES and not lies_by_class:
        reached = np.greater_equal(block, cuts, out=scratch("sets", block.shape, np.bool_))
        return _sizes_by_words(reached).astype(room)
    by_class = lies_by_class or n_classes <= MAX_TRANSPOSED_CLASSES
    if by_class and not lies_by_class:
        columns = scratch("classes", block.shape[::-1], block.dtype)
        columns[:] = block.T
        block = columns.T
    table = block.T if by_class else block
    reached = scratch("sets", table.shape, np.bool_)
    np.greater_equal(table, cuts[:, None] if by_class and cuts.ndim else cuts, out=reached)
    sizes: NDArray[Any] = np.add.reduce(reached.view(np.uint8), axis=0 if by_class else 1, dtype=room)
    return sizes


def _sizes_by_words(sets: BoolArray) -> NDArray[Any]:
    """The sizes of sets of up to 255 labels, added up in words of up to 8 labels for all rows at once.

    With one threshold nothing need be turned for it: 10 classes take 60 % of the time of adding class after class.

    >>> _sizes_by_words(np.array([[True, True, False, True], [False, False, True, False]])).tolist()
    [3, 1]
    """
    n_bytes = gcd(sets.shape[1], 8)
    words = sets.view(f"u{n_bytes}")
    sums = words[:, 0].copy()
    for place in range(1, words.shape[1]):
        sums += words[:, place]
    while n_bytes > 1:  # bytes of the upper half are added to those of the lower one; none overflows
        n_bytes //= 2
        sums += sums >> (8 * n_bytes)
    return sums & 255


def mean_and_empty(set_sizes: IntArray) -> tuple[float, float]:
    """Mean size and share of empty sets, from counts of sets by size.

    >>> mean_and_empty(np.array([1, 2, 1]))
    (1.0, 0.25)
    """
    total = set_sizes.sum()
    return float(set_sizes @ np.arange(len(set_sizes)) / total), float(set_sizes[0] / total)
