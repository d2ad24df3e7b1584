"""Accept the top label or ask a person: at most a share of what is accepted is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pacshift.arrays import Label, LabelsLike, RngLike, ScoresLike
from pacshift.certificate import Certificate
from pacshift.certification.calibrate import run_calibration
from pacshift.certification.counting import resolve_inputs
from pacshift.certification.request import check_request
from pacshift.errors import did_you_mean
from pacshift.files.writing import PathLike
from pacshift.labels.sheet import LabelSheet
from pacshift.methods.accept import Accept
from pacshift.mix.prevalence import KnownMix
from pacshift.progress import Progress
from pacshift.rows.rows import Rows
from pacshift.scores.check import check_rate
from pacshift.tally import Tally


@did_you_mean
def accept(
    source: ScoresLike | Rows | Tally,
    labels: LabelsLike | Rows | None = None,
    target: ScoresLike | Rows | None = None,
    *,
    error: float = 0.05,
    delta: float = 0.05,
    label_error: float | Mapping[Any, float] | None = None,
    known_mix: KnownMix | None = None,
    labelled: LabelSheet | Tally | PathLike | None = None,
    classes: Sequence[Label] | None = None,
    softmax: bool = False,
    rng: RngLike = None,
    progress: Progress | None = None,
) -> Certificate:
    """Find for which cases the top label can be accepted by itself, so that few of the accepted are wrong.

    Of the target cases that are accepted, at most a share ``error`` is wrong, with confidence ``1 - delta`` over
    the calibration data. The others are left to a person. This holds under label shift; with labelled target rows
    it holds whatever the shift is. As many cases as possible are accepted: each predicted label has its own
    threshold.

    Parameters
    ----------
    source : array or frame of shape (m, K), rows or Tally
        Scores of the labelled source examples, as in ``calibrate``. From a tally, thresholds are edges of its
        bins, from 0.65 to 0.999.
    labels : array or series of length m
        Their true labels.
    target : array or frame of shape (n, K), or rows, optional
        Scores of unlabelled examples from the population that is decided about. Some may have labels, as in
        ``calibrate``: they are used where that accepts more, and where label shift is rejected.
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
    labelled : LabelSheet, path or Tally, optional
        A filled-in label sheet; it was made with ``epsilon`` equal to ``error``.
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
    ('pac-target', True)
    >>> certificate.labels([[0.99, 0.005, 0.005], [0.4, 0.35, 0.25]])
    [['bill'], ['bill', 'order', 'other']]
    """
    request = check_request(
        epsilon=check_rate(error, "error"),
        delta=delta,
        label_error=label_error,
        known_mix=known_mix,
        rng=rng,
    )
    data = resolve_inputs(source, labels, target, labelled=labelled, classes=classes, softmax=softmax)
    return run_calibration(Accept(), request, *data, progress=progress)
