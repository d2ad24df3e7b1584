"""``prevalence``: how frequent is each class on the target, at the whole δ and without any sets."""

from collections.abc import Sequence

from pacshift.arrays import Label, LabelsLike, ScoresLike
from pacshift.certification.certify import check_label_shift, refusal_of
from pacshift.certification.counted import opened
from pacshift.certification.request import check_request
from pacshift.defaults import DELTA
from pacshift.errors import AssumptionError, InputError
from pacshift.mix.prevalence import KnownMix, Prevalence, mix_intervals
from pacshift.parallel import one_blas_thread
from pacshift.rows.base import Rows
from pacshift.rows.fold import both
from pacshift.tally import Tally
from pacshift.words.findings import ways_on


@one_blas_thread()
def prevalence(
    source_scores: ScoresLike | Rows | Tally,
    source_labels: LabelsLike | Rows | None = None,
    target_scores: ScoresLike | Rows | None = None,
    *,
    delta: float = DELTA,
    classes: Sequence[Label] | None = None,
    softmax: bool = False,
    known_mix: KnownMix | None = None,
    groups: LabelsLike | None = None,
    target_groups: LabelsLike | None = None,
) -> Prevalence:
    """Bound the share of every class on the target, from predictions alone.

    Assumes label shift: among rows of one class, scores have the same law on source and target. The intervals are
    valid at every sample size and for every classifier; a weak one gives wide intervals. Proof: section
    "By-products" of the docs page "PS-LP: the proof".

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
        If no label mix fits the counts: label shift, or what was said to be known, is refuted.

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
    """
    asked = check_request(delta=delta, known_mix=known_mix)  # before anything is counted
    source, target, _ = opened(
        source_scores,
        source_labels,
        target_scores,
        classes=classes,
        softmax=softmax,
        groups=groups,
        target_groups=target_groups,
    )
    tally = source if isinstance(source, Tally) else both(source, target, soft=False, bins=False)
    request = asked.for_classes(tally.classes)
    for what, rows in (("labelled source", tally.n_source), ("target", tally.n_target)):
        if not rows:
            raise InputError(f"no {what} rows: prevalence needs a labelled source and an unlabelled target.")
    assumption = check_label_shift(tally, request)
    refused = refusal_of(assumption, request)
    if refused is not None:
        raise AssumptionError(str(refused), ways_on(), assumption=assumption)
    region, mix, weights = mix_intervals(tally, delta=request.delta, known=request.known)
    return Prevalence(
        classes=tally.classes,
        mix=mix,
        weights=weights,
        accuracy=region.accuracy,
        accuracy_at_most=region.accuracy_at_most,
        recall=region.recall,
        delta=request.delta,
        class_counts=tally.class_counts,
        predicted_counts=tally.target,
        known_mix=dict(known_mix or {}),
        assumption=assumption,
    )
