"""Every field of a certificate file: what may stand in it, and how two certificates of the same data may differ.

A row of ``FIELDS`` also covers what lies below its field and has no row of its own. A test walks the files that
are written, so a new field without a row fails.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pacshift.files.documents import is_count

Compared: TypeAlias = Literal[
    "equal", "downward", "rounding", "words", "origin", "columns", "used", "maker", "file"
]
"""How ``verify`` compares a field:

- ``equal``: exactly.
- ``downward``: a threshold may be lower by rounding, never higher: a higher one misses more.
- ``rounding``: solvers of linear programs compute bounds to about six digits.
- ``words``: may change from version to version; with the same code they must be equal.
- ``origin``: code and data on record; another one is said, and is no difference.
- ``columns``: where frames or tables were given, which have names; else it is the maker's word.
- ``used``: with these the certificate is made again, so numbers differ if they are not those of its making.
- ``maker``: the maker's word. Nothing in the data tells.
- ``file``: of the file itself, checked when it is read; its words are compared with its own numbers.
"""


@dataclass(frozen=True, slots=True)
class Range:
    """What may stand in a field; null where it is ``optional``."""

    what: str
    fits: Callable[[Any], bool]
    optional: bool = False

    def require(self, value: Any, path: str) -> None:
        """ValueError unless the value is one of the range."""
        if not (self.fits(value) or (self.optional and value is None)):
            raise ValueError(f"{path}: {value!r} where {self.what} belongs")

    @property
    def or_null(self) -> "Range":
        """The same, or nothing."""
        return Range(self.what, self.fits, optional=True)


def is_number(value: Any) -> bool:
    """Whether a value of a document is a finite number; ``true`` is none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_share(value: Any) -> bool:
    return is_number(value) and -_ROUNDING <= value <= 1 + _ROUNDING


_ROUNDING = 1e-6  # of shares that a linear program found

TEXT = Range("text", lambda value: isinstance(value, str))
FLAG = Range("true or false", lambda value: isinstance(value, bool))
COUNT = Range("a count", lambda value: is_count(value) and value < 2**63)
NUMBER = Range("a number", is_number)
SHARE = Range("a share between 0 and 1", _is_share)
RATE = Range("a share above 0 and below 1", lambda value: is_number(value) and 0 < value < 1)
WEIGHT = Range("a weight", lambda value: value == "inf" or (is_number(value) and value >= 0))
CUT = Range("a threshold", lambda value: value in ("inf", "-inf") or is_number(value))
NAME = Range("a name", lambda value: isinstance(value, (str, int, float)))
GROUP = Range("an object", lambda value: isinstance(value, dict), optional=True)
ANYTHING = Range("anything", lambda _value: True)

FIELDS: dict[str, tuple[Range, Compared]] = {
    "format": (TEXT, "file"),
    "version": (COUNT, "file"),
    "checksum": (ANYTHING, "file"),
    "in_words[]": (TEXT, "file"),
    "guarantee": (TEXT, "equal"),
    "epsilon": (RATE, "equal"),
    "delta": (RATE, "equal"),
    "method": (TEXT, "equal"),
    "options": (ANYTHING, "equal"),
    "method_facts": (GROUP, "equal"),
    "method_facts.idea": (TEXT, "words"),
    "method_facts.extra_assumption": (TEXT, "words"),
    "method_facts.any_mix": (FLAG, "equal"),
    "method_facts.tests_assumption": (FLAG, "equal"),
    "method_facts.needs_weights": (FLAG, "equal"),
    "method_facts.assumes_label_shift": (FLAG, "equal"),
    "method_facts.version": (TEXT, "words"),
    "method_facts.tuned_on": (TEXT, "equal"),
    "score": (TEXT, "equal"),
    "columns": (GROUP, "columns"),
    "columns.scores[]": (TEXT, "columns"),
    "columns.label": (TEXT.or_null, "columns"),
    "columns.group": (TEXT.or_null, "columns"),
    "provenance": (GROUP, "origin"),
    "provenance.created": (TEXT, "maker"),
    "provenance.pacshift_version": (TEXT, "origin"),
    "provenance.model_id": (TEXT.or_null, "maker"),
    "provenance.note": (TEXT.or_null, "maker"),
    "provenance.valid_until": (TEXT.or_null, "maker"),
    "provenance.inputs": (ANYTHING, "origin"),
    "provenance.seed": (COUNT, "used"),
    "provenance.command": (TEXT.or_null, "maker"),
    "provenance.code": (TEXT.or_null, "origin"),
    "provenance.counting": (GROUP, "used"),
    "provenance.asked_method": (GROUP, "used"),
    "provenance.solver": (TEXT, "origin"),
    "never_empty": (FLAG, "equal"),
    "softmax": (FLAG, "equal"),
    "n_source": (COUNT, "equal"),
    "n_target": (COUNT, "equal"),
    "n_target_labels": (COUNT, "equal"),
    "source_grouped": (GROUP, "equal"),
    "target_grouped": (GROUP, "equal"),
    "accuracy_at_least": (SHARE.or_null, "rounding"),
    "one_label_error_at_most": (SHARE.or_null, "rounding"),
    "class_epsilon": (RATE.or_null, "equal"),
    "contamination": (SHARE, "equal"),
    "assumption": (GROUP, "equal"),
    "assumption.level": (RATE, "rounding"),
    "assumption.refuted": (FLAG, "equal"),
    "assumption.mix[]": (SHARE, "rounding"),
    "assumption.groups[]": (TEXT, "words"),
    "assumption.observed[]": (SHARE, "rounding"),
    "assumption.explained[]": (SHARE, "rounding"),
    "assumption.allowed[][]": (SHARE, "rounding"),
    "assumption.finding": (TEXT, "words"),
    "assumption.noticeable[]": (TEXT, "words"),
    "source_scores": (GROUP, "rounding"),
    "reasons[]": (TEXT, "words"),
    "notes[]": (TEXT, "words"),
    "classes[].name": (NAME, "equal"),
    "classes[].threshold": (CUT, "downward"),
    "classes[].source_examples": (COUNT, "equal"),
    "classes[].target_predicted": (COUNT, "equal"),
    "classes[].weight[]": (WEIGHT, "rounding"),
    "classes[].prevalence[]": (SHARE, "rounding"),
    "classes[].missed[]": (SHARE, "rounding"),
    "classes[].known_share[]": (SHARE, "rounding"),
    "target_set_sizes[]": (COUNT, "equal"),
    "bound_curve": (GROUP, "rounding"),
    "bound_curve.source_errors[]": (SHARE, "rounding"),
    "bound_curve.bounds[]": (SHARE, "rounding"),
    "bound_curve.chosen": (SHARE, "rounding"),
    "sensitivity": (GROUP, "rounding"),
    "sensitivity.contamination[]": (SHARE, "rounding"),
    "sensitivity.bounds[]": (SHARE, "rounding"),
}


def field_of(path: str) -> tuple[Range, Compared] | None:
    """The row of a field, or that of the nearest field above it: then anything may stand there, if it is read."""
    if path in FIELDS:
        return FIELDS[path]
    above = f"{path}[]." if f"{path}[]" in FIELDS else path
    while above := above[:-2] if above.endswith("[]") else above.rpartition(".")[0]:
        if above in FIELDS:
            return ANYTHING, FIELDS[above][1]
    return None


def places(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every field of a document by its path, and every number, text or flag that has no row of its own."""
    inside = isinstance(value, (dict, list))
    if path in FIELDS or not inside:
        yield path, value
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from places(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for inner in value:
            yield from places(inner, f"{path}[]")


def require_ranges(document: dict[str, Any]) -> None:
    """ValueError unless everything in a certificate's document is one of its range."""
    for path, value in places(document):
        row = field_of(path)
        if row is not None:  # what nobody reads may be anything
            row[0].require(value, path)
