"""Whether the sets in use keep the promise in a period ("The verdict" of docs/methods/monitor.md)."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pacshift.bounds import Interval
from pacshift.certificate import Certificate
from pacshift.certification.request import Request
from pacshift.monitor.coverage import error_bounds, lies_below
from pacshift.monitor.fresh import Fresh
from pacshift.words.numbers import DIGITS, between, digits_apart, given

Verdict: TypeAlias = Literal["kept", "consistent", "broken", "refuted"]

USE_FRESH = "Use the fresh certificate of this period instead."
HAS_FRESH = "The fresh certificate of this period has the guarantee."


@dataclass(frozen=True, slots=True)
class Finding:
    """The verdict, bounds of the error of the sets in use (None if refuted), and both in words."""

    verdict: Verdict
    error: tuple[float, float] | None
    text: str


def missed_in_words(error: tuple[float, float], allowed: float) -> str:
    """Bounds of what is missed, the same wherever they stand: with enough digits to show that it is too much.

    >>> missed_in_words((0.07891234, 0.1021), 0.1), missed_in_words((0.100041, 0.1386), 0.1)
    ('7.89 to 10.3 %', '10.004 to 13.86 %')
    """
    lower, upper = error
    return between(lower, upper, digits_apart(allowed, lower) if lower > allowed else DIGITS)


def judge(fresh: Fresh, in_use: Certificate | None, miss_rates: Interval | None, promise: Request) -> Finding:
    """Compare the sets in use with the promise: first the error, then every class ("The verdict" of the page)."""
    certificate = fresh.certificate
    if certificate is None:
        return Finding("refuted", None, fresh.refusal[:1].upper() + fresh.refusal[1:])
    assert in_use is not None  # the first fresh certificate is adopted
    assert miss_rates is not None
    lower, upper = error_bounds(miss_rates, certificate.prevalence, promise.contamination)
    is_below = lies_below(in_use, certificate)
    upper = min(upper, promise.epsilon) if is_below else upper
    error, allowed = (lower, upper), given(promise.epsilon)
    missed = f"The sets in use miss {missed_in_words(error, promise.epsilon)} of this period"
    if lower > promise.epsilon:
        return Finding("broken", error, f"{missed}, more than the {allowed} allowed. {USE_FRESH}")
    classes = _judge_classes(miss_rates, promise, in_use)
    if classes is not None and (classes.verdict == "broken" or not is_below):
        return Finding(classes.verdict, error, classes.text)
    if upper <= promise.epsilon:
        return Finding("kept", error, f"The sets in use miss at most {allowed} of this period.")
    return Finding("consistent", error, f"{missed}: neither kept nor broken at {allowed} allowed. {HAS_FRESH}")


def _judge_classes(miss_rates: Interval, promise: Request, in_use: Certificate) -> Finding | None:
    """What is wrong with the class that is missed most often; None if no class is missed too often."""
    allowed = promise.class_epsilon
    if allowed is None or (miss_rates.upper <= allowed).all():
        return None
    is_broken = bool((miss_rates.lower > allowed).any())
    worst = int((miss_rates.lower if is_broken else miss_rates.upper).argmax())
    low, high = float(miss_rates.lower[worst]), float(miss_rates.upper[worst])
    shown = missed_in_words((low, high), allowed)
    whose = " in the label-shifted part" if promise.contamination else ""
    missed = f"The sets in use miss {shown} of class {in_use.classes[worst]!r}{whose}"
    if is_broken:
        return Finding("broken", None, f"{missed}, more than the {given(allowed)} allowed. {USE_FRESH}")
    return Finding(
        "consistent", None, f"{missed}: neither kept nor broken at {given(allowed)} allowed. {HAS_FRESH}"
    )
