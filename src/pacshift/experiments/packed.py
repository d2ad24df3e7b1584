"""Scores as the package ships them: two bytes each."""

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import FloatArray

GAP_UNIT = 1024
"""Stored scores are log-probability gaps to the row's largest, in units of 1/1024 (0.1 % of the value)."""


def pack_scores(probs: FloatArray) -> NDArray[np.uint16]:
    """Pack probabilities as gaps to the largest of the row, in units of 1/1024 of a natural logarithm."""
    with np.errstate(divide="ignore"):  # a probability of 0 becomes the largest gap that fits
        gaps = np.log(probs.max(axis=1, keepdims=True)) - np.log(probs)
    return np.asarray(np.minimum(np.rint(gaps * GAP_UNIT), np.iinfo(np.uint16).max), np.uint16)


def unpack_scores(gaps: NDArray[np.uint16]) -> FloatArray:
    """Turn packed gaps back into probabilities; rows sum to 1.

    >>> unpack_scores(pack_scores(np.array([[0.7, 0.2, 0.1]]))).round(3)
    array([[0.7, 0.2, 0.1]])
    """
    shares = np.exp(-gaps.astype(np.float64) / GAP_UNIT)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
