"""The whole check: from a tally to the evidence for or against label shift, a record that certificates save."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from pacshift.arrays import FloatArray
from pacshift.assumption.cells import FEW_CLASSES, count_cells
from pacshift.assumption.directions import best_fit
from pacshift.assumption.inequalities import few_classes, many_classes
from pacshift.assumption.words import (
    Noticeable,
    chance,
    largest_difference,
    nothing_found,
    noticeable,
    outside_known,
    shown_groups,
)
from pacshift.bounds import Interval
from pacshift.errors import InputError
from pacshift.files.codec import Rules
from pacshift.tally import Tally
from pacshift.words.display import short_repr

MAX_SAVED_GROUPS = 400
"""Groups that a certificate saves: with many classes the largest differences are kept. A round number: tens of
kilobytes of JSON."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Assumption:
    """Evidence for or against label shift.

    Attributes
    ----------
    level : float
        Largest chance that the test refuses although label shift holds.
    refuted : bool
        Whether no mix of the source's classes explains the target within sampling error.
    mix : float array of shape (K,)
        The label mix that explains the target best.
    groups : tuple of str
        Groups of rows in words, for example ``"predicted 'cat', top score below 0.5"``.
    observed : float array
        Share of the target in each group.
    explained : float array
        Share that ``mix`` gives.
    allowed : Interval
        Shares that chance would allow around ``explained``.
    finding : str
        Where the target differs most, or that no difference was found.
    noticeable : tuple of Noticeable
        Differences that the test would have noticed in nearly every draw of such data; none where that is not
        known.
    """

    level: float
    refuted: bool
    mix: FloatArray
    groups: tuple[str, ...]
    observed: FloatArray
    explained: FloatArray
    allowed: Interval
    finding: str
    noticeable: tuple[Noticeable, ...]

    __repr__ = short_repr

    def with_largest_differences(self) -> "Assumption":
        """What a certificate saves: of very many groups those with the largest differences are kept.

        Returns
        -------
        Assumption
            With at most 400 groups.
        """
        if len(self.groups) <= MAX_SAVED_GROUPS:
            return self
        kept = np.sort(np.argsort(-np.abs(self.observed - self.explained), kind="stable")[:MAX_SAVED_GROUPS])
        return replace(
            self,
            groups=tuple(self.groups[group] for group in kept.tolist()),
            observed=self.observed[kept],
            explained=self.explained[kept],
            allowed=Interval(self.allowed.lower[kept], self.allowed.upper[kept]),
        )

    def _lists(self) -> tuple[Any, ...]:
        return self.groups, self.observed, self.explained, self.allowed.lower, self.allowed.upper

    _RULES: ClassVar[Rules] = {
        "the lists of the assumption have one length": lambda self: len(set(map(len, self._lists()))) == 1,
    }


def check_assumption(
    tally: Tally,
    *,
    level: float,
    known: Interval | None = None,
    contamination: float = 0.0,
    known_from: str = "you said",
) -> Assumption:
    """Test whether the target is a mix of the source's classes.

    Predicted labels and top scores are looked at.
    Under label shift the test refuses with probability at most ``level``, whatever the sample sizes (docs page
    "The test of label shift"). The same tally always gives the same answer.

    Parameters
    ----------
    tally : Tally
        Counts of source and target.
    level : float
        Largest chance that the test refuses although label shift holds. ``calibrate`` takes a tenth of its delta.
    known : Interval, optional
        Bounds of the target's label mix that you are sure of, arrays of length K.
    contamination : float, default 0
        Largest share of the target that need not be label-shifted at all.
    known_from : str, default "you said"
        Where ``known`` comes from, for the words of a rejection.

    Returns
    -------
    Assumption
        The evidence; a refutation is said there, not raised.

    Raises
    ------
    InputError
        If source or target are empty.

    Examples
    --------
    >>> from pacshift import Population
    >>> population = Population.synthetic(["cat", "dog"], rng=0)
    >>> source, target = population.draw([0.5, 0.5], 5000, rng=1), population.draw([0.2, 0.8], 5000, rng=2)[0]
    >>> tally = Tally.from_scores(*source, classes=["cat", "dog"])
    >>> shifted = tally + Tally.from_target(target, classes=["cat", "dog"])
    >>> check_assumption(shifted, level=0.005).refuted
    False
    >>> broken = tally + Tally.from_target(0.2 + 0.6 * target, classes=["cat", "dog"])
    >>> check_assumption(broken, level=0.005).refuted
    True
    """
    if not (tally.n_source and tally.n_target):
        raise InputError("label shift can be tested only with source and target rows; one of them is empty.")
    counts = count_cells(tally)
    place = few_classes if counts.n_classes <= FEW_CLASSES else many_classes
    rows_within = place(counts, level=level, contamination=contamination)
    rows, (mix, variance) = rows_within(known), best_fit(counts)
    if not rows.refuted:
        finding = nothing_found(counts)
    elif known is not None and not (free := rows_within(None)).refuted:
        finding = outside_known(tally.classes, free, known, known_from)
    else:
        some = [left for left in rows.looser if not left.refuted]
        finding = largest_difference(counts, mix, [None, *some], level=level)
    groups = shown_groups(counts, mix)
    explained, width = groups.rates @ mix, chance(counts, groups, mix, level=level)
    return Assumption(
        level=level,
        refuted=rows.refuted,
        mix=mix,
        groups=groups.names,
        observed=groups.observed,
        explained=explained,
        allowed=Interval(np.maximum(explained - width, 0.0), np.minimum(explained + width, 1.0)),
        finding=finding,
        noticeable=noticeable(counts, mix, variance, level=level, contamination=contamination),
    )
