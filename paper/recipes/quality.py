"""How good a model is on the rows it scores."""

from math import nan
from typing import Any

from numpy.typing import NDArray

from pacshift.arrays import IntArray
from paper.recipes.raw.data import BoolArray


def measure(probs: NDArray[Any], labels: IntArray, is_test: BoolArray) -> dict[str, float]:
    """Accuracy on all rows and on the official test rows, and the area under the ROC curve.

    Not a number where there are no official test rows, or more than two classes.
    """
    is_right = probs.argmax(axis=1) == labels
    return {
        "accuracy": float(is_right.mean()),
        "test_accuracy": float(is_right[is_test].mean()) if is_test.any() else nan,
        "auc": area_under_curve(probs[:, 1], labels) if probs.shape[1] == 2 else nan,
    }


def area_under_curve(scores: NDArray[Any], labels: IntArray) -> float:
    """Area under the ROC curve: how often a row of class 1 scores higher than one of class 0.

    >>> import numpy as np
    >>> area_under_curve(np.array([0.1, 0.4, 0.4, 0.9]), np.array([0, 0, 1, 1]))
    0.875
    """
    from scipy.stats import rankdata

    n_positive = int(labels.sum())
    above = rankdata(scores)[labels == 1].sum() - n_positive * (n_positive + 1) / 2
    return float(above / (n_positive * (len(labels) - n_positive)))
