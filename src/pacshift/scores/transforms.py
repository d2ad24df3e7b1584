"""Transforms: from the model's scores to the f(x, y) that is compared with a threshold.

Label shift leaves p(x given y) alone, so any fixed function of (x, y), with independent randomness of its own
if it wants, keeps every guarantee.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import FloatArray
from pacshift.errors import InputError
from pacshift.scores.check import ScoreMatrix, is_finite, not_finite_error

TransformFunction: TypeAlias = Callable[[FloatArray], Any]


@dataclass(frozen=True, slots=True)
class Transform:
    """A named function of a block of score rows and, if ``randomized``, of one uniform number per row."""

    name: str
    function: Callable[[FloatArray, FloatArray], FloatArray] | None
    randomized: bool = False

    def draw(self, n_rows: int, rng: np.random.Generator) -> FloatArray | None:
        """The uniform numbers of ``n_rows`` rows, in their order; None where none are used."""
        return rng.random(n_rows) if self.randomized else None

    def apply(self, block: NDArray[np.floating[Any]], uniform: FloatArray | None) -> FloatArray:
        """Transform a block of finite scores; the transform must have a function."""
        assert self.function is not None  # callers take plain scores as they are
        # One layout, one type: a row gets the same bits in calibration and in prediction.
        plain = np.ascontiguousarray(block, dtype=np.float64)
        numbers = uniform if self.randomized and uniform is not None else np.ones(len(plain))
        with np.errstate(over="ignore", invalid="ignore"):
            result = self.function(plain, numbers)
        if not is_finite(result):  # sums and differences of scores near 1e308
            raise InputError(
                f"score {self.name!r} overflows on scores as large as {np.abs(plain).max():g}. Scale them."
            )
        return result

    def blocks(self, scores: ScoreMatrix, rng: np.random.Generator) -> Iterator[tuple[slice, NDArray[Any]]]:
        """The transformed matrix, block after block: never a second matrix in memory."""
        uniform = self.draw(len(scores), rng)
        for rows in scores.blocks():
            yield rows, self.of_block(scores, rows, uniform)

    def of_block(self, scores: ScoreMatrix, rows: slice, uniform: FloatArray | None) -> NDArray[Any]:
        """Some rows of the transformed matrix; ``uniform`` has the numbers of all rows."""
        block = scores.values[rows]
        if self.function is None:
            return block
        if not is_finite(block):
            raise not_finite_error(scores, "scores")
        return self.apply(block, None if uniform is None else uniform[rows])


def adaptive(scores: FloatArray, uniform: FloatArray, *, penalty: float = 0.0, free_ranks: int = 0) -> FloatArray:
    """1 - (mass of the labels ranked above y + uniform × own mass + penalty × ranks beyond ``free_ranks``).

    APS: Romano, Sesia, Candès, NeurIPS 2020. RAPS (penalty > 0): Angelopoulos et al., ICLR 2021.
    """
    if scores.min() < 0:
        raise InputError(
            f"score 'aps'/'raps' adds up probabilities, but a score is negative ({scores.min():g}). "
            "Pass probabilities (softmax of the logits) or use score='probability' or 'margin'."
        )
    order = np.argsort(-scores, axis=1, kind="stable")
    mass = np.take_along_axis(scores, order, axis=1)
    above = np.cumsum(mass, axis=1) - mass
    excess = penalty * np.maximum(np.arange(1, scores.shape[1] + 1) - free_ranks, 0)
    result = np.empty_like(scores)
    np.put_along_axis(result, order, 1.0 - (above + uniform[:, None] * mass + excess), axis=1)
    return result


def margin(scores: FloatArray, _uniform: FloatArray) -> FloatArray:
    """How far a label's score lies above the best other label's."""
    top = np.partition(scores, scores.shape[1] - 2, axis=1)
    first, second = top[:, -1:], top[:, -2:-1]
    is_top = np.arange(scores.shape[1]) == scores.argmax(axis=1)[:, None]
    return scores - np.where(is_top, second, first)


def _raps(scores: FloatArray, uniform: FloatArray) -> FloatArray:
    return adaptive(scores, uniform, penalty=0.01, free_ranks=5)  # the constants of the RAPS paper's ImageNet runs


TRANSFORMS = {
    transform.name: transform
    for transform in (
        Transform("probability", None),
        Transform("margin", margin),
        Transform("aps", adaptive, randomized=True),
        Transform("aps-plain", adaptive),
        Transform("raps", _raps, randomized=True),
        Transform("raps-plain", _raps),
    )
}


def resolve_transform(score: str | TransformFunction | Transform) -> Transform:
    """A transform by name, or made from any row-wise function of a score matrix."""
    if isinstance(score, Transform):
        return score
    if isinstance(score, str):
        if score not in TRANSFORMS:
            raise InputError(
                f"score must be one of {', '.join(TRANSFORMS)} or a function of the score matrix, got {score!r}."
            )
        return TRANSFORMS[score]
    if not callable(score):
        raise InputError(f"score must be a name or a function of the score matrix, got {score!r}.")
    return Transform("custom", lambda block, _uniform: _call(score, block))


def _call(function: TransformFunction, block: FloatArray) -> FloatArray:
    made = function(block)  # what it raises itself is the user's to see
    try:
        result = np.asarray(made, dtype=np.float64)
    except (TypeError, ValueError):
        result = np.empty(0)
    if result.shape != block.shape or not np.isfinite(result).all():
        raise InputError(
            f"the score function must give a finite matrix of the shape it gets, {block.shape}; got {result.shape}"
            f" with {int((~np.isfinite(result)).sum())} entries that are not finite."
        )
    return result
