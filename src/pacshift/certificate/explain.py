"""A certificate in plain words: guarantee, assumption, data, sets, notes."""

from typing import TYPE_CHECKING

import numpy as np

from pacshift.scores.check import shorten

if TYPE_CHECKING:
    from pacshift.certificate import Certificate

LABEL_SHIFT = (
    "label shift. Within each class, target examples look like source examples; "
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
    holds = f"the set contains the true label for at least {covered} of the"
    promise = {
        "pac-target": f"{holds} target population, with confidence {sure} over the calibration data.",
        "pac-source": f"{holds} source population, with confidence {sure} over the calibration data. "
        "Nothing is guaranteed on the target if the label mix differs.",
        "marginal": f"on average over many calibrations, {holds} target population. "
        "This one calibration may do worse.",
        "none": " ".join(["none, even if label shift holds.", certificate.facts.extra_assumption]).strip(),
    }
    return f"Guarantee ({certificate.method}): {promise[certificate.guarantee]}"


def _assumption(certificate: "Certificate") -> list[str]:
    """Label shift and what the method adds to it. Without a guarantee there is nothing to assume."""
    facts, guarantee = certificate.facts, certificate.guarantee
    sentences = [LABEL_SHIFT] if guarantee in ("pac-target", "marginal") else []
    if sentences and facts.any_mix:
        sentences.append("Any target label mix is covered.")
    if facts.extra_assumption and guarantee != "none":
        sentences.append(facts.extra_assumption)
    return [f"Assumption: {' '.join(sentences)}"] if sentences else []


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
        why = " The notes say why." if certificate.reasons else ""
        return f"Sets: every set contains all labels. This is always correct but never informative.{why}"
    thresholds = np.unique(certificate.thresholds)
    if len(thresholds) == 1:
        return f"Sets: all labels whose{kind} score is at least {thresholds[0]:.6g}."
    always = [
        name for name, cut in zip(certificate.classes, certificate.thresholds, strict=True) if cut == -np.inf
    ]
    text = f"Sets: all labels whose{kind} score is at least the label's own threshold."
    return text + (f" In every set: {shorten(always)}." if always else "")
