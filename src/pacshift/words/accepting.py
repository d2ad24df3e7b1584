"""What is said of certificates that accept the top label or ask: all their sentences are here."""

from collections.abc import Iterator

import numpy as np

from pacshift.certificate import Certificate
from pacshift.words.numbers import MAX_LISTED, all_but, between, given, percent


def accepted_share(certificate: Certificate) -> float | None:
    """The share of the target's cases that is accepted; None if it was not counted."""
    sizes = certificate.set_sizes
    return None if sizes is None or not sizes.sum() else float(sizes[1] / sizes.sum())


def accepting(certificate: Certificate) -> Iterator[tuple[str, str, str]]:
    """Name, text and head of what is said instead of how sets are made."""
    if certificate.trivial:
        why = " The notes say why." if certificate.reasons else ""
        yield (
            "sets",
            f"nothing is accepted: every case is left to a person, its set holds every label.{why}",
            "Accepted",
        )
        return
    share, never = accepted_share(certificate), np.flatnonzero(np.isposinf(certificate.thresholds))
    of_target = "" if share is None else f", {percent(share)} of the target's cases"
    text = f"the top label where its score is at least the label's own threshold{of_target}. "
    if len(never):
        text += f"Never accepted: {', '.join(repr(certificate.classes[label]) for label in never[:MAX_LISTED])}. "
    yield "sets", f"{text}All other cases are left to a person; their set holds every label.", "Accepted"
    kept, wrong = certificate.accepted, certificate.accepted_error
    if kept is None or wrong is None:
        return
    order = np.lexsort((-wrong.upper, -wrong.lower))[:MAX_LISTED].tolist()
    listed = "; ".join(
        f"{certificate.classes[label]!r}: {between(kept.lower[label], kept.upper[label])} accepted, "
        f"{between(wrong.lower[label], wrong.upper[label])} of these wrong"
        for label in order
    )
    which = "" if len(certificate.classes) <= MAX_LISTED else " (those that may err most)"
    text = (
        f"{listed}. These bounds hold together, with confidence {all_but(certificate.delta)}, beside the promise. "
        f"The {given(certificate.epsilon)} are promised for all labels together: one of them may err more."
    )
    yield "by label", text, f"By predicted label{which}"


def accepting_in_short(certificate: Certificate) -> str:
    """What is accepted, in a few words."""
    share = accepted_share(certificate)
    if certificate.trivial:
        return "nothing is accepted, every case is left to a person"
    return "the top label is accepted" + ("" if share is None else f" for {percent(share)} of the target's cases")
