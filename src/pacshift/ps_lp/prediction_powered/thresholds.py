"""Certified thresholds: one threshold or rescaled ones, by the bound of this folder.

Sections "Theorem" and "From one threshold to all" of the page (docs/methods/many-classes.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pacshift.arrays import FloatArray, IntArray
from pacshift.bounds import ROUNDING
from pacshift.errors import AssumptionError
from pacshift.progress import Steps
from pacshift.ps_lp.prediction_powered.bound import ErrorBound
from pacshift.ps_lp.prediction_powered.box import detected_shares
from pacshift.ps_lp.prediction_powered.correction import ROUNDS, best_tilt
from pacshift.ps_lp.prediction_powered.evidence import Evidence
from pacshift.ps_lp.prediction_powered.options import CorrectionPlan, CorrectionShares
from pacshift.ps_lp.prediction_powered.rescale import rescaled, rescaling_factors, undo_rescaling
from pacshift.tally import Tally
from pacshift.tally.histogram import mean_binned_size
from pacshift.tally.threshold import expected_tests, largest_threshold
from pacshift.words.numbers import digits_apart, up

SUM_ROUNDING = 1e-12
"""Room for the rounding of sums, on the side of a larger error."""
TRIAL_ERROR = 0.6
"""Options are compared where the predicted mix errs by this part of ε: about where thresholds end up. With 0.4 or
0.8 nothing changes."""
FAR_BELOW = 0.5
"""Options are compared again where thresholds end up with less than this part of the error of the trial."""


@dataclass(frozen=True, eq=False)
class Corrected:
    """Certified thresholds, one per class and kind, and the bounds of the target's label shares behind them."""

    one_threshold: FloatArray
    rescaled: FloatArray
    largest_shares: FloatArray


def corrected_thresholds(
    tally: Tally,
    plan: CorrectionPlan,
    within: FloatArray,
    *,
    epsilon: float,
    delta: float,
    shares: CorrectionShares,
    steps: Steps | None = None,
) -> Corrected:
    """Both kinds, valid at once with probability at least 1 - δ times the sum of the ``shares`` ("Theorem").

    PS-LP uses them for many classes ("Above 200 classes").
    ``within`` are upper bounds of the label shares that are known already (1 if nothing is known); their chance to
    be wrong is not counted here.
    """
    largest = np.minimum(within, detected_shares(tally, delta=shares.box * delta))
    largest = np.minimum(largest + ROUNDING, 1.0)
    _require_a_mix(largest)
    evidence = Evidence.of_tally(tally, largest, plan.sparse)
    steps = steps or Steps()
    steps.expect(2 * (len(plan.options) + expected_tests(tally)))
    one = largest_corrected(
        tally, evidence, plan, epsilon=epsilon, delta=shares.one_threshold * delta, steps=steps
    )
    scaled = rescaled_thresholds(
        tally, evidence, plan, epsilon=epsilon, delta=shares.rescaled * delta, steps=steps
    )
    return Corrected(np.where(plan.sparse, -np.inf, one), scaled, largest)


def rescaled_thresholds(
    tally: Tally, evidence: Evidence, plan: CorrectionPlan, *, epsilon: float, delta: float, steps: Steps
) -> FloatArray:
    """Rescaled thresholds ("Rescaled thresholds"), with either choice of classes in every set ("Options").

    Both choices are fixed beforehand, and where they differ each gets δ/2, so that the smaller sets may be kept.
    """
    factors = rescaling_factors(tally)
    choices = [plan.sparse] if np.array_equal(plan.sparse, plan.sparsest) else [plan.sparse, plan.sparsest]
    found = []
    for sparse in choices:
        cut = largest_corrected(
            rescaled(tally, factors),
            replace(evidence, in_every_set=sparse),
            plan,
            epsilon=epsilon,
            delta=delta / len(choices),
            steps=steps,
        )
        found.append(np.where(sparse, -np.inf, undo_rescaling(cut, factors, tally)))
    return min(found, key=lambda each: _labels(tally, each))


def _labels(tally: Tally, thresholds: FloatArray) -> float:
    """The size of sets for a choice between valid ones ("Options"): by the target's bins, if there are any."""
    if tally.bins is None or tally.score != "probability":
        return float((thresholds == -np.inf).sum())
    return mean_binned_size(tally.bins, thresholds)


def _require_a_mix(largest: FloatArray) -> None:
    """Label shift is refuted where the label shares cannot add up to 1 ("The box")."""
    most = float(largest.sum())
    if most < 1:
        raise AssumptionError(
            "label shift is refuted: label shares add up to 100 %, but by the target's scores those of all "
            f"classes together cannot exceed {up(most, digits_apart(most, 1.0))}, beyond sampling error. Either "
            "P(x given y) differs between source and target, or rows depend on each other, or bounds of the label "
            "mix that were given are wrong. No method for label shift may be used."
        )


def largest_corrected(
    tally: Tally, evidence: Evidence, plan: CorrectionPlan, *, epsilon: float, delta: float, steps: Steps
) -> float:
    """The largest τ that passes with the option that looks best ("From one threshold to all").

    All options are paid for, so that any of them may be chosen by looking at the data. Where thresholds end up far
    below the one at which options were compared, they are compared again there.
    """
    log_cost = float(np.log(len(plan.options) / delta))
    bounds = [ErrorBound(evidence, option, epsilon, log_cost) for option in plan.options]

    def seeming_error(misses: IntArray) -> float:  # if the target's labels were mixed as its predictions are
        return float(evidence.target_shares @ evidence.miss_rates(misses))

    def found_from(trial: IntArray) -> float:
        test = best_test(bounds, trial, steps)

        def passes(misses: IntArray) -> bool:
            steps()
            return test.passes(misses)

        return largest_threshold(tally, passes)

    trial = tally.misses(largest_threshold(tally, lambda m: seeming_error(m) <= TRIAL_ERROR * epsilon))
    found = found_from(trial)
    ended = tally.misses(found)
    if seeming_error(ended) > FAR_BELOW * seeming_error(trial):
        return found
    return max(found, found_from(ended))


def best_test(bounds: Sequence[ErrorBound], trial: IntArray, steps: Steps) -> "CorrectedTest":
    """The test of the option with the smallest bound at the misses ``trial`` ("The search")."""
    tilts = []
    for bound in bounds:
        tilts.append(best_tilt(bound, trial, np.zeros(len(trial)), rounds=ROUNDS[:1]))
        steps()
    best = int(np.argmin([bound.value(tilt, trial) for bound, tilt in zip(bounds, tilts, strict=True)]))
    return CorrectedTest(bounds[best], tilts[best])


@dataclass(eq=False)
class CorrectedTest:
    """The test of one option ("Theorem"). It remembers its last correction, where the next search starts."""

    bound: ErrorBound
    tilt: FloatArray

    def passes(self, misses: IntArray) -> bool:
        """Whether some correction shows an error of at most ε; the last one is asked first."""
        limit = self.bound.epsilon - SUM_ROUNDING
        if self.bound.value(self.tilt, misses) <= limit:
            return True
        self.tilt = best_tilt(self.bound, misses, self.tilt, rounds=ROUNDS[1:], enough=limit)
        return self.bound.value(self.tilt, misses) <= limit
