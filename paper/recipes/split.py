"""Which rows a model is fitted on and which it scores: never the same row, never the same patient."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import IntArray
from pacshift.errors import InputError
from paper.recipes.raw.data import RawData


@dataclass(frozen=True, eq=False)
class Split:
    """Row numbers, sorted. `reproduce` draws source base and target base from the scored rows, trial by trial."""

    fitted: IntArray
    scored: IntArray


def split_rows(data: RawData, share: float, seed: int, limit: int | None = None) -> Split:
    """Fit on ``share`` of the rows that are not official test rows, score all others.

    Groups stay whole. The answer depends on the ids, the share, the seed and the limit only.
    """
    groups = np.arange(len(data.labels)) if data.groups is None else data.groups
    rng = np.random.default_rng([seed, 1])
    rows = _limited(groups, rng, limit)
    may_fit = rows[~np.isin(groups[rows], groups[data.is_test])]
    candidates = np.unique(groups[may_fit])
    chosen = rng.permutation(candidates)[: round(share * len(candidates))]
    fitted = may_fit[np.isin(groups[may_fit], chosen)]
    split = Split(fitted, np.setdiff1d(rows, fitted))
    check_split(split, groups)
    _check_classes(data, split)
    return split


def _limited(groups: IntArray, rng: np.random.Generator, limit: int | None) -> IntArray:
    """At most about ``limit`` rows, whole groups, in their order."""
    if limit is None or limit >= len(groups):
        return np.arange(len(groups))
    order = rng.permutation(np.unique(groups))
    sizes = np.bincount(groups, minlength=int(groups.max()) + 1)[order]
    kept = order[: max(1, int((sizes.cumsum() <= limit).sum()))]
    return np.flatnonzero(np.isin(groups, kept))


def check_split(split: Split, groups: NDArray[np.generic]) -> None:
    """Refuse to score a row, or a group, that the model was fitted on."""
    both = np.intersect1d(groups[split.fitted], groups[split.scored])
    if len(both):
        raise InputError(
            f"{len(both):,} rows or groups would be scored by a model that was fitted on them, such as {both[0]}. "
            "Scores of fitted rows void every guarantee. Score other rows."
        )


def _check_classes(data: RawData, split: Split) -> None:
    for what, rows in (("fitted", split.fitted), ("scored", split.scored)):
        counts = np.bincount(data.labels[rows], minlength=len(data.class_names))
        if counts.min(initial=1) < 1:
            name = data.class_names[int(counts.argmin())]
            raise InputError(
                f"no row of class {name!r} among the {len(rows):,} {what} rows. Use more data or a larger limit."
            )
