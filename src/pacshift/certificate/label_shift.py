"""What a certificate says about its assumption: what the promise rests on, what the test saw, what is implied."""

from typing import TYPE_CHECKING

import numpy as np

from pacshift.arrays import FloatArray
from pacshift.bounds import Interval
from pacshift.certificate.groups import about_groups
from pacshift.methods.guarantee import assumption, promises_target
from pacshift.words.numbers import MAX_LISTED, between, given, percent, up

if TYPE_CHECKING:
    from pacshift.certificate import Certificate

WIDER_THAN_PREVALENCE = (
    " Bounds by pacshift prevalence are narrower: it spends all of delta on these shares, "
    "a certificate a small part."
)
"""Why two commands print different bounds of the same shares, with a blank in front."""


def assumptions(certificate: "Certificate") -> list[str]:
    """What the guarantee rests on, in sentences: what it means for every method, then what these data add."""
    facts, share = certificate.facts, certificate.contamination
    sentences = [assumption(certificate.guarantee, assumes_label_shift=facts.assumes_label_shift)]
    if promises_target(certificate) and share and facts.assumes_label_shift:
        sentences.append(f"This need not hold for {given(share)} of the target.")
        sentences.append("Label mix and weights are those of the rest.")
    if promises_target(certificate) and facts.any_mix:
        sentences.append("Any target label mix is covered.")
    if facts.extra_assumption:
        sentences.append(facts.extra_assumption)
    if certificate.n_target_labels and facts.assumes_label_shift:
        whose = "target's examples that have a class" if share else "target"
        sentences.append(f"The labelled target examples are a random sample of the {whose}.")
    sentences += about_groups(certificate)
    if certificate.known_mix is not None and facts.assumes_label_shift:
        sentences.append(f"Known about the target, and relied on: {_known_shares(certificate)}.")
    return sentences


def _known_shares(certificate: "Certificate") -> str:
    """The bounds of the label mix that the user gave, in words."""
    known = certificate.known_mix
    assert known is not None
    named = np.flatnonzero((known.lower > 0) | (known.upper < 1)).tolist()
    parts = [
        f"class {certificate.classes[label]!r} makes up {between(known.lower[label], known.upper[label])}"
        for label in named[:MAX_LISTED]
    ]
    more = f" and {len(named) - MAX_LISTED} more" if len(named) > MAX_LISTED else ""
    return ", ".join(parts) + more if parts else "nothing"


def implied_change(certificate: "Certificate") -> str:
    """The largest change of a class that the certificate implies, with the question whether it can be.

    Bounds of the target's mix where the method has them, else the mix that explains the target best.
    """
    if not promises_target(certificate) or not certificate.n_target or not certificate.facts.assumes_label_shift:
        return ""
    before = certificate.class_counts / max(certificate.n_source, 1)
    bounds, found = certificate.prevalence, certificate.assumption
    if bounds is None and found is not None:
        bounds = Interval(found.mix, found.mix)
    if bounds is None:
        return ""
    label = _moved_most(before, bounds)
    if label is None:
        return "no class is shown to be more or less frequent in the target than in the source."
    lower, upper = bounds.lower.tolist(), bounds.upper.tolist()
    is_bound = certificate.prevalence is not None
    now = [
        between(low, high) if is_bound else f"about {percent(low)}" for low, high in zip(lower, upper, strict=True)
    ]
    others = [f"{name!r} {now[each]}" for each, name in enumerate(certificate.classes) if each != label]
    more = f" (others: {', '.join(others)})" if len(others) < MAX_LISTED else ""
    whose = "'s label-shifted part" if certificate.contamination else ""
    return (
        f"class {certificate.classes[label]!r} makes up {percent(before[label])} of the source and {now[label]} "
        f"of the target{whose}{more}. If this is impossible, label shift does not hold: say what you know with "
        f"known_mix=.{WIDER_THAN_PREVALENCE if is_bound and not certificate.contamination else ''}"
    )


def _moved_most(before: FloatArray, after: Interval) -> int | None:
    """The class whose share has provably changed most; of two that changed alike, the rarer one tells more."""
    moved = np.clip(np.maximum(after.lower - before, before - after.upper), 0.0, 1.0)
    return int(np.lexsort((before, -moved.round(6)))[0]) if moved.max() > 0 else None


def what_the_test_saw(certificate: "Certificate", *, briefly: bool = False) -> str:
    """What the test of label shift saw and, unless ``briefly``, how often it refuses if label shift holds."""
    found = certificate.assumption
    if found is not None and not certificate.facts.assumes_label_shift:
        seen = "refuted" if found.refuted else "not refuted"
        return f"Test of label shift: {seen}. {found.finding} This certificate does not need label shift."
    if found is not None:
        return f"Test of label shift: {found.finding}{'' if briefly else f' {refusals(certificate)}'}"
    needed = promises_target(certificate) and certificate.facts.assumes_label_shift
    untested = needed and not certificate.n_target
    return "Test of label shift: none, because no target was given." if untested else ""


def refusals(certificate: "Certificate") -> str:
    """How often label shift is refused although it holds: by the test, and by the method itself, within delta."""
    found, given_mix = certificate.assumption, certificate.known_mix is not None
    holds = (
        "If label shift holds and what you said about the mix is right" if given_mix else "If label shift holds"
    )
    level = "" if found is None else f", the test refuses with probability at most {up(found.level)}"
    own = (
        f"; {certificate.method} itself refuses only where its own bounds of the mix fail, which is part of the "
        f"{given(certificate.delta)} for which the guarantee may fail"
        if certificate.facts.tests_assumption
        else ""
    )
    return (
        f"{holds}{level}{own}. A refusal certifies nothing, so this does not affect the confidence above. Such a "
        "test can refute label shift, but never prove it."
    )
