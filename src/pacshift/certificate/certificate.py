"""What comes out: thresholds, what they guarantee and for whom, and the sets they make."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import BoolArray, FloatArray, IntArray, Label
from pacshift.bounds import BoundCurve, Interval
from pacshift.certificate.explain import explain
from pacshift.certificate.file import read_fields, write
from pacshift.errors import InputError
from pacshift.methods import Guarantee
from pacshift.scores.check import ScoreMatrix, check_rng, check_scores, require_finite
from pacshift.scores.transforms import TRANSFORMS, Transform, TransformFunction, resolve_transform
from pacshift.tally.counter import top_label


class _CurveField:
    """The field ``curve``: a curve, or a function that computes it, which runs once, at the first look."""

    def __get__(self, certificate: "Certificate | None", owner: type) -> BoundCurve | None:
        if certificate is None:
            return None
        given = certificate.__dict__["curve"]
        if callable(given):
            given = certificate.__dict__["curve"] = given()
        found: BoundCurve | None = given
        return found

    def __set__(
        self, certificate: "Certificate", given: BoundCurve | Callable[[], BoundCurve | None] | None
    ) -> None:
        certificate.__dict__["curve"] = None if isinstance(given, _CurveField) else given  # its default


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
    curve: _CurveField = field(default=_CurveField(), repr=False)  # looks at the field go through it
    set_sizes: IntArray | None = None
    never_empty: bool = False
    transform: Transform | None = field(default=None, repr=False)  # a function of the user's own: not saved

    @property
    def trivial(self) -> bool:
        """Whether every set holds every label: always valid, never informative."""
        return bool(np.isneginf(self.thresholds).all())

    def sets(self, scores: Any, *, score: TransformFunction | None = None, rng: Any = None) -> BoolArray:
        """Prediction sets as a boolean matrix, one row an example, one column a class.

        ``score`` gives back a score function of your own after loading; ``rng`` is for randomised scores.
        """
        checked = check_scores(scores, name="scores", classes=self.classes)
        transform = self._transform(score)
        cuts = self._cuts(checked.values.dtype if transform.function is None else np.dtype(np.float64))
        if cuts.ndim:  # matrices of equal shape compare twice as fast as a matrix and a row
            cuts = np.tile(cuts, (checked.block_rows, 1))
        result = np.empty(checked.values.shape, np.bool_)
        for rows, block in transform.blocks(checked, check_rng(rng)):
            if not block.max() < np.inf:  # the cheapest look that finds NaN; -inf compares as it should
                require_finite(block, checked, "scores")
            np.greater_equal(block, cuts[: len(block)] if cuts.ndim else cuts, out=result[rows])
            if self.never_empty:
                _add_top(result[rows], checked, rows)
        return result

    def _cuts(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Thresholds in the type of the scores, rounded up: x >= τ then says the same in fewer bits."""
        cuts = self.thresholds if (self.thresholds != self.thresholds[0]).any() else self.thresholds[0]
        with np.errstate(over="ignore"):  # beyond the type's range: ±inf, and the next line mends -inf
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
        """The same certificate with the sizes of the sets of ``scores`` (the target's) counted."""
        sizes = self.sets(scores, rng=rng).sum(axis=1)
        counted = np.bincount(sizes, minlength=len(self.classes) + 1)
        return replace(self, set_sizes=counted, curve=self.__dict__["curve"])  # not computed by a copy

    def __getstate__(self) -> dict[str, Any]:
        """Pickles hold the curve itself, not the counts it is computed from."""
        return {**self.__dict__, "curve": self.curve}

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


def _add_top(sets: BoolArray, scores: ScoreMatrix, rows: slice) -> None:
    empty = np.flatnonzero(~sets.any(axis=1))
    sets[empty, top_label(scores.values[rows][empty])] = True
