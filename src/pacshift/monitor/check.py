"""What a monitor accepts, checked once at its door."""

from typing import Any

from pacshift.certificate import Certificate
from pacshift.certification.counting import check_repeats
from pacshift.errors import InputError
from pacshift.methods import Method
from pacshift.scores.kind import require_same_kind
from pacshift.scores.names import shorten
from pacshift.tally import Tally


def check_source(source: Any) -> Tally:
    """The source itself, if it is a tally of labelled rows alone."""
    if not isinstance(source, Tally) or not source.n_source:
        got = type(source).__name__ if not isinstance(source, Tally) else "a tally without labelled rows"
        raise InputError(f"source must be a Tally of labelled rows, as Tally.from_scores makes it, got {got}.")
    if source.n_target:
        raise InputError(
            f"source must hold labelled rows only, it also holds {source.n_target:,} target rows. "
            "Pass those with update(...)."
        )
    check_repeats(source)
    return source


def require_own_promise(method: Method) -> Method:
    """The method itself, if it has a guarantee on the target."""
    if method.guarantee != "pac-target" or method.needs_weights:
        raise InputError(
            f"a monitor needs a method with a promise about the target, {method.name} has none of its own. "
            "Choose PS-LP, PS-W, PS-C or PS-LW."
        )
    return method


def check_target(target: Tally, source: Tally) -> None:
    """Refuse rows of a period that do not fit the source."""
    if target.n_source or not target.n_target:
        raise InputError("a period must be a tally of unlabelled rows (Tally.from_target(scores)), at least one.")
    if (target.classes, target.softmax) != (source.classes, source.softmax):
        Tally.sum([source, target])  # says why they do not go together
    require_same_kind(source.full_source_kind, target.full_target_kind, name="period", n_rows=target.n_target)


def require_sets(certificate: Certificate) -> None:
    """Refuse a certificate that accepts labels and makes no sets."""
    if certificate.rule.of_labels:
        raise InputError(
            "a monitor watches sets, but this certificate accepts top labels (pacshift.accept). Watch one that "
            "calibrate made of the same source, and accept again where the label mix has changed."
        )


def check_certificate(certificate: Certificate, source: Tally) -> None:
    """Refuse a certificate without sets, for other classes or for another score."""
    require_sets(certificate)
    for name in ("classes", "score", "softmax"):
        taken, counted = getattr(certificate, name), getattr(source, name)
        if taken != counted:
            its, other = (shorten(each) if name == "classes" else repr(each) for each in (taken, counted))
            raise InputError(
                f"the certificate has {name}={its}, but the source {name}={other}. Count the source as the "
                f"certificate takes its scores: {name}={its}."
            )
