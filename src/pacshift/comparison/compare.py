"""Every method on the same rows in memory, counted once."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pacshift.arrays import IntArray, Label, LabelsLike, RngLike, ScoresLike
from pacshift.certificate import Certificate
from pacshift.certification.certify import Data
from pacshift.certification.groups import Sampled, sample_groups
from pacshift.certification.one_label import with_one_label_error
from pacshift.certification.request import check_request
from pacshift.certification.rows import Rows
from pacshift.comparison.table import Comparison, Measured, compare_counts, own_score
from pacshift.defaults import DELTA, EPSILON
from pacshift.errors import InputError
from pacshift.methods import METHODS, Method, resolve_method, usable_methods
from pacshift.rows.sets import make_sets
from pacshift.scores.check import check_flag, check_labels
from pacshift.scores.transforms import resolve_transform


def compare(
    source_scores: ScoresLike,
    source_labels: LabelsLike,
    target_scores: ScoresLike,
    *,
    epsilon: float = EPSILON,
    delta: float = DELTA,
    methods: Iterable[str | Method] | None = None,
    target_labels: LabelsLike | None = None,
    groups: LabelsLike | None = None,
    target_groups: LabelsLike | None = None,
    classes: Sequence[Label] | None = None,
    score: str = "probability",
    softmax: bool = False,
    weights: ArrayLike | None = None,
    rng: RngLike = None,
    class_epsilon: float | None = None,
    contamination: float = 0.0,
    known_mix: Mapping[Any, Any] | None = None,
) -> Comparison:
    """Run several methods on the same data and measure the sets of each on the target.

    The rows are counted once. Each method gives what ``calibrate`` would give with the same arguments. A method
    that refuses, for example because label shift is refuted, has a row that says so.

    Each promise is about a method that was chosen beforehand. Who compares m methods and uses the one with the
    smallest sets has m tries: compare with ``delta / m``, and the promises hold together.

    Parameters
    ----------
    source_scores : array or frame of shape (m, K)
        Scores of the labelled source examples.
    source_labels : array or series of length m
        The true labels of the source examples.
    target_scores : array or frame of shape (n, K)
        Scores of the target. The sets are measured on these rows.
    epsilon, delta : float
        As in ``calibrate``. Defaults: 0.1 and 0.05.
    methods : iterable of str or Method, optional
        Names or method objects. Default: all of ``METHODS`` but PS-T, ``"ORACLE"`` only if ``weights`` are given.
    target_labels : array or series of length n, optional
        The true label of every target row, to show the error of the sets. No method sees them.
    groups : array or series of length m, optional
        The group of each source row, such as the patient, as in ``calibrate``.
    target_groups : array or series of length n, optional
        The same for the target. The sets are then measured on one random row of each group too.
    classes : sequence of labels, optional
        The class of each score column, in order. Default: the column names of a frame, else 0 to K-1.
    score : str, default "probability"
        The score that is compared with thresholds, but for methods that insist on their own, as APS does.
    softmax : bool, default False
        Whether the scores are logits, of which the softmax is taken first.
    weights : array of length K, optional
        The true importance weights, for ``"ORACLE"``.
    rng : int, numpy.random.Generator or None, optional
        As in ``calibrate``.
    class_epsilon : float, optional
        As in ``calibrate``, for the methods that promise something about the target.
    contamination : float, default 0
        As in ``calibrate``, for the same methods.
    known_mix : dict of class to (low, high), optional
        As in ``calibrate``, for the same methods.

    Returns
    -------
    Comparison
        A small table. ``print`` shows it, ``to_pandas()`` makes a frame of it, ``certificates`` holds what the
        methods gave.

    Raises
    ------
    InputError
        If the data or a parameter break a rule.

    Examples
    --------
    >>> from pacshift import Population
    >>> population = Population.synthetic(3, strength=4, rng=0)
    >>> source, labels = population.draw([0.8, 0.15, 0.05], 3000, rng=1)
    >>> target, truth = population.draw([0.05, 0.15, 0.8], 3000, rng=2)
    >>> compare(source, labels, target, methods=["PS-LW", "LWCP", "PS"], target_labels=truth)
    method  promise       mean size  empty sets  error
    PS-LW   target (PAC)  0.974      2.7 %       0.0533
    LWCP    on average    0.935      6.53 %      0.0910
    PS      source only   0.922      7.83 %      0.1167
    """
    request = check_request(
        epsilon=epsilon,
        delta=delta,
        class_epsilon=class_epsilon,
        contamination=contamination,
        known_mix=known_mix,
        weights=weights,
        rng=rng,
    )
    chosen = _chosen(methods, with_weights=weights is not None)
    given = sample_groups(
        source_scores,
        source_labels,
        target_scores,
        groups=groups,
        target_groups=target_groups,
        classes=classes,
        target_labels=target_labels,
        labels_per=None if target_labels is None else "row",  # every row has one
        softmax=check_flag(softmax, "softmax"),
    )
    rows = given.check(classes=classes, softmax=softmax)
    truth, request = _truth(rows, given.target_labels), request.for_classes(rows.source.classes)
    counted = _count(rows, given, [own_score(method, score) for method in chosen])
    made = compare_counts(
        chosen,
        request,
        lambda method: counted[own_score(method, score)],
        lambda found: [_measure(each, rows, truth) for each in found],
    )
    found, answers = zip(*made, strict=True)
    certificates = [
        answer and with_one_label_error(answer, counted[own_score(method, score)].tally, method, rows.set_sizes)
        for method, answer in zip(chosen, answers, strict=True)
    ]
    return Comparison(found, tuple(certificates), request.epsilon, request.delta)


def _truth(rows: Rows, labels: LabelsLike | None) -> IntArray | None:
    """The column of each target row's true label, where labels are given."""
    if rows.target is None:
        raise InputError("target_scores is None, but sets are compared on the target. Pass its scores.")
    if labels is None:
        return None
    target = rows.target
    return check_labels(labels, target.classes, n_rows=len(target), name="target_labels", index=target.index)


def _chosen(methods: Iterable[str | Method] | None, *, with_weights: bool) -> list[Method]:
    if methods is None:
        return usable_methods(with_weights=with_weights)
    chosen = [resolve_method(method) for method in ([methods] if isinstance(methods, str) else methods)]
    if not chosen:
        raise InputError(f"methods is empty. Name at least one of {', '.join(METHODS)}.")
    return chosen


def _count(rows: Rows, given: Sampled, scores: Iterable[str]) -> dict[str, Data]:
    """The counts for each score; those of the target are the same."""
    target, counted = rows.target_tally(soft=True, bins=True), {}
    for name in dict.fromkeys(scores):
        transform = resolve_transform(name)
        counted[name] = rows.data(given.marked(rows.source_tally(transform, soft=True) + target), transform)
    return counted


def _measure(certificate: Certificate, rows: Rows, truth: IntArray | None) -> Measured:
    """Error, mean size and share of empty sets on the target, whose scores need no second check."""
    target, transform = rows.target, certificate.transform
    assert target is not None  # compare has looked
    assert transform is not None  # certify was given it
    sets = make_sets(target, certificate.thresholds, transform, never_empty=False)
    sizes = sets.sum(axis=1)
    error = None if truth is None else float(1 - sets[np.arange(len(sets)), truth].mean())
    return error, float(sizes.mean()), float((sizes == 0).mean())
