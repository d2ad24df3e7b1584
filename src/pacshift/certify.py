"""From a tally to a certificate: the test of label shift, the method, the cap per class, the notes."""

import warnings
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from pacshift.arrays import FloatArray, Label
from pacshift.assumption import ASSUMPTION_SHARE, Assumption, check_assumption, ways_on
from pacshift.bounds import Interval
from pacshift.certificate import Certificate
from pacshift.class_miss import class_miss, often_missed_note
from pacshift.errors import AssumptionError, InputError, UninformativeWarning
from pacshift.few_labels import (
    DIRECT_SHARE,
    MIX_SHARE,
    both_bounds,
    check_labelled,
    direct_thresholds,
    mix_bounds,
    smallest_sets,
)
from pacshift.methods import METHODS, Method, Solution, Task
from pacshift.methods.base import facts_of, options_of
from pacshift.methods.class_wise import capped
from pacshift.scores.check import check_flag, check_rate, check_rng, check_weights
from pacshift.scores.kind import require_same_kind
from pacshift.scores.known_mix import check_known_mix
from pacshift.scores.transforms import Transform
from pacshift.sensitivity import SensitivityOnDemand, clean_epsilon
from pacshift.tally import Tally
from pacshift.tally.cells import Cells

CLASS_EPSILON_SHARE = 0.2
"""Share of δ for the cap on every class's misses; the method gets the rest. Only where a cap is asked for."""

FEWEST_ROWS_ALIKE = 50
"""With fewer rows, source and target may well have the same counts by chance."""


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """What the user asked for, checked."""

    epsilon: float
    delta: float
    class_epsilon: float | None = None
    contamination: float = 0.0
    known: Interval | None = None
    never_empty: bool = False
    labelled: Tally | None = None

    @property
    def label_delta(self) -> float:
        """What the labelled target rows may cost."""
        return 0.0 if self.labelled is None else (MIX_SHARE + DIRECT_SHARE) * self.delta

    def mix(self, delta: float) -> Interval | None:
        """Bounds of the target's mix: what the user knows, and what labelled rows show at ``delta``."""
        if self.labelled is None:
            return self.known
        found = mix_bounds(self.labelled, delta=delta)
        return both_bounds(self.known, found, self.labelled.classes, level=delta)

    @property
    def cap_delta(self) -> float:
        """What the cap may cost."""
        return 0.0 if self.class_epsilon is None else CLASS_EPSILON_SHARE * self.delta

    def task(self, tally: Tally, *, weights: Any, rng: Any) -> Task:
        """What the method is asked: ε of the label-shifted part of the target, at its share of δ."""
        return Task(
            epsilon=clean_epsilon(self.epsilon, self.contamination),
            delta=self.delta - self.cap_delta - self.label_delta,
            rng=check_rng(rng),
            weights=None if weights is None else check_weights(weights, tally.n_classes),
            known=self.mix(MIX_SHARE * self.delta),
            contamination=self.contamination,
        )


def promises_target(method: Method) -> bool:
    """Whether a method promises anything about the target."""
    return method.guarantee in ("pac-target", "marginal")


def check_request(
    tally: Tally,
    method: Method,
    *,
    epsilon: float,
    delta: float,
    class_epsilon: float | None,
    contamination: float,
    known_mix: Any,
    never_empty: bool,
    labelled: Tally | None = None,
) -> Request:
    """The request, or an InputError that says what is wrong with it."""
    if not tally.n_source:
        raise InputError("no source examples: every method needs a labelled source.")
    if method.needs_target and not tally.n_target:
        raise InputError(f"no target examples: method {method.name} needs unlabelled target scores.")
    allowed = check_rate(epsilon, "epsilon")
    request = Request(
        epsilon=allowed,
        delta=check_rate(delta, "delta"),
        class_epsilon=None if class_epsilon is None else check_rate(class_epsilon, "class_epsilon"),
        contamination=check_contamination(contamination, allowed),
        known=None if known_mix is None else check_known_mix(known_mix, tally.classes),
        never_empty=check_flag(never_empty, "never_empty"),
        labelled=None if labelled is None else check_labelled(labelled, tally),
    )
    _require_target_promise(method, request)
    _require_use_of_labels(method, request)
    return request


def check_contamination(contamination: Any, epsilon: float) -> float:
    """A share below ``epsilon``, as a float."""
    try:
        share = float(contamination)
    except (TypeError, ValueError):
        share = np.nan
    if not 0 <= share < 1:
        raise InputError(f"contamination must be a share, at least 0 and below 1, got {contamination!r}.")
    if share >= epsilon:
        raise InputError(
            f"contamination must be below epsilon: up to {share:g} of the target may be missed for that reason "
            f"alone, but epsilon is {epsilon:g}. Lower contamination or raise epsilon."
        )
    return share


def _require_target_promise(method: Method, request: Request) -> None:
    """The three requests are about promises on the target; other methods would ignore them silently."""
    asked = {
        "class_epsilon": request.class_epsilon is not None,
        "contamination": request.contamination > 0,
        "known_mix": request.known is not None,
    }
    for name in (name for name, given in asked.items() if given and not promises_target(method)):
        raise InputError(
            f"{name} is about the target, but method {method.name} promises nothing there "
            f"(guarantee {method.guarantee!r}). Use PS-LP, PS-LW or another method that does, or leave it out."
        )
    if request.contamination and method.needs_target and method.name not in METHODS:
        raise InputError(
            f"contamination: method {method.name} looks at the target, and pacshift cannot know whether it allows "
            "for contamination there. Use PS-LP, PS-LW, PS-W, PS-C or ORACLE."
        )


def _require_use_of_labels(method: Method, request: Request) -> None:
    """Labels of the target help a PAC promise about this target, and no other promise."""
    if request.labelled is not None and (method.guarantee != "pac-target" or method.any_mix):
        why = "is for every label mix" if method.any_mix else "is not PAC on the target"
        raise InputError(
            f"target_labels cannot help method {method.name}: what it promises {why}. "
            "Leave them out and use them with `pacshift check`, or use PS-LP."
        )


def certify(
    tally: Tally, method: Method, request: Request, task: Task, *, transform: Transform | None = None
) -> Certificate:
    """Test label shift, run the method, and collect everything that a certificate holds."""
    require_same_kind(tally.source_kind, tally.target_kind, name="target", n_rows=tally.n_target)
    assumption = _assumption(tally, request) if promises_target(method) and tally.n_target else None
    try:
        solution = method.solve(tally, task)
    except AssumptionError as refusal:  # the method found it on its own, within its delta
        raise AssumptionError(f"{refusal} {ways_on()}") from None
    is_direct = False
    if request.labelled is not None:
        solution, is_direct = _with_labels(solution, tally, request, task)
    if request.class_epsilon is not None:
        solution = capped(solution, tally, class_epsilon=request.class_epsilon, delta=request.cap_delta)
    certificate = _certificate(tally, method, request, solution, assumption, transform)
    if is_direct:
        certificate = certificate.changed(notes=(*certificate.notes, _direct_note(request)), sensitivity=None)
    if certificate.trivial:
        causes = " ".join(solution.reasons) or "no threshold passes."
        warnings.warn(f"every set contains all labels: {causes}", UninformativeWarning, stacklevel=3)
    return certificate


def _with_labels(solution: Solution, tally: Tally, request: Request, task: Task) -> tuple[Solution, bool]:
    """The solution, or what the labelled target rows certify on their own if its sets are smaller."""
    if request.labelled is None:
        return solution, False
    # Labelled rows are drawn from the whole target, so contamination does not touch what they prove.
    direct = direct_thresholds(
        tally, request.labelled, epsilon=request.epsilon, delta=DIRECT_SHARE * request.delta
    )
    choice = smallest_sets(tally, solution.thresholds, direct, task.count_labels)
    if not choice.is_direct:
        return solution, False
    return replace(solution, thresholds=choice.thresholds, reasons=(), curve=None), True


def _direct_note(request: Request) -> str:
    rows = 0 if request.labelled is None else request.labelled.n_source
    return (
        f"the thresholds are certified by the {rows:,} labelled target rows alone, because that gives smaller "
        "sets. What they promise needs these rows to be a random sample of the target, but not label shift."
    )


def _assumption(tally: Tally, request: Request) -> Assumption:
    """The test of label shift for a request; with labelled target rows half of its level is for their bounds."""
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
    return _accepted(replace(found, level=level))


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
        )
    )


def _accepted(found: Assumption) -> Assumption:
    if found.refuted:
        finding = found.finding.removeprefix("label shift is refuted: ")
        raise AssumptionError(
            f"label shift is refuted: {finding} Nothing is certified. If label shift held, the chance of such a "
            f"refusal would be at most {found.level:g}. {ways_on()}"
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
        score_kind=tally.source_kind,
        reasons=solution.reasons,
        notes=(*often_missed_note(misses, tally.classes, epsilon=request.epsilon), *suspicious(tally)),
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


def suspicious(tally: Tally) -> tuple[str, ...]:
    """Notes about data that look like a mistake but may be none."""
    found = []
    if tally.n_target >= FEWEST_ROWS_ALIKE and _same_cells(tally.source_cells, tally.target_cells):
        found.append(
            "source and target have the same number of rows in every group of predicted label and confidence. If "
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
    if source.n_rows != target.n_rows or source.has_confidence != target.has_confidence:
        return False
    unlabelled, place = np.unique(source.codes // source.n_labels, return_inverse=True)
    counts = np.bincount(place, weights=source.counts, minlength=len(unlabelled))
    return np.array_equal(unlabelled, target.codes) and np.array_equal(counts, target.counts)
