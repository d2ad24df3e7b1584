"""From strata to classes: every class of every stratum is a class of its own (docs/methods/strata.md)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import BoolArray, IntArray, Label
from pacshift.bounds import Interval, clopper_pearson

SHARES_OF_STRATA = 0.05
"""Share of delta for the bounds of the strata's shares of the target (Lemma 2). A round number; not measured."""

DECIMALS = 6
"""Bounds of joint shares are rounded outward to so many digits, so that messages can print them."""


def joint_names(classes: Sequence[Label], strata: Sequence[Label]) -> list[str]:
    """What the classes are called, stratum after stratum.

    >>> joint_names(["well", "sick"], ["young", "old"])
    ['well in young', 'sick in young', 'well in old', 'sick in old']
    """
    return [f"{name} in {stratum}" for stratum in strata for name in classes]


def expand(scores: NDArray[np.floating[Any]], place: IntArray, n_strata: int) -> NDArray[np.floating[Any]]:
    """The scores of each row in the columns of its own stratum, 0 in all others (Lemma 1).

    >>> expand(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([1, 0]), 2).tolist()
    [[0.0, 0.0, 0.9, 0.1], [0.2, 0.8, 0.0, 0.0]]
    """
    wide = np.zeros((len(scores), n_strata, scores.shape[1]), scores.dtype)
    wide[np.arange(len(scores)), place] = scores
    return wide.reshape(len(scores), -1)


def own_columns(sets: BoolArray, place: IntArray, n_strata: int) -> BoolArray:
    """What ``expand`` did, undone: each row's columns of its own stratum."""
    return np.asarray(sets.reshape(len(sets), n_strata, -1)[np.arange(len(sets)), place])


def joint_bounds(known: Interval, counts: IntArray, *, delta: float) -> Interval:
    """Bounds of the target's shares of (stratum, class), right with probability at least 1 - ``delta`` (Lemma 2).

    ``known`` bounds the mix within each stratum, one line per stratum; ``counts`` are target rows per stratum.

    >>> known = Interval(np.zeros((2, 2)), np.array([[1.0, 0.5], [1.0, 0.2]]))
    >>> joint_bounds(known, np.array([600, 400]), delta=0.01).upper.round(3)
    array([0.643, 0.322, 0.444, 0.089])
    """
    share = clopper_pearson(counts, counts.sum(), delta=delta / len(counts))
    rest = Interval(*(end.sum(axis=1, keepdims=True) - end for end in (known.lower, known.upper)))
    lower = np.maximum(known.lower, 1 - rest.upper) * share.lower[:, None]
    upper = np.minimum(known.upper, 1 - rest.lower) * share.upper[:, None]
    scale = 10.0**DECIMALS
    return Interval(np.floor(lower.ravel() * scale) / scale, np.ceil(upper.ravel() * scale) / scale)
