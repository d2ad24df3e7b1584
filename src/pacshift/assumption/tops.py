"""Largest shares that the classes can have in the target, from the cells where a class shows itself best."""

import numpy as np
from scipy import sparse

from pacshift.arrays import FloatArray
from pacshift.assumption.folds import CellCounts
from pacshift.bounds import binomial_lower, binomial_upper
from pacshift.tally.cells import N_CONFIDENCE


def largest_shares(counts: CellCounts, *, delta: float, contamination: float = 0.0) -> FloatArray:
    """Upper bounds of all t_j at once, right with probability at least ``1 - delta`` (Lemma 5 of the page).

    For S = "predicted j with at least this confidence", (1-η) t_j A_Sj <= q_S.
    """
    own, target = np.zeros((2, counts.n_classes, N_CONFIDENCE))
    source = sparse.coo_matrix(counts.source)
    right = counts.predicted[source.row] == source.col
    np.add.at(own, (source.col[right], counts.confidence[source.row[right]]), source.data[right])
    np.add.at(target, (counts.predicted, counts.confidence), counts.target)
    inside, seen = (np.cumsum(part[:, ::-1], axis=1) for part in (own, target))
    each = delta / (2 * own.size)
    rate = binomial_lower(inside, counts.class_counts[:, None], delta=each)
    share = binomial_upper(seen, counts.n_target, delta=each)
    ratio = np.divide(share, (1 - contamination) * rate, out=np.ones_like(rate), where=rate > 0)
    return np.asarray(np.minimum(ratio.min(axis=1), 1.0))
