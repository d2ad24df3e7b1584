"""What labelled rows say about a certificate, in words."""

from typing import TYPE_CHECKING

import numpy as np

from pacshift.bounds import Interval, clopper_pearson
from pacshift.certificate import Certificate
from pacshift.evaluation import Evaluation
from pacshift.methods.guarantee import MEANINGS
from pacshift.scores.check import shorten
from pacshift.words.numbers import between, given, percent
from pacshift.words.statements import filled

if TYPE_CHECKING:
    from pacshift.certification.check import Check
    from pacshift.tally.inputs import Role

MAX_LISTED = 3
"""Classes whose shares are named; the others are counted."""


def in_words(found: "Check", certificate: Certificate) -> str:
    """The verdict, the counts behind it, why a promise may be broken, and what was promised."""
    caveat = MEANINGS[certificate.guarantee].caveat
    if found.verdict == "no evidence":
        return f"{_not_the_target(found, certificate)} The error on these rows is {percent(found.error, 4)}."
    sentences = [_error(found, certificate), _counts(found, certificate)]
    if found.rows_to_decide is not None:
        rows = f"about {found.rows_to_decide:,} rows"
        sentences.append(f"If the true error is the one seen here, {rows} would probably decide.")
    if class_limit(certificate) is not None:
        sentences.append(_classes(found, certificate))
    looked = not certificate.facts.any_mix and certificate.guarantee != "pac-source"  # at the target's scores
    if found.classes_apart or (found.seen_as == "target" and looked):
        sentences.append(_not_the_target(found, certificate))
    elif found.seen_as is None and np.array_equal(found.evaluation.class_counts, certificate.class_counts):
        sentences.append(
            "These rows have exactly as many cases of every class as the source: if they are its rows, saved "
            "otherwise, they prove nothing."
        )
    if found.verdict == "broken":
        sentences.append(_why_broken(found, certificate))
    if caveat:
        sentences.append(f"{certificate.method} {caveat}.")
    if found.verdict == "above":
        promised = filled(MEANINGS[certificate.guarantee].one_line, certificate)
        sentences.append(f"What it had promised: {promised}.")
    return " ".join(sentences)


def _error(found: "Check", certificate: Certificate) -> str:
    allowed, n_rows = given(certificate.epsilon), found.evaluation.n
    said = f"The error is above the {allowed} asked for"
    if found.upper <= certificate.epsilon:
        said = f"The error is at most the {allowed} asked for"
    elif found.lower <= certificate.epsilon:
        said = f"An error of at most {allowed} is possible, but {n_rows:,} rows are too few to be sure"
    where = (
        f"error {percent(found.error, 4)}, {given(found.level)} interval {between(found.lower, found.upper, 4)}"
    )
    return f"{said} ({where})."


def _counts(found: "Check", certificate: Certificate) -> str:
    """How many misses among so many rows decide, and how many there were."""
    few, many = found.kept_up_to, found.broken_from
    shows = [
        "none shows" if few == 0 else f"up to {few:,} show" if few is not None else "not even none shows",
        f"{many:,} or more" if many is not None else "not even all of them",
    ]
    return (
        f"Of {found.evaluation.n:,} rows {found.missed:,} are missed: {shows[0]} an error of at most "
        f"{given(certificate.epsilon)}, {shows[1]} one above it."
    )


def _classes(found: "Check", certificate: Certificate) -> str:
    limit = class_limit(certificate)
    assert limit is not None  # in_words has looked
    together = f"(all classes together at {given(found.level)})"
    if found.classes_above:
        return (
            f"More than the {given(limit)} promised for every class are missed of {shorten(found.classes_above)} "
            f"{together}."
        )
    open_ones = [name for name in certificate.classes if name not in found.classes_kept]
    if not open_ones:
        return f"No class is missed more often than the {given(limit)} promised for every class {together}."
    return (
        f"Whether at most the {given(limit)} promised for every class is missed, these rows do not tell for "
        f"{shorten(open_ones)} {together}."
    )


def tells_nothing(seen_as: "Role | None", certificate: Certificate) -> bool:
    """Whether thresholds were found with the labels of these rows."""
    return seen_as == "source" or (seen_as == "target" and certificate.n_target_labels > 0)


def stated_shares(certificate: Certificate) -> Interval | None:
    """What the certificate says about the shares of classes in the target; with contamination, in all of it."""
    mix, other = certificate.prevalence, certificate.contamination
    return None if mix is None else Interval(mix.lower * (1 - other), mix.upper * (1 - other) + other)


def label_shares(evaluation: Evaluation, level: float) -> Interval:
    """Exact intervals of the shares of classes in the population of the rows, right for all classes at once."""
    counts = evaluation.class_counts
    return clopper_pearson(counts, evaluation.n, delta=(1 - level) / len(counts))


def _not_the_target(found: "Check", certificate: Certificate) -> str:
    """Why these rows are no evidence, or less than they seem."""
    if tells_nothing(found.seen_as, certificate):
        where = "These are the source's rows, on which" if found.seen_as == "source" else (
            "These are the target's rows, with whose labels"
        )  # fmt: skip
        return (
            f"{where} the thresholds were found: they prove nothing about the target. Check labelled rows of the "
            "target that came later."
        )
    if not found.classes_apart:
        return (
            "The certificate was made from the scores of these rows, which the interval does not take into "
            "account: later rows of the target would be better evidence."
        )
    stated, seen = stated_shares(certificate), label_shares(found.evaluation, found.level)
    assert stated is not None  # else no class is apart
    apart = [
        f"{name!r} makes up {between(seen.lower[place], seen.upper[place])} by these rows and "
        f"{between(stated.lower[place], stated.upper[place])} of the target by the certificate"
        for place, name in enumerate(certificate.classes)
        if name in found.classes_apart
    ]
    more = f", and {len(apart) - MAX_LISTED:,} more classes differ" if len(apart) > MAX_LISTED else ""
    return (
        f"{', '.join(apart[:MAX_LISTED])}{more}: these rows are not a random sample of the target that the "
        "certificate is about, or label shift does not hold, or one of these bounds is unlucky, the first at most "
        f"{given(1 - found.level)}, the second at most {given(certificate.delta)}."
    )


def _why_broken(found: "Check", certificate: Certificate) -> str:
    extra, needs_shift = certificate.facts.extra_assumption, certificate.facts.assumes_label_shift
    assumed = "label shift does not hold" if needs_shift else "its labelled rows were not a random sample of it"
    # The error of all rows is judged at half of 1 - level; where classes are, they spend the other half together.
    unlucky = (1 - found.level) / (2 if class_limit(certificate) is None else 1)
    return (
        "The guarantee was broken. Either these rows are not from the target that was calibrated for, or "
        f"{assumed}, {f'or this does not hold: “{extra}”, ' if extra else ''}"
        f"or this is one of the unlucky calibrations, at most {given(certificate.delta)}, or these rows are an "
        f"unlucky sample, at most {given(unlucky)}."
    )


def class_limit(certificate: Certificate) -> float | None:
    """The share of every class that may be missed by what was promised; None if there is no such promise.

    With contamination a limit is about the label-shifted part, of which these rows are not a sample.
    """
    if certificate.contamination:
        return None
    if certificate.class_epsilon is None and certificate.guarantee == "pac-target" and certificate.facts.any_mix:
        return certificate.epsilon  # whatever the mix is, even if all cases are of one class
    return certificate.class_epsilon
