"""Is it label shift? The test before every promise about the target, the refusal, and what comes after it."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pacshift.assumption import Assumption
from pacshift.errors import AssumptionError, InputError, current_speech
from pacshift.labels.sheet import LARGEST_BUDGET, SheetPlan, plan_sheet
from pacshift.methods import PSLP, Method
from pacshift.methods.base import takes_labels
from pacshift.paths.labelled import equal_miss_thresholds, forecast, mean_sizes, tuned_path, typical_error
from pacshift.paths.looks import look_cuts
from pacshift.words.findings import next_steps, too_small

if TYPE_CHECKING:
    from pacshift.certification.counting import CalibrationData
    from pacshift.certification.request import Request

NUMBERS_OF_LABELS = (100, 200, 400)
"""What people would label in an hour, a morning and a day; times ten until they certify anything."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Attempt:
    """What was refused: the request and the data, and how labels of the target certify instead.

    Parameters
    ----------
    method : str
        The method that was asked for.
    request : Request
        What was asked for.
    n_source, n_target, n_classes : int
        Rows that were counted, and classes.
    looks : tuple of int
        After how many labels to look, on a sheet that can certify something; empty if the target is too small.
    with_method : str or None
        The method to ask for with labels, where that one takes none.
    verb : str
        What was called: ``calibrate`` or ``accept``.
    has_target_groups : bool
        Whether one row of each group of the target counts.
    draw, again : str
        The line that draws the rows to label, and the one that certifies with their labels.
    """

    method: str
    request: "Request"
    n_source: int
    n_target: int
    n_classes: int
    looks: tuple[int, ...]
    with_method: str | None
    verb: str
    has_target_groups: bool
    draw: str = ""
    again: str = ""


def with_next_steps(
    refusal: AssumptionError,
    data: "CalibrationData",
    method: Method,
    request: "Request",
    assumption: Assumption | None,
) -> AssumptionError:
    """The refusal with what can be done, in the words of whoever reads it, and what to expect of it."""
    tally, plan = data.tally, sheet_plan(request.epsilon, request.delta, data.tally.n_target)
    attempt = Attempt(
        method=method.name,
        request=request,
        n_source=tally.n_source,
        n_target=tally.n_target,
        n_classes=tally.n_classes,
        looks=() if plan is None else plan.looks,
        with_method=None if takes_labels(method) else PSLP.name,
        verb=method.rule.verb,
        has_target_groups=tally.target_grouped is not None,
    )
    sizes = () if plan is None or method.rule.of_labels else expected_sizes(data, request, plan)
    if plan is None:
        ways = too_small(attempt)
    else:
        commands = current_speech().label_commands(attempt)
        attempt, ways = replace(attempt, draw=commands.draw, again=commands.again), commands.in_words
    return AssumptionError(str(refusal), next_steps(sizes, command=ways), sizes, assumption, attempt)


def sheet_plan(epsilon: float, delta: float, n_target: int) -> SheetPlan | None:
    """A sheet that ``label_sheet`` would make of this target, and that certifies something; None if none does."""
    most = min(n_target, LARGEST_BUDGET)
    for scale in (1, 10, 100, 1_000, 10_000):
        *looks, budget = sorted({min(scale * count, most) for count in NUMBERS_OF_LABELS})
        try:
            return plan_sheet(budget, looks, epsilon=epsilon, delta=delta)
        except InputError:  # the first look would certify nothing
            continue
    return None


def expected_sizes(data: "CalibrationData", request: "Request", plan: SheetPlan) -> tuple[tuple[int, float], ...]:
    """Labels at each look, and labels per set that PS-T would certify then: an estimate, not a promise.

    With rows at hand by a posterior that is fitted on the source: on 20 halves of a survey between 0.97 and 1.03
    times the true sizes, on shifted score sets between 0.9 and 1.3 times. With counts alone, as if every class
    were missed as often as on the source: between 0.8 and 1.3 times. It supposes that scores mean on the target
    what they meant on the source: where 15 % of the target rows got the scores of another class, true sets were
    up to 10 times as large. The pilot of a sheet tells. What a limit per class costs is not estimated.
    """
    if request.limits is not None:
        return ()
    rows = [look - plan.n_pilot for look in plan.looks]
    cuts = look_cuts(rows, epsilon=request.sheet_epsilon, delta=request.delta)
    passing = [
        (look, typical_error(cut, n)) for look, n, cut in zip(plan.looks, rows, cuts, strict=True) if cut >= 0
    ]
    if data.rows.rows_to_plan is None:
        tally, count_sizes = data.tally, data.rows.mean_sizes
        return tuple(
            (look, sizes[0])
            for look, error in passing
            if (sizes := mean_sizes(tally, [equal_miss_thresholds(tally, error)], count_sizes)) is not None
        )
    assert data.transform is not None  # rows come with it
    to_plan = data.rows.rows_to_plan()
    expected = forecast(to_plan.with_pilot(to_plan.source[:0], to_plan.source_labels[:0], data.transform))
    path = tuned_path(expected, data.tally, epsilon=request.sheet_epsilon)
    return tuple((look, expected.size_at(path, error)) for look, error in passing)
