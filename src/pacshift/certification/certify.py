"""From a tally to a certificate: the test of label shift, the method, the limit per class, the notes."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from pacshift.assumption import Assumption
from pacshift.bounds import BoundCurve, Sensitivity
from pacshift.certificate import Certificate
from pacshift.certificate.provenance import AskedMethod, Counting, Provenance
from pacshift.certification.answers import Answer, Data, answer
from pacshift.certification.few_labels import check_labelled
from pacshift.certification.labelled import require_unseen
from pacshift.certification.refusal import check_label_shift, refusal_of, with_ways_on
from pacshift.certification.request import Request
from pacshift.certification.sensitivity import sensitivity
from pacshift.errors import AssumptionError, InputError, UninformativeWarning
from pacshift.files.origin import TIME_FORMAT, code_identity, current_time, pacshift_version
from pacshift.methods import Method
from pacshift.methods.base import facts_of, options_of
from pacshift.methods.guarantee import promises_target
from pacshift.mix.lp import solved_by
from pacshift.parallel import in_background
from pacshift.progress import Progress, Steps, tell
from pacshift.scores.kind import require_same_kind
from pacshift.tally import Tally
from pacshift.tally.once import Input, all_inputs, limited
from pacshift.words.findings import by_labels_note, often_missed_note, suspicious

__all__ = ["Data", "certify"]

TESTED, SOLVED = 30, 95
"""Percents of the work that are done when label shift is tested and when the method has its thresholds: about so
with 100 classes."""


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
    # The digest of the counts, 15 ms for a million rows, beside the test and the method.
    inputs = in_background(partial(all_inputs, tally))
    assumption = None
    if promises_target(method) and method.assumes_label_shift and tally.n_target:
        assumption = tested or check_label_shift(tally, request, data.labelled)
    tell(progress, TESTED)
    try:
        found = answer(data, method, request, refusal_of(assumption, request), Steps(progress, TESTED, SOLVED))
    except AssumptionError as refusal:
        if data.labelled is not None:  # labels that contradict known_mix: more of them are no way on
            raise
        raise with_ways_on(refusal, data, method, request, assumption) from None
    certificate = _certificate(data, method, request, found, assumption, inputs.result())
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
        check_labelled(data.labelled.counted, tally)
        require_unseen(data.labelled.chance_to_match(tally))
    require_same_kind(tally.full_source_kind, tally.full_target_kind, name="target", n_rows=tally.n_target)


def _certificate(
    data: Data,
    method: Method,
    request: Request,
    found: Answer,
    assumption: Assumption | None,
    inputs: Sequence[Input],
) -> Certificate:
    tally, solution = data.tally, found.solution
    return Certificate(
        thresholds=solution.thresholds,
        classes=tally.classes,
        epsilon=request.epsilon,
        delta=request.delta,
        method=found.method.name,
        options=options_of(found.method),
        facts=replace(facts_of(found.method), tuned_on=solution.tuned_on),
        guarantee=found.method.guarantee,
        score=tally.score,
        n_source=tally.n_source,
        n_target=tally.n_target,
        source_grouped=tally.source_grouped,
        target_grouped=tally.target_grouped,
        n_target_labels=0 if data.labelled is None else data.labelled.n_rows,
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
        notes=_notes(data, method, request, found),
        find_curves=_curves(tally, request, found),
        never_empty=request.never_empty,
        transform=data.transform,
        softmax=tally.softmax,
        provenance=_provenance(data, method, request, found, inputs),
    )


def _provenance(
    data: Data, method: Method, request: Request, found: Answer, inputs: Sequence[Input]
) -> Provenance:
    """Where the certificate comes from; ``inputs`` are those of ``all_inputs``."""
    tally = data.tally
    return Provenance(
        created=current_time().strftime(TIME_FORMAT),
        pacshift_version=pacshift_version(),
        model_id=request.model_id,
        note=request.note,
        valid_until=request.valid_until,
        inputs=limited(inputs, tally.n_more_inputs),
        seed=request.seed,
        command=None,
        code=code_identity(),
        counting=Counting(
            grid=tally.grid,
            bins=tally.bins is not None,
            rows=data.count_labels is not None,
            sample=data.sample is not None,
        ),
        asked_method=_asked(method, found.method, request),
        solver=solved_by(),
    )


def _asked(method: Method, certified: Method, request: Request) -> AskedMethod | None:
    """The method that was asked for, with all that was given to it, where labelled target rows certify instead."""
    if method.name == certified.name:
        return None
    weights = None if request.weights is None else tuple(request.weights.tolist())
    return AskedMethod(method.name, options_of(method), weights)


def _notes(data: Data, asked: Method, request: Request, found: Answer) -> tuple[str, ...]:
    whose = "label-shifted " if request.contamination and found.method.assumes_label_shift else ""
    by_labels = by_labels_note(found, asked, data.labelled.n_rows) if data.labelled is not None else ()
    missed = often_missed_note(found.misses, data.tally.classes, epsilon=request.epsilon, whose=whose)
    return (*by_labels, *found.solution.notes, *missed, *suspicious(data.tally))


def _curves(
    tally: Tally, request: Request, found: Answer
) -> Callable[[], tuple[BoundCurve | None, Sensitivity | None]] | None:
    """What computes the curve and, for a promise that rests on label shift and is not empty, the sensitivity."""
    method, cuts, curve = found.method, found.solution.thresholds, found.solution.curve
    rests_on_shift = promises_target(method) and method.assumes_label_shift and not np.isneginf(cuts).all()

    def find() -> tuple[BoundCurve | None, Sensitivity | None]:
        drawn = None if curve is None else curve()
        if not rests_on_shift:
            return drawn, None
        return drawn, sensitivity(tally, cuts, request, looks_at_target=method.needs_target)

    return find if rests_on_shift or curve is not None else None
