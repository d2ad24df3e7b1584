"""``prevalence``: how frequent is each class on the target, at the whole δ and without any sets.

By predictions under label shift, or by labelled target rows alone (see "Shares by labels" in few-labels.md).
"""

import os
from collections.abc import Sequence

import numpy as np

from pacshift.arrays import Label, LabelsLike, ScoresLike
from pacshift.bounds import Interval
from pacshift.certification.certify import check_label_shift, refusal_of
from pacshift.certification.counted import check_repeats, opened
from pacshift.certification.request import Request, check_request
from pacshift.defaults import DELTA
from pacshift.errors import AssumptionError, InputError
from pacshift.labels.labelled import check_labelled, labels_of, mix_within
from pacshift.labels.sheet import LabelSheet
from pacshift.mix.prevalence import REGION_SHARE, KnownMix, Prevalence, mix_intervals
from pacshift.mix.region import weight_bounds
from pacshift.parallel import one_blas_thread
from pacshift.paths.labelled import LabelledTarget
from pacshift.rows.base import CheckedRows
from pacshift.rows.fold import both
from pacshift.tally import Tally
from pacshift.tally.groups import LabelsPer, check_labels_per

LABEL_SOME = (
    "Label a random sample of the target: labels bound these shares whatever the shift is. pacshift.label_sheet "
    "draws the rows, and prevalence(..., labelled=sheet) takes their labels."
)
"""What to do after a refusal, in Python."""


@one_blas_thread()
def prevalence(
    source_scores: ScoresLike | CheckedRows | Tally,
    source_labels: LabelsLike | CheckedRows | None = None,
    target_scores: ScoresLike | CheckedRows | None = None,
    *,
    delta: float = DELTA,
    classes: Sequence[Label] | None = None,
    softmax: bool = False,
    known_mix: KnownMix | None = None,
    target_labels: LabelsLike | Tally | None = None,
    labels_per: LabelsPer | None = None,
    labelled: LabelSheet | str | os.PathLike[str] | None = None,
    groups: LabelsLike | None = None,
    target_groups: LabelsLike | None = None,
) -> Prevalence:
    """Bound the share of every class on the target, from predictions or from a few labels.

    Without target labels this assumes label shift: among rows of one class, scores have the same law on source and
    target. The intervals are valid at every sample size and for every classifier; a weak one gives wide intervals.
    With target labels nothing is assumed: the labels alone answer, at the whole ``delta``, and what label shift
    says stands beside it. Proofs: the docs pages "Shares of the classes" and "A few target labels".

    Parameters
    ----------
    source_scores : array_like, frame, Rows or Tally
        Scores of the labelled source, one row per example, one column per class; or counts of source and target.
    source_labels : array_like
        True label of each source row, matched to ``classes`` by value.
    target_scores : array_like, frame or Rows
        Scores of the unlabelled target.
    delta : float, default 0.05
        Allowed probability that an interval is wrong, for all of them together. Between 0 and 1.
    classes : sequence, optional
        Names of the columns. Default: the column names of a frame, else 0 to K-1.
    softmax : bool, default False
        Whether the scores are logits, of which the softmax is taken first.
    known_mix : mapping, optional
        Bounds that you are sure of: class name to (least, largest) share on the target, each between 0 and 1.
    target_labels : array or list of length n, or Tally, optional
        Labels of a random sample of the target's rows, None or NaN for the others; beside a tally their counts,
        as in ``calibrate``: none of these rows may be in the source. ``delta`` pays for one look at one sample, of
        a size fixed beforehand.
    labels_per : {"row", "group"}, optional
        How rows were chosen to be labelled, as in ``calibrate``.
    labelled : LabelSheet or path, optional
        A label sheet of this target, instead of ``target_labels``. Each of its looks has its part of ``delta``.
    groups, target_groups : array_like, optional
        The group of each source and target row, such as the patient, if several rows belong to one: one random
        row of each group is counted, as in ``calibrate``. The shares are then those among random rows of random
        groups.

    Returns
    -------
    Prevalence
        Intervals for the mix, the weights, the accuracy on the target and the recall of each class.

    Raises
    ------
    InputError
        If the data or a parameter break a rule.
    AssumptionError
        If no label mix fits the counts: label shift, or what was said to be known, is refuted. With target labels
        only where these contradict what was said to be known.
    UnfinishedSheetError
        If the sheet is not filled in as far as its first look.

    Examples
    --------
    >>> source, labels = [[0.9, 0.1], [0.2, 0.8]] * 500, [0, 1] * 500
    >>> target = [[0.9, 0.1]] * 300 + [[0.2, 0.8]] * 700
    >>> found = prevalence(source, labels, target, delta=0.05, known_mix={1: (0.0, 0.7)})
    >>> found.mix.upper.round(2), found.accuracy > 0.9
    (array([0.33, 0.7 ]), True)
    >>> tally = Tally.from_scores(source, labels) + Tally.from_target([[0.2, 0.8]] * 700)
    >>> prevalence(tally, delta=0.05).mix.lower.round(2)
    array([0.  , 0.99])

    A hundred labels of the target assume nothing:

    >>> some = [0, 1, 0, 1, 1] * 20 + [None] * 900
    >>> found = prevalence(source, labels, target, delta=0.05, target_labels=some)
    >>> found.rests_on, found.mix.lower.round(2), found.mix.upper.round(2)
    ('labels', array([0.3, 0.5]), array([0.5, 0.7]))
    """
    asked = check_request(delta=delta, known_mix=known_mix)  # before anything is counted
    if target_labels is not None and labelled is not None:
        raise InputError("target_labels and labelled are two ways to say the same. Give one of them.")
    check_labels_per(labels_per, has_labels=target_labels is not None, has_groups=target_groups is not None)
    source, target, given = opened(
        source_scores,
        source_labels,
        target_scores,
        target_labels=target_labels,
        labelled=labelled,
        classes=classes,
        softmax=softmax,
        groups=groups,
        target_groups=target_groups,
        labels_per=labels_per,
    )
    tally = source if isinstance(source, Tally) else both(source, target, soft=False, bins=False)
    request = asked.for_classes(tally.classes)
    for what, rows in (("labelled source", tally.n_source), ("target", tally.n_target)):
        if not rows:
            raise InputError(f"no {what} rows: prevalence needs a labelled source and an unlabelled target.")
    sample = labels_of(source, target, given, tally)
    check_repeats(tally, None if sample is None else sample.counted)
    if sample is None:
        return by_label_shift(tally, request)
    check_labelled(sample, tally)
    return by_labels(tally, request, sample)


def by_label_shift(tally: Tally, request: Request) -> Prevalence:
    """The shares by predictions, under label shift; an AssumptionError where it is refuted."""
    assumption = check_label_shift(tally, request)
    refused = refusal_of(assumption, request)
    if refused is not None:
        raise AssumptionError(refused.refusal, LABEL_SOME, assumption=assumption)
    region, mix = mix_intervals(tally, delta=REGION_SHARE * request.delta, known=request.known)
    return Prevalence(
        classes=tally.classes,
        mix=mix,
        weights=weight_bounds(mix, tally.class_counts, delta=(1 - REGION_SHARE) * request.delta),
        accuracy=region.accuracy,
        accuracy_at_most=region.accuracy_at_most,
        recall=region.recall,
        delta=request.delta,
        class_counts=tally.class_counts,
        predicted_counts=tally.target,
        known_mix=dict(request.known_mix or {}),
        assumption=assumption,
    )


def by_labels(tally: Tally, request: Request, sample: LabelledTarget) -> Prevalence:
    """The labels alone, at the whole δ, whatever the shift is (Lemma 1); beside it what label shift says."""
    mix, beside, refusal = mix_within(sample, request.known, delta=request.delta), None, ""
    try:
        beside = by_label_shift(tally, request)
        assumption = beside.assumption
    except AssumptionError as refused:
        assumption, refusal = refused.assumption, refused.refusal
    unknown = np.zeros(tally.n_classes), np.ones(tally.n_classes), np.full(tally.n_classes, np.inf)
    return Prevalence(
        classes=tally.classes,
        mix=mix,
        weights=Interval(unknown[0], unknown[2]),
        accuracy=0.0,
        accuracy_at_most=1.0,
        recall=Interval(*unknown[:2]),
        delta=request.delta,
        class_counts=tally.class_counts,
        predicted_counts=tally.target,
        known_mix=dict(request.known_mix or {}),
        assumption=assumption,
        rests_on="labels",
        n_labels=sample.n_rows,
        by_label_shift=beside,
        refusal=refusal,
    )
