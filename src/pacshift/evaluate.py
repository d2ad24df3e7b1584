"""Were the sets right? Error and size against labels that became known."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pacshift.arrays import FloatArray, IntArray, Label
from pacshift.errors import InputError
from pacshift.scores import as_array, check_classes, check_labels


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """Shares and means over ``n`` rows; per class, over the rows of that true label (NaN where there is none)."""

    n: int
    error: float
    size: float
    empty: float
    class_counts: IntArray
    class_error: FloatArray
    class_size: FloatArray


def evaluate(sets: Any, labels: Any, *, classes: Sequence[Label] | None = None) -> Evaluation:
    """Compare a boolean matrix of sets with the true labels; ``classes`` names its columns (default 0 to K-1).

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
    names = check_classes(range(matrix.shape[1]) if classes is None else classes)
    if len(names) != matrix.shape[1]:
        raise InputError(f"{matrix.shape[1]} columns but {len(names)} class names. Give one name a column.")
    index = check_labels(labels, names, n_rows=len(matrix), name="evaluate")
    missed = ~matrix[np.arange(len(matrix)), index]
    sizes = matrix.sum(axis=1)
    counts = np.bincount(index, minlength=len(names))
    with np.errstate(invalid="ignore"):  # a class without rows has no rate: NaN says so
        class_error = np.bincount(index, missed, minlength=len(names)) / counts
        class_size = np.bincount(index, sizes, minlength=len(names)) / counts
    return Evaluation(
        n=len(matrix),
        error=float(missed.mean()),
        size=float(sizes.mean()),
        empty=float((sizes == 0).mean()),
        class_counts=counts,
        class_error=class_error,
        class_size=class_size,
    )
