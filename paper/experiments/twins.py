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
