"""Score transforms: from the model's scores to the f(x, y) that a threshold cuts.

Label shift leaves p(x given y) alone, so any fixed function of (x, y), with its own independent randomness
if it wants, keeps every guarantee.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import FloatArray, IntArray
from pacshift.errors import InputError
from pacshift.scores.check import ScoreMatrix, require_finite

TransformFunction: TypeAlias = Callable[[FloatArray], Any]


@dataclass(frozen=True, slots=True)
class Transform:
    """A named function of a block of score rows and, if ``randomized``, one uniform number a row."""

    name: str
    function: Callable[[FloatArray, FloatArray], FloatArray] | None
    randomized: bool = False

    def blocks(self, scores: ScoreMatrix, rng: np.random.Generator) -> Iterator[tuple[slice, NDArray[Any]]]:
        """The transformed matrix, block after block: never a second matrix in memory."""
        for rows in scores.blocks():
            block = scores.values[rows]
            if self.function is not None:
                # One layout, one type: a row gets the same bits in calibration and in prediction.
                plain = np.ascontiguousarray(block, dtype=np.float64)
                uniform = rng.random(len(plain)) if self.randomized else np.ones(len(plain))
                require_finite(plain, scores, "scores")
                block = _without_overflow(self.name, self.function, plain, uniform)
            yield rows, block

    def true_label(self, scores: ScoreMatrix, labels: IntArray, rng: np.random.Generator) -> FloatArray:
        """f(x, y) at each row's own label."""
        picked = np.empty(len(scores))
        for rows, block in self.blocks(scores, rng):
            picked[rows] = block[np.arange(len(block)), labels[rows]]
        return picked


def _without_overflow(
    name: str, function: Callable[[FloatArray, FloatArray], FloatArray], block: FloatArray, uniform: FloatArray
) -> FloatArray:
    with np.errstate(over="ignore", invalid="ignore"):
        result = function(block, uniform)
    if not np.isfinite(result).all():  # sums and differences of scores near 1e308
        raise InputError(f"score {name!r} overflows on scores as large as {np.abs(block).max():g}. Scale them.")
    return result


def adaptive(scores: FloatArray, uniform: FloatArray, *, penalty: float = 0.0, free: int = 0) -> FloatArray:
    """1 - (mass of the labels ranked above y + uniform × own mass + penalty × ranks beyond ``free``).

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
    excess = penalty * np.maximum(np.arange(1, scores.shape[1] + 1) - free, 0)
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
    return adaptive(scores, uniform, penalty=0.01, free=5)  # the constants of the RAPS paper's ImageNet runs


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
