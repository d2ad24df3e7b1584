"""Scores of an imagined classifier."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import FloatArray, IntArray
from pacshift.scores.transforms import softmax

HARDEST_CLASS_LOSS = 0.25
"""Share of the strength that the last class lacks. Chosen so that a shift onto it hurts methods that ignore the
shift."""

BIAS = 0.3
"""Standard deviation of the bias that the logit of each class has: scores are not calibrated, but not absurd."""


def synthetic_scores(index: IntArray, n_classes: int, strength: float, rng: np.random.Generator) -> FloatArray:
    """Probabilities of rows with the true labels ``index``, not calibrated, and worst on the last class."""
    logits = strength * np.eye(n_classes)[index] + rng.gumbel(size=(len(index), n_classes))
    # With a bias per class the scores are not calibrated, like those of most trained classifiers.
    logits += rng.normal(0, BIAS, n_classes)
    # A shift onto the hardest class hurts methods that ignore the shift.
    logits[index == n_classes - 1, -1] -= strength * HARDEST_CLASS_LOSS
    return same_everywhere(softmax(logits, single=False))


def same_everywhere(scores: NDArray[np.floating[Any]]) -> FloatArray:
    """Scores rounded to single precision, so that they are the same on every processor.

    Processors disagree about the last bits of an exponential, and coins depend on every bit (tally/coins.py).
    """
    return scores.astype(np.float32).astype(np.float64)
