"""What the page says, for each kind of guarantee, in words a clinician can use."""

import math
from dataclasses import dataclass, replace

import numpy as np

from pacshift.bounds import Interval
from pacshift.certificate import Certificate
from pacshift.certificate.explain import LABEL_SHIFT, between, percent, rounded_down, rounded_up, share
from pacshift.methods import Guarantee
from pacshift.plots import readable

GUARANTEES: dict[Guarantee, str] = {
    "pac-target": "guaranteed on the target",
    "pac-source": "guaranteed on the source only",
    "marginal": "on average over many calibrations only",
    "none": "none",
}


MAX_INPUTS_SHOWN = 10
"""Files named on the page; the certificate itself, also on the page, names more."""


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
    covered, sure = percent(1 - certificate.epsilon), _confidence(certificate)
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
    said = "" if cap is None else f" Of every class at most {percent(cap)} is missed."
    if share_left:
        said += f" This holds even if up to {percent(share_left)} of the target is not label-shifted at all."
    return said


def _trivial_verdict(certificate: Certificate) -> Verdict:
    why = " The reasons are listed below." if certificate.reasons else ""
    return Verdict(
        "limited",
        "Correct but uninformative",
        f"Every set contains all {len(certificate.classes)} labels.",
        f"Such a set always contains the true label but helps nobody. The data did not allow more.{why}",
    )


def _confidence(certificate: Certificate) -> str:
    sure, unsure = percent(1 - certificate.delta), percent(certificate.delta)
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
        whom = f"It is a share of many cases, and {within}, but it is no promise for a single case or a subgroup."
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
    return [*made, *filter(None, [certificate.facts.extra_assumption])]


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
            f"Label shift was tested on these data. {readable(found.finding, longest=2000)} If label shift holds, "
            f"the chance of a refusal is at most {found.level:.3g}. After a refusal there is no certificate, "
            "so the confidence above is not touched. Such a test can refute label shift, but never prove it."
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


@dataclass(frozen=True)
class Figure:
    """A number worth a card: ``value`` exact, ``shown`` rounded."""

    name: str
    shown: str
    value: float
    note: str = ""


def key_figures(certificate: Certificate) -> list[Figure]:
    """The numbers a reader looks for first."""
    covered = 1 - certificate.epsilon
    figures = [
        Figure(
            "allowed to miss (ε)", percent(certificate.epsilon), certificate.epsilon, f"so {percent(covered)} hit"
        ),
        Figure(
            "chance to be misled (δ)", percent(certificate.delta), certificate.delta, "by the calibration data"
        ),
    ]
    counts = certificate.set_sizes
    if counts is not None and counts.sum():
        mean = float(counts @ np.arange(len(counts)) / counts.sum())
        single, empty = float(counts[1] / counts.sum()), float(counts[0] / counts.sum())
        figures += [
            Figure("labels in a set", f"{mean:.3g}", mean, f"on average, of {len(certificate.classes)}"),
            Figure("sets with one label", share(single), single, "of target cases"),
            Figure("empty sets", share(empty), empty, "of target cases"),
        ]
    if certificate.accuracy is not None:
        shown = f"≥ {percent(rounded_down(certificate.accuracy))}"
        figures.append(
            Figure("classifier’s accuracy", shown, certificate.accuracy, "its top label, on the target")
        )
    return figures


def origin(certificate: Certificate) -> list[tuple[str, str]]:
    """When and by what the certificate was made, for which model and from which data: terms and what they say."""
    made = certificate.provenance
    if made is None:
        return []
    version = f", version {certificate.facts.version} of the method" if certificate.facts.version else ""
    said = {
        "Certificate made": f"{made.created} with pacshift {made.pacshift_version}{version}",
        "Model": made.model_id,
        "Valid until": made.valid_until,
        "Note of the maker": made.note,
        "Command": made.command,
        "Seed": None if made.seed is None else str(made.seed),
    }
    files = [one for one in made.inputs if one.name is not None][:MAX_INPUTS_SHOWN]
    read = [(f"Read as {one.role}", f"{one.name}, SHA-256 {one.sha256 or 'unknown'}") for one in files]
    return [(term, value) for term, value in said.items() if value is not None] + read


@dataclass(frozen=True)
class ClassRow:
    """A line of the table of classes."""

    name: str
    source: int
    source_share: str
    predicted: int
    prevalence: str
    weight: str
    missed: str
    threshold: str
    exact: dict[str, float]


def class_rows(certificate: Certificate) -> list[ClassRow]:
    """One line per class; intervals are rounded outward, so that what is shown is still true."""
    return [_class_row(certificate, label) for label in range(len(certificate.classes))]


def _class_row(certificate: Certificate, label: int) -> ClassRow:
    count, cut = int(certificate.class_counts[label]), float(certificate.thresholds[label])
    exact = {"threshold": cut}
    bounds = {
        "weight": certificate.weights,
        "prevalence": certificate.prevalence,
        "missed": certificate.class_miss,
    }
    for name, interval in bounds.items():
        if interval is not None:
            exact[f"{name}_low"], exact[f"{name}_high"] = (
                float(interval.lower[label]),
                float(interval.upper[label]),
            )
    return ClassRow(
        name=readable(certificate.classes[label], longest=120),
        source=count,
        source_share=share(count / max(certificate.n_source, 1)),
        predicted=int(certificate.predicted_counts[label]),
        prevalence="" if certificate.prevalence is None else between(certificate.prevalence, label),
        weight=_ends(certificate.weights, label),
        missed="" if certificate.class_miss is None else between(certificate.class_miss, label),
        threshold="in every set" if cut == -math.inf else ("in no set" if cut == math.inf else f"{cut:.4g}"),
        exact=exact,
    )


def _ends(interval: Interval | None, label: int) -> str:
    if interval is None:
        return ""
    low, high = rounded_down(float(interval.lower[label])), rounded_up(float(interval.upper[label]))
    return f"{low:.4g} to {'∞' if math.isinf(high) else f'{high:.4g}'}"


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
