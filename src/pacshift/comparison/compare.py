"""Every method on the same rows, counted once."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from pacshift.arrays import Label, LabelsLike, RngLike, ScoresLike
from pacshift.certificate import Certificate
from pacshift.certification.counted import cut_of, looked_at, measured
from pacshift.certification.request import Request, check_request
from pacshift.comparison.table import Comparison, Measured, compare_counts, own_score
from pacshift.defaults import DELTA, EPSILON
from pacshift.errors import InputError
from pacshift.methods import METHODS, Method, resolve_method, usable_methods
from pacshift.rows.base import Rows
from pacshift.rows.fold import misses, sizes, tally, target_beside
from pacshift.rows.memory import pair
from pacshift.rows.sets import mean_and_empty
from pacshift.scores.transforms import resolve_transform


def compare(
    source_scores: ScoresLike | Rows,
    source_labels: LabelsLike | Rows | None = None,
    target_scores: ScoresLike | Rows | None = None,
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
    source_scores : array or frame of shape (m, K), or Rows
        Scores of the labelled source examples.
    source_labels : array or series of length m
        The true labels of the source examples.
    target_scores : array or frame of shape (n, K), or Rows
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
    source, target = pair(
        source_scores,
        source_labels,
        target_scores,
        classes=classes,
        softmax=softmax,
        groups=groups,
        target_groups=target_groups,
        target_labels=target_labels,
        some_labels=False,
        labels_per=None if target_labels is None else "row",  # every row has one
    )
    if target is None:
        raise InputError("target_scores is None, but sets are compared on the target. Pass its scores.")
    if target.labels == "some":  # an error is that of all rows
        target = target.requiring_labels()
    return compare_rows(source, target, chosen, request, score)


def compare_rows(
    source: Rows, target: Rows, methods: Sequence[Method], request: Request, score: str = "probability"
) -> Comparison:
    """The verb: count once for every score, certify with each method, measure all sets in one pass."""
    request, others = request.for_classes(source.classes), target_beside(source, target, soft=True, bins=True)
    data = {}
    for name in dict.fromkeys(own_score(method, score) for method in methods):
        transform = resolve_transform(name)
        data[name] = looked_at(source, target, tally(source, transform, soft=True) + others, transform)
    with source.watch(source, "comparing methods") as report:
        made = compare_counts(
            methods,
            request,
            lambda method: data[own_score(method, score)],
            lambda certificates: _measure(target, certificates),
            report,
        )
    rows, answers = zip(*made, strict=True)
    if target.again == "cheap":  # else it would take more passes
        answers = tuple(
            answer and measured(answer, data[own_score(method, score)], method, sizes=False)
            for method, answer in zip(methods, answers, strict=True)
        )
    return Comparison(rows, answers, request.epsilon, request.delta)


def _measure(target: Rows, certificates: Sequence[Certificate]) -> list[Measured]:
    """Error (where labels are known), mean size and share of empty sets on the target."""
    cuts = [cut_of(one) for one in certificates]
    if target.labels == "none":
        return [(None, *mean_and_empty(counts)) for counts in sizes(target, cuts)]
    found = [one.evaluation() for one in misses(target, [one.sets for one in cuts], "measuring the sets")]
    return [(one.error, one.size, one.empty) for one in found]


def _chosen(methods: Iterable[str | Method] | None, *, with_weights: bool) -> list[Method]:
    if methods is None:
        return usable_methods(with_weights=with_weights)
    chosen = [resolve_method(method) for method in ([methods] if isinstance(methods, str) else methods)]
    if not chosen:
        raise InputError(f"methods is empty. Name at least one of {', '.join(METHODS)}.")
    return chosen
