"""``prevalence``: how frequent is each class on the target, at the whole δ and without any sets.

By predictions under label shift, or by labelled target rows alone (see "Shares by labels" in few-labels.md).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pacshift.arrays import Label, LabelsLike, ScoresLike
from pacshift.bounds import Interval
from pacshift.certification.certify import check_label_shift, explain_refusal
from pacshift.certification.counting import check_repeats, resolve_inputs
from pacshift.certification.request import Request, check_request
from pacshift.errors import AssumptionError, InputError, did_you_mean
from pacshift.files.writing import PathLike
from pacshift.labels.labelled import check_label_rows, count_labelled_rows, mix_within
from pacshift.labels.sheet import LabelSheet
from pacshift.mix.prevalence import REGION_SHARE, KnownMix, Prevalence, mix_intervals
from pacshift.mix.region import weight_bounds
from pacshift.parallel import one_blas_thread
from pacshift.paths.labelled import LabelledTarget
from pacshift.rows.fold import both
from pacshift.rows.rows import Rows
from pacshift.tally import Tally

LABEL_SOME = (
    "Label a random sample of the target: labels bound these shares whatever the shift is. pacshift.label_sheet "
    "draws the rows, and prevalence(..., labelled=sheet) takes their labels."
)
"""What to do after a refusal, in Python."""


@one_blas_thread()
@did_you_mean
def prevalence(
    source: ScoresLike | Rows | Tally,
    labels: LabelsLike | Rows | None = None,
    target: ScoresLike | Rows | None = None,
    *,
    delta: float = 0.05,
    known_mix: KnownMix | None = None,
    labelled: LabelSheet | Tally | PathLike | None = None,
    classes: Sequence[Label] | None = None,
    softmax: bool = False,
) -> Prevalence:
    """Bound the share of every class on the target, from predictions or from a few labels.

    Without target labels this assumes label shift: among rows of one class, scores have the same law on source and
    target. The intervals are valid at every sample size and for every classifier; a weak one gives wide intervals.
    With target labels nothing is assumed: the labels alone answer, at the whole ``delta``, and what label shift
    says stands beside it. Proofs: the docs pages "Shares of the classes" and "A few target labels".

    Parameters
    ----------
    source : array_like, frame, rows or Tally
        Scores of the labelled source, one row per example, one column per class; or counts of source and target.
    labels : array_like
        True label of each source row, matched to ``classes`` by value.
    target : array_like, frame or rows
        Scores of the target. Labels of a random sample of its rows answer alone, as in ``Rows(scores, labels)``:
        none of these rows may be in the source, and ``delta`` pays for one look at one sample, of a size fixed
        beforehand.
    delta : float, default 0.05
        Allowed probability that an interval is wrong, for all of them together. Between 0 and 1.
    classes : sequence, optional
        Names of the columns. Default: the column names of a frame, else 0 to K-1.
    softmax : bool, default False
        Whether the scores are logits, of which the softmax is taken first.
    known_mix : mapping, optional
        Bounds that you are sure of: class name to (least, largest) share on the target, each between 0 and 1.
    labelled : LabelSheet, path or Tally, optional
        A label sheet of this target, each of whose looks has its part of ``delta``; beside a tally the counts of
        its labelled rows.

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

    >>> from pacshift import Rows
    >>> some = [0, 1, 0, 1, 1] * 20 + [None] * 900
    >>> found = prevalence(source, labels, Rows(target, some), delta=0.05)
    >>> found.rests_on, found.mix.lower.round(2), found.mix.upper.round(2)
    ('labels', array([0.3, 0.5]), array([0.5, 0.7]))
    """
    checked = check_request(delta=delta, known_mix=known_mix)  # before anything is counted
    source, target, sheet_or_tally = resolve_inputs(
        source, labels, target, labelled=labelled, classes=classes, softmax=softmax
    )
    tally = source if isinstance(source, Tally) else both(source, target, soft=False, bins=False)
    request = checked.for_classes(tally.classes)
    for what, rows in (("labelled source", tally.n_source), ("target", tally.n_target)):
        if not rows:
            raise InputError(f"no {what} rows: prevalence needs a labelled source and an unlabelled target.")
    sample = count_labelled_rows(source, target, sheet_or_tally, tally)
    check_repeats(tally, None if sample is None else sample.counted)
    if sample is None:
        return by_label_shift(tally, request)
    check_label_rows(sample, tally)
    return by_labels(tally, request, sample)


def by_label_shift(tally: Tally, request: Request) -> Prevalence:
    """The shares by predictions, under label shift; an AssumptionError where it is refuted."""
    assumption = check_label_shift(tally, request)
    refused = explain_refusal(assumption, request)
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
    mix, beside, refusal = mix_within(sample, request, delta=request.delta), None, ""
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
