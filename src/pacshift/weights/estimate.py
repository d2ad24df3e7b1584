"""Point estimates of the importance weights: no guarantee, but a good guess."""

import numpy as np
from numpy.typing import ArrayLike

from pacshift.arrays import FloatArray
from pacshift.errors import InputError
from pacshift.tally import Tally
from pacshift.tally.soft import SOFT_UNIT

MAX_STEPS = 10_000
"""EM steps before :func:`mlls` stops; each raises the likelihood, so the last one is the best."""


def soft_weights(tally: Tally) -> FloatArray:
    """Soft BBSE with ridge 1/min(m, n), as the paper's authors use it."""
    if tally.soft is None:
        raise InputError(
            "soft BBSE weights need sums of probabilities, which this tally lacks: "
            "make it with soft=True from scores between 0 and 1."
        )
    source = tally.soft.source * (SOFT_UNIT / tally.n_source)
    target = tally.soft.target * (SOFT_UNIT / tally.n_target)
    weights = bbse_soft(source, target, ridge=1 / min(tally.n_source, tally.n_target))
    if not weights.any():
        raise InputError("the estimated weights are all 0: the target's probabilities look like no source class.")
    return weights


def bbse(confusion: ArrayLike, target: ArrayLike) -> FloatArray:
    """Black-box shift estimation from hard predictions: solve ``C w = q``, negative weights cut to 0.

    ``confusion[predicted, true]`` and ``target[predicted]`` are counts or frequencies. Where C is singular (a
    class that is never predicted, or never seen) the answer is the least-squares solution of least norm.
    Lipton, Wang and Smola, "Detecting and Correcting for Label Shift with Black Box Predictors", ICML 2018.

    >>> bbse([[40, 10], [10, 40]], [65, 35])
    array([1.5, 0.5])
    """
    return _least_squares(_frequencies(confusion), _frequencies(target))


def bbse_soft(soft_source: ArrayLike, soft_target: ArrayLike, *, ridge: float = 0.0) -> FloatArray:
    r"""BBSE from scores instead of predictions, with a ridge, as the authors of the paper use it.

    ``soft_source[i, j]`` sums the scores of i over the source rows of label j, divided by all m rows;
    ``soft_target[i]`` is the mean score of i on the target. The authors take ``ridge = 1 / min(m, n)``:

    .. math:: w = (C^T C + \text{ridge} \cdot I)^{-1} C^T q, \quad \text{cut at } 0

    Without a ridge a singular C gets the least-squares solution of least norm.
    Source: ``estimate_labelshift_ratio`` in the code that goes with Lipton, Wang and Smola (2018), which the
    authors of the paper reuse.

    >>> bbse_soft([[0.4, 0.1], [0.1, 0.4]], [0.65, 0.35], ridge=0.01).round(2)
    array([1.41, 0.51])
    """
    confusion, target = np.asarray(soft_source, float), np.asarray(soft_target, float)
    # Rows sqrt(ridge) * I below C say the same as the formula and do not square the condition number.
    stacked = np.vstack([confusion, np.sqrt(ridge) * np.eye(confusion.shape[1])])
    return _least_squares(stacked, np.concatenate([target, np.zeros(confusion.shape[1])]))


def mlls(
    likelihood: ArrayLike, counts: ArrayLike, source_mix: ArrayLike, *, tolerance: float = 1e-10
) -> FloatArray:
    r"""Maximum-likelihood label shift by EM: weights t_j / p_j for the target mix t that fits best.

    ``likelihood[r, j]`` is proportional to p(row r given label j), ``counts[r]`` how often row r was seen on the
    target. One step, Saerens, Latinne and Decaestecker, Neural Computation 14 (2002), eq. 2.9:

    .. math:: t_j \leftarrow \sum_r \frac{n_r}{n} \frac{t_j L_{rj}}{\sum_k t_k L_{rk}}

    The same core serves score rows (:func:`mlls_scores`) and the confusion matrix (:func:`mlls_confusion`).
    Classes the source never saw (``source_mix`` 0) keep weight 0; so do all where the target is empty.
    """
    mix, shares = np.asarray(source_mix, float), np.asarray(counts, float)
    table = np.where(mix > 0, np.asarray(likelihood, float), 0.0)
    seen = (shares > 0) & (table.sum(axis=1) > 0)  # a row no label can explain says nothing about the mix
    table, shares = table[seen], shares[seen] / max(shares[seen].sum(), 1.0)
    if not seen.any():
        return np.zeros_like(mix)
    share = np.where(mix > 0, 1.0, 0.0) / np.count_nonzero(mix)
    for _ in range(MAX_STEPS):
        last, share = share, share * (table.T @ (shares / (table @ share)))
        if np.abs(share - last).max() <= tolerance:
            break
    return _ratio(share, mix)


def mlls_scores(target_scores: ArrayLike, source_mix: ArrayLike) -> FloatArray:
    """MLLS on rows of calibrated probabilities: p(x given j) is proportional to p(j given x) / p_j."""
    mix, scores = np.asarray(source_mix, float), np.asarray(target_scores, float)
    return mlls(_ratio(scores, mix), np.ones(len(scores)), mix)


def mlls_confusion(confusion: ArrayLike, target: ArrayLike) -> FloatArray:
    """MLLS on the tally: rows are predictions, the likelihood of prediction i given label j is C_ij / p_j.

    >>> mlls_confusion([[40, 10], [10, 40]], [65, 35]).round(6)
    array([1.5, 0.5])
    """
    joint = _frequencies(confusion)
    mix = joint.sum(axis=0)
    return mlls(_ratio(joint, mix), target, mix)


def _least_squares(matrix: FloatArray, right: FloatArray) -> FloatArray:
    solution, *_ = np.linalg.lstsq(matrix, right, rcond=None)
    return np.maximum(np.asarray(solution, np.float64), 0.0)


def _frequencies(counts: ArrayLike) -> FloatArray:
    values = np.asarray(counts, float)
    return np.asarray(values / max(float(values.sum()), np.finfo(float).tiny))


def _ratio(values: FloatArray, mix: FloatArray) -> FloatArray:
    """``values / mix`` a class; 0 for a class the source never saw."""
    return np.where(mix > 0, values, 0.0) / np.where(mix > 0, mix, 1.0)
