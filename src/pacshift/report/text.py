"""What the page says, for each kind of guarantee, in words a clinician can use."""

from dataclasses import dataclass

from pacshift.certificate import Certificate
from pacshift.certificate.explain import assumptions, clean_part, filled, refusals
from pacshift.methods.guarantee import MEANINGS, promises_target
from pacshift.plots import readable
from pacshift.wording import capital


@dataclass(frozen=True)
class Headline:
    """The top of the page: ``tone`` is good, limited or bad, and ``badge`` says the same without colour."""

    tone: str
    badge: str
    text: str
    meaning: str


def headline(certificate: Certificate) -> Headline:
    """What is guaranteed, in one sentence, and how surely, in another."""
    if certificate.trivial:
        why = " The reasons are listed below." if certificate.reasons else ""
        return Headline(
            "limited",
            "Correct but uninformative",
            f"Every set contains all {len(certificate.classes)} labels.",
            f"Such a set always contains the true label but helps nobody. The data did not allow more.{why}",
        )
    meant, extra = MEANINGS[certificate.guarantee], certificate.facts.extra_assumption
    how_sure = filled(meant.how_sure, certificate) + (f" Extra assumption: {extra}" if extra else "")
    return Headline(meant.tone, capital(meant.title), capital(filled(meant.sentence, certificate)), how_sure)


def limits(certificate: Certificate) -> list[str]:
    """What the headline does not say."""
    known = "Only the listed classes are covered. A case of any other kind gets a set without its true label."
    again = "If the label mix or the classifier changes again, calibrate again."
    if certificate.trivial:
        return [
            "It says nothing about the classifier’s quality, only that these counts do not allow more.",
            known,
        ]
    if certificate.facts.any_mix or certificate.class_epsilon is not None:
        within = (
            "holds within every class" if certificate.class_epsilon is None else "every class has its own limit"
        )
        whom = (
            f"It is a share of many cases, and {within}{clean_part(certificate)}, but it is no promise for a "
            "single case or a subgroup."
        )
    else:
        whom = (
            "It is a share of all cases together. It is no promise for a single case, a subgroup or each class: "
            "rare classes may be missed more often. “Class by class” says how often."
        )
    empty = (
        "Where no label fits well, the set holds the top label, so no set is empty."
        if certificate.never_empty
        else "A set can be empty. That means no label fits well: treat it as “unknown, look closer”. "
        "It counts as a miss."
    )
    return [whom, empty, known, again]


def assumption(certificate: Certificate) -> list[str]:
    """What must hold for the guarantee, in sentences."""
    first, *rest = assumptions(certificate)
    return [capital(first), *rest]


def doubts(certificate: Certificate) -> list[str]:
    """How the assumption fails in practice; nothing to doubt where nothing is guaranteed."""
    if certificate.guarantee == "none":
        return []
    reasons = [
        "Other equipment, settings or software: the same condition then gives other scores.",
        "Other people within a class: for example only severe cases on one side, mild ones on the other.",
        "Other labelling: what one site calls a class, the other calls something else.",
        "A class on the target that the source does not have.",
        "Cases that are not independent, such as many images of one person counted as many cases.",
        "Source cases that the classifier was trained on: their scores look better than they are.",
    ]
    return reasons if certificate.guarantee != "pac-source" else reasons[-2:]


def assumption_check(certificate: Certificate) -> str:
    """Whether the numbers themselves were compared with the assumption."""
    found = certificate.assumption
    if found is not None and promises_target(certificate):
        return (
            f"Label shift was tested on these data. {readable(found.finding, longest=2000)} "
            f"{readable(refusals(certificate), longest=2000)}"
        )
    bounded = certificate.weights is not None or certificate.prevalence is not None
    if certificate.facts.tests_assumption and bounded:  # made by a version without the test
        return (
            f"{readable(certificate.method)} compared the predicted labels with label shift. If no label mix "
            "could explain them, there would be no certificate. Calibrate again to have confidences compared too."
        )
    why = "" if certificate.n_target else ": no target cases were given"
    return f"Label shift was not tested on these data{why}."


BLIND_SPOTS = (
    "A change that imitates another label mix. If the cases of one class now look like those of another, the "
    "target looks like one with more cases of the other class.",
    "A change that leaves predictions and confidences as they are, such as labels that now mean something else.",
    "A change that is smaller than what these data could show.",
    "Cases that depend on each other, such as many images of one person.",
)
"""What no test of label shift on unlabelled target cases can see."""
