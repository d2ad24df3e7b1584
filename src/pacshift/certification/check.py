"""Labels arrived later: was the promise of a certificate kept?"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from pacshift.arrays import BoolArray, Label, LabelsLike, ScoresLike, scipy
from pacshift.bounds import Interval, binomial_cut, clopper_pearson
from pacshift.certificate import Certificate
from pacshift.certification.counting import check_repeats
from pacshift.errors import InputError, did_you_mean
from pacshift.evaluation import Evaluation, EvaluationCounts
from pacshift.rows.base import CheckedRows
from pacshift.rows.fold import misses
from pacshift.rows.groups import as_target
from pacshift.rows.rows import Rows, bind_source, has_labels
from pacshift.scores.check import check_labels, check_rate
from pacshift.scores.frames import index_of, is_stream, to_values
from pacshift.tally.inputs import Role
from pacshift.tally.same_rows import counts_sha256
from pacshift.words.findings import are_its_labels, check_in_words, label_shares, promised_limits, stated_shares
from pacshift.words.verdicts import VERDICTS, Verdict
from pacshift.words.visible import visible

CheckVerdict: TypeAlias = Literal["kept", "not-proven", "broken", "within-epsilon", "above-epsilon", "no-evidence"]

CHANCE_TO_DECIDE = 0.8
"""What "would probably decide" means: the usual power of a planned study."""

ROUND_NUMBERS = np.array([digits * 10**zeros for zeros in range(6) for digits in range(10, 100)])
"""Numbers of rows that are tried, up to 9.9 million. Beyond, the error can hardly be told from epsilon."""


@dataclass(frozen=True, slots=True, eq=False)
class Check:
    """What labelled rows say about a certificate.

    Parameters
    ----------
    verdict : {"kept", "not-proven", "broken", "within-epsilon", "above-epsilon", "no-evidence"}
        ``"kept"``: the whole interval is at most epsilon. ``"broken"``: all of it is above, although the
        certificate promises this about the target, or a class is missed more often than was promised for every
        class. ``"within-epsilon"``, ``"above-epsilon"``: the same where no such thing was promised.
        ``"not-proven"``: these rows are too few to tell; ``within`` says whether more than was asked for is missed
        among them. ``"no-evidence"``: these rows are not the target's, as
        ``seen_as`` or ``classes_apart`` says.
    lower, upper : float
        Exact interval of the error of the population that the rows were drawn from (Clopper and Pearson).
    level : float
        Confidence of this interval, and of those of the classes.
    kept_up_to, broken_from : int or None
        With so many rows, this number of misses or fewer shows an error of at most epsilon, that number or more an
        error above it. None if no number does.
    rows_to_decide : int or None
        If the verdict is ``"not-proven"``: about how many rows in all would decide with a chance of 80 %, were the
        error exactly the one seen here. None where the error is too close to epsilon to tell.
    text : str
        All this in words.
    n_judged, missed : int
        How many rows the verdict is about, and how many of them have a set that misses the true label.
    evaluation : Evaluation
        Error and size of the sets, over all rows and by true label.
    class_interval : Interval
        Exact intervals of the error by true label. Each holds at ``level`` by itself, not all of them together;
        ``[0, 1]`` for a class without rows.
    classes_above : tuple
        Classes that are missed more often than was promised for every class: by ``class_epsilon``, or by a method
        that promises epsilon whatever the label mix is. For all classes together at ``level``. Where top labels
        are accepted: labels as which more wrong ones are than ``label_error`` allows.
    classes_kept : tuple
        Classes that are shown to keep what was promised for every class, in the same sense.
    classes_apart : tuple
        Classes whose share of these rows is not the one that the certificate's ``prevalence`` gives: the exact
        intervals of all classes together at ``level`` do not meet it. Then these rows are not a random sample of
        the target that the certificate is about, or label shift does not hold.
    seen_as : {"source", "target"} or None
        If the certificate was made from these rows: as what. Files are known by their SHA-256, arrays by that of
        their counts, where the certificate has it; tallies, groups in memory and sets are not.
    within : bool
        Whether no more was missed among these rows than was asked for, in all and of any class with a limit.
    promised : bool
        Whether the certificate promises a share of the target.
    one_label_interval : Interval
        Exact interval of the error among sets with one label, at ``level``; ``[0, 1]`` if there are none.
    alone_interval : Interval
        The same by the label that stands alone, each at ``level`` by itself: a set that says only "healthy" and
        one that says only "sick" mean opposite things.

    Examples
    --------
    >>> from pacshift import calibrate
    >>> scores, labels = [[0.9, 0.1], [0.2, 0.8]] * 50, [0, 1] * 50
    >>> certificate = calibrate(scores, labels, None, method="PS-LW")
    >>> found = check(certificate, [[0.95, 0.05], [0.1, 0.9]] * 40, [0, 1] * 40)
    >>> found.verdict, found.error, round(found.upper, 3)
    ('kept', 0.0, 0.045)
    >>> check(certificate, scores, labels).verdict
    'no-evidence'
    """

    verdict: CheckVerdict
    lower: float
    upper: float
    level: float
    kept_up_to: int | None
    broken_from: int | None
    rows_to_decide: int | None
    text: str
    n_judged: int = field(repr=False)
    missed: int = field(repr=False)
    evaluation: Evaluation = field(repr=False)
    class_interval: Interval = field(repr=False)
    classes_above: tuple[Label, ...] = field(repr=False)
    classes_kept: tuple[Label, ...] = field(repr=False)
    classes_apart: tuple[Label, ...] = field(repr=False)
    one_label_interval: Interval = field(repr=False)
    alone_interval: Interval = field(repr=False)
    seen_as: Role | None = field(repr=False)
    within: bool = field(repr=False)
    promised: bool = field(repr=False)

    def __repr__(self) -> str:
        return f"{self.shown.word}: {self.text}"

    @property
    def shown(self) -> Verdict:
        """The verdict for people, who want to know what was seen where nothing is proven."""
        if self.verdict == "not-proven" and self.within:
            return VERDICTS["not-proven-within" if self.promised else "not-proven-asked"]
        return VERDICTS[self.verdict]

    @property
    def error(self) -> float:
        """Share of the rows whose set misses the true label; of those that are accepted, where some are."""
        return self.missed / self.n_judged if self.n_judged else float("nan")


@did_you_mean
def check(
    certificate: Certificate,
    scores: ScoresLike | Rows,
    labels: LabelsLike | None = None,
    *,
    level: float = 0.95,
) -> Check:
    """Was the promise kept? Compare the sets of labelled rows with epsilon.

    The rows must be a random sample of the target, and not be among those that the certificate was made from.
    Where it can be seen that they are not, the verdict is ``"no-evidence"``. The interval is for one look at a
    number of rows that was fixed beforehand: m looks at more and more labels need ``level=1 - 0.05 / m``.

    Parameters
    ----------
    certificate : Certificate
        Made by ``calibrate`` before these labels were known.
    scores : array_like or frame of shape (n, K), or rows
        Booleans are prediction sets, as ``Certificate.sets`` gives them. Any other numbers are scores, of which
        the certificate makes the sets; 0 and 1 as integers are scores too. Columns of a frame are found by name.
        Or a labelled table, ``pacshift.read(table, label=..., like=certificate)``.
    labels : array_like of shape (n,)
        True labels, matched to the certificate's classes by value; None for rows, which have them.
    level : float
        Confidence of the intervals.

    Returns
    -------
    Check
        The verdict, in a word and in words, the error with its interval, and the same by class.

    Raises
    ------
    InputError
        If the sets or scores do not fit the certificate, a label is not among its classes, a row has no group, all
        rows are there several times, or ``level`` is not a share.

    Examples
    --------
    >>> from pacshift import Population, calibrate
    >>> population = Population.synthetic(2, strength=4, rng=0)
    >>> source, labels = population.draw([0.8, 0.2], 2000, rng=1)
    >>> target, _ = population.draw([0.5, 0.5], 2000, rng=2)
    >>> certificate = calibrate(source, labels, target, epsilon=0.1, delta=0.05, method="PS-W")
    >>> scores, truth = population.draw([0.5, 0.5], 1000, rng=3)
    >>> found = check(certificate, scores, truth)
    >>> found.text[:45]
    '61 of 1,000 rows were missed, 6.1 % (95 % int'
    >>> found.missed <= found.kept_up_to, found.kept_up_to, found.broken_from
    (True, 81, 120)
    >>> few = check(certificate, certificate.sets(scores[:50]), truth[:50])
    >>> few.verdict, few.rows_to_decide > 50
    ('not-proven', True)
    """
    level, classes = check_rate(level, "level"), certificate.classes
    names = () if certificate.columns is None else certificate.columns.scores
    raw: Any = scores.scores if isinstance(scores, Rows) else scores  # None for a table
    sets: BoolArray | None = None
    if raw is not None and not isinstance(raw, CheckedRows):
        if labels is None and not has_labels(scores):
            raise InputError("labels is missing: pass the true label of each row.")
        if is_stream(raw):
            sets = certificate.sets_of_rows(raw)
        elif (values := to_values(raw, "scores", classes, names)[0]).dtype == np.bool_:
            sets = values
    if sets is None or (isinstance(scores, Rows) and scores.groups is not None):
        rows = bind_source(
            scores, labels, name="check", classes=classes, columns=names, softmax=certificate.softmax
        )
    if sets is None:
        (counts,) = misses(rows, [lambda batch: certificate.sets_of_rows(batch.raw_scores)])
        if rows.reread_cost != "never":  # copies would count as evidence
            check_repeats(rows.tally(certificate.own_transform(), soft=False), name="check")
        return _judge(certificate, counts, level, _seen_as(certificate, rows))
    if not len(sets) or sets.shape[1:] != (len(classes),):
        raise InputError(
            f"sets must have at least one row and a column for each of the {len(classes)} classes, got shape "
            f"{sets.shape}. Pass what certificate.sets gives."
        )
    truth: Any = scores.labels if isinstance(scores, Rows) and labels is None else labels
    index = check_labels(truth, classes, n_rows=len(sets), name="check", index=index_of(raw))
    if isinstance(scores, Rows) and scores.groups is not None:
        sets, index = sets[rows.numbers], index[rows.numbers]
    return _judge(certificate, EvaluationCounts.of(sets, index), level)


def _seen_as(certificate: Certificate, rows: CheckedRows) -> Role | None:
    """As what the certificate was made from these rows, if it was. Only as many rows are looked at again."""
    inputs, counting = certificate.provenance.inputs, certificate.provenance.counting
    files, named = rows.last_scan.files, [part for part in inputs if part.name is not None]
    n_rows = {file.n_rows for file in files.values()}
    if any(part.rows_read in n_rows for part in named):
        with rows.hashes() as hashes:
            for file, digest in hashes.items():
                for part in named:
                    if part.rows_read == files[file].n_rows and part.sha256 == digest.result():
                        return part.role
    if rows.reread_cost != "cheap":
        return None
    known = {
        part.role: part.sha256 for part in inputs if part.name is None and part.rows == rows.last_scan.n_given
    }
    if known.get("source"):
        grid, predicted = counting.grid, certificate.predicted_counts is not None
        counted = rows.tally(certificate.own_transform(), soft=False, grid=grid, predicted=predicted)
        if counts_sha256(counted, "source") == known["source"]:
            return "source"
    if known.get("target"):
        counted = as_target(rows).tally(soft=False, bins=counting.bins)
        if counts_sha256(counted, "target") == known["target"]:
            return "target"
    return None


def _judge(certificate: Certificate, counts: EvaluationCounts, level: float, seen_as: Role | None = None) -> Check:
    """Compare epsilon with an exact interval for the error of the population that the rows were drawn from.

    ``seen_as`` says as what the certificate was made from these rows, if it was.
    """
    evaluation, epsilon, classes = counts.evaluation(), certificate.epsilon, certificate.classes

    def name_classes(marked: BoolArray) -> tuple[Label, ...]:
        return tuple(classes[label] for label in np.flatnonzero(marked).tolist())

    errors, judged = certificate.rule.judge(counts)
    n_missed, n_judged = int(errors.sum()), int(judged.sum())
    interval = clopper_pearson(n_missed, n_judged, delta=1 - level)
    # The most misses whose interval lies below epsilon, and the most hits whose interval lies above it.
    few, hits = (binomial_cut(n_judged, epsilon=share, delta=(1 - level) / 2) for share in (epsilon, 1 - epsilon))
    above, kept, apart = tuple[Label, ...](), tuple[Label, ...](), tuple[Label, ...]()
    verdict: CheckVerdict
    stated, limits = stated_shares(certificate), promised_limits(certificate)
    if stated is not None:
        seen = label_shares(evaluation, level)
        apart = name_classes((seen.lower > stated.upper) | (seen.upper < stated.lower))
    if limits is not None:  # the intervals of all limits hold together
        together = clopper_pearson(errors, judged, delta=(1 - level) / (limits < 1).sum())
        small = (together.upper <= limits) | certificate.rule.never_errs
        above, kept = name_classes(together.lower > limits), name_classes(small & (limits < 1))
    within = bool(n_judged) and n_missed <= epsilon * n_judged
    if limits is not None:
        within = within and bool((errors <= limits * judged).all())
    promised, verdict = certificate.guarantee == "pac-target", "not-proven"
    if interval.upper <= epsilon:
        verdict = "kept" if promised else "within-epsilon"
    if are_its_labels(seen_as, certificate):
        verdict = "no-evidence"
    elif above:
        verdict = "broken"
    elif interval.lower > epsilon:
        verdict = "broken" if promised else "above-epsilon"
    elif apart:
        verdict = "no-evidence"
    result = Check(
        verdict=verdict,
        lower=float(interval.lower),
        upper=float(interval.upper),
        level=level,
        kept_up_to=few if few >= 0 else None,
        broken_from=n_judged - hits if hits >= 0 else None,
        rows_to_decide=(
            _rows_to_decide(epsilon, n_missed / n_judged, n_judged, level, of_all=n_judged / evaluation.n)
            if verdict == "not-proven" and n_judged
            else None
        ),
        text="",
        n_judged=n_judged,
        missed=n_missed,
        evaluation=evaluation,
        class_interval=clopper_pearson(counts.misses, counts.rows, delta=1 - level),
        classes_above=above,
        classes_kept=kept,
        classes_apart=apart,
        one_label_interval=clopper_pearson(counts.alone_misses.sum(), counts.alone.sum(), delta=1 - level),
        alone_interval=clopper_pearson(counts.alone_misses, counts.alone, delta=1 - level),
        seen_as=seen_as,
        within=within,
        promised=promised,
    )
    return replace(result, text=visible(check_in_words(result, certificate), keep="\n"))


def _rows_to_decide(epsilon: float, error: float, n_rows: int, level: float, *, of_all: float) -> int | None:
    """The first of some round numbers of rows whose interval would probably lie on one side of epsilon.

    Were the error seen here the true one, as many misses as this count or fewer (for an error below epsilon), or
    as many or more (above), would be found with a chance of about ``CHANCE_TO_DECIDE``. Only the share ``of_all``
    of the rows is judged.
    """
    rows = ROUND_NUMBERS[n_rows < ROUND_NUMBERS]
    spread = scipy.special.ndtri(CHANCE_TO_DECIDE) * np.sqrt(rows * error * (1 - error))
    if error < epsilon:
        most = np.minimum(np.ceil(error * rows + spread), rows)
        decided = clopper_pearson(most, rows, delta=1 - level).upper <= epsilon
    else:
        fewest = np.maximum(np.floor(error * rows - spread), 0)
        decided = clopper_pearson(fewest, rows, delta=1 - level).lower > epsilon
    return int(np.ceil(rows[decided][0] / of_all)) if decided.any() else None
