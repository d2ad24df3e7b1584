"""What a monitor accepts, checked once at its door."""

from typing import Any

import numpy as np

from pacshift.certificate import Certificate
from pacshift.certification.counted import check_repeats
from pacshift.certification.request import Request
from pacshift.errors import InputError
from pacshift.labels.sheet import LabelSheet
from pacshift.methods import PST, Method
from pacshift.monitor.state import Labelled
from pacshift.scores.kind import require_same_kind
from pacshift.scores.names import shorten
from pacshift.tally import Tally
from pacshift.tally.same_rows import may_hold


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


def check_new_source(
    labelled: Tally,
    certificate: Certificate,
    sheet: LabelSheet | None,
    source: Tally,
    period: Tally,
    asked: Request,
) -> None:
    """Refuse labelled rows that cannot take the place of the source, and a certificate that they did not make.

    Only the looks of a sheet are paid for, so the rows must be those of the last one. The certificate must promise
    what the monitor asks for.
    """
    check_source(labelled)
    kinds = [(each.classes, each.score, each.softmax) for each in (labelled, source)]
    if kinds[0] != kinds[1] or (source.soft is not None and labelled.soft is None):
        raise InputError(
            "the labelled rows must be counted as the source was: with the same classes, score=, soft= and "
            "softmax=."
        )
    if labelled.n_source > period.n_target:
        raise InputError(
            f"{labelled.n_source:,} labelled rows of a period of {period.n_target:,} rows. Label rows of the "
            "period itself, each once."
        )
    if not may_hold(period, labelled):
        raise InputError(
            "the labelled rows are not rows of the period: it has fewer of their kind, or none. Label a random "
            "sample of the rows that were counted, each once, with the scores that were counted."
        )
    check_certificate(certificate, source)
    if certificate.method != PST.name:
        raise InputError(
            f"the certificate of a new source must be made by its labels, got one by {certificate.method}. "
            'Make it with calibrate(..., labelled=sheet, method="PS-T").'
        )
    for name in ("epsilon", "delta", "class_epsilon"):
        most, found = getattr(asked, name), getattr(certificate, name)
        if most is not None and (found is None or found > most):
            raise InputError(
                f"the certificate has {name}={found}, the monitor has {name}={most:g}. Make it with at most the "
                f"monitor's {name}."
            )
    if sheet is None:
        return
    if sheet.n_filled > sheet.n_from_top:
        raise InputError(
            f"{sheet.name}: rows were left blank. A monitor takes a sheet that is filled from the top."
        )
    look = sheet.last_complete_look
    n_used = 0 if look is None else sheet.looks[look]
    index = sheet.label_index(labelled.classes)[:n_used]
    if not n_used or (np.bincount(index[index >= 0], minlength=labelled.n_classes) != labelled.class_counts).any():
        raise InputError(
            f"the labelled rows are not the first {n_used:,} of {sheet.name}, which its last complete look has. "
            "Give the rows of that look with their labels, without those that nobody can tell."
        )


def check_certificate(certificate: Certificate, source: Tally) -> None:
    """Refuse a certificate for other classes or another score, or one that accepts labels and makes no sets."""
    if certificate.accepts:
        raise InputError(
            "a monitor watches sets, but this certificate accepts top labels (pacshift.accept). Watch one that "
            "calibrate made of the same source, and accept again where the label mix has changed."
        )
    for name in ("classes", "score", "softmax"):
        taken, counted = getattr(certificate, name), getattr(source, name)
        if taken != counted:
            own, other = (shorten(each) if name == "classes" else repr(each) for each in (taken, counted))
            raise InputError(
                f"the certificate has {name}={own}, but the source {name}={other}. Count the source as the "
                f"certificate takes its scores: {name}={own}."
            )


def is_later_look(known: Labelled, rows: Tally, sheet: str | None) -> bool:
    """Whether there are more labels of a period than before; False if they are the same. Others are refused."""
    if known.sheet != sheet:
        raise InputError(
            f"{known.period} was labelled with another sheet before. Two sheets would spend delta twice. Go on "
            "with the first sheet."
        )
    if not known.in_source:
        raise InputError(
            f"the labelled rows of {known.period} are no longer the source: a later period contradicts them, or "
            "the first source was chosen again. Label rows of a later period."
        )
    if known.rows == rows:
        return False
    if sheet is None:
        raise InputError(
            f"{known.period} was labelled before, without a sheet. How many rows are labelled must be fixed "
            "beforehand, or be one of the looks of a sheet. Keep the labels that were given."
        )
    if rows.n_source <= known.rows.n_source or not may_hold(rows, known.rows):
        raise InputError(
            f"{known.rows.n_source:,} labelled rows of {known.period} were given before, these are "
            f"{rows.n_source:,} others. Labels that were given cannot be changed. Give all of them, and more."
        )
    return True
