"""Twins: a seeded generator of scores that resemble those of a real classifier, which we may not ship.

A row is drawn in three steps, each with parameters fitted to real scores:

1. the true label ``y`` from its share, then the predicted label ``g`` from P(g given y): the confusion
   matrix is therefore that of the real scores, up to sampling;
2. the *gaps* d_k = log p_g - log p_k >= 0 of the other labels, by a Gaussian copula: correlated normal
   numbers, each mapped through the quantile function of its gap;
3. p = softmax(-d). All gaps are >= 0, so ``g`` is the arg max by construction.

With ``relative`` the copula is over a row's largest gap and the others as a share of it. That suits scores
made of short lists (Entity-13), where all labels off the lists tie at one small probability.

Right rows (g = y) have a copula for each label. Wrong rows are few, so those with the same ``g`` share a
correlation, and a gap of the true label has its own quantiles only where the pair (y, g) has enough rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy import special

from pacshift.arrays import FloatArray, IntArray

LEVELS = special.ndtr(np.linspace(-3.0, 3.0, 41))
"""Quantile levels kept: evenly spaced in normal scores, so that both tails are resolved. 41 keep a twin's file at
a few dozen kB."""

MIN_ROWS_FOR_QUANTILES = 30
"""Rows that a group needs for its own quantiles. A round number; not measured."""


@dataclass(frozen=True, eq=False)
class Twin:
    """The fitted parameters; wrong rows share theirs, so that the file stays small."""

    shares: FloatArray
    """(K,) of the true labels."""
    confusion: FloatArray
    """(K, K): P(predicted = i given true = j)."""
    right: FloatArray
    """(K, K, L): quantiles of gap k on right rows of label y, ``right[y, k]``."""
    wrong: FloatArray
    """(K, K, L): quantiles of gap k, not the true label, on wrong rows predicted g, ``wrong[g, k]``."""
    missed: FloatArray
    """(K, K, L): quantiles of the true label's gap on wrong rows, ``missed[g, y]``."""
    right_factor: FloatArray
    """(K, K, K): square root of the correlation of normal scores on right rows of label y."""
    wrong_factor: FloatArray
    """(K, K, K): the same on wrong rows predicted g."""
    relative: bool = False
    """Gaps are shares of the largest gap of the row, which is stored instead of that of the predicted label."""

    def sample(self, n_rows: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        """``n_rows`` probabilities and true labels."""
        n_classes = len(self.shares)
        counts = rng.multinomial(n_rows, (self.confusion * self.shares).ravel()).reshape(n_classes, n_classes)
        blocks, labels = [], []
        for predicted, true in np.argwhere(counts):
            blocks.append(self._block(int(predicted), int(true), int(counts[predicted, true]), rng))
            labels.append(np.full(counts[predicted, true], true))
        order = rng.permutation(n_rows)
        return np.concatenate(blocks)[order], np.concatenate(labels)[order].astype(np.int64)

    def _block(self, predicted: int, true: int, n_rows: int, rng: np.random.Generator) -> FloatArray:
        """Rows of one cell of the confusion matrix."""
        if predicted == true:
            factor, quantiles = self.right_factor[true], self.right[true]
        else:
            factor, quantiles = self.wrong_factor[predicted], self.wrong[predicted].copy()
            quantiles[true] = self.missed[predicted, true]
        uniform = special.ndtr(rng.standard_normal((n_rows, len(factor))) @ factor.T)
        gaps = np.stack([np.interp(u, LEVELS, q) for u, q in zip(uniform.T, quantiles, strict=True)], axis=1)
        if self.relative:
            gaps *= gaps[:, [predicted]]
        gaps[:, predicted] = 0.0
        return np.asarray(special.softmax(-gaps, axis=1))

    def arrays(self) -> dict[str, Any]:
        """Parameters at half precision, for a small file."""
        shared = {"shares": self.shares, "confusion": self.confusion, "relative": np.array(self.relative)}
        return {field.name: np.float16(getattr(self, field.name)) for field in fields(self)} | shared

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> "Twin":
        """The inverse of ``arrays``; other keys are ignored."""
        values = {field.name: np.asarray(arrays[field.name], np.float64) for field in fields(cls)}
        return cls(**values | {"relative": bool(arrays["relative"])})  # type: ignore[arg-type]


def fit_twin(probs: FloatArray, labels: IntArray, *, relative: bool = False) -> Twin:
    """Parameters of a twin of these scores."""
    n_classes = probs.shape[1]
    predicted = probs.argmax(axis=1)
    logs = np.log(np.maximum(probs, np.finfo(np.float32).tiny))
    gaps = logs.max(axis=1, keepdims=True) - logs
    if relative:
        largest = np.maximum(gaps.max(axis=1), np.finfo(np.float32).tiny)
        gaps /= largest[:, None]
        gaps[np.arange(len(gaps)), predicted] = largest
    right = predicted == labels
    confusion = np.zeros((n_classes, n_classes))
    np.add.at(confusion, (predicted, labels), 1.0)
    groups = range(n_classes)
    right_rows = [gaps[right & (labels == label)] for label in groups]
    wrong_rows = [gaps[~right & (predicted == label)] for label in groups]
    wrong_true = [labels[~right & (predicted == label)] for label in groups]
    return Twin(
        shares=confusion.sum(axis=0) / confusion.sum(),
        confusion=confusion / confusion.sum(axis=0),
        right=np.stack([_quantiles(rows) for rows in right_rows]),
        wrong=np.stack([_wrong_quantiles(r, t) for r, t in zip(wrong_rows, wrong_true, strict=True)]),
        missed=np.stack([_missed_quantiles(r, t) for r, t in zip(wrong_rows, wrong_true, strict=True)]),
        right_factor=np.stack([_factor(rows) for rows in right_rows]),
        wrong_factor=np.stack([_factor(rows) for rows in wrong_rows]),
        relative=relative,
    )


def _quantiles(rows: FloatArray) -> FloatArray:
    return np.quantile(rows, LEVELS, axis=0).T


def _wrong_quantiles(rows: FloatArray, true: IntArray) -> FloatArray:
    """Per label its gap's quantiles on the rows where it is not the true one."""
    return np.stack([np.quantile(rows[true != k, k], LEVELS) for k in range(rows.shape[1])])


def _missed_quantiles(rows: FloatArray, true: IntArray) -> FloatArray:
    """Per true label the quantiles of its own gap; those of all wrong rows where there are too few."""
    own_gap = rows[np.arange(len(rows)), true]
    return np.stack(
        [
            np.quantile(own_gap[true == k] if (true == k).sum() >= MIN_ROWS_FOR_QUANTILES else own_gap, LEVELS)
            for k in range(rows.shape[1])
        ]
    )


def _factor(rows: FloatArray) -> FloatArray:
    """A square root of the correlation matrix of the rows' normal scores."""
    from scipy import stats  # slow to import, and only fitting needs it

    ranks = stats.rankdata(rows, axis=0) / (len(rows) + 1)
    scores = special.ndtri(ranks)
    spread = np.where(np.ptp(scores, axis=0) > 0, scores.std(axis=0), 1.0)  # the predicted label's gap is always 0
    correlation = (scores - scores.mean(axis=0)).T @ (scores - scores.mean(axis=0)) / len(rows)
    correlation /= np.outer(spread, spread)
    values, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    norm = np.sqrt((root**2).sum(axis=1))
    return np.asarray(root / np.where(norm > 0, norm, 1.0)[:, None])
