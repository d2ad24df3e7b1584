"""The whole way: scores to counts to thresholds to a certificate."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pacshift.arrays import Label
from pacshift.certificate import Certificate
from pacshift.errors import InputError, UninformativeWarning
from pacshift.methods import Method, Task, resolve_method
from pacshift.methods.base import facts_of, options_of, score_for
from pacshift.scores.check import check_rate, check_rng, check_weights
from pacshift.scores.transforms import TransformFunction, resolve_transform
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
    transform = resolve_transform(score_for(chosen, score))
    tally = Tally.from_scores(
        source_scores, source_labels, classes=classes, score=transform, soft=chosen.needs_soft, rng=generator
    )
    if target_scores is not None:
        tally = tally + Tally.from_target(
            target_scores, classes=tally.classes, soft=chosen.needs_soft, bins=chosen.needs_bins
        )
    certificate = calibrate_tally(
        tally, epsilon=epsilon, delta=delta, method=chosen, weights=weights, rng=generator, never_empty=never_empty
    )
    return replace(certificate, transform=transform)


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
    if not tally.n_source:
        raise InputError("no source examples: every method needs a labelled source.")
    if chosen.needs_target and not tally.n_target:
        raise InputError(f"no target examples: method {chosen.name} needs unlabelled target scores.")
    task = Task(
        epsilon=check_rate(epsilon, "epsilon"),
        delta=check_rate(delta, "delta"),
        rng=check_rng(rng),
        weights=None if weights is None else check_weights(weights, tally.n_classes),
    )
    solution = chosen.solve(tally, task)
    certificate = Certificate(
        thresholds=solution.thresholds,
        classes=tally.classes,
        epsilon=task.epsilon,
        delta=task.delta,
        method=chosen.name,
        options=options_of(chosen),
        facts=facts_of(chosen),
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
    )
    if certificate.trivial:
        causes = " ".join(solution.reasons) or "no threshold passes."
        warnings.warn(f"every set holds all labels: {causes}", UninformativeWarning, stacklevel=2)
    return certificate
