"""What comes out: thresholds, what they guarantee and for whom, and the sets they make."""

import os
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import BoolArray, FloatArray, IntArray, Label
from pacshift.bounds import BoundCurve, Interval
from pacshift.certificate.explain import explain
from pacshift.certificate.file import read_fields, write
from pacshift.errors import InputError
from pacshift.methods import Guarantee
from pacshift.parallel import run_all
from pacshift.scores.check import ScoreMatrix, check_prediction_rng, check_scores, not_finite_error
from pacshift.scores.transforms import TRANSFORMS, Transform, TransformFunction, resolve_transform
from pacshift.tally.counter import BLOCK_VALUES, top_labels


@dataclass(frozen=True, eq=False, kw_only=True)
class Certificate:
    """Label y is in the set of x iff f(x, y) ≥ ``thresholds[y]``; -inf puts y into every set.

    ``weights`` and ``prevalence`` bound q(y)/p(y) and q(y) where the method bounds them, ``accuracy`` is a
    lower bound of the classifier's accuracy on the target, ``reasons`` say what data were lacking, ``curve``
    is the bound of the target error at other thresholds, ``set_sizes[s]`` counts target sets of size s.
    """

    thresholds: FloatArray
    classes: tuple[Label, ...]
    epsilon: float
    delta: float
    method: str
    options: dict[str, Any]
    score: str
    guarantee: Guarantee
    n_source: int
    n_target: int
    class_counts: IntArray
    predicted_counts: IntArray
    weights: Interval | None = None
    prevalence: Interval | None = None
    accuracy: float | None = None
    reasons: tuple[str, ...] = ()
    curve: BoundCurve | None = None
    set_sizes: IntArray | None = None
    never_empty: bool = False
    transform: Transform | None = field(default=None, repr=False)  # a function of the user's own: not saved

    @property
    def trivial(self) -> bool:
        """Whether every set holds every label: always valid, never informative."""
        return bool(np.isneginf(self.thresholds).all())

    def sets(self, scores: Any, *, score: TransformFunction | None = None, rng: Any = None) -> BoolArray:
        """Prediction sets as a boolean matrix.

        Parameters
        ----------
        scores : array_like or frame
            One row per example, one column per class, as in calibration.
        score : callable, optional
            The score function of your own that the certificate was made with, after loading it from a file.
        rng : int, numpy.random.Generator or None
            Source of the numbers of randomised scores. An int seed draws other numbers here than in ``calibrate``,
            since the guarantee needs both to be independent.

        Returns
        -------
        numpy.ndarray of bool, shape (n, K)
            Whether label y is in the set of row x.

        Raises
        ------
        InputError
            If scores are not a finite matrix with a column for every class.

        Examples
        --------
        >>> from pacshift import calibrate
        >>> scores, labels = [[0.9, 0.1], [0.2, 0.8]] * 50, [0, 1] * 50
        >>> certificate = calibrate(scores, labels, None, epsilon=0.1, delta=0.1, method="PS")
        >>> certificate.sets([[0.7, 0.3], [0.05, 0.95]]).tolist()
        [[False, False], [False, True]]
        """
        checked = check_scores(scores, name="scores", classes=self.classes)
        transform = self._transform(score)
        return self._sets(checked, transform, transform.draw(len(checked), check_prediction_rng(rng)))

    def sets_of_rows(self, scores: NDArray[Any], uniform: FloatArray | None) -> BoolArray:
        """As ``sets``, of some rows of a table whose uniform numbers (one per row) are drawn already."""
        checked = check_scores(scores, name="scores", classes=self.classes)
        return self._sets(checked, self._transform(None), uniform)

    @property
    def is_randomized(self) -> bool:
        """Whether sets depend on random numbers, as those of ``aps`` and ``raps`` scores do."""
        return self._transform(None).randomized

    def _sets(self, scores: ScoreMatrix, transform: Transform, uniform: FloatArray | None) -> BoolArray:
        cuts = self._cuts(scores.values.dtype if transform.function is None else np.dtype(np.float64))
        if cuts.ndim:  # matrices of equal shape compare twice as fast as a matrix and a row
            cuts = np.tile(cuts, (scores.block_rows, 1))
        result = np.empty(scores.values.shape, np.bool_)

        def job(chunk: slice) -> None:
            for rows in scores.blocks(chunk):
                block = transform.of_block(scores, rows, uniform)
                if not block.max() < np.inf:  # the cheapest look that finds NaN; -inf compares as it should
                    raise not_finite_error(scores, "scores")
                np.greater_equal(block, cuts[: len(block)] if cuts.ndim else cuts, out=result[rows])
                if self.never_empty:
                    _add_top(result[rows], scores, rows)

        step = max(1, BLOCK_VALUES // len(self.classes))
        run_all([partial(job, slice(start, start + step)) for start in range(0, len(scores), step)])
        return result

    def _cuts(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Thresholds in the type of the scores, rounded up: ``x >= τ`` then says the same in fewer bits."""
        cuts = self.thresholds if (self.thresholds != self.thresholds[0]).any() else self.thresholds[0]
        with np.errstate(over="ignore"):  # beyond the type's range: ±inf, and the next line corrects -inf
            rounded = np.asarray(cuts).astype(dtype)
        return np.where(rounded < cuts, np.nextafter(rounded, np.asarray(np.inf, dtype)), rounded)

    def _transform(self, score: TransformFunction | None) -> Transform:
        if score is not None:
            return resolve_transform(score)
        if self.transform is not None:
            return self.transform
        if self.score not in TRANSFORMS:
            raise InputError("this certificate was made with a score function of your own: pass it as score=.")
        return TRANSFORMS[self.score]

    def with_set_sizes(self, scores: Any, *, rng: Any = None) -> "Certificate":
        """The same certificate, with the sizes of the sets of ``scores`` counted.

        Parameters
        ----------
        scores : array_like or frame
            The target's scores: one row per example, one column per class.
        rng : int, numpy.random.Generator or None
            As in ``sets``.

        Returns
        -------
        Certificate
            Its ``set_sizes[s]`` counts the sets with s labels.

        Examples
        --------
        >>> from pacshift import calibrate
        >>> scores, labels = [[0.9, 0.1], [0.2, 0.8]] * 50, [0, 1] * 50
        >>> certificate = calibrate(scores, labels, None, epsilon=0.1, delta=0.1, method="PS")
        >>> certificate.with_set_sizes([[0.7, 0.3], [0.05, 0.95]]).set_sizes.tolist()
        [1, 1, 0]
        """
        return replace(self, set_sizes=count_sizes(self.sets(scores, rng=rng)))

    def explain(self) -> str:
        """What holds, for whom, how surely, under which assumption, from how much data, in plain words."""
        return explain(self)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
        """Write JSON that a person can read; every number comes back bit for bit."""
        write(self, path, overwrite=overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Certificate":
        """Read what :meth:`save` wrote. Nothing in the file is executed; nonsense is refused."""
        return cls(**read_fields(path))


def count_sizes(sets: BoolArray) -> IntArray:
    """How many sets hold 0, 1, ..., K labels."""
    return np.bincount(sets.sum(axis=1), minlength=sets.shape[1] + 1)


def _add_top(sets: BoolArray, scores: ScoreMatrix, rows: slice) -> None:
    empty = np.flatnonzero(~sets.any(axis=1))
    if len(empty):
        sets[empty, top_labels(scores.values[rows][empty])] = True
