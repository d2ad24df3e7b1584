"""Were the sets right? Error and size against labels that became known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from pacshift.arrays import BoolArray, FloatArray, IntArray, Label, LabelsLike, ScoresLike
from pacshift.errors import InputError
from pacshift.scores.check import check_classes, check_labels
from pacshift.scores.frames import as_array, column_names, index_of
from pacshift.words.display import short_repr


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """Error and size of prediction sets.

    Parameters
    ----------
    n : int
        Number of rows.
    error : float
        Share of rows whose set misses the true label.
    size : float
        Mean number of labels per set.
    empty : float
        Share of sets without any label.
    class_counts : numpy.ndarray of shape (K,)
        Rows of each true label.
    class_error, class_size : numpy.ndarray of shape (K,)
        Error and size over the rows of each true label; NaN where there are none.
    one_label : float
        Share of sets with exactly one label.
    one_label_error : float
        Share of these that miss the true label; NaN where there are none.
    alone_counts : numpy.ndarray of shape (K,)
        Sets that hold this label alone.
    alone_error : numpy.ndarray of shape (K,)
        Share of these that miss the true label, which is another; NaN where there are none.

    Examples
    --------
    >>> evaluate([[True, False], [True, True]], [0, 1]).class_size.tolist()
    [1.0, 2.0]
    """

    n: int
    error: float
    size: float
    empty: float
    class_counts: IntArray
    class_error: FloatArray
    class_size: FloatArray
    one_label: float
    one_label_error: float
    alone_counts: IntArray
    alone_error: FloatArray

    __repr__ = short_repr


@dataclass(frozen=True, slots=True, eq=False)
class EvaluationCounts:
    """Counts of sets by true label (rows, misses, labels in the sets), of empty ones, and of those with one label
    by that label. They add up.
    """

    rows: IntArray
    misses: IntArray
    labels: IntArray
    empty: int
    alone: IntArray
    alone_misses: IntArray

    @classmethod
    def of(cls, sets: BoolArray, index: IntArray) -> EvaluationCounts:
        """Count a boolean matrix of sets; ``index[r]`` is the column of row r's true label."""
        sizes, n_classes = sets.sum(axis=1), sets.shape[1]
        hit = sets[np.arange(len(sets)), index]
        labels = np.bincount(index, sizes, minlength=n_classes).astype(np.int64)
        rows, misses = (np.bincount(part, minlength=n_classes) for part in (index, index[~hit]))
        is_alone = sizes == 1
        alone, wrong = sets[is_alone].sum(axis=0), sets[is_alone & ~hit].sum(axis=0)
        return cls(rows, misses, labels, int((sizes == 0).sum()), alone, wrong)

    def __add__(self, other: EvaluationCounts) -> EvaluationCounts:
        names = [part.name for part in fields(self)]
        return EvaluationCounts(*(getattr(self, name) + getattr(other, name) for name in names))

    def evaluation(self) -> Evaluation:
        """Counts as shares and means."""
        n, alone, wrong = (int(counts.sum()) for counts in (self.rows, self.alone, self.alone_misses))
        with np.errstate(invalid="ignore"):  # a class without rows has no rate: NaN says so
            return Evaluation(
                n=n,
                error=float(self.misses.sum() / n),
                size=float(self.labels.sum() / n),
                empty=self.empty / n,
                class_counts=self.rows,
                class_error=self.misses / self.rows,
                class_size=self.labels / self.rows,
                one_label=alone / n,
                one_label_error=wrong / alone if alone else float("nan"),
                alone_counts=self.alone,
                alone_error=self.alone_misses / self.alone,
            )


def evaluate(sets: ScoresLike, labels: LabelsLike, *, classes: Sequence[Label] | None = None) -> Evaluation:
    """Compare prediction sets with the true labels.

    Parameters
    ----------
    sets : array_like or frame of bool, shape (n, K)
        As ``Certificate.sets`` gives them.
    labels : array_like of shape (n,)
        True labels, matched to ``classes`` by value. If sets and labels have a pandas index, it must be the same.
    classes : sequence, optional
        Names of the columns. Default: the column names of a frame, else 0 to K-1.

    Returns
    -------
    Evaluation
        Error and size, over all rows and by true label.

    Raises
    ------
    InputError
        If sets are not a boolean matrix or a label is not among the classes.

    Examples
    --------
    >>> result = evaluate([[True, False], [True, True], [False, False]], [0, 1, 1])
    >>> result.error, result.size, result.empty
    (0.3333333333333333, 1.0, 0.3333333333333333)
    """
    matrix = as_array(sets, "evaluate", "sets")
    if matrix.ndim != 2 or matrix.dtype != np.bool_ or not len(matrix):
        raise InputError(
            "sets must be a boolean matrix with at least one row, as Certificate.sets gives it; "
            f"got shape {matrix.shape} of {matrix.dtype}."
        )
    class_names = column_names(sets) if classes is None else classes
    names = check_classes(range(matrix.shape[1]) if class_names is None else class_names)
    if len(names) != matrix.shape[1]:
        raise InputError(f"{matrix.shape[1]} columns but {len(names)} class names. Give one name per column.")
    columns = check_labels(labels, names, n_rows=len(matrix), name="evaluate", index=index_of(sets))
    return EvaluationCounts.of(matrix, columns).evaluation()
