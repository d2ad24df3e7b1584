"""What the test of label shift saw, as a frozen record that certificates save."""

from dataclasses import dataclass
from typing import Any

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

    def to_json(self) -> dict[str, Any]:
        """A dictionary of plain lists, numbers and texts.

        Returns
        -------
        dict
            What ``from_json`` reads. Of very many groups those with the largest differences are kept.
        """
        kept = np.arange(len(self.groups))
        if len(kept) > MAX_SAVED_GROUPS:
            kept = np.sort(np.argsort(-np.abs(self.observed - self.explained), kind="stable")[:MAX_SAVED_GROUPS])
        return {
            "level": self.level,
            "refuted": self.refuted,
            "mix": self.mix.tolist(),
            "groups": [self.groups[group] for group in kept.tolist()],
            "observed": self.observed[kept].tolist(),
            "explained": self.explained[kept].tolist(),
            "allowed": [self.allowed.lower[kept].tolist(), self.allowed.upper[kept].tolist()],
            "finding": self.finding,
            "noticeable": list(self.noticeable),
        }

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> "Assumption":
        """Read what ``to_json`` wrote.

        Parameters
        ----------
        saved : dict
            The dictionary.

        Returns
        -------
        Assumption
            The same evidence.
        """
        lower, upper = (np.asarray(end, float) for end in saved["allowed"])
        return cls(
            level=float(saved["level"]),
            refuted=bool(saved["refuted"]),
            mix=np.asarray(saved["mix"], float),
            groups=tuple(saved["groups"]),
            observed=np.asarray(saved["observed"], float),
            explained=np.asarray(saved["explained"], float),
            allowed=Interval(lower, upper),
            finding=str(saved["finding"]),
            noticeable=tuple(saved["noticeable"]),
        )
