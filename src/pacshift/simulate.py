"""Make a label shift on purpose: label mixes, and rows drawn to them."""

from typing import Any

import numpy as np

from pacshift.arrays import FloatArray, IntArray
from pacshift.errors import InputError
from pacshift.scores.check import check_rng


def tweak_one(n_classes: int, label: int, share: float) -> FloatArray:
    """The tweak-one mix of Lipton et al. (2018): ``share`` for one label, the others equally likely.

    >>> tweak_one(4, 2, 0.7).round(3).tolist()
    [0.1, 0.1, 0.7, 0.1]
    """
    if n_classes < 2 or not 0 <= label < n_classes or not 0 <= share <= 1:
        raise InputError(f"tweak_one needs 0 <= label < n_classes and a share in [0, 1]; got {label}, {share}.")
    mix = np.full(n_classes, (1 - share) / (n_classes - 1))
    mix[label] = share
    return mix


def check_mix(mix: Any, n_classes: int) -> FloatArray:
    """Shares >= 0, one a class, scaled to add up to 1 (so percentages are welcome)."""
    try:
        shares = np.asarray(mix, dtype=np.float64)
    except (TypeError, ValueError):
        shares = np.empty(0)
    if shares.shape != (n_classes,) or not np.isfinite(shares).all() or (shares < 0).any() or shares.sum() <= 0:
        raise InputError(f"a label mix needs {n_classes} finite shares >= 0, not all 0; got {mix!r}.")
    return np.asarray(shares / shares.sum())


def resample(labels: IntArray, mix: Any, size: int, rng: np.random.Generator) -> IntArray:
    """Row numbers drawn with replacement: a label from ``mix``, then a row of that label.

    ``labels`` are column indices 0 to K-1. The drawn rows follow the label shift from the base to ``mix``.
    """
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.dtype.kind not in "iu" or size < 1:
        raise InputError(f"resample needs a list of column indices and a size >= 1; got {labels.dtype}, {size!r}.")
    n_classes = max(len(np.atleast_1d(mix)), 2)
    shares = check_mix(mix, n_classes)
    if not len(labels) or labels.min() < 0 or labels.max() >= n_classes:
        raise InputError(f"labels must be column indices 0 to {n_classes - 1}, at least one.")
    available = np.bincount(labels, minlength=n_classes)
    if (available[shares > 0] == 0).any():
        lacking = int(np.flatnonzero((available == 0) & (shares > 0))[0])
        raise InputError(f"the mix asks for class {lacking}, of which there are no rows to draw from.")
    grouped = np.argsort(labels, kind="stable")
    first = np.concatenate([[0], np.cumsum(available)])
    rng = check_rng(rng)
    drawn = rng.choice(n_classes, size, p=shares)
    place = first[drawn] + (rng.random(size) * available[drawn]).astype(np.int64)
    return np.asarray(grouped[place])
