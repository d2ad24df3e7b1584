"""Labels arrived later: was the promise of a certificate kept?"""

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy

from pacshift.arrays import BoolArray, LabelsLike, ScoresLike
from pacshift.bounds import Interval, clopper_pearson
from pacshift.certificate import Certificate
from pacshift.display import short_repr
from pacshift.errors import InputError
from pacshift.evaluation import Evaluation, EvaluationCounts
from pacshift.methods.guarantee import MEANINGS
from pacshift.scores.check import check_labels, check_rate, check_scores
from pacshift.scores.containers import to_values
from pacshift.scores.frames import index_of
from pacshift.scores.streams import is_stream
from pacshift.tally.groups import one_row_per_group
from pacshift.wording import between, given, percent

CheckVerdict: TypeAlias = Literal["kept", "consistent", "broken", "above"]

CHANCE_TO_DECIDE = 0.8
"""What "would probably decide" means: the usual power of a planned study."""

ROUND_NUMBERS = np.array([digits * 10**zeros for zeros in range(6) for digits in range(10, 100)])
"""Numbers of rows that are tried, up to 9.9 million. Beyond, the error can hardly be told from epsilon."""


@dataclass(frozen=True, slots=True, eq=False)
class Check:
    """What labelled rows say about a certificate.

    Parameters
    ----------
    verdict : {"kept", "consistent", "broken", "above"}
        ``"kept"``: the whole interval is at most epsilon. ``"broken"``: all of it is above, although the
        certificate guarantees the target. ``"above"``: all of it is above, but no such thing was guaranteed.
        ``"consistent"``: these rows are too few to tell.
    lower, upper : float
        Exact interval of the error of the population that the rows were drawn from (Clopper and Pearson).
    level : float
        Confidence of this interval, and of those of the classes.
    rows_to_decide : int or None
        If the verdict is ``"consistent"``: about how many rows in all would decide with a chance of 80 %, were the
        error exactly the one seen here. None where the error is too close to epsilon to tell.
    text : str
        All this in words.
    evaluation : Evaluation
        Error and size of the sets, over all rows and by true label.
    class_interval : Interval
        Exact intervals of the error by true label. Each holds at ``level`` by itself, not all of them together;
        ``[0, 1]`` for a class without rows.

    Examples
    --------
    >>> from pacshift import calibrate
    >>> scores, labels = [[0.9, 0.1], [0.2, 0.8]] * 50, [0, 1] * 50
    >>> found = check(calibrate(scores, labels, None, method="PS-LW"), scores, labels)
    >>> found.verdict, found.error, round(found.upper, 3)
    ('kept', 0.0, 0.036)
    """

    verdict: CheckVerdict
    lower: float
    upper: float
    level: float
    rows_to_decide: int | None
    text: str
    evaluation: Evaluation = field(repr=False)
    class_interval: Interval = field(repr=False)

    __repr__ = short_repr

    @property
    def error(self) -> float:
        """Share of the rows whose set misses the true label."""
        return self.evaluation.error


def check(
    certificate: Certificate,
    sets_or_scores: ScoresLike,
    labels: LabelsLike,
    *,
    level: float = 0.95,
    groups: LabelsLike | None = None,
) -> Check:
    """Was the promise kept? Compare the sets of labelled rows with epsilon.

    The rows must be a random sample of the target, and not be among those that the certificate was made from.

    Parameters
    ----------
    certificate : Certificate
        Made by ``calibrate`` before these labels were known.
    sets_or_scores : array_like or frame of shape (n, K)
        Booleans are prediction sets, as ``Certificate.sets`` gives them. Any other numbers are scores, of which
        the certificate makes the sets; 0 and 1 as integers are scores too. Columns of a frame are found by name.
    labels : array_like of shape (n,)
        True labels, matched to the certificate's classes by value.
    level : float
        Confidence of the intervals.
    groups : array_like of shape (n,), optional
        Group of each row, such as the patient, if several rows belong to one: one random row of each group is
        compared, as ``calibrate`` counts them.

    Returns
    -------
    Check
        The verdict, in a word and in words, the error with its interval, and the same by class.

    Raises
    ------
    InputError
        If the sets or scores do not fit the certificate, a label is not among its classes, a row has no group, or
        ``level`` is not a share.

    Examples
    --------
    >>> from pacshift import Population, calibrate
    >>> population = Population.synthetic(2, strength=4, rng=0)
    >>> source, labels = population.draw([0.8, 0.2], 2000, rng=1)
    >>> target, _ = population.draw([0.5, 0.5], 2000, rng=2)
    >>> certificate = calibrate(source, labels, target, epsilon=0.1, delta=0.05, method="PS-W")
    >>> scores, truth = population.draw([0.5, 0.5], 1000, rng=3)
    >>> check(certificate, scores, truth).text
    'The error is at most the 10 % asked for (error 5.5 %, 95 % interval 4.169 to 7.1 %).'
    >>> few = check(certificate, certificate.sets(scores[:50]), truth[:50])
    >>> few.verdict, few.rows_to_decide
    ('consistent', 1800)
    """
    level = check_rate(level, "level")
    sets = _sets(certificate, sets_or_scores)
    index = check_labels(
        labels, certificate.classes, n_rows=len(sets), name="check", index=index_of(sets_or_scores)
    )
    if groups is not None:
        columns = () if certificate.columns is None else certificate.columns.scores
        rows = check_scores(sets_or_scores, name="check", classes=certificate.classes, columns=columns)
        places = one_row_per_group(groups, rows, index)
        sets, index = sets[places], index[places]
    return check_evaluation(certificate, EvaluationCounts.of(sets, index).evaluation(), level=level)


def _sets(certificate: Certificate, given: Any) -> BoolArray:
    """Sets as they are; of scores, the sets that the certificate makes."""
    if is_stream(given):
        return certificate.sets_of_rows(given)
    columns = () if certificate.columns is None else certificate.columns.scores
    values, _ = to_values(given, "scores", certificate.classes, columns)
    if values.dtype != np.bool_:
        return certificate.sets_of_rows(values)
    if not len(values) or values.shape[1:] != (len(certificate.classes),):
        raise InputError(
            f"sets must have at least one row and a column for each of the {len(certificate.classes)} classes, "
            f"got shape {values.shape}. Pass what certificate.sets gives."
        )
    return values


def check_evaluation(certificate: Certificate, evaluation: Evaluation, *, level: float) -> Check:
    """Compare epsilon with an exact interval for the error of the population that the rows were drawn from."""
    missed = np.rint(np.nan_to_num(evaluation.class_error) * evaluation.class_counts)
    by_class = clopper_pearson(missed, evaluation.class_counts, delta=1 - level)
    interval = clopper_pearson(missed.sum(), evaluation.n, delta=1 - level)
    lower, upper = float(interval.lower), float(interval.upper)
    verdict: CheckVerdict = "consistent"
    if lower > certificate.epsilon:
        verdict = "broken" if certificate.guarantee == "pac-target" else "above"
    elif upper <= certificate.epsilon:
        verdict = "kept"
    rows = _rows_to_decide(certificate.epsilon, evaluation, level) if verdict == "consistent" else None
    where = f"error {percent(evaluation.error, 4)}, {given(level)} interval {between(lower, upper, 4)}"
    text = _in_words(verdict, certificate, evaluation.n, where, rows)
    return Check(verdict, lower, upper, level, rows, text, evaluation, by_class)


def _rows_to_decide(epsilon: float, evaluation: Evaluation, level: float) -> int | None:
    """The first of some round numbers of rows whose interval would probably lie on one side of epsilon.

    Were the error seen here the true one, as many misses as this count or fewer (for an error below epsilon), or
    as many or more (above), would be found with a chance of about ``CHANCE_TO_DECIDE``.
    """
    error, rows = evaluation.error, ROUND_NUMBERS[evaluation.n < ROUND_NUMBERS]
    spread = scipy.special.ndtri(CHANCE_TO_DECIDE) * np.sqrt(rows * error * (1 - error))
    if error < epsilon:
        most = np.minimum(np.ceil(error * rows + spread), rows)
        decided = clopper_pearson(most, rows, delta=1 - level).upper <= epsilon
    else:
        fewest = np.maximum(np.floor(error * rows - spread), 0)
        decided = clopper_pearson(fewest, rows, delta=1 - level).lower > epsilon
    return int(rows[decided][0]) if decided.any() else None


def _in_words(verdict: CheckVerdict, certificate: Certificate, n_rows: int, where: str, rows: int | None) -> str:
    allowed, caveat = given(certificate.epsilon), MEANINGS[certificate.guarantee].caveat
    said = {
        "kept": f"The error is at most the {allowed} asked for",
        "consistent": f"An error of at most {allowed} is possible, but {n_rows:,} rows are too few to be sure",
    }
    sentences = [f"{said.get(verdict, f'The error is above the {allowed} asked for')} ({where})."]
    if rows is not None:
        sentences.append(f"If the true error is the one seen here, about {rows:,} rows would probably decide.")
    if verdict == "broken":
        sentences.append(_why_broken(certificate))
    if caveat:
        sentences.append(f"{certificate.method} {caveat}.")
    return " ".join(sentences)


def _why_broken(certificate: Certificate) -> str:
    extra = certificate.facts.extra_assumption
    return (
        "The guarantee was broken. Either these rows are not from the target that was calibrated for, or "
        f"label shift does not hold, {f'or this does not hold: “{extra}”, ' if extra else ''}"
        f"or this is one of the unlucky calibrations, at most {given(certificate.delta)}."
    )
