"""What the page says, for each kind of guarantee, in words a clinician can use."""

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context

import numpy as np

from pacshift.bounds import Interval
from pacshift.certificate import Certificate
from pacshift.certificate.explain import LABEL_SHIFT, percent
from pacshift.methods import METHODS, Guarantee, Method
from pacshift.methods.base import options_of
from pacshift.plots import readable
from pacshift.scores.transforms import TRANSFORMS

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
    covered, sure = percent(1 - certificate.epsilon), percent(1 - certificate.delta)
    unsure = percent(certificate.delta)
    repeated = (
        f"Confidence: {sure}. If the calibration were repeated with fresh data, at most {unsure} of the "
        "repetitions would give sets that fall short of this."
    )
    if certificate.trivial:
        why = " The reasons are listed below." if certificate.reasons else ""
        return Verdict(
            "limited",
            "Correct but uninformative",
            f"Every set contains all {len(certificate.classes)} labels.",
            f"Such a set always contains the true label but helps nobody. The data did not allow more.{why}",
        )
    if certificate.guarantee == "pac-target":
        headline = f"In at least {covered} of target cases, the set of labels given contains the true one."
        return Verdict("good", "Guaranteed on the target", headline, repeated)
    if certificate.guarantee == "pac-source":
        headline = f"In at least {covered} of source cases, the set of labels given contains the true one."
        warning = " Nothing is guaranteed on the target if its label mix differs."
        return Verdict("limited", "Guaranteed on the source only", headline, repeated + warning)
    if certificate.guarantee == "marginal":
        return Verdict(
            "limited",
            "On average only",
            f"On average over many calibrations, sets hold the true label of at least {covered} of target cases.",
            "This one calibration may do worse, and nothing says by how much.",
        )
    return Verdict(
        "bad",
        "No guarantee",
        f"Nothing is guaranteed. Sets that contain the true label in {covered} of cases were asked for.",
        "Check the sets with labelled target cases before you rely on them.",
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
    if certificate.facts.any_mix:
        whom = (
            "It is a share of many cases, and holds within every class, but not for each single case or subgroup."
        )
    else:
        whom = (
            "It is a share of all cases together. It is no promise for a single case, a subgroup or each class: "
            "rare classes may be missed more often."
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
    bounded = certificate.weights is not None or certificate.prevalence is not None
    name = readable(certificate.method)
    if certificate.facts.tests_assumption and bounded:
        return (
            f"{name} compared the counts with label shift. If no label mix could explain the target’s "
            "predictions, there would be no certificate. Such a test can refute label shift, but never prove it."
        )
    return f"{name} did not test label shift on these data."


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
        shown = f"≥ {percent(_down(certificate.accuracy))}"
        figures.append(
            Figure("classifier’s accuracy", shown, certificate.accuracy, "its top label, on the target")
        )
    return figures


@dataclass(frozen=True)
class ClassRow:
    """A line of the table of classes."""

    name: str
    source: int
    source_share: str
    predicted: int
    prevalence: str
    weight: str
    threshold: str
    exact: dict[str, float]


def class_rows(certificate: Certificate) -> list[ClassRow]:
    """One line per class; intervals are rounded outward, so that what is shown is still true."""
    return [_class_row(certificate, label) for label in range(len(certificate.classes))]


def _class_row(certificate: Certificate, label: int) -> ClassRow:
    count, cut = int(certificate.class_counts[label]), float(certificate.thresholds[label])
    exact = {"threshold": cut}
    for name, interval in (("weight", certificate.weights), ("prevalence", certificate.prevalence)):
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
        prevalence=_ends(certificate.prevalence, label, scale=100, unit=" %"),
        weight=_ends(certificate.weights, label),
        threshold="in every set" if cut == -math.inf else ("in no set" if cut == math.inf else f"{cut:.4g}"),
        exact=exact,
    )


def _ends(interval: Interval | None, label: int, *, scale: float = 1, unit: str = "") -> str:
    if interval is None:
        return ""
    low, high = scale * _down(float(interval.lower[label])), scale * _up(float(interval.upper[label]))
    return f"{low:.4g} to {'∞' if math.isinf(high) else f'{high:.4g}'}{unit}"


def share(value: float) -> str:
    """A percentage to three digits.

    >>> share(0.04556), share(0.0), share(0.00004)
    ('4.56 %', '0 %', '< 0.01 %')
    """
    return "< 0.01 %" if 0 < value < 0.0001 else f"{100 * value:.3g} %"


def _down(value: float) -> float:
    """To three significant digits, never above.

    >>> _down(0.71298), _down(0.1), _up(1.5001)
    (0.712, 0.1, 1.51)
    """
    return _three_digits(value, ROUND_FLOOR)


def _up(value: float) -> float:
    return _three_digits(value, ROUND_CEILING)


def _three_digits(value: float, rounding: str) -> float:
    return float(Context(prec=3, rounding=rounding).create_decimal(repr(value)))


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


@dataclass(frozen=True)
class Recipe:
    """How to make such a certificate again: ``code`` for the ``place`` that can."""

    place: str
    code: str


def recipe(certificate: Certificate) -> Recipe:
    """A command, or Python where the command line has no option for what was used."""
    known = METHODS.get(certificate.method)
    usual = {} if known is None else options_of(known())
    by_command = known is not None and all(usual.get(name) == value for name, value in certificate.options.items())
    if by_command and certificate.score in TRANSFORMS:
        return Recipe("On the command line", _command(certificate))
    return Recipe("In Python", _python(certificate, known))


def _command(certificate: Certificate) -> str:
    parts = [
        "pacshift calibrate SOURCE TARGET --label COLUMN",
        f"--epsilon {certificate.epsilon!r} --delta {certificate.delta!r} --method {certificate.method}",
    ]
    if certificate.score != "probability":
        parts.append(f"--score {certificate.score}")
    if certificate.facts.needs_weights:
        parts.append("--weights W,W,...")
    if certificate.never_empty:
        parts.append("--never-empty")
    parts.append("-o certificate.json")
    return " \\\n  ".join(parts) + "\npacshift report certificate.json -o report.html"


def _python(certificate: Certificate, known: type[Method] | None) -> str:
    options = ", ".join(f"{name}={value!r}" for name, value in certificate.options.items())
    own = f"method,  # the object {readable(certificate.method)}, which pacshift does not provide"
    lines = [
        "source_scores, source_labels, target_scores,",
        f"epsilon={certificate.epsilon!r}, delta={certificate.delta!r},",
        f"method={own}" if known is None else f"method=pacshift.{known.__name__}({readable(options)}),",
    ]
    if certificate.score != "probability":
        lines.append("score=function," if certificate.score not in TRANSFORMS else f"score={certificate.score!r},")
    if certificate.facts.needs_weights:
        lines.append("weights=[...],")
    if certificate.never_empty:
        lines.append("never_empty=True,")
    inner = "\n".join(f"    {line}" for line in lines)
    return (
        f'certificate = pacshift.calibrate(\n{inner}\n)\npacshift.report.write_report(certificate, "report.html")'
    )
