"""What if part of the target is not label-shifted: a bound of the error for every such share η, thresholds fixed.

Section "Contamination" of docs/methods/trust-proofs.md, Lemma 5.
"""

import numpy as np

from pacshift.arrays import FloatArray
from pacshift.bounds import Interval, Sensitivity
from pacshift.certification.class_miss import class_miss
from pacshift.certification.request import Request
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


def sensitivity(tally: Tally, thresholds: FloatArray, request: Request, *, looks_at_target: bool) -> Sensitivity:
    """The bounds of Lemma 5.

    ``request.epsilon`` is promised if at most a share ``request.contamination`` is not label-shifted.
    ``looks_at_target`` says whether the method used target counts, which contamination distorts.
    """
    epsilon, promised_at = request.epsilon, request.contamination
    shares = np.unique([*(min(share * epsilon, LARGEST_SHARE) for share in SHARES_OF_EPSILON), promised_at])
    # Upper bounds of the miss rates for half of delta; the other half is for the mixes.
    rates = class_miss(tally, thresholds, delta=request.delta / 2).upper
    bounds = []
    for share in shares.tolist():
        if share <= promised_at:
            bounds.append(epsilon)
            continue
        clean = clean_epsilon(epsilon, promised_at)
        if looks_at_target:
            clean = largest_clean_error(tally, rates, share, delta=request.delta / 2, known=request.known)
        bounds.append(share + (1 - share) * clean)
    return Sensitivity(shares, np.maximum.accumulate(np.array(bounds)))


def largest_clean_error(
    tally: Tally, rates: FloatArray, share: float, *, delta: float, known: Interval | None
) -> float:
    """The largest Σ t_j e_j over the mixes that fit the counts if ``share`` of the target may be anything."""
    worst = float(rates.max())
    if tally.n_classes > MAX_REGION_CLASSES:
        return worst
    try:
        region = prevalence_region(tally.confusion, tally.target, delta=delta, known=known, contamination=share)
    except AssumptionError:  # no mix fits at this level: allow for all of them
        return worst
    return min(MixProgram(region.rows, region.limits).largest(rates), worst)


def clean_epsilon(epsilon: float, contamination: float) -> float:
    """The error allowed on the label-shifted part, so that the whole target errs by ``epsilon`` at most (Lemma 3).

    >>> clean_epsilon(0.1, 0.0), round(clean_epsilon(0.1, 0.02), 4)
    (0.1, 0.0816)
    """
    return (epsilon - contamination) / (1 - contamination) if contamination else epsilon
