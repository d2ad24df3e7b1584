"""ORACLE, PS-R and WCP: methods that trust one importance weight per class, given or estimated.

WCP is weighted conformal prediction for label shift (Podkopaev and Ramdas, UAI 2021). The estimates of the
weights, none with a guarantee, come last.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from pacshift.arrays import FloatArray, IntArray
from pacshift.bounds import Interval
from pacshift.errors import InputError
from pacshift.methods.base import Method, Solution, Task, check_options, one_threshold
from pacshift.methods.ps import pac_threshold, too_few
from pacshift.scores.check import check_weights
from pacshift.scores.frames import as_array, index_of
from pacshift.tally import Tally
from pacshift.tally.coins import score_coins
from pacshift.tally.stores import SOFT_UNIT

Estimate: TypeAlias = Literal["bbse-soft", "bbse", "bbse-ridge"]
"""How the importance weights are estimated: an option of PS-R and WCP."""


@dataclass(frozen=True)
class Oracle(Method):
    """PS at (ε, δ) on the source rows, each kept with probability weight / largest weight.

    Parameters
    ----------
    weights : array of length K or mapping
        The true importance weights q(y)/p(y), target frequency over source frequency: in the order of the classes,
        or by name, as a dict or a pandas series. The guarantee holds if they are the true ones.

    Examples
    --------
    >>> Oracle(weights=[0.5, 3]).weights
    (0.5, 3.0)
    >>> Oracle(weights={"healthy": 0.5, "sick": 3}).weights
    (('healthy', 0.5), ('sick', 3.0))
    """

    weights: Any = None

    name = "ORACLE"
    idea = "samples with the true weights, which you must know"
    guarantee = "pac-target"
    extra_assumption = "The weights given are the true ones."
    needs_weights = True

    def __post_init__(self) -> None:
        if self.weights is not None:
            object.__setattr__(self, "weights", _plain_weights(self.weights))

    def solve(self, tally: Tally, task: Task) -> Solution:
        """Find the one threshold."""
        if self.weights is None:
            raise InputError(
                "method ORACLE needs the true weights, each class's share of the target over that of the source: "
                "Oracle(weights=[...]), in Python."
            )
        named = isinstance(self.weights[0], tuple)
        weights = check_weights(dict(self.weights) if named else self.weights, tally.classes)
        return replace(rejection_solution(tally, task, weights), weights=Interval(weights, weights))


def _plain_weights(weights: Any) -> tuple[Any, ...]:
    """Numbers in the order of the classes, or pairs of a name and a number, as a file holds them.

    Numbers that pandas gave to the rows of a series are not names.
    """
    index = index_of(weights)
    if index is not None and type(index).__name__ != "RangeIndex":
        weights = weights.to_dict()
    if isinstance(weights, Mapping):
        weights = list(weights.items())
    values = as_array(weights, "weights", "weights") if not isinstance(weights, list | tuple) else weights
    try:
        if len(values) and isinstance(values[0], list | tuple):
            return tuple((name, float(weight)) for name, weight in values)
        return tuple(map(float, values))
    except (TypeError, ValueError):
        raise InputError(
            f"weights must be one number per class, or a dict of class to number, got {weights!r}."
        ) from None


def rejection_solution(tally: Tally, task: Task, weights: FloatArray) -> Solution:
    """PS on a sample thinned by ``weights`` as if they were true."""
    kept = thin(tally.counts, tally, weights / weights.max(), score_coins("rejection", tally, task.seed))
    few = too_few(int(kept.sum()), epsilon=task.epsilon, delta=task.delta, what="rows kept by rejection sampling")
    threshold = pac_threshold(tally, kept, epsilon=task.epsilon, delta=task.delta)
    return Solution(one_threshold(tally, threshold), reasons=few)


def thin(counts: IntArray, tally: Tally, keep: FloatArray, rng: np.random.Generator) -> IntArray:
    """Rejection sampling on counts: the same law as one uniform V per example, kept where V ≤ ``keep[class]``.

    ``rng`` must be independent of the counts, as those of ``pacshift.tally.coins`` are.
    """
    kept, uniform = np.empty_like(counts), np.empty(np.diff(tally.starts).max(initial=0))
    for label, share in enumerate(keep):
        members = slice(tally.starts[label], tally.starts[label + 1])
        each = counts[members]
        if each.max(initial=0) <= 1:  # single examples: one uniform number each is far cheaper
            np.multiply(each, rng.random(out=uniform[: len(each)]) < share, out=kept[members])
        else:
            kept[members] = rng.binomial(each, share)
    return kept


@dataclass(frozen=True)
class EstimatedWeights(Method):
    """Base of PS-R and WCP, which estimate the weights from the tally and use them as if they were true."""

    estimate: Estimate = "bbse-soft"

    extra_assumption = "The estimated weights are used as if they were the true ones."
    needs_target = True
    needs_soft = True  # even where `estimate` does not use the sums: a fact of the class, and they cost little

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True)
class PSR(EstimatedWeights):
    """ORACLE's rule with estimated weights. The estimate may be wrong, so nothing is guaranteed.

    Parameters
    ----------
    estimate : {"bbse-soft", "bbse", "bbse-ridge"}
        How the importance weights are estimated: from sums of probabilities with a ridge, as the authors' PS-R
        does; from counts of predictions; or from these with a ridge, as the authors' WCP does.

    Examples
    --------
    >>> PSR().guarantee, PSR(estimate="bbse").estimate
    ('none', 'bbse')
    """

    name = "PS-R"
    idea = "samples with estimated weights"

    def solve(self, tally: Tally, task: Task) -> Solution:
        """Find the thresholds."""
        return rejection_solution(tally, task, estimate_weights(tally, self.estimate))


@dataclass(frozen=True)
class WCP(EstimatedWeights):
    """For label y, the largest τ_y whose missed weight is at most ε(Σ_i w_i + w_y) - w_y.

    The test point itself has weight w_y and lies at the far end of the weighted quantile. The error is at most ε
    only on average over calibrations, and only if the weights are the true ones.

    Parameters
    ----------
    estimate : {"bbse-soft", "bbse", "bbse-ridge"}
        How the importance weights are estimated; see ``PSR``. The authors' code has ``"bbse-ridge"``.

    Examples
    --------
    >>> WCP().guarantee, WCP().extra_assumption
    ('marginal', 'The estimated weights are used as if they were the true ones.')
    """

    name = "WCP"
    idea = "weighted conformal prediction with estimated weights"
    guarantee = "marginal"

    def solve(self, tally: Tally, task: Task) -> Solution:
        """Find one threshold per class."""
        weights = estimate_weights(tally, self.estimate)
        total = float(weights @ tally.class_counts)
        allowed = task.epsilon * (total + weights) - weights
        return Solution(weighted_quantiles(tally, weights, allowed))


def weighted_quantiles(tally: Tally, weights: FloatArray, allowed: FloatArray) -> FloatArray:
    """For each limit the largest score below which at most that weight lies: one sort for all of them."""
    label = np.repeat(np.arange(tally.n_classes), np.diff(tally.starts))
    order = np.argsort(tally.values, kind="stable")
    missed = np.cumsum((weights[label] * tally.counts)[order])  # just above each score
    scores = np.append(tally.values[order], np.inf)
    return np.where(allowed < 0, -np.inf, scores[np.searchsorted(missed, allowed, side="right")])


def estimate_weights(tally: Tally, estimate: Estimate = "bbse-soft") -> FloatArray:
    """Estimate the importance weights from the counts of a tally.

    Parameters
    ----------
    tally : Tally
        Counts of source and target.
    estimate : {"bbse-soft", "bbse", "bbse-ridge"}
        Soft BBSE with the ridge 1/min(m, n); hard BBSE without one, or with the same.

    Returns
    -------
    float array of shape (K,)
        One weight q(y)/p(y) per class, at least one of them above 0.

    Raises
    ------
    InputError
        If the tally lacks what the estimate needs, or if all weights come out as 0.

    Examples
    --------
    >>> source = Tally.from_scores([[0.9, 0.1], [0.2, 0.8]] * 50, [0, 1] * 50)
    >>> estimate_weights(source + Tally.from_target([[0.9, 0.1]] * 3 + [[0.2, 0.8]]), "bbse")
    array([1.5, 0.5])
    """
    source: ArrayLike
    target: ArrayLike
    if estimate != "bbse-soft":
        source, target = tally.confusion / tally.n_source, tally.target / tally.n_target
    elif tally.soft is not None:
        source = tally.soft.source * (SOFT_UNIT / tally.n_source)
        target = tally.soft.target * (SOFT_UNIT / tally.n_target)
    else:
        raise InputError(
            'the estimate "bbse-soft" needs sums of probabilities, which this tally lacks: '
            'make it with soft=True from scores between 0 and 1, or use estimate="bbse" or "bbse-ridge".'
        )
    ridge = 0.0 if estimate == "bbse" else 1 / min(tally.n_source, tally.n_target)
    weights = bbse_soft(source, target, ridge=ridge)
    if not weights.any():
        raise InputError("the estimated weights are all 0: the target does not look like any source class.")
    return weights


def bbse_soft(confusion: ArrayLike, target: ArrayLike, *, ridge: float = 0.0) -> FloatArray:
    r"""Black-box shift estimation, with a ridge: from mean scores, or from frequencies of predictions.

    .. math:: w = (C^T C + \text{ridge} \cdot I)^{-1} C^T q, \quad \text{negative weights set to } 0

    Without a ridge and with a singular C (a class is never predicted, or never seen), this is the least-squares
    solution of least norm.

    Parameters
    ----------
    confusion : array of shape (K, K)
        C: ``confusion[i, j]`` sums the scores of i over the source rows of label j, divided by all m rows.
    target : array of shape (K,)
        q: the mean score of each class on the target.
    ridge : float
        The authors of the paper use ``1 / min(m, n)``.

    Returns
    -------
    float array of shape (K,)
        One weight per class.

    References
    ----------
    Lipton, Wang and Smola, "Detecting and Correcting for Label Shift with Black Box Predictors", ICML 2018; the
    ridge is that of ``estimate_labelshift_ratio`` in their code, reused by the authors of the paper.

    Examples
    --------
    >>> bbse_soft([[0.4, 0.1], [0.1, 0.4]], [0.65, 0.35], ridge=0.01).round(2)
    array([1.41, 0.51])
    """
    matrix = np.asarray(confusion, float)
    # Rows sqrt(ridge) * I below C say the same as the formula and do not square the condition number.
    stacked = np.vstack([matrix, np.sqrt(ridge) * np.eye(matrix.shape[1])])
    right = np.concatenate([np.asarray(target, float), np.zeros(matrix.shape[1])])
    solution, *_ = np.linalg.lstsq(stacked, right, rcond=None)
    return np.maximum(np.asarray(solution, np.float64), 0.0)
