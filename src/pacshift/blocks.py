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

import numpy as np
from numpy.typing import ArrayLike

from pacshift import bounds
from pacshift.arrays import BoolArray, FloatArray, IntArray, RngLike
from pacshift.bounds import Interval
from pacshift.errors import InputError
from pacshift.methods import point_weights, ps_w, weight_box
from pacshift.methods.weight_box import EmptyBox, Form, NoBox
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


def split_delta(delta: float, n_classes: int) -> float:
    """The share of δ for each of K·K cells of the confusion matrix, K target cells and the threshold, all equal.

    Parameters
    ----------
    delta : float
        Allowed probability of a failure in all.
    n_classes : int
        Number of classes K.

    Returns
    -------
    float
        delta / (K(K + 1) + 1).

    Examples
    --------
    >>> split_delta(0.07, n_classes=2)
    0.01
    """
    number = _counts(n_classes, "n_classes", ndim=0)
    if number < 2:
        raise InputError(f"n_classes must be 2 or more, got {n_classes!r}.")
    return ps_w.split_delta(check_rate(delta, "delta"), int(number))


def clopper_pearson(count: ArrayLike, total: ArrayLike, *, delta: float) -> Interval:
    """Exact binomial interval, right with probability at least ``1 - delta``, elementwise.

    Parameters
    ----------
    count : array_like of int
        Successes.
    total : array_like of int
        Trials; 0 (no data) gives ``[0, 1]``.
    delta : float
        Allowed probability of an interval that misses the rate, half of it on each side.

    Returns
    -------
    Interval
        Bounds of the rate.

    Raises
    ------
    InputError
        If a count is no whole number from 0 to its total.

    Examples
    --------
    >>> clopper_pearson([0, 5], 10, delta=0.05).upper.round(3)
    array([0.308, 0.813])
    >>> clopper_pearson(5, 3, delta=0.05)
    Traceback (most recent call last):
    pacshift.errors.InputError: count must be at most total, got 5 of 3. Give the successes first, then all trials.
    """
    successes, trials = _counts(count, "count"), _counts(total, "total")
    try:
        successes, trials = np.broadcast_arrays(successes, trials)
    except ValueError:
        raise InputError(
            f"count and total must fit together, got the shapes {successes.shape} and {trials.shape}."
        ) from None
    if (successes > trials).any():
        first = np.argmax(successes > trials)
        raise InputError(
            f"count must be at most total, got {successes.flat[first]} of {trials.flat[first]}. "
            "Give the successes first, then all trials."
        )
    return bounds.clopper_pearson(successes, trials, delta=check_rate(delta, "delta"))


def binomial_cut(total: int, *, epsilon: float, delta: float) -> int:
    """Largest error count k with P(Binomial(total, epsilon) <= k) <= delta, or -1 where even 0 is too many.

    Parameters
    ----------
    total : int
        Number of examples.
    epsilon : float
        Error rate to be excluded.
    delta : float
        Allowed probability of so few errors at that rate.

    Returns
    -------
    int
        The number of errors, or -1.

    Examples
    --------
    >>> binomial_cut(1000, epsilon=0.1, delta=0.05), binomial_cut(28, epsilon=0.1, delta=0.05)
    (84, -1)
    """
    rates = {"epsilon": check_rate(epsilon, "epsilon"), "delta": check_rate(delta, "delta")}
    return bounds.binomial_cut(int(_counts(total, "total", ndim=0)), **rates)


def eliminate(confusion: Interval, target: Interval, *, form: Form = "signed") -> Interval:
    """The paper's box around all w >= 0 that solve ``C w = q`` for C in ``confusion`` and q in ``target``.

    Parameters
    ----------
    confusion : Interval
        Bounds on C, shape ``(K, K)``, predicted classes in rows and true ones in columns.
    target : Interval
        Bounds on q, shape ``(K,)``.
    form : {"signed", "strict"}
        Intervals of any sign, or Algorithm 1 to the letter.

    Returns
    -------
    Interval
        Bounds on the weights, shape ``(K,)``.

    Raises
    ------
    NoBox
        If all that is left to be a pivot may be 0, or in the strict form if a lower bound turns negative.
    EmptyBox
        If no system in the boxes has a solution w >= 0.

    Examples
    --------
    >>> point, target = np.array([[0.01, 0.5], [0.48, 0.01]]), np.array([0.7, 0.3])  # classes 0 and 1 are swapped
    >>> eliminate(Interval(point * 0.99, point * 1.01), Interval(target, target))
    Interval(lower=[0.5896, 1.374], upper=[0.6027, 1.402])
    """
    if not isinstance(form, str) or form not in ("signed", "strict"):
        raise InputError(f'form must be "signed" or "strict", got {form!r}.')
    return weight_box.eliminate(*_system(confusion, target), form=form)


def hull(confusion: Interval, target: Interval) -> Interval:
    """Smallest box around all w >= 0 that solve ``C w = q`` for C in ``confusion`` and q in ``target``.

    Parameters
    ----------
    confusion : Interval
        Bounds on C, shape ``(K, K)``, predicted classes in rows and true ones in columns.
    target : Interval
        Bounds on q, shape ``(K,)``.

    Returns
    -------
    Interval
        Bounds on the weights, shape ``(K,)``; infinite for a class whose column may be 0.

    Raises
    ------
    EmptyBox
        If no system in the boxes has a solution w >= 0.
    InputError
        If there are more than 200 classes.

    Examples
    --------
    >>> point, target = np.array([[0.01, 0.5], [0.48, 0.01]]), np.array([0.7, 0.3])
    >>> hull(Interval(point * 0.99, point * 1.01), Interval(target, target))
    Interval(lower=[0.5896, 1.374], upper=[0.6027, 1.402])
    """
    return weight_box.hull(*_system(confusion, target))


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
    joint, predicted = _pair(confusion, target)
    return bbse_soft(joint / max(joint.sum(), 1), predicted / max(predicted.sum(), 1), ridge=ridge)


def bbse_soft(confusion: ArrayLike, target: ArrayLike, *, ridge: float = 0.0) -> FloatArray:
    """Point estimate of the weights from mean scores (BBSE, soft); negative weights are set to 0.

    Parameters
    ----------
    confusion : array_like of float, shape (K, K)
        ``confusion[i, j]`` sums the scores of i over the source rows of label j, divided by all rows.
    target : array_like of float, shape (K,)
        The mean score of each class on the target.
    ridge : float
        The authors of the paper use ``1 / min(m, n)`` in their PS-R.

    Returns
    -------
    float array of shape (K,)
        One weight per class, without a guarantee.

    Examples
    --------
    >>> bbse_soft([[0.4, 0.1], [0.1, 0.4]], [0.65, 0.35], ridge=0.01).round(2)
    array([1.41, 0.51])
    """
    matrix, right = _square(_numbers(confusion, "confusion"), _numbers(target, "target"))
    penalty = _numbers(ridge, "ridge")
    if penalty.ndim or not 0 <= penalty < np.inf:
        raise InputError(f"ridge must be 0 or more, got {ridge!r}.")
    return point_weights.bbse_soft(matrix, right, ridge=float(penalty))


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
    chosen, largest = _counts(labels, "labels", ndim=1), float(ratios.max())
    if chosen.size and chosen.max() >= len(ratios):
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
        found = f"the shape {values.shape}" if values.ndim != 1 else "NaN or infinity"
        raise InputError(f"scores must be one finite number per row, got {found}. Leave out rows without one.")
    cut = binomial_cut(len(values), epsilon=epsilon, delta=delta)
    return -np.inf if cut < 0 else float(np.sort(values)[cut])


def prevalence_region(confusion: ArrayLike, target: ArrayLike, *, delta: float) -> PrevalenceRegion:
    """The label mixes that fit the counts; the true one is among them with probability >= ``1 - delta``.

    Parameters
    ----------
    confusion : array_like of int, shape (K, K)
        ``confusion[i, j]`` counts source rows predicted i and labelled j.
    target : array_like of int, shape (K,)
        ``target[i]`` counts target rows predicted i.
    delta : float
        Allowed probability that the true mix is not in the region.

    Returns
    -------
    PrevalenceRegion
        The inequalities, their bounding box and the least accuracy.

    Raises
    ------
    AssumptionError
        If no mix fits: label shift is rejected at level ``delta``.

    Examples
    --------
    >>> prevalence_region([[900, 0], [0, 900]], [300, 700], delta=0.05).prevalence.lower.round(2)
    array([0.27, 0.67])
    """
    return region.prevalence_region(*_pair(confusion, target), delta=check_rate(delta, "delta"))


def _numbers(values: ArrayLike, name: str, what: str = "numbers") -> FloatArray:
    """An array of numbers."""
    try:
        return np.asarray(values, float)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must be {what}, in rows of one length, got {str(values)[:80]}.") from None


def _counts(values: ArrayLike, name: str, *, ndim: int | None = None) -> IntArray:
    """Whole numbers >= 0, of so many dimensions."""
    _numbers(values, name, "whole numbers")
    found = np.asarray(values)
    if ndim is not None and found.ndim != ndim:
        raise InputError(f"{name} must have {ndim} dimensions, got the shape {found.shape}.")
    if (
        found.dtype.kind not in "iuf"
        or not np.isfinite(found).all()
        or (found < 0).any()
        or (found > MOST_ROWS).any()
        or (found % 1 != 0).any()
    ):
        raise InputError(
            f"{name} must be whole numbers, 0 to {MOST_ROWS:.0e}, got {values!r}. Count rows, do not give shares."
        )
    return found.astype(np.int64)


def _pair(confusion: ArrayLike, target: ArrayLike) -> tuple[IntArray, IntArray]:
    """Counts of a confusion matrix and of target predictions."""
    joint, predicted = _counts(confusion, "confusion", ndim=2), _counts(target, "target", ndim=1)
    _square(joint.astype(float), predicted.astype(float))
    return joint, predicted


def _square(confusion: FloatArray, target: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A square matrix, and as many numbers as it has rows."""
    if target.ndim != 1 or confusion.shape != (len(target), len(target)):
        raise InputError(
            "confusion must be of shape (K, K), predicted classes in rows and true ones in columns, and target of "
            f"shape (K,), got {confusion.shape} and {target.shape}."
        )
    if not (np.isfinite(confusion).all() and np.isfinite(target).all()):
        raise InputError(
            "confusion and target must be finite, got NaN or infinity. Compute them from rows without NaN."
        )
    return confusion, target


def _system(confusion: Interval, target: Interval) -> tuple[Interval, Interval]:
    """Boxes with ends in order, not below 0."""
    for name, box in (("confusion", confusion), ("target", target)):
        if not isinstance(box, Interval):
            raise InputError(
                f"{name} must be an Interval, got {type(box).__name__}: make one with clopper_pearson."
            )
        if np.shape(box.lower) != np.shape(box.upper) or not np.all((box.lower >= 0) & (box.lower <= box.upper)):
            raise InputError(f"{name} must have 0 <= lower <= upper everywhere, got {box!r}.")
    _square(np.asarray(confusion.upper, float), np.asarray(target.upper, float))
    return confusion, target
