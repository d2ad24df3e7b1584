"""From a tally to a certificate: the test of label shift, the method, the limit per class, the notes."""

import logging
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TypeAlias

import numpy as np

from pacshift.arrays import FloatArray
from pacshift.assumption import Assumption, ways_on
from pacshift.bounds import Interval
from pacshift.certificate import Certificate
from pacshift.certificate.provenance import record
from pacshift.certification.class_miss import class_miss
from pacshift.certification.delta import delta_shares
from pacshift.certification.few_labels import check_labelled, direct_thresholds, mix_within, smallest_sets
from pacshift.certification.label_shift import check_label_shift, require_label_shift
from pacshift.certification.notes import direct_note, often_missed_note, suspicious
from pacshift.certification.request import Request
from pacshift.certification.sensitivity import SensitivityOnDemand, clean_epsilon
from pacshift.errors import AssumptionError, InputError, UninformativeWarning
from pacshift.methods import Method, Solution, Task
from pacshift.methods.base import facts_of, options_of
from pacshift.methods.class_wise import capped
from pacshift.methods.guarantee import promises_target
from pacshift.progress import Progress, Steps, tell
from pacshift.scores.same_kind import require_same_kind
from pacshift.scores.transforms import Transform
from pacshift.tally import Tally

logger = logging.getLogger(__name__)

TESTED, SOLVED = 30, 95
"""Percents of the work that are done when label shift is tested and when the method has its thresholds: about so
with 100 classes."""

CountLabels: TypeAlias = Callable[[Sequence[FloatArray]], list[float]]
"""Mean set sizes on the target rows for several vectors of thresholds."""


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """What was counted: source and target, the labelled target rows, and how scores and rows can be looked at."""

    tally: Tally
    labelled: Tally | None = None
    transform: Transform | None = None
    count_labels: CountLabels | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """Thresholds and what is known about them; ``is_direct`` where labelled target rows alone certify them."""

    solution: Solution
    misses: Interval
    is_direct: bool


def certify(
    data: Data,
    method: Method,
    request: Request,
    *,
    tested: Assumption | None = None,
    progress: Progress | None = None,
) -> Certificate:
    """Test label shift, run the method, and collect everything that a certificate holds.

    ``tested`` is what ``check_label_shift`` saw, where methods that are compared share it. ``progress`` is told
    percents.
    """
    tell(progress, 0)
    tally = data.tally
    assert request.classes == tally.classes  # Request.for_classes was called
    _require_rows(data, method)
    assumption = None
    if promises_target(method) and tally.n_target:
        assumption = tested or check_label_shift(tally, request, data.labelled)
        require_label_shift(assumption, request)
    tell(progress, TESTED)
    found = _solved(data, method, request, Steps(progress, TESTED, SOLVED))
    certificate = _certificate(data, method, request, found, assumption)
    if certificate.trivial:
        causes = " ".join(certificate.reasons) or "no threshold passes."
        warnings.warn(f"every set contains all labels: {causes}", UninformativeWarning, stacklevel=3)
    tell(progress, 100)
    return certificate


def _require_rows(data: Data, method: Method) -> None:
    tally = data.tally
    if not tally.n_source:
        raise InputError("no source examples: every method needs a labelled source.")
    if method.needs_target and not tally.n_target:
        raise InputError(f"no target examples: method {method.name} needs unlabelled target scores.")
    if data.labelled is not None:
        check_labelled(data.labelled, tally)
    require_same_kind(tally.full_source_kind, tally.full_target_kind, name="target", n_rows=tally.n_target)


def _solved(data: Data, method: Method, request: Request, steps: Steps) -> Answer:
    """The method's thresholds or those of the labelled rows, and below the limit per class."""
    tally, labelled = data.tally, data.labelled
    shares = delta_shares(request, method, has_labels=labelled is not None)
    task = Task(
        epsilon=clean_epsilon(request.epsilon, request.contamination),
        delta=shares.method,
        seed=request.seed,
        weights=request.weights,
        count_labels=data.count_labels,
        known=mix_within(request, labelled, delta=shares.mix) if labelled and shares.mix else request.known,
        contamination=request.contamination,
        steps=steps,
    )
    solution, is_direct = _solve(method, tally, task), False
    if labelled is not None:
        solution, is_direct = _with_labels(solution, tally, labelled, task, shares.direct)
    if request.class_epsilon is not None:
        solution = capped(solution, tally, class_epsilon=request.class_epsilon, delta=shares.cap)
    # The limit costs its share, and is one of the bounds of the miss rates.
    misses = class_miss(
        tally, solution.thresholds, delta=request.delta - shares.cap, never_empty=request.never_empty
    )
    limit = 1.0 if request.class_epsilon is None else request.class_epsilon
    misses = Interval(np.minimum(misses.lower, limit), np.minimum(misses.upper, limit))
    return Answer(solution, misses, is_direct)


def _solve(method: Method, tally: Tally, task: Task) -> Solution:
    start = perf_counter()
    logger.info("%s looks for thresholds of %d classes", method.name, tally.n_classes)
    try:
        solution = method.solve(tally, task)
    except AssumptionError as refusal:  # the method found it on its own, within its delta
        raise AssumptionError(f"{refusal} {ways_on()}") from None
    logger.info("%s found thresholds in %.2f s", method.name, perf_counter() - start)
    return solution


def _with_labels(
    solution: Solution, tally: Tally, labelled: Tally, task: Task, delta: float
) -> tuple[Solution, bool]:
    """The solution, or what the labelled target rows certify on their own if its sets are smaller."""
    # Rows of a new kind have no label; all may be missed, the others at task.epsilon (few-labels.md, Lemma 4).
    direct = direct_thresholds(tally, labelled, epsilon=task.epsilon, delta=delta)
    choice = smallest_sets(tally, solution.thresholds, direct, task.count_labels)
    if not choice.is_direct:
        return solution, False
    return replace(solution, thresholds=choice.thresholds, reasons=(), curve=None), True


def _certificate(
    data: Data, method: Method, request: Request, found: Answer, assumption: Assumption | None
) -> Certificate:
    tally, solution = data.tally, found.solution
    return Certificate(
        thresholds=solution.thresholds,
        classes=tally.classes,
        epsilon=request.epsilon,
        delta=request.delta,
        method=method.name,
        options=options_of(method),
        facts=facts_of(method),
        guarantee=method.guarantee,
        score=tally.score,
        n_source=tally.n_source,
        n_target=tally.n_target,
        n_target_labels=0 if data.labelled is None else data.labelled.n_source,
        class_counts=tally.class_counts,
        predicted_counts=tally.target,
        weights=solution.weights,
        prevalence=solution.prevalence,
        accuracy=solution.accuracy,
        class_miss=found.misses,
        class_epsilon=request.class_epsilon,
        contamination=request.contamination,
        known_mix=request.known,
        assumption=assumption,
        score_kind=tally.full_source_kind,
        reasons=solution.reasons,
        notes=_notes(data, request, found),
        curve=solution.curve,
        sensitivity=_sensitivity(tally, method, request, found),
        never_empty=request.never_empty,
        transform=data.transform,
        softmax=tally.softmax,
        provenance=record(
            tally,
            model_id=request.model_id,
            note=request.note,
            valid_until=request.valid_until,
            seed=request.seed,
        ),
    )


def _notes(data: Data, request: Request, found: Answer) -> tuple[str, ...]:
    whose = "label-shifted " if request.contamination else ""
    notes = often_missed_note(found.misses, data.tally.classes, epsilon=request.epsilon, whose=whose)
    notes = (*notes, *suspicious(data.tally))
    if data.labelled is None or not found.is_direct:
        return notes
    has_limit = request.class_epsilon is not None
    return (*notes, direct_note(data.labelled.n_source, found.solution, has_limit=has_limit))


def _sensitivity(tally: Tally, method: Method, request: Request, found: Answer) -> SensitivityOnDemand | None:
    """What contamination would do, for a promise that rests on label shift and is not empty."""
    cuts = found.solution.thresholds
    if found.is_direct or not promises_target(method) or np.isneginf(cuts).all():
        return None
    return SensitivityOnDemand(
        tally,
        cuts,
        request.epsilon,
        request.delta,
        request.contamination,
        request.known,
        method.needs_target,
    )
