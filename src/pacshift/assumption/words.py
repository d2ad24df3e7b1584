"""Plain words for what the test saw."""

from collections.abc import Sequence

import numpy as np

from pacshift.arrays import FloatArray, Label
from pacshift.assumption.folds import CellCounts
from pacshift.assumption.groups import Groups, chance, searched_groups
from pacshift.assumption.program import MixRows
from pacshift.bounds import Interval
from pacshift.words.numbers import between, digits_apart, down, given, percent, up

CANDIDATES = 40
"""Groups for which the largest share that any mix can give is computed, each by linear programs. A round number;
not measured."""

PLAIN_WORTH = 2.0
"""How much larger the difference from some mixes must be to be said instead of one from all mixes. A matter of
taste."""


def nothing_found(counts: CellCounts) -> str:
    """The finding where label shift was not refuted, and what was looked at."""
    also = " and their confidence" if counts.top_edges is None else " and their top scores"
    also = also if counts.n_bins > 1 else " (predicted classes alone)"
    return (
        f"No difference was found: some mix of the source's {counts.n_classes} classes explains the predictions "
        f"of the {counts.n_target:,.0f} target rows{also}, within sampling error."
    )


def largest_difference(
    counts: CellCounts,
    classes: Sequence[Label],
    mix: FloatArray,
    fitting: Sequence[MixRows | None],
    *,
    level: float,
) -> str:
    """Where the target differs most from every mix in one of ``fitting``; None stands for all mixes."""
    groups = searched_groups(counts, classes, mix)
    observed, rates = groups.observed(counts), groups.rates(counts)
    width = chance(counts, groups, mix, level=level)
    residual = observed - rates @ mix
    ranked = np.argsort(-np.abs(residual) / np.maximum(width, 1e-12), kind="stable")[:CANDIDATES].tolist()
    best, words = 0.0, _many_small(groups, observed, rates @ mix, ranked[0])
    for mixes in fitting:
        for group in ranked:
            more = residual[group] > 0
            sign = 1 if more else -1
            cost = sign * rates[group]
            most = float(cost.max()) if mixes is None else mixes.largest(cost)
            reached = sign * most + sign * width[group]
            excess = sign * float(observed[group] - reached)
            # A statement about all mixes is worth more than one about some.
            worth = excess * (PLAIN_WORTH if mixes is None else 1)
            if worth > best:
                best = worth
                words = _sentence(groups.names[group], observed[group], reached, more, mixes)
    return words


def _sentence(group: str, share: float, reached: float, more: bool, fitting: MixRows | None) -> str:
    which = "" if fitting is None else " that fits its predictions"
    limit = min(max(reached, 0.0), 1.0)
    digits = digits_apart(min(share, limit), max(share, limit), digits=2)
    bound = f"more than {up(limit, digits)}" if more else f"less than {down(limit, digits)}"
    return (
        f"{percent(share, digits)} of the target rows are {_rows_that_are(group)}; no mix of the source's "
        f"classes{which} has {bound}, beyond sampling error."
    )


def _many_small(groups: Groups, observed: FloatArray, explained: FloatArray, group: int) -> str:
    return (
        "The target differs from every mix of the source's classes, a little in many groups at once. Most "
        f"clearly, {percent(observed[group], 2)} of the target rows are {_rows_that_are(groups.names[group])}; "
        f"the mix that fits best has {percent(explained[group], 2)}."
    )


def _rows_that_are(group: str) -> str:
    """A group as the end of a sentence.

    >>> _rows_that_are("predicted 'cat', confidence below 50 %"), _rows_that_are("confidence below 50 %")
    ("predicted 'cat' with confidence below 50 %", 'of confidence below 50 %')
    >>> _rows_that_are("predicted 'cat', top score below 3.2"), _rows_that_are("top score below 3.2")
    ("predicted 'cat' with top score below 3.2", 'of top score below 3.2')
    """
    if group.startswith(("confidence", "top score")):
        return f"of {group}"
    return group.replace(", confidence", " with confidence").replace(", top score", " with top score")


def outside_known(classes: Sequence[Label], free: MixRows, known: Interval, known_from: str) -> str:
    """The finding where only the known bounds of the mix are contradicted."""
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
        f"{known_from} {bound}. Either these bounds are wrong or label shift does not hold."
    )
