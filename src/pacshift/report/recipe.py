"""How to make a certificate again: a command, or Python where no command can."""

import shlex
from dataclasses import dataclass

from pacshift.arrays import Label
from pacshift.certificate import Certificate
from pacshift.methods import METHODS, Method
from pacshift.methods.base import options_of
from pacshift.plots import readable
from pacshift.scores.transforms import TRANSFORMS


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
    if certificate.class_epsilon is not None:
        parts.append(f"--class-epsilon {certificate.class_epsilon!r}")
    if certificate.contamination:
        parts.append(f"--contamination {certificate.contamination!r}")
    parts += [
        f"--known {shlex.quote(f'{readable(name)}={low!r}..{high!r}')}"
        for name, (low, high) in _known(certificate)
    ]
    if certificate.n_target_labels:
        parts.append("--target-label COLUMN")
    parts.append("-o certificate.json")
    return " \\\n  ".join(parts) + "\npacshift report certificate.json -o report.html"


def _known(certificate: Certificate) -> list[tuple[Label, tuple[float, float]]]:
    """The classes whose share the user bounded, with the bounds."""
    known = certificate.known_mix
    if known is None:
        return []
    pairs = zip(known.lower.tolist(), known.upper.tolist(), strict=True)
    return [(name, pair) for name, pair in zip(certificate.classes, pairs, strict=True) if pair != (0.0, 1.0)]


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
    if certificate.class_epsilon is not None:
        lines.append(f"class_epsilon={certificate.class_epsilon!r},")
    if certificate.contamination:
        lines.append(f"contamination={certificate.contamination!r},")
    if certificate.known_mix is not None:
        lines.append(f"known_mix={readable(str(dict(_known(certificate))), longest=2000)},")
    if certificate.n_target_labels:
        lines.append("target_labels=target_labels,  # None for rows without a label")
    inner = "\n".join(f"    {line}" for line in lines)
    made = f"certificate = pacshift.calibrate(\n{inner}\n)"
    return f'import pacshift.report\n\n{made}\npacshift.report.write_report(certificate, "report.html")'
