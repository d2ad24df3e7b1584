"""Groups of rows that people understand: a predicted class, a range of confidence or of top scores, or both."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import numpy as np

from pacshift.arrays import FloatArray, IntArray, Label
from pacshift.assumption.folds import CellCounts
from pacshift.bounds import Interval
from pacshift.tally.cells import CONFIDENCE_EDGES, N_CONFIDENCE
from pacshift.words.numbers import at_least, between, given

LEVEL_STARTS = (0, 1, 3, 7)
"""First bins of four levels of confidence: below 50 %, 50 to 75 %, 75 to 95 %, at least 95 %. Round numbers, for
people."""

N_LEVELS = len(LEVEL_STARTS)
"""Levels of top scores that are not probabilities: each has as many of their bins."""

MAX_CLASSES_BY_LEVEL = 30
"""Up to this many classes every class is shown by level of confidence; beyond, classes and levels stand apart.
More than 120 groups cannot be read."""

MAX_SEARCHED = 30_000
"""With very many classes the difference is looked for in fewer of them: memory must not grow with K x K. Each
group is a row over all cells, so this bounds it to about 0.1 GB."""

MAX_CLASSES_SHOWN = 60
"""Of many classes those with the largest differences are shown: what fits a picture."""


_Bins: TypeAlias = tuple[int, int] | None


@dataclass(frozen=True, eq=False)
class Groups:
    """Sets of cells with their names: ``members[group, cell]``."""

    names: tuple[str, ...]
    members: FloatArray

    def observed(self, counts: CellCounts) -> FloatArray:
        """Share of the target in each group."""
        return np.asarray(self.members @ counts.shares)

    def rates(self, counts: CellCounts) -> FloatArray:
        """Share of each group among the source rows of each label, shape (groups, K)."""
        return np.asarray((counts.rates.T @ self.members.T).T)  # in this order also where rates are sparse


@cache
def confidence_words(first: int, last: int) -> str:
    """The confidence of bins ``first`` to ``last`` in words.

    >>> confidence_words(0, 0), confidence_words(1, 2), confidence_words(7, 12)
    ('confidence below 50 %', 'confidence 50 to 75 %', 'confidence at least 95 %')
    """
    low, high = (1 - CONFIDENCE_EDGES[edge] for edge in (max(first - 1, 0), min(last, 11)))
    if first == 0:
        return f"confidence below {given(high)}"
    return f"confidence {at_least(low) if last >= N_CONFIDENCE - 1 else between(low, high)}"


def top_words(edges: Sequence[float], first: int, last: int) -> str:
    """The top scores of bins ``first`` to ``last`` in words, where bins begin at ``edges``.

    >>> top_words([1.5, 3.25], 0, 0), top_words([1.5, 3.25], 1, 1), top_words([1.5, 3.25], 1, 2)
    ('top score below 1.5', 'top score 1.5 to 3.25', 'top score at least 1.5')
    """
    if first == 0:
        return f"top score below {edges[last]:.4g}"
    low = f"{edges[first - 1]:.4g}"
    return f"top score at least {low}" if last >= len(edges) else f"top score {low} to {edges[last]:.4g}"


def _levels(counts: CellCounts) -> list[_Bins]:
    """A few ranges of bins that hold all rows; none where there is one bin."""
    if counts.n_bins == 1:
        return []
    starts: Sequence[int] = LEVEL_STARTS
    if counts.top_edges is not None:
        starts = np.unique(np.arange(N_LEVELS) * counts.n_bins // N_LEVELS).tolist()
    ends = [*(start - 1 for start in starts[1:]), counts.n_bins - 1]
    return list(zip(starts, ends, strict=True))


def _ranges(counts: CellCounts) -> tuple[list[_Bins], list[_Bins]]:
    """Everything below each edge, and everything from it on."""
    last = counts.n_bins - 1
    return [(0, end) for end in range(last)], [(start, last) for start in range(1, last + 1)]


def shown_groups(counts: CellCounts, classes: Sequence[Label], mix: FloatArray) -> Groups:
    """Groups for a picture: class by level of confidence; where classes are many, classes and levels apart."""
    levels = _levels(counts)
    found: list[tuple[int | None, _Bins]]
    if len(classes) <= MAX_CLASSES_BY_LEVEL:
        found = [(label, level) for label in range(len(classes)) for level in levels or [None]]
    else:
        found = [(label, None) for label in _most_different(counts, mix)]
        found += [(None, level) for level in levels]
    return _groups(counts, classes, found)


def searched_groups(counts: CellCounts, classes: Sequence[Label], mix: FloatArray) -> Groups:
    """Groups in which the largest difference is looked for: classes, ranges of confidence, and both together."""
    below, above = _ranges(counts)
    ranges = below + above
    many = len(classes) > MAX_CLASSES_BY_LEVEL
    most = min(MAX_CLASSES_BY_LEVEL, MAX_SEARCHED // len(classes) + 1)
    labels = _most_different(counts, mix)[:most] if many else range(len(classes))
    found: list[tuple[int | None, _Bins]] = [(label, bins) for label in labels for bins in (None, *ranges)]
    return _groups(counts, classes, found + [(None, bins) for bins in ranges])


def unsure_groups(counts: CellCounts, classes: Sequence[Label]) -> Groups:
    """Confidence (or top score) below each edge, over all classes."""
    return _groups(counts, classes, [(None, bins) for bins in _ranges(counts)[0]])


def chance(counts: CellCounts, groups: Groups, mix: FloatArray, *, level: float) -> FloatArray:
    """Widths that chance gives each group's difference, by Bernstein's inequality with estimated variances."""
    totals = np.maximum(counts.class_counts, 1.0)
    longest = max(float((mix / totals).max()), 1 / counts.n_target)
    exponent = np.log(2 * max(len(groups.names), 1) / level)
    return np.asarray(np.sqrt(2 * exponent) * deviations(counts, groups, mix) + exponent * longest / 3)


def deviations(counts: CellCounts, groups: Groups, mix: FloatArray) -> FloatArray:
    """Estimated standard deviation of (observed share - share that the mix gives), per group."""
    rates, observed = groups.rates(counts), groups.observed(counts)
    totals = np.maximum(counts.class_counts, 1.0)
    variance = (rates * (1 - rates)) @ (mix**2 / totals) + observed * (1 - observed) / counts.n_target
    return np.asarray(np.sqrt(np.maximum(variance, 0.0)))  # rounding can push a share above 1


def around(centre: FloatArray, width: FloatArray) -> Interval:
    """Shares within a width, between 0 and 1."""
    return Interval(np.maximum(centre - width, 0.0), np.minimum(centre + width, 1.0))


def _most_different(counts: CellCounts, mix: FloatArray) -> list[int]:
    """Predicted classes, largest difference between target and mix first."""
    difference: FloatArray = np.zeros(counts.n_classes)
    np.add.at(difference, counts.predicted, counts.shares - np.asarray(counts.rates @ mix))
    order: IntArray = np.argsort(-np.abs(difference), kind="stable")[:MAX_CLASSES_SHOWN]
    return [int(label) for label in order]


def _groups(counts: CellCounts, classes: Sequence[Label], found: Sequence[tuple[int | None, _Bins]]) -> Groups:
    members = np.ones((len(found), len(counts.target)))
    names = []
    for row, (label, bins) in enumerate(found):
        words = []
        if label is not None:
            members[row] *= counts.predicted == label
            words.append(f"predicted {classes[label]!r}")
        if bins is not None:
            members[row] *= (counts.confidence >= bins[0]) & (counts.confidence <= bins[1])
            named = counts.top_edges is not None
            words.append(top_words(counts.top_edges or (), *bins) if named else confidence_words(*bins))
        names.append(", ".join(words))
    rows = counts.target + np.asarray(counts.source.sum(axis=1)).ravel()
    filled = members @ rows > 0
    return Groups(tuple(name for name, some in zip(names, filled.tolist(), strict=True) if some), members[filled])
