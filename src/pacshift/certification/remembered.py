"""What a certificate remembers of how it was made, as it was asked for: enough to make it again."""

from collections.abc import Sequence

from pacshift.certificate import Certificate
from pacshift.certification.request import Request, check_request
from pacshift.errors import InputError
from pacshift.methods import METHODS, Method, resolve_method


def method_of(certificate: Certificate, method: Method | None) -> Method:
    """The method that was asked for, with its options."""
    asked = certificate.provenance.asked_method
    name, options = (certificate.method, certificate.options) if asked is None else (asked.name, asked.options)
    if method is not None:
        return resolve_method(method)
    if name not in METHODS:
        raise InputError(f"method {name} is not part of pacshift: pass the method object as method=.")
    try:
        return METHODS[name](**options)
    except TypeError:
        raise InputError(
            f"method {name} has no such options ({options!r}) in this version: verify the certificate with the "
            "version that made it."
        ) from None


def request_of(certificate: Certificate) -> Request:
    """What was asked for, as the certificate says."""
    known, known_mix = certificate.known_mix, None
    if known is not None:
        known_mix = dict(zip(certificate.classes, zip(known.lower, known.upper, strict=True), strict=True))
    return check_request(
        epsilon=certificate.epsilon,
        delta=certificate.delta,
        class_epsilon=certificate.class_epsilon,
        contamination=certificate.contamination,
        known_mix=known_mix,
        never_empty=certificate.never_empty,
        weights=_weights_of(certificate),
        rng=certificate.provenance.seed,
    )


def _weights_of(certificate: Certificate) -> Sequence[float] | None:
    """The weights that were given to ORACLE, whether it answered or labelled target rows did."""
    asked, weights = certificate.provenance.asked_method, certificate.weights
    if asked is None:
        needed, given = certificate.facts.needs_weights, None if weights is None else weights.lower.tolist()
    else:
        known = METHODS.get(asked.name)
        needed, given = asked.weights is not None or bool(known and known.needs_weights), asked.weights
    if needed and given is None:
        raise InputError("this certificate does not say its weights: it cannot be verified.")
    return given if needed else None
