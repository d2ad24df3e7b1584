"""What labelled rows say about a certificate, in words."""

from typing import TYPE_CHECKING

from pacshift.certificate import Certificate
from pacshift.certificate.explain import filled
from pacshift.methods.guarantee import MEANINGS
from pacshift.scores.check import shorten
from pacshift.wording import between, given, percent

if TYPE_CHECKING:
    from pacshift.certification.check import Check


def in_words(found: "Check", certificate: Certificate) -> str:
    """The verdict, the counts behind it, why a promise may be broken, and what was promised."""
    caveat = MEANINGS[certificate.guarantee].caveat
    sentences = [_error(found, certificate), _counts(found, certificate)]
    if found.rows_to_decide is not None:
        rows = f"about {found.rows_to_decide:,} rows"
        sentences.append(f"If the true error is the one seen here, {rows} would probably decide.")
    if found.classes_above:
        sentences.append(_classes(found, certificate))
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
    assert limit is not None  # else no class is above it
    return (
        f"More than the {given(limit)} promised for every class are missed of {shorten(found.classes_above)} "
        f"(all classes together at {given(found.level)})."
    )


def _why_broken(found: "Check", certificate: Certificate) -> str:
    extra = certificate.facts.extra_assumption
    return (
        "The guarantee was broken. Either these rows are not from the target that was calibrated for, or "
        f"label shift does not hold, {f'or this does not hold: “{extra}”, ' if extra else ''}"
        f"or this is one of the unlucky calibrations, at most {given(certificate.delta)}, or these rows are an "
        f"unlucky sample, at most {given((1 - found.level) / 2)}."
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
