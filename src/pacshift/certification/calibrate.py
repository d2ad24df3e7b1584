"""From scores to counts, from counts to thresholds, from thresholds to a certificate."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace

from pacshift.arrays import Label, LabelsLike, RngLike, ScoresLike
from pacshift.certificate import Certificate
from pacshift.certification.certify import certify
from pacshift.certification.counting import count, resolve_inputs
from pacshift.certification.request import Request, check_request, require_fit
from pacshift.errors import InputError, did_you_mean, param, users_line
from pacshift.files.writing import PathLike
from pacshift.labels.sheet import LabelSheet
from pacshift.labels.sheet_file import fix_path
from pacshift.methods import Method, resolve_method
from pacshift.mix.prevalence import KnownMix
from pacshift.progress import Progress
from pacshift.rows.base import CheckedRows, no_progress
from pacshift.rows.rows import Rows
from pacshift.scores.transforms import TransformFunction, resolve_transform
from pacshift.tally import Tally
from pacshift.words.findings import logits_note

logger = logging.getLogger(__name__)


@did_you_mean
def calibrate(
    source: ScoresLike | Rows | Tally,
    labels: LabelsLike | Rows | None = None,
    target: ScoresLike | Rows | None = None,
    *,
    epsilon: float = 0.1,
    delta: float = 0.05,
    method: str | Method = "PS-LP",
    score: str | TransformFunction | None = None,
    class_epsilon: float | None = None,
    contamination: float = 0.0,
    known_mix: KnownMix | None = None,
    labelled: LabelSheet | Tally | PathLike | None = None,
    classes: Sequence[Label] | None = None,
    softmax: bool = False,
    rng: RngLike = None,
    progress: Progress | None = None,
) -> Certificate:
    """Turn labelled source scores and unlabelled target scores into prediction sets with a guarantee.

    With the default method the sets miss the true label of at most a share ``epsilon`` of the target population,
    with confidence ``1 - delta`` over the calibration data. This holds under label shift: the classes look the
    same in both populations, only their frequencies differ.

    Parameters
    ----------
    source : array or frame of shape (m, K), rows or Tally
        Scores of the labelled source examples: one row per example, one column per class, higher is more likely.
        The classifier must not have been trained on these examples. Scores need not be calibrated or sum to 1.
        Rows with groups are given by ``pacshift.Rows``, tables by ``pacshift.read``, both with their labels. Or
        counts of source and target that were made elsewhere and added up: there is nothing else to give then.
    labels : array or series of length m
        The true labels of the source examples, unless ``source`` are rows, which have them; the target may then
        stand here, ``calibrate(source, target)``. They are matched to ``classes`` by value.
    target : array or frame of shape (n, K), or rows, optional
        Scores of unlabelled examples from the population that the sets are for. None is allowed for methods that
        do not use the target, such as ``"PS"`` and ``"PS-LW"``. Rows of which some have labels, as in
        ``pacshift.Rows(scores, labels)``, must have them at random. The labels narrow down the label mix, and
        certify sets on their own (PS-T): used if that gives smaller sets, and where label shift is rejected.
        ``delta`` pays for one look at one sample, of a size fixed beforehand.
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
    rng : int, numpy.random.Generator or None, optional
        Seed of the coins that some methods throw over the data; a generator gives its next number, None is 0.
        The same data and seed give the same certificate, in whatever order the rows come. True-label scores that
        are read from tables are rounded down to 12 bits, which moves thresholds in the fourth digit.
    class_epsilon : float, optional
        The largest share of any one class that the sets may miss. This is promised besides ``epsilon``, with the
        same confidence for both together. For methods that promise something about the target. With
        ``contamination`` it is promised for the label-shifted part: other cases of a class may all be missed.
        Where target labels certify instead (PS-T), it is promised for the cases that have a class.
    contamination : float, default 0
        A share of the target that may be anything: new kinds of cases, broken sensors. The promise of ``epsilon``
        holds for the whole target even so. Must be below ``epsilon``. Sets grow.
    known_mix : dict of class to (low, high), optional
        Bounds that you are sure of on how frequent a class is in the target, such as ``{"sick": (0, 0.3)}``. They
        help to refute label shift, and PS-LP's sets get smaller. The promise then rests on them.
    labelled : LabelSheet, path or Tally, optional
        A sheet made by ``pacshift.label_sheet`` or ``pacshift label`` for this target and these epsilon and delta,
        filled in from the top as far as one of its looks. A second sheet, or a larger one with the same seed,
        spends ``delta`` again. The first certificate writes a fingerprint of what thresholds are planned with into
        the sheet's first line, and whoever changes that is refused. Beside a tally the counts of the labelled
        rows, ``Tally.from_scores``, which the tally counts as unlabelled ones.
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
    request = check_request(
        epsilon=epsilon,
        delta=delta,
        class_epsilon=class_epsilon,
        contamination=contamination,
        known_mix=known_mix,
        rng=rng,
    )
    chosen = resolve_method(method)
    data = resolve_inputs(source, labels, target, labelled=labelled, classes=classes, softmax=softmax, score=score)
    return run_calibration(chosen, request, *data, score=score, progress=progress)


def run_calibration(
    chosen: Method,
    request: Request,
    source: CheckedRows | Tally,
    target: CheckedRows | None,
    labelled: LabelSheet | Tally | None,
    *,
    score: str | TransformFunction | None = None,
    progress: Progress | None = None,
) -> Certificate:
    """What ``calibrate`` and ``accept`` do once the request is checked and rows are bound."""
    is_labelled = labelled is not None or (target is not None and target.labels == "some")
    require_fit(chosen, request, has_labels=is_labelled)
    transform = resolve_transform(chosen.default_score if score is None else score)
    data = count(source, target, chosen, request, transform, labelled=labelled)
    rows = None if isinstance(source, Tally) else source
    if progress is None and (rows is None or rows.watch is no_progress):
        for note in logits_note(data.tally):  # nobody may look at the notes; Python prints this by default
            logger.warning(note)
    shown = nullcontext(progress) if rows is None or progress else rows.watch(rows, "finding thresholds (%)")
    with shown as report:
        certificate = certify(data, chosen, request, progress=report)
    if isinstance(labelled, LabelSheet) and labelled.file and not labelled.path and data.labelled is not None:
        try:
            fix_path(labelled.file, data.labelled.path)  # later looks at it must plan the same
        except InputError as error:  # a folder that may only be read
            warnings.warn(  # no note of the certificate says it
                f"{error} It should say what its thresholds are planned with: until it is filled in, change "
                f"neither its pilot, the source nor {param('score=')}.",
                RuntimeWarning,
                stacklevel=users_line(),
            )
    return certificate if rows is None or rows.columns is None else replace(certificate, columns=rows.columns)
