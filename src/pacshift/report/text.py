"""What the page says about a certificate, besides its prose, which stands in ``page.html``."""

from dataclasses import dataclass

from pacshift.certificate import Certificate
from pacshift.certificate.explain import filled
from pacshift.certificate.label_shift import assumptions, refusals
from pacshift.methods.guarantee import MEANINGS, promises_target
from pacshift.plots import readable
from pacshift.words.numbers import capital


@dataclass(frozen=True)
class Headline:
    """The top of the page: ``tone`` is good, limited or bad, and ``badge`` says the same without colour."""

    tone: str
    badge: str
    text: str
    meaning: str


def headline(certificate: Certificate) -> Headline:
    """What is guaranteed, in one sentence, and with what confidence, in another."""
    if certificate.trivial:
        why = " The reasons are listed below." if certificate.reasons else ""
        return Headline(
            "limited",
            "Correct but uninformative",
            f"Every set contains all {len(certificate.classes)} labels.",
            f"Such a set always contains the true label but says nothing. The data did not allow more.{why}",
        )
    meant, extra = MEANINGS[certificate.guarantee], certificate.facts.extra_assumption
    how_sure = filled(meant.how_sure, certificate) + (f" Extra assumption: {extra}" if extra else "")
    return Headline(meant.tone, capital(meant.title), capital(filled(meant.sentence, certificate)), how_sure)


def assumption(certificate: Certificate) -> list[str]:
    """What must hold for the guarantee, in sentences."""
    first, *rest = assumptions(certificate)
    return [capital(first), *rest]


def assumption_check(certificate: Certificate) -> str:
    """Whether the numbers themselves were compared with the assumption."""
    found = certificate.assumption
    if found is None or not promises_target(certificate):
        why = "" if certificate.n_target else ": no target cases were given"
        return f"The certificate holds no test of label shift on these data{why}."
    if not certificate.facts.assumes_label_shift:
        seen = f"Label shift was {'refuted' if found.refuted else 'tested, and not refuted,'} on these data."
        said = f"{found.finding} This certificate does not need label shift."
    else:
        seen, said = "Label shift was tested on these data.", f"{found.finding} {refusals(certificate)}"
    return f"{seen} {readable(said, longest=4000)}"
