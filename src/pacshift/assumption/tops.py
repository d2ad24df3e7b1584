"""Largest shares that the classes can have in the target, from the cells where a class shows itself best."""

import numpy as np
import scipy  # its parts load when first used

from pacshift.arrays import FloatArray
from pacshift.assumption.folds import CellCounts
from pacshift.bounds import binomial_lower, binomial_upper
from pacshift.tally.cells import N_CONFIDENCE


def largest_shares(counts: CellCounts, *, delta: float, contamination: float = 0.0) -> FloatArray:
    """Upper bounds of all t_j at once, right with probability at least ``1 - delta`` (Lemma 5 of the page).

    For S = "predicted j with at least this confidence", (1-η) t_j A_Sj <= q_S.
    """
    own, target = np.zeros((2, counts.n_classes, N_CONFIDENCE))
    source = scipy.sparse.coo_matrix(counts.source)
    right = counts.predicted[source.row] == source.col
    np.add.at(own, (source.col[right], counts.confidence[source.row[right]]), source.data[right])
    np.add.at(target, (counts.predicted, counts.confidence), counts.target)
    inside, seen = (np.cumsum(part[:, ::-1], axis=1) for part in (own, target))
    return np.asarray(_ratios(counts, inside.T, seen.T, delta, contamination).min(axis=0))


def _ratios(
    counts: CellCounts, inside: FloatArray, seen: FloatArray, delta: float, contamination: float
) -> FloatArray:
    """Upper bounds of t_j, all right with probability at least ``1 - delta``, by sets S_j of cells (..., K).

    ``inside`` counts source rows of class j in S_j, ``seen`` target rows in it.
    """
    each = delta / (2 * inside.size)
    rate = binomial_lower(inside, counts.class_counts, delta=each)
    share = binomial_upper(seen, counts.n_target, delta=each)
    ratio = np.divide(share, (1 - contamination) * rate, out=np.ones_like(rate), where=rate > 0)
    return np.asarray(np.minimum(ratio, 1.0))


def suggested_sets(first: CellCounts) -> "scipy.sparse.csc_matrix":
    """For each class a set of predicted classes, as a column of 0 and 1, that a first fold suggests.

    Classes that are rarely recognised show themselves in several predictions together. Predicted classes are taken
    in the order of how typical they are of the class, as long as the bound of ``shares_by_sets`` would profit.
    """
    source, target = _by_predicted(first)
    frequency = (target + 1) / (first.n_target + first.n_classes)
    chosen = []
    for label in range(first.n_classes):
        part = slice(source.indptr[label], source.indptr[label + 1])
        predicted, rows = source.indices[part], source.data[part]
        order = np.argsort(-rows / frequency[predicted], kind="stable")
        inside = np.cumsum(rows[order])
        gain = (inside - np.sqrt(inside)) / np.cumsum(frequency[predicted[order]])
        chosen.append(predicted[order[: int(np.argmax(gain)) + 1]] if len(order) else order)
    columns = np.repeat(np.arange(first.n_classes), [len(some) for some in chosen])
    places = np.concatenate(chosen).astype(np.int64), columns
    return scipy.sparse.csc_matrix((np.ones(len(columns)), places), source.shape)


def shares_by_sets(
    sets: "scipy.sparse.csc_matrix", rest: CellCounts, *, delta: float, contamination: float = 0.0
) -> FloatArray:
    """Upper bounds of all t_j at once by one set per class that was chosen on other rows (Lemma 5)."""
    source, target = _by_predicted(rest)
    inside = np.asarray(source.multiply(sets).sum(axis=0)).ravel()
    return _ratios(rest, inside, sets.T @ target, delta, contamination)


def _by_predicted(counts: CellCounts) -> "tuple[scipy.sparse.csc_matrix, FloatArray]":
    """Counts [predicted, label] and [predicted], without confidence."""
    places = counts.predicted, np.arange(len(counts.predicted))
    pooling = scipy.sparse.csr_matrix(
        (np.ones(len(counts.target)), places), (counts.n_classes, len(counts.target))
    )
    return scipy.sparse.csc_matrix(pooling @ counts.source), np.asarray(pooling @ counts.target)
