"""From scores to counts, from counts to thresholds, from thresholds to a certificate."""

import logging
import os
import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import date
from typing import Any

from numpy.typing import ArrayLike

from pacshift.arrays import Label, LabelsLike, RngLike, ScoresLike
from pacshift.certificate import Certificate
from pacshift.certification.certify import certify
from pacshift.certification.counted import count, measured, opened
from pacshift.certification.request import Request, check_request, require_fit
from pacshift.defaults import DELTA, EPSILON
from pacshift.errors import InputError, did_you_mean, param, users_line
from pacshift.labels.sheet import LabelSheet
from pacshift.labels.sheet_file import fix_path
from pacshift.methods import Method, resolve_method
from pacshift.methods.base import score_for
from pacshift.methods.ps_lp import ClassBalance, balanced
from pacshift.progress import Progress
from pacshift.rows.base import CheckedRows, unwatched
from pacshift.scores.transforms import TransformFunction, resolve_transform
from pacshift.tally import Tally
from pacshift.tally.groups import LabelsPer, check_labels_per
from pacshift.words.findings import logits_note

logger = logging.getLogger(__name__)


@did_you_mean
def calibrate(
    source_scores: ScoresLike | CheckedRows | Tally,
    source_labels: LabelsLike | CheckedRows | None = None,
    target_scores: ScoresLike | CheckedRows | None = None,
    *,
    epsilon: float = EPSILON,
    delta: float = DELTA,
    method: str | Method = "PS-LP",
    classes: Sequence[Label] | None = None,
    score: str | TransformFunction | None = None,
    softmax: bool = False,
    weights: ArrayLike | None = None,
    rng: RngLike = None,
    class_epsilon: float | None = None,
    class_balance: ClassBalance | None = None,
    contamination: float = 0.0,
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
    """Turn labelled source scores and unlabelled target scores into prediction sets with a guarantee.

    With the default method the sets miss the true label of at most a share ``epsilon`` of the target population,
    with confidence ``1 - delta`` over the calibration data. This holds under label shift: the classes look the
    same in both populations, only their frequencies differ.

    Parameters
    ----------
    source_scores : array or frame of shape (m, K), Rows or Tally
        Scores of the labelled source examples: one row per example, one column per class, higher is more likely.
        NumPy arrays, torch CPU tensors, nested lists, and pandas, polars or Arrow frames. The classifier must not
        have been trained on these examples. Scores need not be calibrated or sum to 1. Or a table that
        ``pacshift.read`` opens, with its labels. Or counts of source and target that were made elsewhere and added
        up, ``Tally.from_scores(...) + Tally.from_target(...)``: there is nothing else to give then.
    source_labels : array or series of length m
        The true labels of the source examples. They are matched to ``classes`` by value. If scores and labels have
        a pandas index, it must be the same.
    target_scores : array or frame of shape (n, K), Rows or None
        Scores of unlabelled examples from the population that the sets are for. None is allowed for methods that
        do not use the target, such as ``"PS"`` and ``"PS-LW"``.
    epsilon : float, default 0.1
        The largest share of the target population whose true label the sets may miss. Between 0 and 1.
    delta : float, default 0.05
        The largest probability that the calibration data mislead us, so that the sets miss more than
        ``epsilon``. Between 0 and 1, for example 5e-4. A smaller ``delta`` gives larger sets.
    method : str or Method, default "PS-LP"
        How the thresholds are found: a name from ``pacshift.METHODS``, or a method object with options, such as
        ``pacshift.PSW(intervals="elimination")``. The methods differ in what they guarantee.
    classes : sequence of labels, optional
        The class of each score column, in order. Default: the column names of a frame, else 0 to K-1.
    score : str or callable, optional
        What is compared with the threshold; by default ``"probability"``, or what the method says. That uses the
        scores as they are; ``"margin"``, ``"aps"``, ``"aps-plain"``, ``"raps"`` and ``"raps-plain"`` transform
        them first. A function gets blocks of the score matrix and returns a matrix of the same shape; each row's
        scores may depend on this row alone. A tally was counted with a score.
    softmax : bool, default False
        Whether the scores are logits, of which the softmax is taken first. The certificate remembers it: its
        ``sets`` takes logits too.
    weights : array of length K, optional
        The true importance weights q(y)/p(y), target frequency over source frequency per class. Only for
        ``"ORACLE"``.
    rng : int, numpy.random.Generator or None, optional
        Seed of the coins that some methods throw over the data; a generator gives its next number, None is 0.
        The same data and seed give the same certificate, in whatever order the rows come. True-label scores that
        are read from tables are rounded down to 12 bits, which moves thresholds in the fourth digit.
    class_epsilon : float, optional
        The largest share of any one class that the sets may miss. This is promised besides ``epsilon``, with the
        same confidence for both together. For methods that promise something about the target. With
        ``contamination`` it is promised for the label-shifted part: other cases of a class may all be missed.
        Where target labels certify instead (PS-T), it is promised for the cases that have a class.
    class_balance : {3, 6, "none"}, optional
        For PS-LP: its tuned thresholds aim at missing no class more often than this multiple of epsilon; default
        3. A policy, not a promise. With 6 or ``"none"`` sets get smaller where a class is rare, and this class is
        missed more often, as the bounds of every class say. ``class_epsilon`` promises.
    contamination : float, default 0
        A share of the target that may be anything: new kinds of cases, broken sensors. The promise of ``epsilon``
        holds for the whole target even so. Must be below ``epsilon``. Sets grow.
    known_mix : dict of class to (low, high), optional
        Bounds that you are sure of on how frequent a class is in the target, such as ``{"sick": (0, 0.3)}``. They
        help to refute label shift, and PS-LP's sets get smaller. The promise then rests on them.
    target_labels : array or list of length n, optional
        Labels of some target rows, None or NaN for the others. The labelled rows must be a random sample of the
        target. They narrow down the label mix, and certify sets on their own (PS-T): used if that gives smaller
        sets, and where label shift is rejected. For methods with a PAC guarantee on this target, such as PS-LP.
        None of these rows may be in the source. ``delta`` pays for one look at one sample, of a size fixed
        beforehand: every further sample, and every look at more labels, spends it again.
        Leave rows of a new kind, which have no class, unlabelled, and allow for them with ``contamination``.
        Beside a tally these are counts, ``Tally.from_scores`` of the labelled rows, which the tally counts as
        unlabelled ones; with groups they must be one random row, or all rows, of random groups.
    labels_per : {"row", "group"}, optional
        How rows were chosen to be labelled, if there are ``target_groups`` and labels of rows that are not the
        counted one of their group. ``"row"``: at random among all rows; the labels of counted rows are used.
        ``"group"``: one random row in each of some random groups; the labelled row of a group is its counted one.
    labelled : LabelSheet or path, optional
        A sheet made by ``pacshift.label_sheet`` or ``pacshift label`` for this target and these epsilon and delta,
        filled in from the top as far as one of its looks. Instead of ``target_labels``. A second sheet, or a
        larger one with the same seed, spends ``delta`` again. The first certificate writes a fingerprint of what
        thresholds are planned with into the sheet's first line, and whoever changes that is refused.
    groups : array or series of length m, optional
        The group of each source row, such as the patient, if several rows belong to one. Such rows are not
        independent, so one random row of each group is counted, by coins that are thrown over ids and rows. The
        promise is then about a random row of a random group. Ids are compared as text.
    target_groups : array or series of length n, optional
        The same for the target.
    note, model_id : str, optional
        What the certificate should remember: anything, and which classifier the scores come from.
    valid_until : str or datetime.date, optional
        The last day on which the sets should be used, such as ``"2027-01-31"``. Commands warn after it.
    progress : callable, optional
        Called as ``progress(percent, 100)`` while the rows are tested and thresholds are looked for, which takes a
        while with a hundred classes. The logger ``pacshift`` says at level INFO what is being done.

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
        If the data contradict label shift, and there are no target labels. Nothing is certified then. The message
        says where the target differs and what you can do. Tested for every method whose promise about the target
        rests on label shift, if a target is given.
    UnfinishedSheetError
        If the sheet is not filled in as far as its first look.

    Warns
    -----
    UninformativeWarning
        If every set has to contain all labels. The message names the class that lacks data.
    UserWarning
        If some source rows, or all target rows, seem to be copies; ``notes`` remember it.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> source, target = rng.choice(2, 4000, p=[0.9, 0.1]), rng.choice(2, 4000, p=[0.5, 0.5])
    >>> def scores(labels):
    ...     p = np.round(1 / (1 + np.exp(-rng.normal(4 * labels - 2.0, 1.5))), 4)
    ...     return np.column_stack([1 - p, p])
    >>> certificate = calibrate(scores(source), source, scores(target), epsilon=0.1, delta=0.05)
    >>> certificate.guarantee, certificate.trivial
    ('pac-target', False)
    >>> certificate.sets([[0.99, 0.01], [0.01, 0.99]]).tolist()
    [[True, False], [False, True]]

    Tallies of files, months or hospitals add up, so raw scores need not be in one place:

    >>> from pacshift import Tally
    >>> scores, labels = np.tile([[0.9, 0.1], [0.2, 0.8]], (500, 1)), np.tile([0, 1], 500)
    >>> north, south = Tally.from_scores(scores, labels), Tally.from_scores(scores, labels)
    >>> made = calibrate(north + south + Tally.from_target(scores), epsilon=0.1, delta=0.05)
    >>> made.n_source, made.n_target, made.sets([[0.9, 0.1]]).tolist()
    (2000, 1000, [[True, False]])
    """
    chosen = balanced(resolve_method(method), class_balance)
    request = check_request(
        epsilon=epsilon,
        delta=delta,
        class_epsilon=class_epsilon,
        contamination=contamination,
        known_mix=known_mix,
        weights=weights,
        rng=rng,
        note=note,
        model_id=model_id,
        valid_until=valid_until,
    )
    return certified(
        chosen,
        request,
        source_scores,
        source_labels,
        target_scores,
        score=score,
        progress=progress,
        target_labels=target_labels,
        labelled=labelled,
        classes=classes,
        softmax=softmax,
        groups=groups,
        target_groups=target_groups,
        labels_per=labels_per,
    )


def certified(
    chosen: Method,
    request: Request,
    source_scores: ScoresLike | CheckedRows | Tally,
    source_labels: LabelsLike | CheckedRows | None,
    target_scores: ScoresLike | CheckedRows | None,
    *,
    score: str | TransformFunction | None = None,
    progress: Progress | None,
    target_labels: LabelsLike | Tally | None,
    labelled: LabelSheet | str | os.PathLike[str] | None,
    labels_per: LabelsPer | None,
    target_groups: LabelsLike | None,
    **about: Any,
) -> Certificate:
    """What ``calibrate`` and ``accept`` do once the request is checked; ``about`` says how rows are read."""
    on_rows = any(isinstance(one, CheckedRows) and one.labels == "some" for one in (source_labels, target_scores))
    has_labels = target_labels is not None or on_rows
    require_fit(chosen, request, has_labels=has_labels or labelled is not None)
    if has_labels and labelled is not None:
        raise InputError("target_labels and labelled are two ways to say the same. Give one of them.")
    check_labels_per(labels_per, has_labels=target_labels is not None, has_groups=target_groups is not None)
    source, target, labels = opened(
        source_scores,
        source_labels,
        target_scores,
        target_labels=target_labels,
        labelled=labelled,
        target_groups=target_groups,
        labels_per=labels_per,
        score=score,
        **about,
    )
    transform = resolve_transform(score_for(chosen, score))
    data = count(source, target, chosen, request, transform, labelled=labels)
    request = request.for_classes(data.tally.classes)
    rows = None if isinstance(source, Tally) else source
    if progress is None and (rows is None or rows.watch is unwatched):
        for said in logits_note(data.tally):  # nobody may look at the notes; Python prints this by default
            logger.warning(said)
    shown = nullcontext(progress) if rows is None or progress else rows.watch(rows, "finding thresholds (%)")
    with shown as report:
        certificate = certify(data, chosen, request, progress=report)
    if isinstance(labels, LabelSheet) and labels.file and not labels.path and data.labelled is not None:
        try:
            fix_path(labels.file, data.labelled.path)  # later looks at it must plan the same
        except InputError as error:  # a folder that may only be read
            warnings.warn(  # no note of the certificate says it
                f"{error} It should say what its thresholds are planned with: until it is filled in, change "
                f"neither its pilot, the source nor {param('score=')}.",
                RuntimeWarning,
                stacklevel=users_line(),
            )
    made = measured(certificate, data)
    return made if rows is None or rows.columns is None else replace(made, columns=rows.columns)
