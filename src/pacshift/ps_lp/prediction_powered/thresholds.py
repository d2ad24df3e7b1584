"""Certified thresholds: one threshold or rescaled ones, by the bound of this folder.

Sections "Theorem" and "From one threshold to all" of the page (docs/methods/many-classes.md).
"""

from dataclasses import dataclass

import numpy as np

from pacshift.arrays import FloatArray, IntArray
from pacshift.ps_lp.prediction_powered.bound import ErrorBound, Option
from pacshift.ps_lp.prediction_powered.correction import best_tilt
from pacshift.ps_lp.prediction_powered.evidence import Evidence
from pacshift.tally import Tally
from pacshift.tally.threshold import largest_threshold

ROUNDING = 1e-12
"""Room for the rounding of sums."""
TRIAL_ERROR = 0.6
"""Options are compared where the predicted mix errs by this part of ε: about where thresholds end up."""


@dataclass(eq=False)
class CorrectedTest:
    """The test of one option ("Theorem"). It remembers its last correction, where the next search starts."""

    bound: ErrorBound
    tilt: FloatArray

    def passes(self, misses: IntArray) -> bool:
        """Whether some correction shows an error of at most ε; the last one is asked first."""
        limit = self.bound.epsilon - ROUNDING
        if self.bound.value(self.tilt, misses) <= limit:
            return True
        self.tilt = best_tilt(self.bound, misses, self.tilt)
        return self.bound.value(self.tilt, misses) <= limit


def corrected_threshold(
    tally: Tally, evidence: Evidence, options: list[Option], *, epsilon: float, delta: float
) -> float:
    """The largest τ that passes with the option that looks best ("From one threshold to all").

    All ``options`` are paid for, so that any of them may be chosen by looking at the data.
    """
    log_cost = float(np.log(len(options) / delta))
    bounds = [ErrorBound(evidence, option, epsilon, log_cost) for option in options]
    trial = tally.misses(
        largest_threshold(tally, lambda misses: _predicted_error(evidence, misses) <= TRIAL_ERROR * epsilon)
    )
    tilts = [best_tilt(bound, trial, np.zeros(evidence.n_classes)) for bound in bounds]
    best = int(np.argmin([bound.value(tilt, trial) for bound, tilt in zip(bounds, tilts, strict=True)]))
    return largest_threshold(tally, CorrectedTest(bounds[best], tilts[best]).passes)


def _predicted_error(evidence: Evidence, misses: IntArray) -> float:
    """The error if the target's labels were mixed as its predictions are."""
    return float(evidence.target_shares @ evidence.miss_rates(misses))
