"""From scores to counts, from counts to thresholds, from thresholds to a certificate."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pacshift.arrays import FloatArray, Label
from pacshift.certificate import Certificate
from pacshift.errors import InputError, UninformativeWarning
from pacshift.methods import Method, Task, resolve_method
from pacshift.methods.base import facts_of, options_of, score_for
from pacshift.scores.check import check_flag, check_rate, check_rng, check_scores, check_weights
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
    """Turn labelled source scores and unlabelled target scores into prediction sets with a guarantee.

    With the default method the sets miss the true label of at most a share ``epsilon`` of the target population,
    with confidence ``1 - delta`` over the calibration data. This holds under label shift: the classes look the
    same in both populations, only their frequencies differ.

    Parameters
    ----------
    source_scores : array or frame of shape (m, K)
        Scores of the labelled source examples: one row per example, one column per class, higher is more likely.
        NumPy arrays, torch CPU tensors, nested lists, and pandas, polars or Arrow frames. The classifier must not
        have been trained on these examples. Scores need not be calibrated or sum to 1.
    source_labels : array or series of length m
        The true labels of the source examples. They are matched to ``classes`` by value.
    target_scores : array or frame of shape (n, K), or None
        Scores of unlabelled examples from the population that the sets are for. None is allowed for methods that
        do not use the target, such as ``"PS"`` and ``"PS-LW"``.
    epsilon : float
        The largest share of the target population whose true label the sets may miss. Between 0 and 1, for
        example 0.1.
    delta : float
        The largest probability that the calibration data mislead us, so that the sets miss more than
        ``epsilon``. Between 0 and 1, for example 5e-4. A smaller ``delta`` gives larger sets.
    method : str or Method, default "PS-LP"
        How the thresholds are found: a name from ``pacshift.METHODS``, or a method object with options, such as
        ``pacshift.PSW(intervals="hull")``. The methods differ in what they guarantee.
    classes : sequence of labels, optional
        The class of each score column, in order. Default: the column names of a frame, else 0 to K-1.
    score : str or callable, default "probability"
        What is compared with the threshold. ``"probability"`` uses the scores as they are; ``"margin"``,
        ``"aps"``, ``"aps-plain"``, ``"raps"`` and ``"raps-plain"`` transform them first. A function gets blocks
        of the score matrix and returns a matrix of the same shape; it must treat each row on its own.
    weights : array of length K, optional
        The true importance weights q(y)/p(y), target frequency over source frequency per class. Only for
        ``"ORACLE"``.
    rng : int, numpy.random.Generator or None, optional
        Seed or generator for randomised methods and scores. The same seed gives the same certificate.
    never_empty : bool, default False
        Add the label with the highest score to sets that would be empty. Sets only grow, so the guarantee stays.

    Returns
    -------
    Certificate
        The thresholds and what they guarantee. ``certificate.sets(scores)`` makes the sets,
        ``certificate.explain()`` says in words what holds, ``certificate.save(path)`` writes a file.

    Raises
    ------
    InputError
        If the data or a parameter break a rule. The message names the rule, the value and the remedy.
    AssumptionError
        If the data contradict label shift. Nothing is certified then.

    Warns
    -----
    UninformativeWarning
        If every set has to contain all labels. The message names the class that lacks data.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> source, target = rng.choice(2, 4000, p=[0.9, 0.1]), rng.choice(2, 4000, p=[0.5, 0.5])
    >>> def scores(labels):
    ...     p = 1 / (1 + np.exp(-rng.normal(4 * labels - 2.0, 1.5)))
    ...     return np.column_stack([1 - p, p])
    >>> certificate = calibrate(scores(source), source, scores(target), epsilon=0.1, delta=0.05)
    >>> certificate.guarantee, certificate.trivial
    ('pac-target', False)
    >>> certificate.sets([[0.99, 0.01], [0.5, 0.5]]).tolist()
    [[True, False], [True, True]]
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
    """Find the thresholds from counts alone, for data that were counted elsewhere.

    A ``Tally`` holds everything that a method needs. Tallies of files, months or hospitals add up, so raw scores
    need not be in one place. How the data were split does not change the result.

    Parameters
    ----------
    tally : Tally
        Counts of the labelled source and of the unlabelled target, for example
        ``Tally.from_scores(...) + Tally.from_target(...)``.
    epsilon : float
        The largest share of the target population whose true label the sets may miss. Between 0 and 1.
    delta : float
        The largest probability that the calibration data mislead us, so that the sets miss more than
        ``epsilon``. Between 0 and 1. A smaller ``delta`` gives larger sets.
    method : str or Method, default "PS-LP"
        A name from ``pacshift.METHODS`` or a method object with options.
    weights : array of length K, optional
        The true importance weights q(y)/p(y), one per class. Only for ``"ORACLE"``.
    rng : int, numpy.random.Generator or None, optional
        Seed or generator for randomised methods.
    never_empty : bool, default False
        Add the label with the highest score to sets that would be empty.

    Returns
    -------
    Certificate
        The thresholds and what they guarantee.

    Raises
    ------
    InputError
        If the tally has no source, or no target where the method needs one, or if a parameter breaks a rule.
    AssumptionError
        If the counts contradict label shift. Nothing is certified then.

    Warns
    -----
    UninformativeWarning
        If every set has to contain all labels. The message names the class that lacks data.

    Examples
    --------
    >>> import numpy as np
    >>> scores, labels = np.tile([[0.9, 0.1], [0.2, 0.8]], (500, 1)), np.tile([0, 1], 500)
    >>> north, south = Tally.from_scores(scores, labels), Tally.from_scores(scores, labels)
    >>> tally = north + south + Tally.from_target(scores)
    >>> certificate = calibrate_tally(tally, epsilon=0.1, delta=0.05)
    >>> certificate.n_source, certificate.n_target, certificate.sets([[0.9, 0.1]]).tolist()
    (2000, 1000, [[True, False]])
    """
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
        never_empty=check_flag(never_empty, "never_empty"),
        transform=transform,
    )
    if certificate.trivial:
        causes = " ".join(solution.reasons) or "no threshold passes."
        warnings.warn(f"every set contains all labels: {causes}", UninformativeWarning, stacklevel=3)
    return certificate
