"""Label mixes, and rows drawn to them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import FloatArray, IntArray
from pacshift.errors import InputError
from pacshift.scores.check import check_rng


def tweak_one(n_classes: int, label: int, share: float) -> FloatArray:
    """Give one label a fixed share and divide the rest equally: the tweak-one mix of Lipton et al. (2018).

    Parameters
    ----------
    n_classes : int
        Number of classes, at least 2.
    label : int
        Column index of the label whose share is given.
    share : float
        Its share, in [0, 1].

    Returns
    -------
    numpy.ndarray
        Label mix of length ``n_classes`` that adds up to 1.

    Raises
    ------
    InputError
        If the label is not a column index, or the share is outside [0, 1].

    Examples
    --------
    >>> tweak_one(4, 2, 0.7).round(3).tolist()
    [0.1, 0.1, 0.7, 0.1]
    """
    if n_classes < 2 or not 0 <= label < n_classes or not 0 <= share <= 1:
        raise InputError(f"tweak_one needs 0 <= label < n_classes and a share in [0, 1]; got {label}, {share}.")
    mix = np.full(n_classes, (1 - share) / (n_classes - 1))
    mix[label] = share
    return mix


def check_mix(mix: Any, n_classes: int) -> FloatArray:
    """Shares >= 0, one per class, scaled to add up to 1 (so percentages are welcome)."""
    try:
        shares = np.asarray(mix, dtype=np.float64)
    except (TypeError, ValueError):
        shares = np.empty(0)
    if shares.shape != (n_classes,) or not np.isfinite(shares).all() or (shares < 0).any() or shares.sum() <= 0:
        raise InputError(f"a label mix needs {n_classes} finite shares >= 0, not all 0; got {mix!r}.")
    return np.asarray(shares / shares.sum())


def check_row_weights(weights: Any, n_rows: int) -> FloatArray:
    """Weights >= 0, one per row; those of the rows of one label need not add up to 1."""
    values = np.asarray(weights, np.float64)
    if values.shape != (n_rows,) or not np.isfinite(values).all() or (values < 0).any():
        raise InputError(f"row_weights must be {n_rows} finite numbers >= 0, one per row.")
    return values


def resample(labels: IntArray, mix: Any, size: int, rng: Any) -> IntArray:
    """Draw row numbers with replacement: a label from ``mix``, then a row of that label.

    The drawn rows follow the label shift from the base to ``mix``.

    Parameters
    ----------
    labels : array of int
        Column index (0 to K-1) of the true label of every row of the base.
    mix : array-like
        One share per class, in the order of the columns; scaled to add up to 1.
    size : int
        Number of rows to draw, at least 1.
    rng : int, numpy.random.Generator or None
        Seed or generator.

    Returns
    -------
    numpy.ndarray
        ``size`` row numbers.

    Raises
    ------
    InputError
        If the mix is not valid, or gives a share to a class without rows.

    Examples
    --------
    >>> labels = np.array([0, 0, 0, 1])
    >>> rows = resample(labels, [0.5, 0.5], 1000, rng=0)
    >>> bool(abs(labels[rows].mean() - 0.5) < 0.05)
    True
    """
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.dtype.kind not in "iu" or size < 1:
        raise InputError(f"resample needs a list of column indices and a size >= 1; got {labels.dtype}, {size!r}.")
    n_classes = max(len(np.atleast_1d(mix)), 2)
    shares = check_mix(mix, n_classes)
    if not len(labels) or labels.min() < 0 or labels.max() >= n_classes:
        raise InputError(f"labels must be column indices 0 to {n_classes - 1}, at least one.")
    available = np.bincount(labels, minlength=n_classes)
    require_rows(available, shares)
    grouped = np.argsort(labels, kind="stable")
    first = np.concatenate([[0], np.cumsum(available)])
    rng = check_rng(rng)
    drawn = rng.choice(n_classes, size, p=shares)
    place = first[drawn] + (rng.random(size) * available[drawn]).astype(np.int64)
    return np.asarray(grouped[place])


def require_rows(available: NDArray[Any], shares: FloatArray) -> None:
    """Refuse a mix that gives a share to a class without rows."""
    lacking = np.flatnonzero((available == 0) & (shares > 0))
    if len(lacking):
        raise InputError(f"the mix asks for class {lacking[0]}, of which there are no rows to draw from.")
