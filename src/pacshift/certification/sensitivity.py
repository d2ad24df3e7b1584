"""What if part of the target is not label-shifted: a bound of the error for every such share η, thresholds fixed.

Section "Contamination" of docs/methods/trust-proofs.md, Lemma 5.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pacshift.arrays import FloatArray
from pacshift.bounds import Interval, Sensitivity
from pacshift.certification.class_miss import class_miss
from pacshift.errors import AssumptionError
from pacshift.mix.programs import MixProgram
from pacshift.mix.region import prevalence_region
from pacshift.tally import Tally

SHARES_OF_EPSILON = (0.0, 0.25, 0.5, 1.0, 2.0)
"""The shares η at which the bound is computed, in units of epsilon. Round numbers; not measured."""

LARGEST_SHARE = 0.9
"""Beyond, hardly anything of the target is left to promise something about."""

MAX_REGION_CLASSES = 20
"""Beyond, every label mix is allowed for: a region for each η would take seconds."""


@dataclass(frozen=True, eq=False)
class SensitivityOnDemand:
    """What the bounds are computed from, as plain data; calling it computes them.

    ``epsilon`` is promised if at most a share ``contamination`` is not label-shifted. ``looks_at_target`` says
    whether the method used target counts, which contamination distorts.
    """

    tally: Tally
    thresholds: FloatArray
    epsilon: float
    delta: float
    contamination: float
    known: Interval | None
    looks_at_target: bool

    def __call__(self) -> Sensitivity:
        """The bounds of Lemma 5."""
        wanted = [min(share * self.epsilon, LARGEST_SHARE) for share in SHARES_OF_EPSILON]
        shares = np.unique([*wanted, self.contamination])
        bounds = np.array([self._bound(share) for share in shares.tolist()])
        return Sensitivity(shares, np.maximum.accumulate(bounds))

    @cached_property
    def _rates(self) -> FloatArray:
        """Upper bounds of the miss rates, for half of δ; the other half is for the mixes."""
        return class_miss(self.tally, self.thresholds, delta=self.delta / 2).upper

    def _bound(self, share: float) -> float:
        if share <= self.contamination:
            return self.epsilon
        if not self.looks_at_target:
            promised = clean_epsilon(self.epsilon, self.contamination)
            return share + (1 - share) * promised
        return share + (1 - share) * self._largest_clean_error(share)

    def _largest_clean_error(self, share: float) -> float:
        """The largest Σ t_j e_j over the mixes that fit the counts if ``share`` of the target may be anything."""
        worst = float(self._rates.max())
        if self.tally.n_classes > MAX_REGION_CLASSES:
            return worst
        try:
            region = prevalence_region(
                self.tally.confusion,
                self.tally.target,
                delta=self.delta / 2,
                known=self.known,
                contamination=share,
            )
        except AssumptionError:  # no mix fits at this level: allow for all of them
            return worst
        return min(MixProgram(region.rows, region.limits).largest(self._rates), worst)


def clean_epsilon(epsilon: float, contamination: float) -> float:
    """The error allowed on the label-shifted part, so that the whole target errs by ``epsilon`` at most (Lemma 3).

    >>> clean_epsilon(0.1, 0.0), round(clean_epsilon(0.1, 0.02), 4)
    (0.1, 0.0816)
    """
    return (epsilon - contamination) / (1 - contamination) if contamination else epsilon
