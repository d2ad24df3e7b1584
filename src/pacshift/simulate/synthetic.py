"""Scores of an imagined classifier."""

import numpy as np

from pacshift.arrays import FloatArray, IntArray
from pacshift.scores.softmax import softmax

HARDEST_CLASS_LOSS = 0.25
"""Share of the strength that the last class lacks."""

BIAS = 0.3
"""Standard deviation of the bias that the logit of each class has."""


def synthetic_scores(index: IntArray, n_classes: int, strength: float, rng: np.random.Generator) -> FloatArray:
    """Probabilities of rows with the true labels ``index``, not calibrated, and worst on the last class."""
    logits = strength * np.eye(n_classes)[index] + rng.gumbel(size=(len(index), n_classes))
    # A bias per class keeps the scores from being calibrated, as those of a trained classifier are not.
    logits += rng.normal(0, BIAS, n_classes)
    # A shift onto the hardest class hurts whoever ignores the shift.
    logits[index == n_classes - 1, -1] -= strength * HARDEST_CLASS_LOSS
    return np.asarray(softmax(logits))
