"""From counts to a certificate: the test of label shift, who certifies, how δ is spent, the notes.

Who certifies is a method that assumes label shift, labelled target rows alone (PS-T), or the better of both: the
theorem of docs/methods/few-labels.md. The limit per class is Lemma 2 of docs/methods/trust-proofs.md.
"""

import logging
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter

import numpy as np

from pacshift.assumption import Assumption, check_assumption
from pacshift.bounds import Interval, clean_epsilon
from pacshift.certificate import Certificate
from pacshift.certificate.provenance import AskedMethod, Counting, Provenance
from pacshift.certification.class_bounds import class_miss
from pacshift.certification.counting import CalibrationData, check_repeats, maker_of
from pacshift.certification.delta import (
    ASSUMPTION_SHARE,
    DeltaShares,
    split_delta_one,
    split_delta_two,
)
from pacshift.certification.request import Request
from pacshift.errors import AssumptionError, InputError, UninformativeWarning, users_line
from pacshift.files.origin import PACSHIFT_VERSION, TIME_FORMAT, code_identity, current_time
from pacshift.labels.labelled import check_label_rows, mix_within
from pacshift.labels.refusal import with_next_steps
from pacshift.methods import Method, Solution, Task
from pacshift.methods.base import AcceptedByLabel, facts_of, options_of
from pacshift.methods.guarantee import promises_target
from pacshift.methods.ps import limit_classes
from pacshift.mix.lp import solved_by
from pacshift.parallel import in_background, one_blas_thread
from pacshift.paths.labelled import LabelledTarget
from pacshift.progress import Progress, Steps, tell
from pacshift.rows.fold import sizes
from pacshift.scores.kind import require_same_kind
from pacshift.tally import Tally
from pacshift.tally.grid import single_cuts
from pacshift.tally.inputs import Input, shorten_inputs
from pacshift.tally.same_rows import list_inputs
from pacshift.words.findings import by_labels_note, suspicious
from pacshift.words.numbers import up

logger = logging.getLogger(__name__)

TESTED, SOLVED = 30, 95
"""Percents of the work that are done when label shift is tested and when the method has its thresholds: about so
with 100 classes."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """Thresholds, what is known about them, and the method that certifies them.

    ``refused`` is the refusal of the method that was asked for, where labelled target rows certify instead;
    ``too_many`` says that it was not tried, because there are too many classes or limits.
    """

    solution: Solution
    misses: Interval | None
    method: Method
    refused: AssumptionError | None = None
    too_many: str = ""
    by_label: AcceptedByLabel | None = None


@one_blas_thread()
def certify(
    data: CalibrationData,
    method: Method,
    request: Request,
    *,
    tested: Assumption | None = None,
    with_sizes: bool = True,
    progress: Progress | None = None,
) -> Certificate:
    """Test label shift, run the method, and collect everything that a certificate holds.

    ``tested`` is what ``check_label_shift`` saw, where methods that are compared share it. ``with_sizes``: whether
    the target's sets are counted by their sizes. ``progress`` is told percents.
    """
    tell(progress, 0)
    tally = data.tally
    request = request.for_classes(tally.classes)
    if not tally.n_source:
        raise InputError("no source rows: every method needs a labelled source.")
    if method.needs_target and not tally.n_target:
        raise InputError(f"method {method.name} needs target scores. Pass them, or use PS-LW, which needs none.")
    if data.labelled is not None:
        check_label_rows(data.labelled, tally)
    repeats = check_repeats(tally, None if data.labelled is None else data.labelled.counted)
    require_same_kind(tally.full_source_kind, tally.full_target_kind, name="target", n_rows=tally.n_target)
    # The digest of the counts, 15 ms for a million rows, beside the test and the method.
    inputs = in_background(partial(list_inputs, tally))
    assumption = None
    if promises_target(method) and method.assumes_label_shift and tally.n_target:
        assumption = tested or check_label_shift(tally, request, data.labelled)
    refused = None if assumption is None else explain_refusal(assumption, request)
    tell(progress, TESTED)
    try:
        outcome = choose_thresholds(data, method, request, refused, Steps(progress, TESTED, SOLVED))
    except AssumptionError as refusal:
        if data.labelled is not None:  # labels that contradict known_mix: more of them are no way on
            raise
        raise with_next_steps(refusal, data, method, request, assumption) from None
    certificate = _certificate(data, method, request, outcome, assumption, inputs.result(), repeats)
    if with_sizes:
        rule, target = certificate.rule, data.target
        counts = rule.sizes_in(tally) if target is None else sizes(target, [maker_of(certificate)])[0]
        certificate = replace(certificate, set_sizes=counts)
    if certificate.trivial:
        causes = " ".join(certificate.reasons) or "no threshold passes."
        warnings.warn(f"every set contains all labels: {causes}", UninformativeWarning, stacklevel=users_line())
    tell(progress, 100)
    return certificate


def check_label_shift(tally: Tally, request: Request, labelled: LabelledTarget | None = None) -> Assumption:
    """What the test saw, at its share of δ; with labelled target rows half of its level is for their bounds."""
    start, level = perf_counter(), ASSUMPTION_SHARE * request.delta
    logger.info("testing label shift with %d source and %d target rows", tally.n_source, tally.n_target)
    who, known, test_level = "you said", request.known, level
    if labelled is not None:
        who = "the labelled rows say" if known is None else "the labelled rows and you say"
        known, test_level = mix_within(labelled, request, delta=level / 2), level / 2
    assumption = check_assumption(
        tally, level=test_level, known=known, known_from=who, contamination=request.contamination
    )
    seen = "rejected" if assumption.refuted else "not rejected"
    logger.info("label shift was tested and %s in %.2f s", seen, perf_counter() - start)
    return replace(assumption, level=level)


def explain_refusal(assumption: Assumption, request: Request) -> AssumptionError | None:
    """The error where label shift is rejected, without the ways on."""
    if not assumption.refuted:
        return None
    and_known = " and the stated shares were right" if request.known is not None else ""
    return AssumptionError(
        f"label shift is rejected, so nothing is certified. {assumption.finding} If label shift held{and_known}, "
        f"this would happen with probability at most {up(assumption.level)}."
    )


def _certificate(
    data: CalibrationData,
    wanted: Method,
    request: Request,
    outcome: Outcome,
    assumption: Assumption | None,
    inputs: Sequence[Input],
    repeats: Sequence[str],
) -> Certificate:
    tally, labelled, method, solution = data.tally, data.labelled, outcome.method, outcome.solution
    by_labels = () if labelled is None else by_labels_note(outcome, wanted, labelled.n_rows)
    asked_method = None
    if wanted.name != method.name:  # labelled target rows certify instead
        asked_method = AskedMethod(wanted.name, options_of(wanted))
    return Certificate(
        rule=method.rule(solution.thresholds),
        classes=tally.classes,
        epsilon=request.epsilon,
        delta=request.delta,
        method=method.name,
        options=options_of(method),
        facts=replace(facts_of(method), tuned_on=solution.tuned_on),
        guarantee=method.guarantee,
        score=tally.score,
        n_source=tally.n_source,
        n_target=tally.n_target,
        source_grouped=tally.source_grouped,
        target_grouped=tally.target_grouped,
        n_target_labels=0 if labelled is None else labelled.n_rows,
        class_counts=tally.class_counts,
        predicted_counts=None if tally.source_cells.bins == "not counted" else tally.target,
        weights=solution.weights,
        prevalence=solution.prevalence,
        accuracy=solution.accuracy,
        class_miss=outcome.misses,
        limits=request.limits,
        accepted=None if outcome.by_label is None else outcome.by_label.share,
        accepted_error=None if outcome.by_label is None else outcome.by_label.error,
        contamination=request.contamination,
        known_mix=request.known,
        assumption=assumption,
        score_kind=tally.full_source_kind,
        reasons=solution.reasons,
        notes=(*repeats, *suspicious(tally), *by_labels, *solution.notes),
        transform=data.transform,
        softmax=tally.softmax,
        provenance=Provenance(
            created=current_time().strftime(TIME_FORMAT),
            pacshift_version=PACSHIFT_VERSION,
            model_id=None,
            note=None,
            valid_until=None,
            inputs=shorten_inputs(inputs, tally.n_more_inputs),
            seed=request.seed,
            command=None,
            code=code_identity(),
            counting=Counting(
                grid=tally.grid,
                bins=tally.bins is not None,
                rows=data.rows.mean_sizes is not None,
                sample=data.rows.sample is not None,
            ),
            asked_method=asked_method,
            solver=solved_by(),
        ),
    )


def choose_thresholds(
    data: CalibrationData,
    method: Method,
    request: Request,
    refused: AssumptionError | None,
    steps: Steps,
) -> Outcome:
    """The thresholds. ``refused`` says that label shift was refuted; without target labels it is raised."""
    alone = split_delta_one(request, by_labels=True)
    if not method.assumes_label_shift:
        return solve_with(data, method, request, alone)
    if data.labelled is None:
        if refused is not None:
            raise refused
        return solve_with(data, method, request, split_delta_one(request, by_labels=False), steps)
    by_labels, too_many = method.by_labels, method.too_many(data.tally.n_classes, request.limits)
    if refused is None and not too_many:
        shares = split_delta_two(request, method)
        known = mix_within(data.labelled, request, delta=shares.mix) if shares.mix else request.known
        try:
            by_method = solve_with(data, method, replace(request, known=known), shares, steps)
            both = by_method, solve_with(data, by_labels, request, shares)
            # They hold at once, so any rule may choose: the smaller sets.
            task = make_task(data, method, request, shares)
            return both[method.best_of([each.solution.thresholds for each in both], data.tally, task)]
        except AssumptionError as refusal:
            # The method found it on its own, within its delta. That pays for the promise; the bounds of the misses
            # are a statement of their own, for which such a refusal is not paid.
            refused, alone = refusal, replace(alone, misses=shares.misses)
    return replace(solve_with(data, by_labels, request, alone), refused=refused, too_many=too_many)


def solve_with(
    data: CalibrationData, method: Method, request: Request, shares: DeltaShares, steps: Steps | None = None
) -> Outcome:
    """What ``method`` certifies, below the limit per class, with bounds of the classes' misses.

    These two come from the source; where PS-T certifies, from labelled target rows (docs/methods/ps-t.md). Rows of
    a new kind have no label: all may be missed, the others at ``task.epsilon`` (few-labels.md, Lemma 3).

    Here thresholds become final. Plain scores may come in single precision at one time and in double at another,
    so their thresholds are those that make the same sets of both (docs/serving.md). A transform rounds its scores
    first, and needs no such care.
    """
    task = make_task(data, method, request, shares, steps)
    start = perf_counter()
    logger.info("%s looks for thresholds of %d classes", method.name, data.tally.n_classes)
    solution = method.solve(data.tally, task)
    logger.info("%s found thresholds in %.2f s", method.name, perf_counter() - start)
    rows, what, n_unknown, n_looks, limit = data.tally, "source rows", 0, 1, 1.0
    if not method.assumes_label_shift:
        assert data.labelled is not None  # require_fit asks for labels
        rows, what, n_unknown = data.labelled.counted, "labelled target rows", data.labelled.n_without_class
        n_looks = len(data.labelled.looks)  # what is said of classes holds at all of them: each has its share
    if solution.by_label is not None:
        return Outcome(solution, None, method, by_label=solution.by_label(shares.misses / n_looks))
    if request.class_epsilon is not None:
        limit, delta = request.class_epsilon, shares.cap / n_looks
        solution = limit_classes(solution, rows, class_epsilon=limit, delta=delta, n_unknown=n_unknown, what=what)
    if rows.score == "probability":
        solution = replace(solution, thresholds=single_cuts(solution.thresholds))
    misses = class_miss(rows, solution.thresholds, delta=shares.misses / n_looks, n_unknown=n_unknown)
    bounds = Interval(np.minimum(misses.lower, limit), np.minimum(misses.upper, limit))
    return Outcome(solution, bounds, method)


def make_task(
    data: CalibrationData, method: Method, request: Request, shares: DeltaShares, steps: Steps | None = None
) -> Task:
    """What ``method`` is asked for."""
    epsilon = clean_epsilon(request.epsilon, request.contamination)
    if not method.assumes_label_shift and data.labelled is not None and data.labelled.is_sheet:
        epsilon = request.sheet_epsilon
    return Task(
        epsilon=epsilon,
        delta=shares.method if method.assumes_label_shift else shares.labels,
        seed=request.seed,
        rows=data.rows,
        known=request.known,
        limits=request.limits,
        contamination=request.contamination,
        labelled=data.labelled,
        steps=steps or Steps(),
        plan_delta=shares.plan,
    )
