"""The whole way: scores to counts to thresholds to a certificate."""

import warnings
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from pacshift.arrays import FloatArray, Label
from pacshift.certificate import Certificate
from pacshift.errors import InputError, UninformativeWarning
from pacshift.methods import APS, Method, Task, resolve_method
from pacshift.scores.check import check_rate, check_rng, check_scores, check_weights
from pacshift.scores.transforms import Transform, TransformFunction, resolve_transform
from pacshift.tally import Tally


def calibrate(
    source_scores: Any,
    source_labels: Any,
    target_scores: Any,
    *,
    epsilon: float,
    delta: float,
    method: str | Method = "PS-LP",
    classes: Sequence[Label] | None = None,
    score: str | TransformFunction = "probability",
    weights: Any = None,
    rng: Any = None,
    never_empty: bool = False,
) -> Certificate:
    """Find the threshold whose sets miss the true label of at most ``epsilon`` of the target population.

    ``classes`` names the score columns (default: a frame's column names, else 0 to K-1); labels are matched to
    them by value. ``weights`` are the true q(y)/p(y), for ORACLE alone. ``rng`` is a seed or Generator, used by
    randomised methods and scores. ``target_scores`` may be None for methods that do not look at the target.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> source, target = rng.choice(2, 4000, p=[0.9, 0.1]), rng.choice(2, 4000, p=[0.5, 0.5])
    >>> def scores(labels):
    ...     p = 1 / (1 + np.exp(-rng.normal(4 * labels - 2.0, 1.5)))
    ...     return np.column_stack([1 - p, p])
    >>> certificate = calibrate(scores(source), source, scores(target), epsilon=0.1, delta=0.05)
    >>> certificate.guarantee, certificate.trivial
    ('pac-target', False)
    """
    chosen, generator = resolve_method(method), check_rng(rng)
    # APS is the PS rule on APS scores: asking for the method asks for the scores.
    transform = resolve_transform("aps" if isinstance(chosen, APS) and score == "probability" else score)
    tally = Tally.from_scores(
        source_scores, source_labels, classes=classes, score=transform, soft=chosen.needs_soft, rng=generator
    )
    if target_scores is not None:
        tally = tally + Tally.from_target(
            target_scores, classes=tally.classes, soft=chosen.needs_soft, bins=chosen.needs_bins
        )
    task = _checked_task(tally, chosen, epsilon=epsilon, delta=delta, weights=weights, rng=generator)
    if target_scores is not None and transform.function is None:
        task = replace(task, count_labels=lambda cuts: _mean_sizes(target_scores, tally.classes, cuts))
    return _certificate(tally, chosen, task, never_empty=never_empty, transform=transform)


def calibrate_tally(
    tally: Tally,
    *,
    epsilon: float,
    delta: float,
    method: str | Method = "PS-LP",
    weights: Any = None,
    rng: Any = None,
    never_empty: bool = False,
) -> Certificate:
    """As :func:`calibrate`, from counts alone."""
    chosen = resolve_method(method)
    task = _checked_task(tally, chosen, epsilon=epsilon, delta=delta, weights=weights, rng=rng)
    return _certificate(tally, chosen, task, never_empty=never_empty)


def _checked_task(tally: Tally, method: Method, *, epsilon: float, delta: float, weights: Any, rng: Any) -> Task:
    if not tally.n_source:
        raise InputError("no source examples: every method needs a labelled source.")
    if method.needs_target and not tally.n_target:
        raise InputError(f"no target examples: method {method.name} needs unlabelled target scores.")
    return Task(
        epsilon=check_rate(epsilon, "epsilon"),
        delta=check_rate(delta, "delta"),
        rng=check_rng(rng),
        weights=None if weights is None else check_weights(weights, tally.n_classes),
    )


def _mean_sizes(scores: Any, classes: Sequence[Label], cuts: Sequence[FloatArray]) -> list[float]:
    """Mean set sizes of plain scores for several vectors of thresholds, in one pass over the rows."""
    checked = check_scores(scores, name="target", classes=classes)
    labels = np.zeros(len(cuts), np.int64)
    for rows in checked.blocks():
        block = checked.values[rows]
        labels += [np.count_nonzero(block >= cut) for cut in cuts]
    return [int(count) / len(checked) for count in labels]


def _certificate(
    tally: Tally, chosen: Method, task: Task, *, never_empty: bool, transform: Transform | None = None
) -> Certificate:
    solution = chosen.solve(tally, task)
    certificate = Certificate(
        thresholds=solution.thresholds,
        classes=tally.classes,
        epsilon=task.epsilon,
        delta=task.delta,
        method=chosen.name,
        options=asdict(chosen),  # type: ignore[call-overload]  # every method is a dataclass
        score=tally.score,
        guarantee=chosen.guarantee,
        n_source=tally.n_source,
        n_target=tally.n_target,
        class_counts=tally.class_counts,
        predicted_counts=tally.target,
        weights=solution.weights,
        prevalence=solution.prevalence,
        accuracy=solution.accuracy,
        reasons=solution.reasons,
        curve=solution.curve,
        never_empty=never_empty,
        transform=transform,
    )
    if certificate.trivial:
        causes = " ".join(solution.reasons) or "no threshold passes."
        warnings.warn(f"every set holds all labels: {causes}", UninformativeWarning, stacklevel=3)
    return certificate
