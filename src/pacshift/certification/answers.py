"""Who certifies: a method that assumes label shift, labelled target rows alone (PS-T), or the better of both.

The docs page "A few target labels" (docs/methods/few-labels.md) has the theorem.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter

import numpy as np

from pacshift.bounds import Interval
from pacshift.certification.class_miss import class_miss
from pacshift.certification.delta import DeltaShares, one_candidate, two_candidates
from pacshift.certification.few_labels import mix_within
from pacshift.certification.request import Request
from pacshift.certification.sensitivity import clean_epsilon
from pacshift.errors import AssumptionError
from pacshift.methods import PST, Method, Solution, Task
from pacshift.methods.class_wise import capped
from pacshift.paths.labelled import CountLabels, LabelledTarget, RowsToPlan, smallest
from pacshift.paths.sample import RowSample
from pacshift.progress import Steps
from pacshift.rows.base import Rows
from pacshift.rows.fold import mean_sizes, plan_after_refusal, sample
from pacshift.scores.transforms import Transform
from pacshift.tally import Tally
from pacshift.tally.grid import single_cuts

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """What was counted: source and target, the labelled target rows, and rows that can be looked at again.

    ``counts_sizes``: sizes of sets are counted on the target's rows, not on bins. ``samples``: thresholds are
    tuned on samples of rows. ``explains``: after a refusal rows say what labels would bring.
    """

    tally: Tally
    labelled: LabelledTarget | None = None
    transform: Transform | None = None
    source: Rows | None = None
    target: Rows | None = None
    counts_sizes: bool = False
    samples: bool = False
    explains: bool = False

    @property
    def count_labels(self) -> CountLabels | None:
        """Counts mean sizes of sets on the target's rows, where that is to be done."""
        return partial(mean_sizes, self.target) if self.target is not None and self.counts_sizes else None

    @property
    def sample(self) -> Callable[[], RowSample] | None:
        """Reads samples of source and target rows to tune thresholds with, where that is to be done."""
        if self.source is None or self.target is None or not self.samples:
            return None
        return partial(sample, self.source, self.target, self.tally)

    @property
    def to_plan(self) -> Callable[[], RowsToPlan] | None:
        """Reads rows to plan with after a refusal, where there are any to look at."""
        if self.source is None or self.target is None or not self.explains:
            return None
        return partial(plan_after_refusal, self.source, self.target)


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """Thresholds, what is known about them, and the method that certifies them.

    ``refused`` is the refusal of the method that was asked for, where labelled target rows certify instead.
    """

    solution: Solution
    misses: Interval
    method: Method
    refused: AssumptionError | None = None


def answer(
    data: Data, method: Method, request: Request, refused: AssumptionError | None, steps: Steps | None = None
) -> Answer:
    """The thresholds. ``refused`` says that label shift was refuted; without target labels it is raised."""
    if not method.assumes_label_shift:
        return _by_labels(data, request, one_candidate(request, by_labels=True))
    if data.labelled is None:
        if refused is not None:
            raise refused
        return _by_method(data, method, request, one_candidate(request, by_labels=False), steps)
    alone = one_candidate(request, by_labels=True)
    if refused is None:
        shares = two_candidates(request, method)
        known = mix_within(request, data.labelled, delta=shares.mix) if shares.mix else request.known
        try:
            by_method = _by_method(data, method, replace(request, known=known), shares, steps)
            return _smaller(data, by_method, _by_labels(data, request, shares))
        except AssumptionError as refusal:
            # The method found it on its own, within its delta. That pays for the promise; the bounds of the misses
            # are a statement of their own, for which such a refusal is not paid.
            refused, alone = refusal, replace(alone, misses=shares.misses)
    return replace(_by_labels(data, request, alone), refused=refused)


def _smaller(data: Data, *found: Answer) -> Answer:
    """The answer with the smallest sets. All hold at once, so any rule may choose."""
    return found[smallest(data.tally, [each.solution.thresholds for each in found], data.count_labels)]


def _by_method(data: Data, method: Method, request: Request, shares: DeltaShares, steps: Steps | None) -> Answer:
    """What ``method`` certifies; the classes' misses are bounded by the source."""
    tally, task = data.tally, _task(data, request, shares.method)
    known, weights = request.known, request.weights
    task = replace(task, known=known, weights=weights, sample=data.sample, steps=steps or Steps())
    start = perf_counter()
    logger.info("%s looks for thresholds of %d classes", method.name, tally.n_classes)
    solution = method.solve(tally, task)
    logger.info("%s found thresholds in %.2f s", method.name, perf_counter() - start)
    return _limited(Answer(solution, _anything(tally), method), tally, request, shares)


def _by_labels(data: Data, request: Request, shares: DeltaShares) -> Answer:
    """What labelled target rows certify alone; they also bound the classes' misses (docs/methods/ps-t.md)."""
    method = PST()
    # Rows of a new kind have no label; all may be missed, the others at task.epsilon (few-labels.md, Lemma 3).
    task = replace(_task(data, request, shares.labels), labelled=data.labelled)
    solution = method.solve(data.tally, task)
    labelled = data.labelled
    assert labelled is not None  # else PS-T has refused
    n_looks = len(labelled.looks)  # what is said of classes holds at all of them: each has its share
    at_look = replace(shares, cap=shares.cap / n_looks, misses=shares.misses / n_looks)
    found = Answer(solution, _anything(data.tally), method)
    return _limited(
        found, labelled.counted, request, at_look, n_unknown=labelled.n_without_class, what="labelled target rows"
    )


def _task(data: Data, request: Request, delta: float) -> Task:
    return Task(
        epsilon=clean_epsilon(request.epsilon, request.contamination),
        delta=delta,
        seed=request.seed,
        count_labels=data.count_labels,
        contamination=request.contamination,
    )


def _limited(
    found: Answer,
    rows: Tally,
    request: Request,
    shares: DeltaShares,
    *,
    n_unknown: int = 0,
    what: str = "source examples",
) -> Answer:
    """The answer below the limit per class, with bounds of the classes' misses, both from ``rows``.

    Here thresholds become final. Plain scores may come in single precision at one time and in double at another,
    so their thresholds are those that make the same sets of both (docs/serving.md). A transform rounds its scores
    first, and needs no such care.
    """
    solution, limit = found.solution, 1.0
    if request.class_epsilon is not None:
        limit = request.class_epsilon
        solution = capped(solution, rows, class_epsilon=limit, delta=shares.cap, n_unknown=n_unknown, what=what)
    if rows.score == "probability":
        solution = replace(solution, thresholds=single_cuts(solution.thresholds))
    misses = class_miss(
        rows, solution.thresholds, delta=shares.misses, never_empty=request.never_empty, n_unknown=n_unknown
    )
    bounds = Interval(np.minimum(misses.lower, limit), np.minimum(misses.upper, limit))
    return replace(found, solution=solution, misses=bounds)


def _anything(tally: Tally) -> Interval:
    return Interval(np.zeros(tally.n_classes), np.ones(tally.n_classes))
