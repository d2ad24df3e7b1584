"""A certificate in plain words."""

from typing import TYPE_CHECKING

import numpy as np

from pacshift.scores.check import shorten

if TYPE_CHECKING:
    from pacshift.certificate import Certificate

ASSUMPTION = (
    "Assumption: label shift. Within each class, target examples look like source examples; "
    "only how frequent the classes are has changed. Both samples are independent draws."
)


def explain(certificate: "Certificate") -> str:
    """What holds, for whom, how surely, under which assumption, from how much data."""
    lines = [_guarantee(certificate), *_assumption(certificate), _data(certificate), _sets(certificate)]
    lines += [f"Note: {reason}" for reason in certificate.reasons]
    if certificate.accuracy is not None:
        lines.append(
            f"The classifier's own accuracy on the target is at least {percent(certificate.accuracy)} "
            "(same confidence, same assumption)."
        )
    return "\n".join(lines)


def percent(share: float) -> str:
    """A share as a percentage with the digits that matter.

    >>> percent(0.9), percent(0.9995), percent(1 - 1e-8)
    ('90 %', '99.95 %', '99.999999 %')
    """
    short = f"{100 * share:.6g}"
    return f"{100 * share:.15g} %" if short == "100" and share < 1 else f"{short} %"  # 100 % would be a lie


def _guarantee(certificate: "Certificate") -> str:
    covered, sure = percent(1 - certificate.epsilon), percent(1 - certificate.delta)
    who = {"pac-target": "target", "pac-source": "source"}.get(certificate.guarantee)
    if who is not None:
        also = "" if who == "target" else " Nothing is guaranteed on the target if the label mix differs."
        return (
            f"Guarantee ({certificate.method}): the set contains the true label for at least {covered} "
            f"of the {who} population, with confidence {sure} over the calibration data.{also}"
        )
    if certificate.guarantee == "marginal":
        if_true = (
            "" if certificate.method == "LWCP" else "and only if the importance weights used are the true ones; "
        )
        return (
            f"Guarantee ({certificate.method}): {covered} coverage only on average over many calibrations; "
            f"{if_true}this one calibration may do worse."
        )
    return (
        f"Guarantee ({certificate.method}): none. The estimated importance weights are used as if they were true."
    )


def _assumption(certificate: "Certificate") -> list[str]:
    if certificate.guarantee == "pac-source":
        return []
    known = {
        "ORACLE": " The importance weights given are the true ones.",
        "PS-LW": " Any target label mix is covered.",
        "LWCP": " Any target label mix is covered.",
    }
    return [ASSUMPTION + known.get(certificate.method, "")]


def _data(certificate: "Certificate") -> str:
    rarest = int(np.argmin(certificate.class_counts))
    fewest = f"fewest: {certificate.class_counts[rarest]:,} of class {certificate.classes[rarest]!r}"
    return (
        f"Data: {certificate.n_source:,} labelled source examples ({fewest}), "
        f"{certificate.n_target:,} unlabelled target examples, {len(certificate.classes)} classes."
    )


def _sets(certificate: "Certificate") -> str:
    kind = "" if certificate.score == "probability" else f" {certificate.score}"
    if certificate.trivial:
        return "Sets: every set holds all labels. That is always right and never informative; the notes say why."
    thresholds = np.unique(certificate.thresholds)
    if len(thresholds) == 1:
        return f"Sets: all labels whose{kind} score is at least {thresholds[0]:.6g}."
    always = [
        name for name, cut in zip(certificate.classes, certificate.thresholds, strict=True) if cut == -np.inf
    ]
    text = f"Sets: all labels whose{kind} score reaches the label's own threshold."
    return text + (f" In every set: {shorten(always)}." if always else "")
