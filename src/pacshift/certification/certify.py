"""From a tally to a certificate: the test of label shift, the method, the cap per class, the notes."""

import logging
import warnings
from dataclasses import replace
from functools import lru_cache
from time import perf_counter

import numpy as np

from pacshift.arrays import FloatArray, Label
from pacshift.assumption import ASSUMPTION_SHARE, Assumption, check_assumption, ways_on
from pacshift.bounds import Interval
from pacshift.certificate import Certificate
from pacshift.certification.class_miss import class_miss, often_missed_note
from pacshift.certification.few_labels import DIRECT_SHARE, direct_thresholds, smallest_sets
from pacshift.certification.request import Request, promises_target
from pacshift.certification.sensitivity import SensitivityOnDemand
from pacshift.errors import AssumptionError, UninformativeWarning
from pacshift.methods import Method, Solution, Task
from pacshift.methods.base import facts_of, options_of
from pacshift.methods.class_wise import capped
from pacshift.scores.same_kind import require_same_kind
from pacshift.scores.transforms import Transform
from pacshift.tally import Tally
from pacshift.tally.cells import Cells
from pacshift.wording import up

logger = logging.getLogger(__name__)

FEWEST_ROWS_ALIKE = 50
"""With fewer rows, source and target may well have the same counts by chance."""


def certify(
    tally: Tally, method: Method, request: Request, task: Task, *, transform: Transform | None = None
) -> Certificate:
    """Test label shift, run the method, and collect everything that a certificate holds."""
    require_same_kind(tally.full_source_kind, tally.full_target_kind, name="target", n_rows=tally.n_target)
    assumption = _assumption(tally, request) if promises_target(method) and tally.n_target else None
    solution = _solve(method, tally, task)
    is_direct = False
    if request.labelled is not None:
        solution, is_direct = _with_labels(solution, tally, request, task)
    if request.class_epsilon is not None:
        solution = capped(solution, tally, class_epsilon=request.class_epsilon, delta=request.cap_delta)
    certificate = _certificate(tally, method, request, solution, assumption, transform)
    if is_direct:
        certificate = certificate.changed(notes=(*certificate.notes, _direct_note(certificate)), sensitivity=None)
    if certificate.trivial:
        causes = " ".join(solution.reasons) or "no threshold passes."
        warnings.warn(f"every set contains all labels: {causes}", UninformativeWarning, stacklevel=3)
    return certificate


def _solve(method: Method, tally: Tally, task: Task) -> Solution:
    start = perf_counter()
    try:
        solution = method.solve(tally, task)
    except AssumptionError as refusal:  # the method found it on its own, within its delta
        raise AssumptionError(f"{refusal} {ways_on()}") from None
    logger.info("%s found thresholds in %.2f s", method.name, perf_counter() - start)
    return solution


def _with_labels(solution: Solution, tally: Tally, request: Request, task: Task) -> tuple[Solution, bool]:
    """The solution, or what the labelled target rows certify on their own if its sets are smaller."""
    if request.labelled is None:
        return solution, False
    # Rows of a new kind have no label and are always missed: the others may be missed at task.epsilon (Lemma 4).
    direct = direct_thresholds(tally, request.labelled, epsilon=task.epsilon, delta=DIRECT_SHARE * request.delta)
    choice = smallest_sets(tally, solution.thresholds, direct, task.count_labels)
    if not choice.is_direct:
        return solution, False
    return replace(solution, thresholds=choice.thresholds, reasons=(), curve=None), True


def _direct_note(certificate: Certificate) -> str:
    """What the labelled rows prove on their own, and what still rests on label shift ("Theorem" of the page)."""
    found = {
        "the limit per class": certificate.class_epsilon,
        "the misses class by class": certificate.class_miss,
        "the label mix": certificate.prevalence,
        "the weights": certificate.weights,
        "the accuracy": certificate.accuracy,
    }
    resting = [name for name, value in found.items() if value is not None]
    named = " and ".join(filter(None, [", ".join(resting[:-1]), resting[-1]]))
    return (
        f"the thresholds are certified by the {certificate.n_target_labels:,} labelled target rows alone, because "
        "that gives smaller sets. The promise about all cases together needs these rows to be a random sample of "
        f"the target, but not label shift. What is said of {named} needs label shift."
    )


def _assumption(tally: Tally, request: Request) -> Assumption:
    """The test of label shift for a request; with labelled target rows half of its level is for their bounds."""
    start = perf_counter()
    found = _tested(tally, request)
    logger.info("label shift was tested and not refuted in %.2f s", perf_counter() - start)
    return found


def _tested(tally: Tally, request: Request) -> Assumption:
    if request.labelled is None:
        return checked_assumption(
            tally, delta=request.delta, known=request.known, contamination=request.contamination
        )
    level = ASSUMPTION_SHARE * request.delta
    found = check_assumption(
        tally,
        level=level / 2,
        known=request.mix(level / 2),
        contamination=request.contamination,
        known_from="the labelled target rows say" if request.known is None else "target labels and known_mix say",
    )
    return _accepted(replace(found, level=level), is_mix_given=request.known is not None)


def checked_assumption(
    tally: Tally, *, delta: float, known: Interval | None = None, contamination: float = 0.0
) -> Assumption:
    """What the test of label shift saw; AssumptionError with the ways on where it is refuted."""
    bounds = None if known is None else (tuple(known.lower), tuple(known.upper))
    return _accepted(
        _assumption_of(
            tally.source_cells,
            tally.target_cells,
            tally.classes,
            ASSUMPTION_SHARE * delta,
            contamination,
            bounds,
        ),
        is_mix_given=known is not None,
    )


def _accepted(found: Assumption, *, is_mix_given: bool) -> Assumption:
    if found.refuted:
        and_known = " and the given bounds of the mix were right" if is_mix_given else ""
        finding = found.finding.removeprefix("label shift is refuted: ")
        raise AssumptionError(
            f"label shift is refuted: {finding} Nothing is certified. If label shift held{and_known}, the test "
            f"would refuse with probability at most {up(found.level)}. {ways_on()}"
        )
    return found


@lru_cache(maxsize=4)
def _assumption_of(
    source: Cells,
    target: Cells,
    classes: tuple[Label, ...],
    level: float,
    contamination: float,
    known: tuple[tuple[float, ...], tuple[float, ...]] | None,
) -> Assumption:
    """The test of label shift, which looks at cells alone: methods compared on the same rows share its answer."""
    nothing, starts = np.empty(0), np.zeros(len(classes) + 1, np.int64)
    tally = Tally(classes, "probability", False, source, target, nothing, nothing.astype(np.int64), starts)
    bounds = None if known is None else Interval(np.array(known[0]), np.array(known[1]))
    return check_assumption(tally, level=level, known=bounds, contamination=contamination)


def _certificate(
    tally: Tally,
    method: Method,
    request: Request,
    solution: Solution,
    assumption: Assumption | None,
    transform: Transform | None,
) -> Certificate:
    cuts, delta = solution.thresholds, request.delta
    misses = _misses(tally, cuts, request)
    sensitivity = SensitivityOnDemand(
        tally, cuts, request.epsilon, delta, request.contamination, request.known, method.needs_target
    )
    has_sensitivity = promises_target(method) and not np.isneginf(cuts).all()
    return Certificate(
        thresholds=cuts,
        classes=tally.classes,
        epsilon=request.epsilon,
        delta=delta,
        method=method.name,
        options=options_of(method),
        facts=facts_of(method),
        score=tally.score,
        guarantee=method.guarantee,
        n_source=tally.n_source,
        n_target=tally.n_target,
        n_target_labels=0 if request.labelled is None else request.labelled.n_source,
        class_counts=tally.class_counts,
        predicted_counts=tally.target,
        weights=solution.weights,
        prevalence=solution.prevalence,
        accuracy=solution.accuracy,
        class_miss=misses,
        class_epsilon=request.class_epsilon,
        contamination=request.contamination,
        known_mix=request.known,
        assumption=assumption,
        score_kind=tally.full_source_kind,
        reasons=solution.reasons,
        notes=(*_often_missed(misses, tally, request), *suspicious(tally)),
        curve=solution.curve,
        sensitivity=sensitivity if has_sensitivity else None,
        never_empty=request.never_empty,
        transform=transform,
    )


def _misses(tally: Tally, thresholds: FloatArray, request: Request) -> Interval:
    """Bounds of the classes' miss rates at confidence 1 - δ; a cap that is promised is one of them."""
    found = class_miss(tally, thresholds, delta=request.delta - request.cap_delta, never_empty=request.never_empty)
    cap = 1.0 if request.class_epsilon is None else request.class_epsilon
    return Interval(np.minimum(found.lower, cap), np.minimum(found.upper, cap))


def _often_missed(misses: Interval, tally: Tally, request: Request) -> tuple[str, ...]:
    whose = "label-shifted " if request.contamination else ""
    return often_missed_note(misses, tally.classes, epsilon=request.epsilon, whose=whose)


def suspicious(tally: Tally) -> tuple[str, ...]:
    """Notes about data that look like a mistake but may be none."""
    found = []
    if tally.n_target >= FEWEST_ROWS_ALIKE and _same_cells(tally.source_cells, tally.target_cells):
        found.append(
            "source and target have the same number of rows in every group of predicted label and top score. If "
            "they are the same rows, nothing was learned about another population: pass the target's own scores."
        )
    for name, kind, rows in (
        ("source", tally.source_kind, tally.n_source),
        ("target", tally.target_kind, tally.n_target),
    ):
        if kind is not None and kind.is_constant and rows > 1:
            found.append(
                f"all {rows:,} {name} rows have the same top score, {kind.high:.6g}. Check that they hold the "
                "model's output, and not a constant."
            )
    return tuple(found)


def _same_cells(source: Cells, target: Cells) -> bool:
    """Whether both have the same counts by predicted label and confidence."""
    if source.n_rows != target.n_rows or source.bins != target.bins:
        return False
    unlabelled, place = np.unique(source.codes // source.n_labels, return_inverse=True)
    counts = np.bincount(place, weights=source.counts, minlength=len(unlabelled))
    return np.array_equal(unlabelled, target.codes) and np.array_equal(counts, target.counts)
