"""Transforms: from the model's scores to the f(x, y) that is compared with a threshold; first of all the softmax.

Label shift leaves p(x given y) alone, so any fixed function of (x, y) keeps every guarantee. Randomised scores are
fixed functions too: the uniform number of a row is a hash of the row's own scores. So it does not depend on where
the row stands, in which file or block it comes, or whether it is seen in calibration or in prediction.
"""

import difflib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import FloatArray
from pacshift.errors import InputError, param
from pacshift.parallel import even_slices, run_all
from pacshift.scores.check import ScoreMatrix, is_finite, not_finite_error, round_to_single
from pacshift.scores.kind import Row, high_of, low_of, require_logits

TransformFunction: TypeAlias = Callable[[FloatArray], Any]

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
        block = round_to_single(logits[rows]) if single else np.ascontiguousarray(logits[rows], np.float64)
        with np.errstate(invalid="ignore"):  # rows that are not finite become NaN, which is refused later
            powers = np.exp(block - block.max(axis=1, keepdims=True))
        result[rows] = powers / powers.sum(axis=1, keepdims=True)
    return result


def softmax_of_row(row: Row) -> Row:
    """The same of one row, with the same bits, for services."""
    if row.dtype == np.float32:
        plain = row
    else:  # the short way where no number is beyond single precision
        plain = row.astype(np.float32) if low_of(row) > -3e38 and high_of(row) < 3e38 else round_to_single(row)
    powers: Row = np.subtract(plain, high_of(plain), dtype=np.float64)
    np.exp(powers, out=powers)
    powers /= np.add.reduce(powers)
    return powers.astype(row.dtype, copy=False)


def to_probabilities(scores: ScoreMatrix, *, name: str) -> ScoreMatrix:
    """The softmax of checked scores; an InputError if they are probabilities already."""
    require_logits(scores.values, name=name)
    values = np.empty_like(scores.values)

    def job(rows: slice) -> None:
        values[rows] = softmax(scores.values[rows])

    run_all([partial(job, rows) for rows in even_slices(len(scores), _BLOCK_ROWS)])
    return replace(scores, values=values)


@dataclass(frozen=True, slots=True)
class Transform:
    """A named function of a block of score rows and, if ``randomized``, of ``uniform_numbers`` of these rows."""

    name: str
    function: Callable[[FloatArray, FloatArray], FloatArray] | None
    randomized: bool = False

    def apply(self, block: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
        """Transform a block of finite scores; without a function they stay as they are."""
        if self.function is None:
            return block
        plain = round_to_single(block)  # ties decide who ranks first: float32 and float64 must have the same
        with np.errstate(over="ignore", invalid="ignore"):
            numbers = uniform_numbers(plain) if self.randomized else np.ones(len(plain))
            result = self.function(plain, numbers)
        if not is_finite(result):  # sums and differences of scores near 1e308
            raise InputError(
                f"score {self.name!r} overflows on scores as large as {np.abs(plain).max():g}. Scale them."
            )
        return result

    def of_all(self, scores: ScoreMatrix) -> NDArray[Any]:
        """The transformed matrix."""
        return np.concatenate([self.of_block(scores, rows) for rows in scores.blocks()])

    def of_block(self, scores: ScoreMatrix, rows: slice) -> NDArray[Any]:
        """Some rows of the transformed matrix."""
        block = scores.values[rows]
        if self.function is not None and not is_finite(block):
            raise not_finite_error(scores, "scores")
        return self.apply(block)


def uniform_numbers(scores: FloatArray) -> FloatArray:
    """One number in [0, 1) per row, as good as uniform, and a function of the row's own scores alone.

    The scores, in single precision so that the last bits of a softmax do not matter, are multiplied as 64-bit
    integers by one odd constant per column and added up; two rounds of splitmix64's finaliser mix the bits
    (Steele, Lea, Flood, OOPSLA 2014).

    >>> uniform_numbers(np.array([[0.9, 0.1], [0.1, 0.9], [0.9, 0.1]])).round(3)
    array([0.017, 0.581, 0.017])
    """
    single = scores.astype(np.float32) + np.float32(0)  # makes -0.0 and 0.0 one value
    columns = mix_bits(np.arange(1, scores.shape[1] + 1, dtype=np.uint64)) | np.uint64(1)
    return np.asarray(
        (mix_bits(mix_bits(single.view(np.uint32).astype(np.uint64) @ columns)) >> np.uint64(11)) * 2.0**-53
    )


def mix_bits(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64: every bit of the input changes about half of the bits of the output."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values ^= values >> np.uint64(30)
    values *= np.uint64(0xBF58476D1CE4E5B9)
    values ^= values >> np.uint64(27)
    values *= np.uint64(0x94D049BB133111EB)
    values ^= values >> np.uint64(31)
    return values


def adaptive(scores: FloatArray, uniform: FloatArray, *, penalty: float = 0.0, free_ranks: int = 0) -> FloatArray:
    """1 - (mass of the labels ranked above y + uniform × own mass + penalty × ranks beyond ``free_ranks``).

    APS: Romano, Sesia, Candès, NeurIPS 2020. RAPS (penalty > 0): Angelopoulos et al., ICLR 2021.
    """
    if scores.min() < 0:
        others = f"{param('softmax=True')}), or use " + param("score='probability'")
        raise InputError(
            f"score 'aps'/'raps' adds up probabilities, but a score is negative ({scores.min():g}). Pass "
            f"probabilities (of logits: {others} or 'margin'."
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
            close = difflib.get_close_matches(score.lower(), TRANSFORMS, 1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise InputError(
                f"{param('score')} must be one of {', '.join(TRANSFORMS)} or a function of the score matrix, got "
                f"{score!r}.{hint}"
            )
        return TRANSFORMS[score]
    if not callable(score):
        raise InputError(f"{param('score')} must be a name or a function of the score matrix, got {score!r}.")
    return Transform("custom", UserScore(score))


@dataclass(frozen=True, slots=True)
class UserScore:
    """A score function of the user's own, which may look at scores but not change them; its result is checked.

    An object and not a closure, so that certificates can be pickled if the function can be.
    """

    function: TransformFunction

    def __call__(self, block: FloatArray, _uniform: FloatArray) -> FloatArray:
        result = self._call(block)
        for row in {0, len(block) // 2, len(block) - 1} if len(block) > 1 else ():
            alone = self._call(block[row : row + 1])
            slack = 1e-9 * (1 + np.abs(result[row]).max())  # sums may round otherwise in a matrix of another shape
            if not np.allclose(alone, result[row], rtol=1e-6, atol=slack):
                raise InputError(
                    "the score function must give each row scores that depend on this row alone, but a row by "
                    "itself gets other scores than here. Compute along axis 1, take no mean, rank or softmax over "
                    "axis 0, and draw no random numbers: what should look random can be a hash of the row."
                )
        return result

    def _call(self, block: FloatArray) -> FloatArray:
        view = block.view()
        view.flags.writeable = False
        try:
            answer = self.function(view)  # what it raises itself is the user's to see
        except ValueError as error:
            if "read-only" not in str(error):
                raise
            raise InputError(
                f"the score function writes into the scores it gets ({error}). Let it work on a copy."
            ) from error
        masked = np.ma.is_masked(answer)
        try:
            result = np.empty(0) if masked else np.asarray(answer)
        except Exception:  # whatever a foreign container raises: not a matrix
            result = np.empty(0)
        is_real = result.dtype.kind in "biuf"
        if result.shape == block.shape and is_real and np.isfinite(result).all():
            return result.astype(np.float64, copy=False)
        problem = "masked entries" if masked else f"shape {result.shape} of {result.dtype}"
        if is_real and not masked:
            problem = f"shape {result.shape} with {int((~np.isfinite(result)).sum())} entries that are not finite"
        raise InputError(
            "the score function must give a matrix of finite real numbers of the shape it gets, "
            f"{block.shape}; got {problem}."
        )
