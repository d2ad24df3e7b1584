"""What the test of label shift saw, as a frozen record that certificates save."""

from dataclasses import dataclass, replace

import numpy as np

from pacshift.arrays import FloatArray
from pacshift.bounds import Interval
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
        Groups of rows in words, for example ``"predicted 'cat', confidence below 50 %"``.
    observed : float array
        Share of the target in each group.
    explained : float array
        Share that ``mix`` gives.
    allowed : Interval
        Shares that chance would allow around ``explained``.
    finding : str
        Where the target differs most, or that no difference was found.
    noticeable : tuple of str
        Differences that the test would have noticed in nearly every draw of such data.
    """

    level: float
    refuted: bool
    mix: FloatArray
    groups: tuple[str, ...]
    observed: FloatArray
    explained: FloatArray
    allowed: Interval
    finding: str
    noticeable: tuple[str, ...]

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

    def _require_consistent(self) -> None:
        lists = (self.groups, self.observed, self.explained, self.allowed.lower, self.allowed.upper)
        if len({len(one) for one in lists}) > 1:
            raise ValueError("the lists of the assumption differ in length")
