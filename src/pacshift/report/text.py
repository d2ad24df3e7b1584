"""What the page says, for each kind of guarantee, in words a clinician can use."""

from dataclasses import dataclass, replace

import numpy as np

from pacshift.certificate import Certificate
from pacshift.certificate.explain import LABEL_SHIFT, clean_part, may_all_be_missed, not_for_all, refusals
from pacshift.methods import Guarantee
from pacshift.plots import readable
from pacshift.wording import all_but, given

GUARANTEES: dict[Guarantee, str] = {
    "pac-target": "guaranteed on the target",
    "pac-source": "guaranteed on the source only",
    "marginal": "on average over many calibrations only",
    "none": "none",
}


@dataclass(frozen=True)
class Verdict:
    """The headline: ``tone`` is good, limited or bad, and ``badge`` says the same without colour."""

    tone: str
    badge: str
    headline: str
    meaning: str


def verdict(certificate: Certificate) -> Verdict:
    """What is guaranteed, in one sentence, and how surely, in another."""
    if certificate.trivial:
        return _trivial_verdict(certificate)
    covered, sure = all_but(certificate.epsilon), _confidence(certificate)
    holds = f"In at least {covered} of {{}} cases, the set of labels given contains the true one."
    further = _further(certificate)
    made = {
        "pac-target": Verdict("good", "Guaranteed on the target", holds.format("target") + further, sure),
        "pac-source": Verdict(
            "limited",
            "Guaranteed on the source only",
            holds.format("source"),
            f"{sure} Nothing is guaranteed on the target if its label mix differs.",
        ),
        "marginal": Verdict(
            "limited",
            "On average only",
            f"On average over many calibrations: {holds.format('target')}",
            "This one calibration may do worse, and nothing says by how much.",
        ),
        "none": Verdict(
            "bad",
            "No guarantee",
            f"Nothing is guaranteed. Sets that contain the true label in {covered} of cases were asked for.",
            "Check the sets with labelled target cases before you rely on them.",
        ),
    }[certificate.guarantee]
    extra = certificate.facts.extra_assumption
    return replace(made, meaning=f"{made.meaning} Extra assumption: {extra}") if extra else made


def _further(certificate: Certificate) -> str:
    """What is promised beyond epsilon, in sentences with a blank in front."""
    cap, share_left = certificate.class_epsilon, certificate.contamination
    said = ""
    if share_left:
        said = f" This holds even if up to {given(share_left)} of the target is not label-shifted at all."
    if cap is None:
        return said
    whose = clean_part(certificate)
    return f"{said} Of every class{whose} at most {given(cap)} is missed.{may_all_be_missed(certificate)}"


def _trivial_verdict(certificate: Certificate) -> Verdict:
    why = " The reasons are listed below." if certificate.reasons else ""
    return Verdict(
        "limited",
        "Correct but uninformative",
        f"Every set contains all {len(certificate.classes)} labels.",
        f"Such a set always contains the true label but helps nobody. The data did not allow more.{why}",
    )


def _confidence(certificate: Certificate) -> str:
    sure, unsure = all_but(certificate.delta), given(certificate.delta)
    return (
        f"Confidence: {sure}. If the calibration were repeated with fresh data, at most {unsure} of the "
        "repetitions would give sets that fall short of this."
    )


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
    sentences = {
        "pac-source": "The guarantee assumes that future cases come from the same population as the source.",
        "none": "Nothing is guaranteed, even under label shift.",
    }
    made = [sentences.get(certificate.guarantee, f"Label shift.{LABEL_SHIFT.removeprefix('label shift.')}")]
    rest = not_for_all(certificate) if promises_target(certificate) else []
    return [*made, *rest, *filter(None, [certificate.facts.extra_assumption])]


def promises_target(certificate: Certificate) -> bool:
    """Whether anything is promised about the target."""
    return certificate.guarantee in ("pac-target", "marginal")


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
    if certificate.guarantee == "pac-source":
        return "Whether the target resembles the source was not tested."
    if certificate.guarantee == "none":
        return f"{readable(certificate.method)} did not test label shift on these data."
    found = certificate.assumption
    if found is not None:
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


def rule(certificate: Certificate) -> str:
    """How a set is made."""
    kind = "" if certificate.score == "probability" else f"{certificate.score} "
    if certificate.trivial:
        return "Every set contains all labels."
    shared = np.unique(certificate.thresholds[np.isfinite(certificate.thresholds)])
    always = int(np.isneginf(certificate.thresholds).sum())
    text = (
        f"A label is in the set when its {kind}score is at least its own threshold (see the table of classes)."
        if len(shared) != 1
        else f"A label is in the set when its {kind}score is at least {shared[0]:.6g}."
    )
    return text + (f" {always} of the classes are in every set." if always else "")
