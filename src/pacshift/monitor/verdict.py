"""Whether the sets in use keep the promise in a period, in the order of docs/methods/monitor.md.

How δ is spent over reports ("Shares of δ"), the fresh certificate of a period, what a certificate in use achieves
(Lemmas 1 and 3), and the verdict.
"""

import warnings
from dataclasses import replace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from pacshift.bounds import Interval
from pacshift.certificate import Certificate
from pacshift.certification.certify import certify
from pacshift.certification.counting import CalibrationData
from pacshift.certification.request import Request
from pacshift.errors import AssumptionError, UninformativeWarning
from pacshift.methods import Method
from pacshift.mix.programs import largest_means
from pacshift.rows.columns import Columns
from pacshift.tally import Tally
from pacshift.words.findings import next_steps
from pacshift.words.numbers import between, capital, digits_against, given

Verdict: TypeAlias = Literal["kept", "not-proven", "broken", "shift-rejected"]

SOURCE_SHARE = 0.1
"""Share of δ for the miss rates of the source. It is spent once, however many reports there are.
A round number; not measured."""
FRESH_SHARE = 0.8
"""Share of δ for the fresh certificates. What is left covers the test of label shift, at a tenth of theirs.
A round number; not measured."""

THIS_PERIOD = "Such sets are for this period alone; later ones are compared with the source as before"
"""What labels are for after label shift was rejected. Terminal and page say the commands."""
USE_FRESH = "Use this period's own certificate instead."
HAS_FRESH = "This period's own certificate has the promise."


def report_delta(delta: float, number: int, *, forever: bool) -> float:
    """δ of the fresh certificate of report ``number``, counted from 1 over all reports of a monitor.

    A report by itself gets the whole share. ``forever`` uses the series 1 / (i (i + 1)), which adds up to 1. Every
    look at a period is a report with a number of its own, so a period that late rows open again pays again.

    >>> round(report_delta(0.1, 3, forever=False), 6), round(report_delta(0.1, 3, forever=True), 6)
    (0.08, 0.006667)
    """
    return FRESH_SHARE * delta / (number * (number + 1)) if forever else FRESH_SHARE * delta


def source_delta(delta: float) -> float:
    """δ of the band around the miss rates of the source, for all reports together.

    >>> round(source_delta(0.1), 6)
    0.01
    """
    return SOURCE_SHARE * delta


def certify_period(tally: Tally, method: Method, request: Request, columns: Columns | None) -> Certificate | str:
    """The certificate of the period's rows, which remembers ``columns``, or why label shift is rejected."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UninformativeWarning)  # few rows: the verdict says what is not proven
            return replace(certify(CalibrationData(tally), method, request, with_sizes=False), columns=columns)
    except AssumptionError as error:
        return f"{error.refusal} {next_steps(command=THIS_PERIOD)}"  # sizes were expected for this report's delta


def lies_below(in_use: Certificate, fresh: Certificate) -> bool:
    """Whether every threshold in use is at most the fresh one, so that its error is at most as large (Lemma 1)."""
    return bool((in_use.thresholds <= fresh.thresholds).all())


def error_bounds(
    miss_rates: Interval, prevalence: Interval | None, contamination: float = 0.0
) -> tuple[float, float]:
    """Smallest and largest Σ t_j e_j over the mixes and miss rates that the bounds allow (Lemma 3).

    Without bounds of the mix every mix is allowed. Contaminated rows may all be missed, or none of them.

    >>> error_bounds(Interval(np.array([0.1, 0.3]), np.array([0.2, 0.5])), None)
    (0.1, 0.5)
    """
    size = len(miss_rates.lower)
    box = prevalence if prevalence is not None else Interval(np.zeros(size), np.ones(size))
    most = largest_means(np.stack([-miss_rates.lower, miss_rates.upper]), box)
    lower, upper = -float(most[0]), float(most[1])
    clean = 1 - contamination
    return max(clean * lower, 0.0) + 0.0, min(clean * upper + contamination, 1.0)


class Finding(NamedTuple):
    """The verdict, bounds of the error in use (None if label shift was rejected), and both in words."""

    verdict: Verdict
    error: tuple[float, float] | None
    text: str


def judge(
    fresh: Certificate | str, in_use: Certificate | None, miss_rates: Interval | None, promise: Request
) -> Finding:
    """Compare the sets in use with the promise: first the error, then every class ("The verdict" of the page)."""
    if isinstance(fresh, str):
        return Finding("shift-rejected", None, capital(fresh))
    assert in_use is not None and miss_rates is not None  # noqa: PT018  # the first fresh certificate is adopted
    lower, upper = error_bounds(miss_rates, fresh.prevalence, promise.contamination)
    is_below, limit = lies_below(in_use, fresh), promise.class_epsilon
    upper = min(upper, promise.epsilon) if is_below else upper

    def say(verdict: Verdict, missed: tuple[float, float], allowed: float, whose: str) -> Finding:
        share = between(*missed, digits_against(missed[0], allowed))
        what = USE_FRESH if verdict == "broken" else HAS_FRESH
        return Finding(verdict, (lower, upper), f"{share}{whose} are missed; {given(allowed)} are allowed. {what}")

    if lower > promise.epsilon:
        return say("broken", (lower, upper), promise.epsilon, "")
    if limit is not None and (miss_rates.upper > limit).any():  # the class that is missed most often
        is_broken = bool((miss_rates.lower > limit).any())
        if is_broken or not is_below:
            worst = int((miss_rates.lower if is_broken else miss_rates.upper).argmax())
            missed = float(miss_rates.lower[worst]), float(miss_rates.upper[worst])
            part = f" outside those {given(promise.contamination)}" if promise.contamination else ""
            whose = f" of {in_use.classes[worst]!r}{part}"
            return say("broken" if is_broken else "not-proven", missed, limit, whose)
    if upper <= promise.epsilon:
        kept = f"At most {given(promise.epsilon)} are missed."
        return Finding("kept", (lower, upper), kept)
    return say("not-proven", (lower, upper), promise.epsilon, "")
