"""How to make a certificate again: a command, or Python where no command can."""

from dataclasses import dataclass

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
    made = f"certificate = pacshift.calibrate(\n{inner}\n)"
    return f'import pacshift.report\n\n{made}\npacshift.report.write_report(certificate, "report.html")'
