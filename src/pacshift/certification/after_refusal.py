"""After a refusal: about how many labels would certify sets of which size, estimated from what is at hand."""

from collections.abc import Callable

from pacshift.assumption import Assumption, ways_on
from pacshift.certification.answers import Data
from pacshift.certification.request import Request
from pacshift.errors import AssumptionError
from pacshift.ps_t.families import equal_miss_thresholds, forecast, tuned_path
from pacshift.ps_t.forecast import certified_error
from pacshift.ps_t.sizes import mean_sizes

NUMBERS_OF_LABELS = (100, 200, 400)
"""What people would label in an hour, a morning and a day; multiplied by ten until they certify anything."""


def with_ways_on(
    refusal: AssumptionError, data: Data, request: Request, assumption: Assumption | None
) -> AssumptionError:
    """The refusal with what can be done, and what to expect of it."""
    sizes = expected_sizes(data, request)
    return AssumptionError(str(refusal), ways_on(sizes), sizes, assumption)


def numbers_of_labels(epsilon: float, delta: float) -> tuple[int, ...]:
    """How many labels to begin with, so that they certify something.

    >>> numbers_of_labels(0.1, 0.05), numbers_of_labels(0.01, 0.05)
    ((100, 200, 400), (1000, 2000, 4000))
    """
    scales = (10**power for power in range(6))
    enough = (scale for scale in scales if certified_error(100 * scale, epsilon=epsilon, delta=delta) is not None)
    scale = next(enough, 0)
    return tuple(scale * count for count in NUMBERS_OF_LABELS)


def expected_sizes(data: Data, request: Request) -> tuple[tuple[int, float], ...]:
    """Numbers of labels, and labels per set that PS-T would certify with them: an estimate, not a promise.

    With rows at hand by a posterior that is fitted on the source: on 20 halves of a survey between 0.97 and 1.03
    times the true sizes, on shifted score sets between 0.9 and 1.3 times. With counts alone, as if every class
    were missed as often as on the source: between 0.8 and 1.3 times.
    """
    rates = {"epsilon": request.epsilon, "delta": request.delta}
    errors = {count: certified_error(count, **rates) for count in numbers_of_labels(**rates)}
    size_at = _by_rows(data, request) if data.to_plan is not None else _by_counts(data)
    found = [(count, size_at(error)) for count, error in errors.items() if error is not None]
    return tuple((count, size) for count, size in found if size is not None)


def _by_rows(data: Data, request: Request) -> Callable[[float], float | None]:
    assert data.to_plan is not None
    assert data.transform is not None  # rows come with it
    to_plan = data.to_plan()
    expected = forecast(to_plan.with_pilot(to_plan.source[:0], to_plan.source_labels[:0], data.transform))
    path = tuned_path(expected, data.tally, epsilon=request.epsilon)
    return lambda error: expected.size_at(path, error)


def _by_counts(data: Data) -> Callable[[float], float | None]:
    def size_at(error: float) -> float | None:
        sizes = mean_sizes(data.tally, [equal_miss_thresholds(data.tally, error)], data.count_labels)
        return None if sizes is None else sizes[0]

    return size_at
