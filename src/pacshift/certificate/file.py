"""The certificate as a file: versioned JSON, one row per class, readable by a person, exact to the bit.

``FIELDS`` and ``CLASS_FIELDS`` name every field once, and what may stand in it. What is written and read, and the
JSON Schema, follow from them.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from pacshift.assumption import Assumption, Noticeable
from pacshift.bounds import Interval
from pacshift.certificate.provenance import Provenance
from pacshift.errors import PYTHON, speak
from pacshift.files import codec
from pacshift.files.codec import COUNT, COUNTS, RATE, SHARE, TEXT, Entries, Kind, ListOf, OrNull, Value, record
from pacshift.files.reading import read_document
from pacshift.files.writing import PathLike
from pacshift.methods import METHODS, Guarantee, MethodFacts
from pacshift.methods.accept import ACCEPTING
from pacshift.rows.columns import Columns
from pacshift.rows.rule import RULES, Rule
from pacshift.scores.check import check_classes, check_rate
from pacshift.scores.kind import ScoreKind
from pacshift.tally.inputs import Grouped
from pacshift.tally.rules import SCORE, may_be, require_side

if TYPE_CHECKING:
    from pacshift.certificate import Certificate

FORMAT, VERSION = "pacshift-certificate", 1


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the file: its name, what may stand in it, and what Python calls it.

    Of a class's row also ``column``: what is made of the values of all classes.
    """

    name: str
    kind: Kind
    attribute: str = ""
    column: Callable[[list[Any]], Any] = tuple

    @property
    def python(self) -> str:
        """Its name in ``Certificate``."""
        return self.attribute or self.name


_ROUNDING = 1e-6  # of shares that a linear program found
_INFINITE = "JSON has no infinity, so it is written as text."

_LEAST, _MOST = -_ROUNDING, 1 + _ROUNDING
COMPUTED = codec.number(
    "a share between 0 and 1", lambda value: _LEAST <= value <= _MOST, minimum=_LEAST, maximum=_MOST
)
WEIGHT = Value(
    "a weight",
    lambda value: value == "inf" or (codec.is_number(value) and value >= 0),
    {"anyOf": [{"type": "number", "minimum": 0}, {"const": "inf"}], "description": _INFINITE},
    float,
    codec.plain,
)
CUT = Value(
    "a threshold",
    lambda value: value in ("inf", "-inf") or codec.is_number(value),
    {"anyOf": [{"type": "number"}, {"enum": ["inf", "-inf"]}], "description": _INFINITE},
    float,
    codec.plain,
)
NAME = Value(
    "a name", lambda value: isinstance(value, (str, int, float)), {"type": ["string", "number", "boolean"]}
)
SHARES = ListOf(COMPUTED, lambda values: np.array(values, np.float64))


@dataclass(frozen=True)
class _Ends(ListOf):
    """Lower and upper bounds of many shares, as two lists."""

    def write(self, value: Interval) -> Any:
        return super().write((value.lower, value.upper))


def _optional(name: str, make: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
    """What is made of the values of all classes; None where no class has one."""

    def column(values: list[Any]) -> Any:
        if all(value is None for value in values):
            return None
        if None in values:
            raise ValueError(f"it lacks {name!r} in classes[]")
        return make(values)

    return column


def _bounds(name: str, kind: Kind, attribute: str) -> Field:
    """Lower and upper bound in a class's row, left out where the method does not compute them."""

    def interval(pairs: list[Any]) -> Interval:
        lower, upper = np.array(pairs, np.float64).T.copy()
        if (lower > upper).any() or (lower < 0).any():
            raise ValueError(f"a {name} interval must be two numbers, 0 <= lower <= upper")
        return Interval(lower, upper)

    ends = OrNull(ListOf(kind, least=2, most=2), absent=True)
    return Field(name, ends, attribute, _optional(name, interval))


_COUNTED = _optional("target_predicted", COUNTS.make)
CLASS_FIELDS = (
    Field("name", NAME, "classes", check_classes),
    Field("threshold", CUT, "thresholds", SHARES.make),
    Field("limit", OrNull(SHARE, absent=True), "limits", _optional("limit", SHARES.make)),
    Field("source_examples", COUNT, "class_counts", COUNTS.make),
    Field("target_predicted", OrNull(COUNT, absent=True), "predicted_counts", _COUNTED),
    _bounds("weight", WEIGHT, "weights"),
    _bounds("prevalence", COMPUTED, "prevalence"),
    _bounds("missed", COMPUTED, "class_miss"),
    _bounds("accepted", COMPUTED, "accepted"),
    _bounds("wrong_if_accepted", COMPUTED, "accepted_error"),
    _bounds("known_share", COMPUTED, "known_mix"),
)
CLASS = Entries({field.name: field.kind for field in CLASS_FIELDS})
ENDS = _Ends(SHARES, lambda ends: Interval(*ends), least=2, most=2)
ASSUMPTION = record(
    Assumption,
    level=RATE,
    mix=SHARES,
    observed=SHARES,
    explained=SHARES,
    allowed=ENDS,
    noticeable=ListOf(record(Noticeable, size=SHARE), most=2),  # one of each kind
)
FIELDS = (
    Field("in_words", ListOf(TEXT)),
    Field("guarantee", codec.choice(*get_args(Guarantee))),
    Field("epsilon", RATE),
    Field("delta", RATE),
    Field("method", TEXT),
    Field("options", codec.OBJECT),
    Field("method_facts", record(MethodFacts), attribute="facts"),
    Field("score", SCORE),
    Field("columns", record(Columns).or_null),
    Field("provenance", record(Provenance)),
    Field("rule", codec.choice(*RULES)),
    Field("never_empty", codec.FLAG),
    Field("softmax", codec.FLAG),
    Field("n_source", COUNT),
    Field("n_target", COUNT),
    Field("n_target_labels", COUNT),
    Field("source_grouped", record(Grouped).or_null),
    Field("target_grouped", record(Grouped).or_null),
    Field("accuracy_at_least", SHARE.or_null, "accuracy"),
    Field("contamination", SHARE),
    Field("assumption", ASSUMPTION.or_null),
    Field("source_scores", record(ScoreKind).or_null, "score_kind"),
    Field("reasons", ListOf(TEXT)),
    Field("notes", ListOf(TEXT)),
    Field("classes", ListOf(CLASS, list, least=2)),
    Field("target_set_sizes", COUNTS.or_null, attribute="set_sizes"),
)
DOCUMENT = Entries({field.name: field.kind for field in FIELDS})
_MADE_HERE = ("in_words", "rule", "never_empty", "classes")


def json_schema() -> dict[str, Any]:
    """The JSON Schema of certificates, as it is shipped beside this module."""
    fields_schema = DOCUMENT.schema
    ends = {"format": {"const": FORMAT}, "version": {"const": VERSION}}
    sealed = {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$", "description": "Of all other fields."}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A certificate of pacshift",
        "description": "Thresholds of prediction sets, what they promise, and where they come from. "
        "docs/files.md says what each field means. Later versions may add fields.",
        "type": "object",
        "required": [*ends, *fields_schema["required"], codec.CHECKSUM],
        "properties": ends | fields_schema["properties"] | {codec.CHECKSUM: sealed},
    }


def to_document(certificate: "Certificate") -> dict[str, Any]:
    """A certificate as plain JSON values with their checksum, infinities as strings."""
    values = {field.name: getattr(certificate, field.python) for field in FIELDS if field.name not in _MADE_HERE}
    if certificate.assumption is not None:
        values["assumption"] = certificate.assumption.with_largest_differences()
    with speak(PYTHON):  # a file says the same whoever wrote it
        values["in_words"] = certificate.explain().splitlines()[:-1]  # but for where to read more
    values |= {"rule": certificate.rule.kind, "never_empty": certificate.rule.never_empty}
    columns = (_per_class(getattr(certificate, field.python), len(certificate.classes)) for field in CLASS_FIELDS)
    values["classes"] = [dict(zip(CLASS.kinds, row, strict=True)) for row in zip(*columns, strict=True)]
    return codec.seal({"format": FORMAT, "version": VERSION} | DOCUMENT.write(values))


def _per_class(values: Any, n_classes: int) -> Iterable[Any]:
    if isinstance(values, Interval):
        return zip(values.lower.tolist(), values.upper.tolist(), strict=True)
    plain_list = values.tolist() if isinstance(values, np.ndarray) else values
    return [None] * n_classes if values is None else list(plain_list)


def words_in(path: PathLike) -> list[str]:
    """The words that a certificate file holds beside its numbers."""
    words: list[str] = codec.parse_json(read_document(path))["in_words"]
    return words


def sealed_fields(document: codec.Document) -> dict[str, Any]:
    """The fields of a certificate of this version, or an exception that says what is wrong with its document."""
    entries = DOCUMENT.read(document, "")
    values = {field.python: entries[field.name] for field in FIELDS if field.name not in _MADE_HERE}
    for field in CLASS_FIELDS:
        values[field.python] = field.column([row[field.name] for row in entries["classes"]])
    rule = RULES[entries["rule"]]
    _require_consistent(values, rule)
    thresholds = values.pop("thresholds")
    values["rule"] = rule(thresholds).fill_empty_sets() if entries["never_empty"] else rule(thresholds)
    if values["rule"].never_empty != entries["never_empty"]:
        raise ValueError(f"never_empty is about prediction sets, and the rule is {rule.kind!r}")
    codec.require_seal(document)
    return values


def _require_consistent(values: dict[str, Any], rule: type[Rule]) -> None:
    """ValueError where fields contradict each other, or the method that the file names."""
    for name in ("epsilon", "delta"):
        check_rate(values[name], name)
    known, predicted, kind = values["class_counts"], values["predicted_counts"], values["score_kind"]
    require_side("source", values["n_source"], by_class=known, kind=kind, grouped=values["source_grouped"])
    require_side("target", values["n_target"], by_class=predicted, kind=None, grouped=values["target_grouped"])
    if values["n_target_labels"] > values["n_target"]:
        raise ValueError("more target rows have labels than there are")
    if values["contamination"] >= values["epsilon"]:
        raise ValueError(f"contamination {values['contamination']:g} is not below epsilon {values['epsilon']:g}")
    limits = values["limits"]
    if limits is not None and (not (limits > 0).all() or (limits == 1).all()):
        raise ValueError("a limit must be above 0, and below 1 where something is limited")
    if limits is not None and not rule.of_labels and (limits != limits[0]).any():
        raise ValueError("prediction sets have one limit for all classes")
    facts, known = values["facts"], {**METHODS, **ACCEPTING}.get(values["method"])
    if known is not None:
        if values["guarantee"] != known.guarantee:
            raise ValueError(f"method {known.name} does not give guarantee {values['guarantee']!r}")
        for fact in ("any_mix", "needs_weights", "assumes_label_shift"):
            if getattr(facts, fact) != getattr(known, fact):
                raise ValueError(
                    f"method {known.name} has {fact} {getattr(known, fact)}, not {getattr(facts, fact)}"
                )
        if known.needs_labels and not values["n_target_labels"]:
            raise ValueError(f"method {known.name} needs labels of target rows, but there are none")
        if rule is not known.rule:
            raise ValueError(f"method {known.name} makes rules of another kind than {rule.kind!r}")
        if rule.may_grow and values["guarantee"] in ("pac-target", "pac-source"):
            cuts, misses = values["thresholds"], values["class_miss"]
            if cuts.max() == np.inf:
                raise ValueError(f"a threshold of method {known.name} is infinite: it would miss a class always")
            if values["score"] == "probability" and not values["n_target_labels"] and misses is not None:
                bounded = cuts[misses.upper < 1]
                if not all(may_be(cut, values["score_kind"]) for cut in bounded.tolist()):
                    raise ValueError(
                        f"a threshold of method {known.name} is {bounded.max():g}, above all scores, but its "
                        "class is said to be missed not always"
                    )
    n_classes, columns, assumption = len(values["classes"]), values["columns"], values["assumption"]
    if columns is not None and len(columns.scores) not in (1, n_classes):
        raise ValueError(f"the score columns must be one list column or {n_classes} different columns")
    if assumption is not None:
        if len(assumption.mix) != n_classes:
            raise ValueError("the mix of the assumption must have one share per class")
        if assumption.refuted and facts.assumes_label_shift:
            raise ValueError("label shift is rejected, and the promise rests on it")
    if values["set_sizes"] is not None and len(values["set_sizes"]) != n_classes + 1:
        raise ValueError("target_set_sizes must count sizes 0 to the number of classes")
