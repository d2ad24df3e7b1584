"""The scores of a real model that the package ships, for ``pacshift demo``: heart disease in a health survey."""

from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import FloatArray
from pacshift.files.reading import read_arrays
from pacshift.simulate.population import same_everywhere

GAP_UNIT = 1024
"""Stored scores are log-probability gaps to the row's largest, in units of 1/1024 (0.1 % of the value): two bytes
each."""


def heart_arrays() -> dict[str, NDArray[Any]]:
    """The stored arrays: gaps, labels, class_names, row_ids, and facts about the model as JSON."""
    with resources.as_file(resources.files("pacshift.simulate") / "heart.npz") as path:
        return read_arrays(path)


def unpack_scores(gaps: NDArray[np.uint16]) -> FloatArray:
    """Turn stored gaps back into probabilities; rows sum to 1.

    >>> unpack_scores(np.array([[0, 1283, 1993]], np.uint16)).round(3)
    array([[0.7, 0.2, 0.1]])
    """
    shares = np.exp(-gaps.astype(np.float64) / GAP_UNIT)
    return same_everywhere(np.asarray(shares / shares.sum(axis=1, keepdims=True)))
