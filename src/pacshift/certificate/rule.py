"""The rule of a certificate: which labels are in the set of a row, whoever makes the set."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeGuard, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pacshift.arrays import BoolArray, FloatArray, Frame, IntArray, Label, ScoresLike, SupportsDLPack
from pacshift.certificate.sql import Dialect, check_columns, set_expression
from pacshift.errors import InputError
from pacshift.rows.columns import Columns
from pacshift.rows.sets import label_lists, make_sets, sizes_at
from pacshift.scores.check import ScoreMatrix, as_rows, check_scores, is_row
from pacshift.scores.frames import frame_like, series_like
from pacshift.scores.kind import ScoreKind, require_same_kind
from pacshift.scores.transforms import (
    TRANSFORMS,
    Transform,
    TransformFunction,
    resolve_transform,
    to_probabilities,
)
from pacshift.tally.grid import fits_single


@dataclass(frozen=True, eq=False, kw_only=True)
class SetRule:
    """What makes the sets of a certificate; ``Certificate`` describes the fields."""

    thresholds: FloatArray
    classes: tuple[Label, ...]
    score: str
    score_kind: ScoreKind | None = None
    never_empty: bool = False
    softmax: bool = False
    columns: Columns | None = None
    transform: Transform | None = field(default=None, repr=False)  # a function of the user's own: not saved

    @property
    def trivial(self) -> bool:
        """Whether every set contains all labels, which is always correct but never informative."""
        return bool(np.isneginf(self.thresholds).all())

    @cached_property
    def fits_single(self) -> bool:
        """Whether scores of single precision can be compared with the thresholds; else they are refused."""
        cuts = self.thresholds[np.isfinite(self.thresholds)]
        return self.score != "probability" or bool(fits_single(cuts).all())

    @overload
    def sets(self, scores: Frame, *, score: TransformFunction | None = None) -> Any: ...

    @overload
    def sets(
        self,
        scores: ArrayLike | Sequence[Any] | SupportsDLPack,
        *,
        score: TransformFunction | None = None,
    ) -> BoolArray: ...

    def sets(self, scores: ScoresLike, *, score: TransformFunction | None = None) -> Any:
        """Make the prediction sets: for every row and label, whether the label is in the row's set.

        Parameters
        ----------
        scores : array_like or frame
            One row per example, one column per class. An array has its columns in the order of ``classes``. In a
            frame they are found by name, in any order and beside other columns: ``columns.scores`` if the frame
            has them, else the names of the classes. A single row may have one dimension; the scores of a pandas
            series are found by name. For many single rows, ``predictor`` is many times faster.
        score : callable, optional
            The score function of your own that the certificate was made with, after loading it from a file.

        Returns
        -------
        numpy.ndarray of bool, shape (n, K) or (K,), or frame
            Whether label y is in the set of row x. A frame of pandas, polars or Arrow gives a frame of the same
            kind with one column per class; that of pandas has the same index. A single row gives one dimension.

        Raises
        ------
        InputError
            If scores are not a finite matrix with a column for every class, or are plainly of another kind than
            those of the calibration: logits instead of probabilities, or the other way round.

        Examples
        --------
        >>> from pacshift import calibrate
        >>> scores, labels = [[0.9, 0.1], [0.2, 0.8]] * 50, [0, 1] * 50
        >>> certificate = calibrate(scores, labels, None, epsilon=0.1, delta=0.1, method="PS")
        >>> certificate.sets([[0.7, 0.3], [0.05, 0.95]]).tolist()
        [[False, False], [False, True]]
        """
        if is_row(scores):
            return self._sets(self._checked(as_rows(scores, len(self.classes))), score)[0]
        return frame_like(scores, self._sets(self._checked(scores), score), self.classes)

    @overload
    def labels(self, scores: Frame, *, score: TransformFunction | None = None) -> Any: ...

    @overload
    def labels(
        self,
        scores: ArrayLike | Sequence[Any] | SupportsDLPack,
        *,
        score: TransformFunction | None = None,
    ) -> list[list[Label]]: ...

    def labels(self, scores: ScoresLike, *, score: TransformFunction | None = None) -> Any:
        """Make the prediction sets as lists of class names, the most likely first.

        Parameters
        ----------
        scores : array_like or frame
            As in ``sets``.
        score : callable, optional
            As in ``sets``.

        Returns
        -------
        list of list, or series
            One list per row. A frame of pandas or polars gives a series; that of pandas has the same index.

        Raises
        ------
        InputError
            As in ``sets``.

        Examples
        --------
        >>> from pacshift import calibrate
        >>> scores, names = [[0.9, 0.1], [0.2, 0.8]] * 50, ["cat", "dog"]
        >>> certificate = calibrate(scores, names * 50, None, method="PS-LW", epsilon=0.2, classes=names)
        >>> certificate.labels([[0.95, 0.05], [0.91, 0.93], [0.5, 0.5]])
        [['cat'], ['dog', 'cat'], []]
        """
        checked = self._checked(scores)
        return series_like(scores, label_lists(self._sets(checked, score), checked))

    def _checked(self, scores: ScoresLike | ScoreMatrix) -> ScoreMatrix:
        """Scores as a matrix of the kind that the thresholds belong to."""
        if _is_plain(scores, len(self.classes)):
            checked = ScoreMatrix(scores, self.classes)
        else:
            columns = () if self.columns is None else self.columns.scores
            checked = check_scores(scores, name="scores", classes=self.classes, columns=columns)
        if checked.values.dtype == np.float32 and not self.fits_single:
            raise InputError(
                "scores: thresholds of this certificate are too small or too large for single precision, which "
                "would lose the scores at them. Pass scores in double precision (float64), as the model computes "
                "them."
            )
        if self.softmax:
            return to_probabilities(checked, name="scores")
        require_same_kind(self.score_kind, ScoreKind.of_rows(checked.values), name="scores", n_rows=len(checked))
        return checked

    def _sets(self, scores: ScoreMatrix, score: TransformFunction | None = None) -> BoolArray:
        return make_sets(scores, self.thresholds, transform_of(self, score), never_empty=self.never_empty)

    def _sizes(self, scores: ScoreMatrix, thresholds: Sequence[FloatArray]) -> list[IntArray]:
        return sizes_at(scores, thresholds, transform_of(self), never_empty=self.never_empty)

    def sets_of_rows(self, scores: NDArray[Any]) -> BoolArray:
        """Prediction sets of some rows of a table, for engines that read it piece by piece.

        Parameters
        ----------
        scores : array
            One row per example, one column per class.

        Returns
        -------
        bool array of shape (n, K)
            As from ``sets``.
        """
        return self._sets(self._checked(scores))

    def sizes_of_rows(self, scores: NDArray[Any], thresholds: Sequence[FloatArray]) -> list[IntArray]:
        """How many sets of some rows of a table hold 0, 1, ..., K labels, at any thresholds.

        Parameters
        ----------
        scores : array
            As in ``sets_of_rows``.
        thresholds : sequence of array
            Each takes the place of the certificate's own thresholds.

        Returns
        -------
        list of array of shape (K + 1,)
            Counts of sets by size, one for each of ``thresholds``.
        """
        return self._sizes(self._checked(scores), thresholds)

    @property
    def is_randomized(self) -> bool:
        """Whether scores use the uniform numbers of their rows, as ``aps`` and ``raps`` do."""
        return transform_of(self).randomized

    def to_sql(self, dialect: Dialect = "duckdb", *, columns: Sequence[str] | None = None) -> str:
        """The sets as one SQL expression, so that a database can make them where the scores are.

        Parameters
        ----------
        dialect : {"duckdb", "postgres", "bigquery", "snowflake", "spark"}
            Which SQL to write.
        columns : sequence of str, optional
            The score column of each class, in the order of ``classes``. Default: those of the table that the
            certificate was made from.

        Returns
        -------
        str
            An expression for ``SELECT``: the list of labels in the row's set, in the order of ``classes``. It is
            NULL for rows with a score that is missing, NaN or +inf, which ``sets`` refuses. With ``softmax`` the
            columns hold logits, which must be numbers of single precision, in a column of any type: round others
            in a view (``CAST(z AS REAL)``). A label whose probability lies within one step of single precision
            below its threshold may then be in the set too: databases differ in the last bits of exp().

        Raises
        ------
        InputError
            If a score other than ``"probability"`` is compared, if the columns are unknown or too few or one for
            the dialect (names that differ in case only), or if the dialect is unknown.

        Examples
        --------
        >>> from pacshift import calibrate
        >>> scores, names = [[0.9, 0.1], [0.2, 0.8]] * 50, ["cat", "dog"]
        >>> certificate = calibrate(
        ...     scores, names * 50, None, epsilon=0.1, delta=0.1, method="PS", classes=names
        ... )
        >>> print(certificate.to_sql("spark", columns=["p_cat", "p_dog"]))
        CASE WHEN `p_cat` < CAST('Infinity' AS DOUBLE) AND `p_dog` < CAST('Infinity' AS DOUBLE)
        THEN filter(array(
          CASE WHEN `p_cat` >= CAST('0.7999999821186067' AS DOUBLE) THEN 'cat' END,
          CASE WHEN `p_dog` >= CAST('0.7999999821186067' AS DOUBLE) THEN 'dog' END
        ), label -> label IS NOT NULL) END
        """
        if self.score != "probability":
            raise InputError(
                f"SQL can only compare probabilities, but this certificate transforms them first (score "
                f"{self.score!r}). Make the sets with `sets` or `pacshift predict`, or calibrate with "
                "score='probability'."
            )
        remembered = None if self.columns is None else self.columns.scores
        names = check_columns(remembered if columns is None else columns, len(self.classes))
        return set_expression(
            names,
            self.classes,
            self.thresholds,
            dialect=dialect,
            never_empty=self.never_empty,
            softmax=self.softmax,
        )


def transform_of(rule: SetRule, score: TransformFunction | None = None) -> Transform:
    """What is done to scores before they are compared; ``score`` is a function of the user's own."""
    if score is not None:
        return resolve_transform(score)
    if rule.transform is not None:
        return rule.transform
    if rule.score not in TRANSFORMS:
        raise InputError("this certificate was made with a score function of your own: pass it as score=.")
    return TRANSFORMS[rule.score]


def _is_plain(scores: Any, n_classes: int) -> TypeGuard[NDArray[np.floating[Any]]]:
    """Whether ``check_scores`` would find nothing to do: it takes longer than the sets of a thousand scores."""
    return (
        type(scores) is np.ndarray
        and scores.dtype in (np.float64, np.float32)
        and scores.ndim == 2
        and scores.shape[1] == n_classes
        and len(scores) > 0
    )
