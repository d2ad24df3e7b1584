"""Samples of score rows that paths are planned with: the same rows in whatever order they come.

A row belongs to a sample if a number made of its own scores lies below a share that is known beforehand. So
whether a row is looked at does not depend on any other row, which the proof needs ("Held-out rows" of
docs/methods/ps-lp-proof.md).
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import FloatArray, IntArray, KeyArray, order_of
from pacshift.parallel import even_slices, run_all
from pacshift.scores.transforms import mix_bits

SOURCE_ROWS, TARGET_ROWS = 30_000, 10_000
"""About how many rows of the source and of the target are looked at, if there are more. With 20,000 target rows
sets change by 0.00 %, with 6,000 by +0.04 % (60 draws from ten worlds); 20,000 take 12 ms longer with 10
classes."""

MAX_SCORES = 400_000
"""Scores of either side that are looked at. With more than a dozen classes there are fewer rows, so that planning
takes a tenth of a second with 10 classes and with 100."""

_LEAST_PART, _BLOCK_ROWS = 100_000, 1 << 15  # a thread's worth of rows; few calls, between which threads wait

ScoreRows = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class RowSample:
    """Samples of the labelled source and of the target. ``labels`` are column indices."""

    source: FloatArray
    labels: IntArray
    target: FloatArray

    @classmethod
    def of(cls, source: ScoreRows, labels: IntArray, target: ScoreRows) -> "RowSample":
        """The samples of rows in memory."""
        of_source = places_below(source, source_share(*source.shape))
        of_target = places_below(target, target_share(*target.shape))
        return cls(np.asarray(source[of_source], float), labels[of_source], np.asarray(target[of_target], float))


def source_share(n_rows: int, n_classes: int) -> float:
    """The share of the source's rows that are looked at.

    >>> source_share(60_000, 10), source_share(1000, 10)
    (0.5, 1.0)
    """
    return min(1.0, min(SOURCE_ROWS, MAX_SCORES // n_classes) / max(n_rows, 1))


def target_share(n_rows: int, n_classes: int) -> float:
    """The share of the target's rows that are looked at."""
    return min(1.0, min(TARGET_ROWS, MAX_SCORES // n_classes) / max(n_rows, 1))


def places_below(scores: ScoreRows, share: float) -> IntArray:
    """Places of the rows that belong to a sample of about this share, ascending, found on all cores.

    Step "Held-out rows" of docs/methods/ps-lp-proof.md: whether a row belongs to it is a matter of its own scores.
    """
    if share >= 1:
        return np.arange(len(scores))
    limit = np.uint64(share * 2.0**64)

    def in_part(part: slice) -> IntArray:
        starts = range(part.start, part.stop, _BLOCK_ROWS)
        places = []
        for first in starts:
            block = scores[first : min(first + _BLOCK_ROWS, part.stop)]
            places.append(first + np.flatnonzero(row_numbers(block) < limit))
        return np.concatenate(places)

    return np.concatenate(run_all([partial(in_part, part) for part in even_slices(len(scores), _LEAST_PART)]))


def row_numbers(scores: ScoreRows) -> KeyArray:
    """A number of 64 bits per row, as good as uniform, and a function of the row's own scores alone.

    The bits of the scores are multiplied by one odd constant per column, added up and mixed.

    >>> row_numbers(np.array([[0.9, 0.1], [0.1, 0.9], [0.9, 0.1]])) % 1000
    array([189, 310, 189], dtype=uint64)
    """
    words = np.ascontiguousarray(scores, np.float64).view(np.uint64)
    if words.max(initial=0) >> np.uint64(63):  # a sign: perhaps of -0.0, which must be 0.0
        words = (words.view(np.float64) + 0.0).view(np.uint64)
    columns = mix_bits(np.arange(1, scores.shape[1] + 1, dtype=np.uint64)) | np.uint64(1)
    return mix_bits(mix_bits(words @ columns))


def numbers_of_all(scores: ScoreRows) -> KeyArray:
    """``row_numbers`` of many rows, block after block, so that float32 or a frame is not copied as a whole."""
    starts = range(0, len(scores), _BLOCK_ROWS)
    return np.concatenate([row_numbers(scores[first : first + _BLOCK_ROWS]) for first in starts])


def order_by_content(scores: ScoreRows, labels: IntArray | None = None) -> IntArray:
    """An order of rows that depends on what they hold alone, because sums of floats depend on it."""
    by_label = () if labels is None else (labels,)
    return order_of(row_numbers(scores), *by_label, *scores.T)
