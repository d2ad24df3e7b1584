"""The building blocks of the methods, on plain arrays and with checked inputs: for research on label shift.

    >>> import numpy as np
    >>> from pacshift import blocks
    >>> confusion = np.array([[430, 20], [30, 520]])  # predicted classes in rows, true ones in columns
    >>> target, share = np.array([300, 700]), blocks.split_delta(0.05, n_classes=2)
    >>> cells = blocks.clopper_pearson(confusion, 1000, delta=share)
    >>> blocks.hull(cells, blocks.clopper_pearson(target, 1000, delta=share))
    Interval(lower=[0.4395, 1.1], upper=[0.8492, 1.532])
    >>> blocks.bbse(confusion, target).round(3)
    array([0.637, 1.309])

``NoBox`` and ``EmptyBox`` are raised where no box can be computed, and where no weights fit.
"""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from pacshift import bounds
from pacshift.arrays import BoolArray, FloatArray, IntArray, RngLike
from pacshift.bounds import Interval
from pacshift.errors import InputError, param
from pacshift.methods import point_weights, ps_w, weight_box
from pacshift.methods.weight_box import EmptyBox, NoBox
from pacshift.mix import region
from pacshift.mix.region import PrevalenceRegion
from pacshift.scores.check import check_rate, check_rng, check_weights

__all__ = [
    "EmptyBox",
    "Interval",
    "NoBox",
    "PrevalenceRegion",
    "bbse",
    "bbse_soft",
    "binomial_cut",
    "clopper_pearson",
    "eliminate",
    "hull",
    "pac_threshold",
    "prevalence_region",
    "rejection_sample",
    "split_delta",
]

MOST_ROWS = 10**15
"""Counts are exact in double precision below this."""


Result = TypeVar("Result")


def check_arguments(
    block: Callable[..., Result], together: Callable[..., None] | None = None, **checks: Callable[[Any, str], Any]
) -> Callable[..., Result]:
    """``block``, which says what it does, on arguments that are checked one by one, and some of them ``together``.

    ``together`` gets the first two.
    """
    parameters = signature(block)

    @wraps(block)
    def call(*args: Any, **more: Any) -> Result:
        bound = parameters.bind(*args, **more)
        for name, value in bound.arguments.items():
            if name in checks:
                bound.arguments[name] = checks[name](value, name)
        if together is not None:
            together(*list(bound.arguments.values())[:2])
        return block(*bound.args, **bound.kwargs)

    return call


def _numbers(values: Any, name: str, what: str = "numbers") -> FloatArray:
    try:
        return np.asarray(values, float)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must be {what}, in rows of one length, got {str(values)[:80]}.") from None


def _counts(values: Any, name: str) -> IntArray:
    _numbers(values, name, "whole numbers")
    counts = np.asarray(values)
    if counts.dtype.kind not in "iuf" or not ((counts >= 0) & (counts <= MOST_ROWS) & (counts % 1 == 0)).all():
        raise InputError(
            f"{name} must be whole numbers, 0 to {MOST_ROWS:.0e}, got {values!r}. Count rows, do not give shares."
        )
    return counts.astype(np.int64)


def _count(value: Any, name: str) -> int:
    count = _counts(value, name)
    if count.ndim:
        raise InputError(f"{name} must be one number, got the shape {count.shape}.")
    return int(count)


def _number_of_classes(value: Any, name: str) -> int:
    if _count(value, name) < 2:
        raise InputError(f"{name} must be 2 or more, got {value!r}.")
    return int(value)


def _ridge(value: Any, name: str) -> float:
    ridge = _numbers(value, name)
    if ridge.ndim or not 0 <= ridge < np.inf:
        raise InputError(f"{name} must be 0 or more, got {value!r}.")
    return float(ridge)


def _form(value: Any, name: str) -> Any:
    if not isinstance(value, str) or value not in ("signed", "strict"):
        raise InputError(f'{name} must be "signed" or "strict", got {value!r}.')
    return value


def _box(box: Any, name: str) -> Interval:
    if not isinstance(box, Interval):
        raise InputError(f"{name} must be an Interval, got {type(box).__name__}: make one with clopper_pearson.")
    if np.shape(box.lower) != np.shape(box.upper) or not np.all((box.lower >= 0) & (box.lower <= box.upper)):
        raise InputError(f"{name} must have 0 <= lower <= upper everywhere, got {box!r}.")
    return box


def _within_total(count: IntArray, total: IntArray) -> None:
    try:
        successes, trials = np.broadcast_arrays(count, total)
    except ValueError:
        raise InputError(
            f"count and total must fit together, got the shapes {count.shape} and {total.shape}."
        ) from None
    if (successes > trials).any():
        first = np.argmax(successes > trials)
        raise InputError(
            f"count must be at most total, got {successes.flat[first]} of {trials.flat[first]}. "
            "Give the successes first, then all trials."
        )


def _square(*arrays: Any) -> None:
    confusion, target = (np.asarray(one.upper if isinstance(one, Interval) else one, float) for one in arrays)
    if target.ndim != 1 or confusion.shape != (len(target), len(target)):
        raise InputError(
            "confusion must be of shape (K, K), predicted classes in rows and true ones in columns, and target of "
            f"shape (K,), got {confusion.shape} and {target.shape}."
        )
    if not (np.isfinite(confusion).all() and np.isfinite(target).all()):
        raise InputError(
            "confusion and target must be finite, got NaN or infinity. Compute them from rows without NaN."
        )


_RATES: dict[str, Any] = {"epsilon": check_rate, "delta": check_rate}
_COUNTED: dict[str, Any] = {"confusion": _counts, "target": _counts}
_BOXES: dict[str, Any] = {"confusion": _box, "target": _box}
split_delta = check_arguments(ps_w.split_delta, n_classes=_number_of_classes, **_RATES)
clopper_pearson = check_arguments(bounds.clopper_pearson, _within_total, count=_counts, total=_counts, **_RATES)
binomial_cut = check_arguments(bounds.binomial_cut, total=_count, **_RATES)
eliminate = check_arguments(weight_box.eliminate, _square, form=_form, **_BOXES)
hull = check_arguments(weight_box.hull, _square, **_BOXES)
bbse_soft = check_arguments(point_weights.bbse_soft, _square, confusion=_numbers, target=_numbers, ridge=_ridge)
prevalence_region = check_arguments(region.prevalence_region, _square, **_COUNTED, **_RATES)


def bbse(confusion: ArrayLike, target: ArrayLike, *, ridge: float = 0.0) -> FloatArray:
    """Point estimate of the weights from predictions (BBSE, hard); negative weights are set to 0.

    Parameters
    ----------
    confusion : array_like of int, shape (K, K)
        ``confusion[i, j]`` counts source rows predicted i and labelled j.
    target : array_like of int, shape (K,)
        ``target[i]`` counts target rows predicted i.
    ridge : float
        The authors of the paper use ``1 / min(m, n)`` in their WCP.

    Returns
    -------
    float array of shape (K,)
        One weight per class, without a guarantee.

    Examples
    --------
    >>> bbse([[40, 10], [10, 40]], [65, 35])
    array([1.5, 0.5])
    """
    joint, predicted = _counts(confusion, "confusion"), _counts(target, "target")
    return bbse_soft(joint / max(joint.sum(), 1), predicted / max(predicted.sum(), 1), ridge=ridge)


def rejection_sample(
    labels: ArrayLike, weights: ArrayLike, *, envelope: float | None = None, rng: RngLike = None
) -> BoolArray:
    """Which source rows to keep so that they are a sample of the target: row i where V_i <= w[label_i] / b.

    Parameters
    ----------
    labels : array_like of int
        The class of each row, as a column number from 0 to K-1.
    weights : array_like of shape (K,)
        The importance weights q(y)/p(y).
    envelope : float, optional
        b, no smaller than any weight; the largest weight by default.
    rng : int, Generator or None
        Source of the uniform numbers V. Rows in an order that depends on their scores need a fresh one each time.

    Returns
    -------
    bool array
        True for rows that are kept.

    Examples
    --------
    >>> labels = np.repeat([0, 1], 5000)
    >>> kept = rejection_sample(labels, [0.5, 1.5], rng=0)
    >>> (np.bincount(labels[kept]) / kept.sum()).round(2)  # from halves to a quarter and three quarters
    array([0.25, 0.75])
    """
    ratios = _numbers(weights, "weights")
    ratios = check_weights(ratios, tuple(range(ratios.size)))
    chosen, largest = _counts(labels, "labels"), float(ratios.max())
    if chosen.ndim != 1 or (chosen.size and chosen.max() >= len(ratios)):
        raise InputError(
            f"labels must be column numbers below {len(ratios)}, the weights given, got {chosen.max()}."
        )
    if envelope is not None and not largest <= envelope < np.inf:
        raise InputError(f"envelope must be at least the largest weight, {largest:g}, got {envelope!r}.")
    return np.asarray(check_rng(rng).random(len(chosen)) <= ratios[chosen] / (envelope or largest))


def pac_threshold(scores: ArrayLike, *, epsilon: float, delta: float) -> float:
    """The largest τ with at most k(n, ε, δ) of n true-label scores below it (PS), or -inf where none is safe.

    Parameters
    ----------
    scores : array_like of float
        The scores of the true labels, one per row of a sample of the population that matters.
    epsilon : float
        Share of rows that may be missed.
    delta : float
        Allowed probability that the sample misleads.

    Returns
    -------
    float
        A label belongs to the set if its score is at least this.

    Examples
    --------
    >>> pac_threshold(np.linspace(0, 1, 1001), epsilon=0.1, delta=0.05)
    0.084
    >>> pac_threshold([0.5] * 20, epsilon=0.1, delta=0.05)
    -inf
    """
    values = _numbers(scores, "scores")
    if values.ndim != 1 or not np.isfinite(values).all():
        problem = f"the shape {values.shape}" if values.ndim != 1 else "NaN or infinity"
        raise InputError(
            f"{param('scores')} must be one finite number per row, got {problem}. Leave out rows without one."
        )
    cut = binomial_cut(len(values), epsilon=epsilon, delta=delta)
    return -np.inf if cut < 0 else float(np.sort(values)[cut])
