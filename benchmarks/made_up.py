"""Made-up scores for timing: their values do not matter, their number does."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

STRENGTH = 5.0
"""How far the logit of the true label stands above the noise: about 95 % right of 10 classes, 80 % of 100."""


def scores_and_labels(
    rows: int,
    n_classes: int,
    rng: np.random.Generator,
    *,
    mix: Sequence[float] | None = None,
    dtype: Any = np.float64,
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Softmax of noisy logits, one slice after the other so that no second matrix is in memory.

    >>> scores, labels = scores_and_labels(4000, 5, np.random.default_rng(0), mix=shifted_mix(5))
    >>> bool(np.allclose(scores.sum(axis=1), 1)), bool((scores.argmax(axis=1) == labels).mean() > 0.8)
    (True, True)
    >>> bool(abs(np.mean(labels == 0) - 3 / 7) < 0.03)
    True
    """
    labels = rng.choice(n_classes, rows, p=mix)
    scores = np.empty((rows, n_classes), dtype)
    step = max(1, (1 << 20) // n_classes)
    for start in range(0, rows, step):
        block = rng.standard_normal((min(step, rows - start), n_classes), np.float32)
        block[np.arange(len(block)), labels[start : start + step]] += STRENGTH
        np.exp(block, out=block)
        scores[start : start + step] = block
        scores[start : start + step] /= scores[start : start + step].sum(axis=1, keepdims=True)
    return scores, labels


def both_domains(
    rows: int, n_classes: int, dtype: Any = np.float64
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[Any]]:
    """Scores and labels of a source, and scores of a target with a shifted label mix."""
    rng = np.random.default_rng(0)
    source, labels = scores_and_labels(rows, n_classes, rng, dtype=dtype)
    target, _ = scores_and_labels(rows, n_classes, rng, mix=shifted_mix(n_classes), dtype=dtype)
    return source, labels, target


def shifted_mix(n_classes: int) -> list[float]:
    """The first label three times as frequent as every other one."""
    return [3 / (n_classes + 2)] + [1 / (n_classes + 2)] * (n_classes - 1)
