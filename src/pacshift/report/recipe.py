"""How to make a certificate again: the command that made it, or what to run instead."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from pacshift.arrays import Label
from pacshift.certificate import Certificate
from pacshift.methods import METHODS, Method
from pacshift.methods.base import options_of
from pacshift.plots import readable
from pacshift.scores.transforms import TRANSFORMS

LONGEST_COMMAND, LONGEST_LINE = 10_000, 72
CERTIFICATE_FILE = "certificate.json"


@dataclass(frozen=True)
class Recipe:
    """``code`` for the ``place`` that makes the certificate again, and the ``file`` that holds it then."""

    place: str
    code: str
    file: str = CERTIFICATE_FILE


def recipe(certificate: Certificate) -> Recipe:
    """The recorded command; else a command, or Python where the command line has no option for what was used."""
    made = certificate.provenance
    if made is not None and made.command:
        return _recorded(readable(made.command, LONGEST_COMMAND))
    known = METHODS.get(certificate.method)
    usual = {} if known is None else options_of(known())
    by_command = known is not None and all(usual.get(name) == value for name, value in certificate.options.items())
    if made is None and by_command and certificate.score in TRANSFORMS:  # an old file does not say who made it
        return Recipe("On the command line", _command(certificate))
    return Recipe("In Python", _python(certificate, known))


def _recorded(command: str) -> Recipe:
    place = "The command that made it, to be run in the same folder"
    try:
        words = shlex.split(command)
    except ValueError:  # the file was written by hand
        return Recipe(place, command)
    if words[1:2] != ["calibrate"]:
        return Recipe(place, folded(words))
    file = _value(words, ("-o", "--out")) or CERTIFICATE_FILE
    return Recipe(place, f"{folded(words)}\npacshift report {shlex.quote(file)} -o report.html", file)


def folded(words: Sequence[str]) -> str:
    """A command; a long one with one option per line.

    >>> folded(["pacshift", "demo", "-o", "out"])
    'pacshift demo -o out'
    >>> print(folded(["pacshift", "calibrate", "my source.csv", "a table of the target.csv", "--epsilon", "0.1"]))
    pacshift calibrate 'my source.csv' 'a table of the target.csv' \\
      --epsilon 0.1
    """
    line = shlex.join(words)
    if len(line) <= LONGEST_LINE:
        return line
    breaks = [" \\\n  " if word.startswith("-") else " " for word in words]
    return "".join(between + shlex.quote(word) for between, word in zip(breaks, words, strict=True)).lstrip()


def _value(words: Sequence[str], names: Sequence[str]) -> str | None:
    """What follows an option, as ``--out FILE`` or ``--out=FILE``."""
    for word, following in zip(words, [*words[1:], None], strict=True):
        name, equals, value = word.partition("=")
        if name in names:
            return value if equals else following
    return None


def _command(certificate: Certificate) -> str:
    label = None if certificate.columns is None else certificate.columns.label
    words = ["pacshift", "calibrate", "SOURCE", "TARGET", "--label", "COLUMN" if label is None else label]
    words += ["--epsilon", repr(certificate.epsilon), "--delta", repr(certificate.delta)]
    words += ["--method", certificate.method]
    if certificate.score != "probability":
        words += ["--score", certificate.score]
    if certificate.facts.needs_weights:
        words += ["--weights", "W,W,..."]
    if certificate.never_empty:
        words.append("--never-empty")
    if certificate.class_epsilon is not None:
        words += ["--class-epsilon", repr(certificate.class_epsilon)]
    if certificate.contamination:
        words += ["--contamination", repr(certificate.contamination)]
    for name, (low, high) in _known(certificate):
        words += ["--known", f"{readable(name)}={low!r}..{high!r}"]
    if certificate.n_target_labels:
        words += ["--target-label", "COLUMN"]
    words += ["-o", CERTIFICATE_FILE]
    return f"{folded(words)}\npacshift report {CERTIFICATE_FILE} -o report.html"


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
    if certificate.provenance is not None and certificate.provenance.seed:  # 0 is the default
        lines.append(f"rng={certificate.provenance.seed},")
    inner = "\n".join(f"    {line}" for line in lines)
    made = f"certificate = pacshift.calibrate(\n{inner}\n)"
    return f'import pacshift.report\n\n{made}\npacshift.report.write_report(certificate, "report.html")'
