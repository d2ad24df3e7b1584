"""Logits to probabilities, for models whose last layer has no softmax."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.errors import InputError
from pacshift.scores.check import ScoreMatrix, rounded
from pacshift.scores.kind import FEWEST_ROWS, PERCENTAGES, PROBABILITIES, ScoreKind
from pacshift.scores.same_kind import is_exact

_BLOCK_ROWS = 4096  # float64 copies of few rows at a time; a round number


def softmax(logits: NDArray[np.floating[Any]], *, single: bool = True) -> NDArray[np.floating[Any]]:
    """exp(z) divided by the row's sum, computed in float64 and given back in the type of the logits.

    ``single``: logits are rounded to single precision first, so that float32 and float64 have the same softmax.

    >>> softmax(np.array([[1000.0, 1000.0], [0.0, -np.inf]])).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    result = np.empty_like(logits)
    for start in range(0, len(logits), _BLOCK_ROWS):
        rows = slice(start, start + _BLOCK_ROWS)
        block = rounded(logits[rows]) if single else np.ascontiguousarray(logits[rows], np.float64)
        with np.errstate(invalid="ignore"):  # rows that are not finite become NaN, which is refused later
            powers = np.exp(block - block.max(axis=1, keepdims=True))
        result[rows] = powers / powers.sum(axis=1, keepdims=True)
    return result


def to_probabilities(scores: ScoreMatrix, *, name: str) -> ScoreMatrix:
    """The softmax of checked scores; an InputError if they are probabilities already."""
    require_logits(scores.values, name=name)
    return replace(scores, values=softmax(scores.values))


def require_logits(scores: NDArray[np.floating[Any]], *, name: str) -> None:
    """InputError where rows are probabilities already: they must not go through a second softmax."""
    kind = ScoreKind.of_rows(scores)
    if kind.name in (PROBABILITIES, PERCENTAGES) and (len(scores) >= FEWEST_ROWS or is_exact(kind)):
        raise InputError(
            f"{name}: softmax=True is for logits, but these scores are {kind.name} already. Their softmax "
            "would mean nothing. Pass the logits, or leave softmax=True out."
        )
