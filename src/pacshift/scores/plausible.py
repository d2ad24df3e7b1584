"""Do columns look like scores of one model? A pattern as wide as ``*`` takes an ``id`` for a class.

Only classes without any labelled row are looked at: an ``id`` has none, and a class of the model rarely has none.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import BoolArray, IntArray
from pacshift.errors import InputError
from pacshift.scores.check import ScoreMatrix
from pacshift.scores.names import shorten

SAMPLE_ROWS = 1000
"""So many rows are looked at: an ``id`` shows in the first few."""
_TOTALS = (1.0, 100.0)  # probabilities and percentages
_ROUNDING = 0.01  # of two digits


def foreign_columns(sample: NDArray[np.floating[Any]], class_counts: IntArray) -> list[int]:
    """Columns of classes without labelled rows that cannot be scores of the model that made the others.

    They can be if all columns add up to 1 (or 100 %). If the other columns do so alone, then this one is foreign.
    If neither is so, as for logits, a column may exceed the range of the others by as much as that range is wide.

    >>> foreign_columns(np.array([[0.9, 0.1, 501], [0.2, 0.8, 502]]), np.array([1, 1, 0]))
    [2]
    """
    known = class_counts > 0
    if known.all() or not known.any() or adds_up(sample, np.ones_like(known)):
        return []
    empty = np.flatnonzero(~known).tolist()
    if adds_up(sample, known):
        return [column for column in empty if np.abs(sample[:, column]).max() > _ROUNDING]
    least, most = float(sample[:, known].min()), float(sample[:, known].max())
    room = most - least or max(1.0, abs(most))
    inside = (sample >= least - room) & (sample <= most + room)
    return [column for column in empty if not inside[:, column].all()]


def adds_up(sample: NDArray[np.floating[Any]], columns: BoolArray) -> bool:
    chosen = sample[:, columns]
    sums = chosen.sum(axis=1, dtype=np.float64)
    return bool((chosen >= 0).all()) and any(np.allclose(sums, total, rtol=_ROUNDING, atol=0) for total in _TOTALS)


def require_plausible(scores: ScoreMatrix, class_counts: IntArray) -> None:
    """Raise where a column of a frame, such as ``id``, cannot be a class although its name would make it one."""
    foreign = foreign_columns(scores.values[:SAMPLE_ROWS], class_counts)
    if foreign:
        raise InputError(
            f"source: column {shorten([scores.classes[place] for place in foreign])} does not look like scores: "
            "no row has this label, and the values do not fit the other columns. Pass the score columns only, or "
            "name all classes with classes= if it is right."
        )
