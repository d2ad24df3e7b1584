"""What the test saw and what it could have seen, in groups and words for people.

A group of rows is a predicted class, a range of top scores, or both. All of this is a picture: nothing rests on it
("The test" and "What is noticed" of docs/methods/assumption.md).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from math import log
from typing import Literal, TypeAlias

import numpy as np

from pacshift.arrays import FloatArray, Label
from pacshift.assumption.cells import FEW_CLASSES, N_FOLDS, CellCounts
from pacshift.assumption.directions import simplex_fit
from pacshift.assumption.inequalities import MixRows, level_shares
from pacshift.bounds import Interval
from pacshift.tally.cells import CONFIDENCE_EDGES
from pacshift.words.numbers import between, capital, digits_apart, down, given, percent, up

LEVEL_STARTS = (0, 1, 3, 7)
"""First bins of four levels of top scores: below 0.5, to 0.75, to 0.95, above. Round numbers, for people."""

N_LEVELS = len(LEVEL_STARTS)
"""Levels of top scores that are not probabilities: each has as many of their bins."""

MAX_CLASSES_BY_LEVEL = 30
"""Up to this many classes every class is shown by level of top scores; beyond, classes and levels stand apart.
More than 120 groups cannot be read."""

MAX_SEARCHED = 30_000
"""With very many classes the difference is looked for in fewer of them: memory must not grow with K x K. Each
group is a row over all cells, so this bounds it to about 0.1 GB."""

MAX_CLASSES_SHOWN = 60
"""Of many classes those with the largest differences are shown: what fits a picture."""

CANDIDATES = 40
"""Groups for which the largest share that any mix can give is computed, each by linear programs. A round number;
not measured."""

PLAIN_WORTH = 2.0
"""How much larger the difference from some mixes must be to be said instead of one from all mixes. A matter of
taste."""

POWER_QUANTILE = 1.65
"""A normal variable with mean 1.65 standard deviations above a hurdle exceeds it in 95 of 100 draws."""

LEARNING, ROWS_FOR_LEARNING = 2.5, 2.0
"""A difference must be larger because its direction has to be learned: a factor, and rows per unit of the hurdle.

With these 15 of 15 draws were refused for 2 to 30 classes with 160 to 5,000 rows per class; at 0.6 of the size 5
to 15, at 0.4 of it 0 to 12.
"""

FEWEST_ROWS_PER_CLASS = 150
"""With fewer rows too little is learned for such a rule: 100 per class gave 10 of 15, 33 per class none."""

PROBE = 0.05
"""Share of rows that change their top score in the difference whose distance is measured. Small, because the
distance is taken as proportional to it; not measured."""


_Bins: TypeAlias = tuple[int, int] | None
"""First and last bin; None for all."""


@dataclass(frozen=True, slots=True)
class Noticeable:
    """A difference that is rejected in nearly every draw of such data.

    Parameters
    ----------
    kind : {"new", "moved"}
        ``"new"``: cases of a kind that the source does not have. ``"moved"``: more rows with low top scores than
        the label mix explains.
    size : float
        The share of the target that is of the new kind, or by which such rows are more: an estimate.
    below : float
        The top scores of these rows are below this.
    """

    kind: Literal["new", "moved"]
    size: float
    below: float


@dataclass(frozen=True, eq=False)
class Groups:
    """Sets of cells with their names, ``members[group, cell]``, and how frequent they are.

    ``observed`` are their shares of the target, ``rates`` (groups, K) those among the source rows of each label.
    """

    names: tuple[str, ...]
    members: FloatArray
    observed: FloatArray
    rates: FloatArray


def top_words(edges: Sequence[float], first: int, last: int) -> str:
    """The top scores of bins ``first`` to ``last`` in words, where bins begin at ``edges``.

    >>> top_words([1.5, 3.25], 0, 0), top_words([1.5, 3.25], 1, 1), top_words([1.5, 3.25], 1, 2)
    ('top score below 1.5', 'top score 1.5 to 3.25', 'top score at least 1.5')
    """
    if first == 0:
        return f"top score below {edges[last]:.4g}"
    low = f"{edges[first - 1]:.4g}"
    return f"top score at least {low}" if last >= len(edges) else f"top score {low} to {edges[last]:.4g}"


def _edges(counts: CellCounts) -> Sequence[float]:
    """Where the bins of top scores begin, but for the first."""
    return [1 - edge for edge in CONFIDENCE_EDGES] if counts.top_edges is None else counts.top_edges


def shown_groups(counts: CellCounts, mix: FloatArray) -> Groups:
    """Groups for a picture: class by level of top scores; where classes are many, classes and levels apart."""
    levels: list[_Bins] = []  # a few ranges of bins that hold all rows; none where there is one bin
    if counts.n_bins > 1:
        starts: Sequence[int] = LEVEL_STARTS
        if counts.top_edges is not None:
            starts = np.unique(np.arange(N_LEVELS) * counts.n_bins // N_LEVELS).tolist()
        levels = list(zip(starts, [*(start - 1 for start in starts[1:]), counts.n_bins - 1], strict=True))
    if counts.n_classes <= MAX_CLASSES_BY_LEVEL:
        return _groups(counts, product(range(counts.n_classes), levels or [None]))
    classes, no_class = _most_different(counts, mix), [None]
    return _groups(counts, [*product(classes, [None]), *product(no_class, levels)])


def searched_groups(counts: CellCounts, mix: FloatArray) -> Groups:
    """Groups in which the largest difference is looked for: classes, ranges of top scores, and both together."""
    last = counts.n_bins - 1
    ranges = [(0, end) for end in range(last)] + [(start, last) for start in range(1, last + 1)]
    labels: Sequence[int] = range(counts.n_classes)
    if counts.n_classes > MAX_CLASSES_BY_LEVEL:
        most = min(MAX_CLASSES_BY_LEVEL, MAX_SEARCHED // counts.n_classes + 1)
        labels = _most_different(counts, mix)[:most]
    return _groups(counts, [*product(labels, [None, *ranges]), *product([None], ranges)])


def chance(counts: CellCounts, groups: Groups, mix: FloatArray, *, level: float) -> FloatArray:
    """Widths that chance gives each group's difference, by Bernstein's inequality with estimated variances."""
    rates, observed, totals = groups.rates, groups.observed, np.maximum(counts.class_counts, 1.0)
    variance = (rates * (1 - rates)) @ (mix**2 / totals) + observed * (1 - observed) / counts.n_target
    deviations = np.sqrt(np.maximum(variance, 0.0))  # rounding can push a share above 1
    longest = max(float((mix / totals).max()), 1 / counts.n_target)
    exponent = np.log(2 * max(len(groups.names), 1) / level)
    return np.asarray(np.sqrt(2 * exponent) * deviations + exponent * longest / 3)


def _most_different(counts: CellCounts, mix: FloatArray) -> list[int]:
    """Predicted classes, largest difference between target and mix first."""
    difference: FloatArray = np.zeros(counts.n_classes)
    np.add.at(difference, counts.predicted, counts.shares - np.asarray(counts.rates @ mix))
    order: list[int] = np.argsort(-np.abs(difference), kind="stable")[:MAX_CLASSES_SHOWN].tolist()
    return order


def _groups(counts: CellCounts, ranges: Iterable[tuple[int | None, _Bins]]) -> Groups:
    """Those of the predicted classes and ranges of bins ``found`` that hold any rows."""
    rows = counts.target + np.asarray(counts.source.sum(axis=1)).ravel()
    names, kept = [], []
    for label, bins in ranges:
        words, members = [], np.ones(len(counts.target))
        if label is not None:
            members *= counts.predicted == label
            words.append(f"predicted {counts.classes[label]!r}")
        if bins is not None:
            members *= (counts.confidence >= bins[0]) & (counts.confidence <= bins[1])
            words.append(top_words(_edges(counts), *bins))
        if members @ rows > 0:
            names.append(", ".join(words))
            kept.append(members)
    together = np.array(kept).reshape(-1, len(rows))
    rates = np.asarray((counts.rates.T @ together.T).T)  # in this order also where rates are sparse
    return Groups(tuple(names), together, np.asarray(together @ counts.shares), rates)


def nothing_found(counts: CellCounts) -> str:
    """What is said where label shift was not rejected: what was looked at."""
    also = "predicted labels and top scores" if counts.n_bins > 1 else "predicted labels"
    return (
        f"Some label mix of the source's {counts.n_classes} classes explains the {also} of the "
        f"{counts.n_target:,.0f} target rows, within sampling error."
    )


def largest_difference(
    counts: CellCounts, mix: FloatArray, fitting: Sequence[MixRows | None], *, level: float
) -> str:
    """Where the target differs most from every mix in one of ``fitting``; None stands for all mixes."""
    groups = searched_groups(counts, mix)
    observed, explained = groups.observed, groups.rates @ mix
    width = chance(counts, groups, mix, level=level)
    residual = observed - explained
    ranked = np.argsort(-np.abs(residual) / np.maximum(width, 1e-12), kind="stable")[:CANDIDATES].tolist()
    best, furthest = 0.0, None
    for mixes in fitting:
        for group in ranked:
            sign = 1 if residual[group] > 0 else -1
            cost = sign * groups.rates[group]
            most = float(cost.max()) if mixes is None else mixes.largest(cost)
            reached = sign * most + sign * width[group]
            excess = sign * float(observed[group] - reached)
            # A statement about all mixes is worth more than one about some.
            worth = excess * (PLAIN_WORTH if mixes is None else 1)
            if worth > best:
                best, furthest = worth, (group, reached, mixes)
    if furthest is None:
        group = ranked[0]
        return (
            "The target differs a little in many places; most clearly, "
            f"{_share_of_rows(percent(observed[group], 2), groups.names[group])}, and the best-fitting mix "
            f"explains {percent(explained[group], 2)}."
        )
    group, reached, mixes = furthest
    share, limit = observed[group], min(max(reached, 0.0), 1.0)
    digits = digits_apart(min(share, limit), max(share, limit), digits=2)
    which = "" if mixes is None else " that fits the predicted labels"
    rows = _share_of_rows(percent(share, digits), groups.names[group])
    if residual[group] > 0:
        bound = f"no mix of the source's classes{which} explains more than {up(limit, digits)}"
    else:
        bound = f"any mix of the source's classes{which} would give at least {down(limit, digits)}"
    return capital(f"{rows}; {bound}, even allowing for chance.")


def _share_of_rows(share: str, group: str) -> str:
    """Which share of the target rows a group is.

    >>> _share_of_rows("49 %", "top score at least 0.65")
    'the top score is at least 0.65 for 49 % of the target rows'
    >>> _share_of_rows("3 %", "predicted 'cat', top score below 0.5")
    "3 % of the target rows are predicted 'cat' with a top score below 0.5"
    """
    if group.startswith("top score"):
        return f"{group.replace('top score', 'the top score is', 1)} for {share} of the target rows"
    return f"{share} of the target rows are {group.replace(', top score', ' with a top score')}"


def outside_known(classes: Sequence[Label], free: MixRows, known: Interval, known_from: str) -> str:
    """What is said where only the stated bounds of the mix are contradicted."""
    units = (np.eye(1, len(classes), label)[0] for label in range(len(classes)))  # one at a time: K x K are many
    ends = [(free.largest(unit), -free.largest(-unit)) for unit in units]
    upper, lower = np.array(ends).T
    above, below = lower - known.upper, known.lower - upper
    label = int(np.argmax(np.maximum(above, below)))
    bound = f"at most {given(known.upper[label])}" if above[label] >= below[label] else (
        f"at least {given(known.lower[label])}"
    )  # fmt: skip
    return (
        f"Under label shift {between(lower[label], upper[label])} of the target would be {classes[label]!r}, but "
        f"{known_from} {bound}. One of the two is wrong."
    )


def noticeable(
    counts: CellCounts, mix: FloatArray, variance: FloatArray, *, level: float, contamination: float = 0.0
) -> tuple[Noticeable, ...]:
    """Differences that are rejected in nearly every draw; none where classes are many or rows are few.

    A difference that a change of the mix explains is not noticed. So its size is measured by the distance from the
    nearest mix of the source's classes, in standard deviations of the cells.
    """
    rows = min(float(counts.class_counts.sum()), counts.n_target)
    if counts.n_classes > FEW_CLASSES or rows < FEWEST_ROWS_PER_CLASS * counts.n_classes:
        return ()
    unsure = _groups(counts, [(None, (0, end)) for end in range(counts.n_bins - 1)])  # below each edge
    if not unsure.names:
        return ()
    hurdle, explained = log(1 / (level_shares(counts.n_classes).differences * level)), counts.rates @ mix
    needed = LEARNING * (np.sqrt(2 * hurdle) + POWER_QUANTILE) / np.sqrt(1 - 1 / N_FOLDS)
    # Cells that nothing falls into, such as top scores below 0.5 of two classes, would make any row conspicuous.
    filled = counts.target + counts.source.sum(axis=1) > 0
    least = (unsure.members[0] > 0) & filled
    half = int(np.argmin(np.abs(unsure.members @ explained - 0.5)))
    below = unsure.members[half] > 0
    inside, outside = (max(explained[part].sum(), 1e-12) for part in (below, ~below))
    moving = np.where(below, explained / inside, -explained / outside)  # into ``below``, spread as the rows are
    new = needed / _distance(counts, least / least.sum(), variance)
    moved = needed * PROBE / _distance(counts, explained + PROBE * moving, variance)
    more = ROWS_FOR_LEARNING * hurdle / counts.n_target + contamination
    edges = _edges(counts)[-len(unsure.names) :]  # below the first ones there may be no row
    sizes = Noticeable("new", float(new + more), edges[0]), Noticeable("moved", float(moved + more), edges[half])
    return tuple(one for one in sizes if one.size < 1)


def _distance(counts: CellCounts, shares: FloatArray, variance: FloatArray) -> float:
    """How far cell shares are from the nearest mix of the source's classes, in standard deviations."""
    weights = 1 / np.sqrt(variance)
    nearest = counts.rates @ simplex_fit(counts.rates, shares, weights)
    return max(float(np.linalg.norm((shares - nearest) * weights)), 1e-12)
