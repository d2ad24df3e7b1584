"""Accept the top label or ask a person: at most a share of what is accepted is wrong."""

import os
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from pacshift.arrays import Label, LabelsLike, RngLike, ScoresLike
from pacshift.certificate import Certificate
from pacshift.certification.calibrate import certified
from pacshift.certification.request import check_request
from pacshift.defaults import ACCEPTED_ERROR, DELTA
from pacshift.errors import did_you_mean
from pacshift.labels.sheet import LabelSheet
from pacshift.methods.accept import Accept, LabelError
from pacshift.progress import Progress
from pacshift.rows.base import CheckedRows
from pacshift.scores.check import check_rate
from pacshift.tally import Tally
from pacshift.tally.groups import LabelsPer


@did_you_mean
def accept(
    source_scores: ScoresLike | CheckedRows | Tally,
    source_labels: LabelsLike | CheckedRows | None = None,
    target_scores: ScoresLike | CheckedRows | None = None,
    *,
    error: float = ACCEPTED_ERROR,
    delta: float = DELTA,
    label_error: float | Mapping[Any, float] | None = None,
    classes: Sequence[Label] | None = None,
    softmax: bool = False,
    rng: RngLike = None,
    known_mix: Mapping[Any, Any] | None = None,
    target_labels: LabelsLike | Tally | None = None,
    labels_per: LabelsPer | None = None,
    labelled: LabelSheet | str | os.PathLike[str] | None = None,
    groups: LabelsLike | None = None,
    target_groups: LabelsLike | None = None,
    note: str | None = None,
    model_id: str | None = None,
    valid_until: str | date | None = None,
    progress: Progress | None = None,
) -> Certificate:
    """Find for which cases the top label can be accepted by itself, so that few of the accepted are wrong.

    Of the target cases that are accepted, at most a share ``error`` is wrong, with confidence ``1 - delta`` over
    the calibration data. The others are left to a person. This holds under label shift; with labelled target rows
    it holds whatever the shift is. As many cases as possible are accepted: each predicted label has its own
    threshold.

    Parameters
    ----------
    source_scores : array or frame of shape (m, K), Rows or Tally
        Scores of the labelled source examples, as in ``calibrate``. From a tally, thresholds are edges of its
        bins, from 0.65 to 0.999.
    source_labels : array or series of length m
        Their true labels.
    target_scores : array or frame of shape (n, K), Rows or None
        Scores of unlabelled examples from the population that is decided about.
    error : float, default 0.05
        The largest share of the accepted cases that may be wrong. Between 0 and 1.
    delta : float, default 0.05
        The largest probability that the calibration data mislead us, so that more of the accepted are wrong.
    label_error : float or dict of label to float, optional
        The largest share of the cases accepted as one label that may be wrong: for every label, or for those
        named. Promised besides ``error``, with the same confidence for all together. It costs no share of
        ``delta``, but less is accepted. Fix it before you see these data.
    classes : sequence of labels, optional
        The class of each score column, in order. Default: the column names of a frame, else 0 to K-1.
    softmax : bool, default False
        Whether the scores are logits, of which the softmax is taken first.
    rng : int, numpy.random.Generator or None, optional
        Seed of the random choice of the rows that plan. The same data and seed give the same certificate, in
        whatever order the rows come.
    known_mix : dict of class to (low, high), optional
        Bounds that you are sure of on how frequent a class is in the target. The promise then rests on them.
    target_labels : array or list of length n, optional
        Labels of some random target rows, None or NaN for the others, as in ``calibrate``. They are used where
        that accepts more, and where label shift is rejected.
    labels_per : {"row", "group"}, optional
        How rows were chosen to be labelled, if there are ``target_groups``, as in ``calibrate``.
    labelled : LabelSheet or path, optional
        A filled-in label sheet instead of ``target_labels``; it was made with ``epsilon`` equal to ``error``.
    groups, target_groups : array or series, optional
        The group of each row, such as the patient: one random row of each group is counted.
    note, model_id : str, optional
        What the certificate should remember: anything, and which classifier the scores come from.
    valid_until : str or datetime.date, optional
        The last day of use, such as ``"2027-01-31"``.
    progress : callable, optional
        Called as ``progress(percent, 100)``.

    Returns
    -------
    Certificate
        Its ``sets`` hold the top label alone where it is accepted, and every label where a person must be asked:
        also where two labels share the top score. ``set_sizes[1]`` counts the target's cases that are accepted.
        ``accepted`` and ``accepted_error`` bound, for each predicted label, how many are accepted and how many of
        these are wrong.

    Raises
    ------
    InputError
        If the data or a parameter break a rule. The message names the rule, the value and the remedy.
    AssumptionError
        If the data contradict label shift, and there are no target labels. Nothing is certified then.
    UnfinishedSheetError
        If the sheet is not filled in as far as its first look.

    Warns
    -----
    UninformativeWarning
        If nothing can be accepted. The message says what is lacking.
    UserWarning
        If some source rows, or all target rows, seem to be copies; ``notes`` remember it.

    Examples
    --------
    >>> from pacshift import Population
    >>> letters = Population.synthetic(["bill", "order", "other"], strength=4, rng=0)
    >>> source, kinds = letters.draw([0.6, 0.3, 0.1], 5000, rng=1)
    >>> target, _ = letters.draw([0.3, 0.3, 0.4], 5000, rng=2)
    >>> certificate = accept(source, kinds, target, error=0.05, classes=letters.classes)
    >>> certificate.guarantee, bool(certificate.set_sizes[1] > 0.85 * 5000)
    ('pac-accepted', True)
    >>> certificate.labels([[0.99, 0.005, 0.005], [0.4, 0.35, 0.25]])
    [['bill'], ['bill', 'order', 'other']]
    """
    request = check_request(
        epsilon=check_rate(error, "error"),
        delta=delta,
        known_mix=known_mix,
        rng=rng,
        note=note,
        model_id=model_id,
        valid_until=valid_until,
    )
    limits: LabelError = None
    if isinstance(label_error, Mapping):
        named = (
            (getattr(label, "item", lambda label=label: label)(), limit) for label, limit in label_error.items()
        )
        limits = tuple((label, check_rate(limit, "label_error")) for label, limit in named) or None
    elif label_error is not None:
        limits = check_rate(label_error, "label_error")
    return certified(
        Accept(limits),
        request,
        source_scores,
        source_labels,
        target_scores,
        progress=progress,
        target_labels=target_labels,
        labelled=labelled,
        classes=classes,
        softmax=softmax,
        groups=groups,
        target_groups=target_groups,
        labels_per=labels_per,
    )
