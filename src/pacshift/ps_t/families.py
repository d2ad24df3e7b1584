"""Families of thresholds, and the largest member that passes the test (docs/methods/ps-t.md, Lemma 1).

Every family is nested: a larger parameter never lowers a threshold. None of them saw the rows of the test.
"""

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from pacshift.arrays import FloatArray
from pacshift.paths.isotonic import fit_isotonic
from pacshift.paths.path import ThresholdPath, last_passing
from pacshift.paths.posterior import fit_posterior, log_evidence, moved
from pacshift.ps_t.forecast import Forecast
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


class Family(Protocol):
    """A nested family of thresholds."""

    @property
    def is_tuned(self) -> bool:
        """Whether labels of the target planned it."""
        ...

    def largest(self, test: Tally, cut: int) -> FloatArray:
        """The largest member at which at most ``cut`` rows of the test are missed; -inf where there is none."""
        ...


def families(labelled: LabelledTarget, source: Tally, *, epsilon: float) -> list[Family]:
    """The families that are tried, each at its part of δ. They know neither the rows of the test nor the look.

    With a pilot one family, tuned; without, one threshold for all classes. With counts alone two families: one
    threshold, and equal miss rates of the classes of the source.
    """
    planning = labelled.planning
    if planning is None:
        return [OneThreshold(), EqualMissRates(source)]
    if not len(planning.pilot):
        return [OneThreshold()]
    return [Tuned(tuned_path(forecast(planning), source, epsilon=epsilon))]


@dataclass(frozen=True, slots=True, eq=False)
class Tuned:
    """Thresholds along a path."""

    path: ThresholdPath
    is_tuned: ClassVar[bool] = True

    def largest(self, test: Tally, cut: int) -> FloatArray:
        """The last step that passes."""
        return last_passing(self.path, lambda thresholds: bool(test.misses(thresholds).sum() <= cut))


@dataclass(frozen=True, slots=True, eq=False)
class OneThreshold:
    """The same threshold for all classes."""

    is_tuned: ClassVar[bool] = False

    def largest(self, test: Tally, cut: int) -> FloatArray:
        """The largest threshold that passes."""
        found = largest_threshold(test, lambda missed: bool(missed.sum() <= cut))
        return np.full(test.n_classes, found)


@dataclass(frozen=True, slots=True, eq=False)
class EqualMissRates:
    """Thresholds that miss the same share of every class of the source."""

    source: Tally
    is_tuned: ClassVar[bool] = False

    def largest(self, test: Tally, cut: int) -> FloatArray:
        """The largest share, in steps of a thousandth, that passes."""
        if cut < 0:
            return np.full(test.n_classes, -np.inf)
        low, high = 0, EQUAL_STEPS + 1  # step 0 misses nothing
        while high - low > 1:
            middle = (low + high) // 2
            missed = test.misses(equal_miss_thresholds(self.source, middle / EQUAL_STEPS)).sum()
            low, high = (middle, high) if missed <= cut else (low, middle)
        return equal_miss_thresholds(self.source, low / EQUAL_STEPS)


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
