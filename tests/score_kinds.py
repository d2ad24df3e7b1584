"""Scores of every kind, made from the same logits."""

from collections.abc import Callable

import numpy as np

from pacshift.arrays import FloatArray


def softmax(logits: FloatArray) -> FloatArray:
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def sigmoid(logits: FloatArray) -> FloatArray:
    return np.asarray(1 / (1 + np.exp(-logits)))


MAKERS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "probabilities": softmax,
    "sigmoids": sigmoid,
    "percentages": lambda logits: 100 * softmax(logits),
    "bytes": lambda logits: np.round(255 * softmax(logits)),
    "logs": lambda logits: np.log(softmax(logits)),
    "logits": lambda logits: logits,
    "small logits": lambda logits: logits / 100,
    "large logits": lambda logits: logits * 100,
}
"""Each kind by name. ``bytes`` sum to 255, but for rounding."""
