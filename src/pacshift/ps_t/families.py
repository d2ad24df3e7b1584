"""Families of thresholds, and the largest member that passes the test (docs/methods/ps-t.md, Lemma 1).

Every family is nested: a larger parameter never lowers a threshold. None of them saw the rows of the test.
"""

from collections.abc import Callable

import numpy as np

from pacshift.arrays import FloatArray
from pacshift.paths.isotonic import fit_isotonic
from pacshift.paths.path import ThresholdPath, last_passing
from pacshift.paths.posterior import fit_posterior, log_evidence, moved
from pacshift.ps_t.forecast import Forecast
from pacshift.ps_t.looks import TUNING_ROWS
from pacshift.ps_t.rows import LabelledTarget, Planning
from pacshift.tally import Tally
from pacshift.tally.threshold import class_threshold, largest_threshold

AIM = 2.0
"""No threshold is planned to miss more than this multiple of ε of a class of the source: an aim, not a promise.

Without it a rare class is given up: on halves of a survey the worst class was missed 61 % with 400 labels, with
the aim 26 %, at sets that are 16 % larger.
"""

LEVEL_ENDS, LEVEL_STEPS = (-25.0, 25.0), 1 << 20
"""Levels, as log-odds, from "every label" to "none", further than scores of 1e-9 reach; steps too small to
matter, which bisection finds at once."""

EQUAL_STEPS = 1000
"""Steps of the family of equal miss rates. A round number; not measured."""


def certified(
    labelled: LabelledTarget, source: Tally, *, epsilon: float, delta: float
) -> list[tuple[str, FloatArray]]:
    """Thresholds that miss at most ε of the target, all with probability at least 1 - δ; with a name each.

    With rows at hand one family, tuned; with few labels one threshold for all classes. With counts alone two
    families at half of δ each: one threshold, and equal miss rates of the classes of the source.
    """
    planning = labelled.planning
    if planning is not None and labelled.n_rows * epsilon >= TUNING_ROWS and len(planning.pilot):
        cut = labelled.cut(epsilon=epsilon, delta=delta)
        path = tuned_path(forecast(planning), source, epsilon=epsilon)
        return [("tuned", last_passing(path, _missing_at_most(labelled.test, cut)))]
    if planning is not None:
        return [("one", _one_threshold(labelled, labelled.cut(epsilon=epsilon, delta=delta)))]
    cut = labelled.cut(epsilon=epsilon, delta=delta / 2)
    return [("one", _one_threshold(labelled, cut)), ("equal", _equal_miss_rates(labelled, source, cut))]


def forecast(planning: Planning) -> Forecast:
    """What a posterior that was fitted on the source and moved towards the pilot says of the target."""
    posterior = fit_posterior(log_evidence(planning.source), planning.source_labels)
    posterior = moved(posterior, log_evidence(planning.pilot), planning.pilot_labels)
    scores = np.asarray(planning.transform.apply(planning.target), float)
    return Forecast(scores, posterior.of(log_evidence(planning.target)))


def tuned_path(expected: Forecast, source: Tally, *, epsilon: float) -> ThresholdPath:
    """Thresholds where the planned posterior of the class reaches one level, below the aim of every class."""
    curves = fit_isotonic(expected.scores, expected.chances)
    return ThresholdPath(curves, aims(source, AIM * epsilon), LEVEL_ENDS, LEVEL_STEPS, grid=False)


def aims(source: Tally, share: float) -> FloatArray:
    """Per class the largest score with at most ``share`` of the class's source rows below; inf with too few."""
    cuts = [int(share * total) for total in source.class_counts.tolist()]
    return np.array([class_threshold(source, label, cut) if cut else np.inf for label, cut in enumerate(cuts)])


def equal_miss_thresholds(source: Tally, share: float) -> FloatArray:
    """Thresholds that miss about ``share`` of every class of the source; they never fall as the share grows."""
    cuts = [int(share * (int(total) + 1)) - 1 for total in source.class_counts]
    return np.array([class_threshold(source, label, cut) for label, cut in enumerate(cuts)])


def _missing_at_most(test: Tally, cut: int) -> Callable[[FloatArray], bool]:
    return lambda thresholds: bool(test.misses(thresholds).sum() <= cut)


def _one_threshold(labelled: LabelledTarget, cut: int) -> FloatArray:
    found = largest_threshold(labelled.test, lambda missed: bool(missed.sum() <= cut))
    return np.full(labelled.test.n_classes, found)


def _equal_miss_rates(labelled: LabelledTarget, source: Tally, cut: int) -> FloatArray:
    passes = _missing_at_most(labelled.test, cut)
    if not passes(equal_miss_thresholds(source, 0.0)):
        return np.full(source.n_classes, -np.inf)
    low, high = 0, EQUAL_STEPS + 1  # step 0 misses nothing
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (
            (middle, high) if passes(equal_miss_thresholds(source, middle / EQUAL_STEPS)) else (low, middle)
        )
    return equal_miss_thresholds(source, low / EQUAL_STEPS)
