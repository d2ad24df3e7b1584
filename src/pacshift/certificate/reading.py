"""What a certificate file says, checked field by field: no other types, no numbers that contradict each other."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, cast, get_args

import numpy as np

from pacshift.arrays import FloatArray, IntArray
from pacshift.assumption import Assumption
from pacshift.bounds import BoundCurve, Interval, Sensitivity
from pacshift.certificate.fields import is_number, require_ranges
from pacshift.certificate.provenance import Provenance
from pacshift.files.documents import is_count, require_text
from pacshift.methods import METHODS, Guarantee, MethodFacts
from pacshift.rows.columns import Columns
from pacshift.scores.check import check_classes, check_rate
from pacshift.scores.kind import ScoreKind
from pacshift.scores.transforms import TRANSFORMS
from pacshift.tally.grouped import Grouped

CLASS_INTERVALS = {
    "weight": "weights",
    "prevalence": "prevalence",
    "missed": "class_miss",
    "known_share": "known_mix",
}
"""Name of each pair of bounds in a class's row of the file, and the field it belongs to."""


def checked_fields(document: dict[str, Any]) -> dict[str, Any]:
    """The fields of a certificate, or an exception that says what is wrong with the document."""
    require_ranges(document)
    rows = _list(document["classes"])
    _list(document["in_words"])
    checked = {
        "thresholds": _floats([row["threshold"] for row in rows]),
        "classes": check_classes([row["name"] for row in rows]),
        "epsilon": check_rate(document["epsilon"], "epsilon"),
        "delta": check_rate(document["delta"], "delta"),
        "method": require_text(document["method"]),
        "options": _mapping(document["options"]),
        "facts": _facts(_mapping(document["method_facts"])),
        "score": _among(document["score"], (*TRANSFORMS, "custom"), "score"),
        "guarantee": _among(document["guarantee"], get_args(Guarantee), "guarantee"),
        "n_source": _count(document["n_source"]),
        "n_target": _count(document["n_target"]),
        "n_target_labels": _count(document["n_target_labels"]),
        "source_grouped": _optional(Grouped.from_json, document["source_grouped"]),
        "target_grouped": _optional(Grouped.from_json, document["target_grouped"]),
        "class_counts": _counts([row["source_examples"] for row in rows]),
        "predicted_counts": _counts([row["target_predicted"] for row in rows]),
        **{field: _interval(rows, name) for name, field in CLASS_INTERVALS.items()},
        "accuracy": _optional(_share, document["accuracy_at_least"]),
        "one_label_error": _optional(_share, document["one_label_error_at_most"]),
        "class_epsilon": _optional(lambda rate: check_rate(rate, "class_epsilon"), document["class_epsilon"]),
        "contamination": _share(document["contamination"]),
        "assumption": _optional(_assumption, document["assumption"]),
        "score_kind": _optional(lambda kind: ScoreKind.from_json(_mapping(kind)), document["source_scores"]),
        "reasons": tuple(require_text(reason) for reason in _list(document["reasons"])),
        "notes": tuple(require_text(note) for note in _list(document["notes"])),
        "curve": _optional(_curve, document["bound_curve"]),
        "sensitivity": _optional(_sensitivity, document["sensitivity"]),
        "set_sizes": _optional(_counts, document["target_set_sizes"]),
        "never_empty": _flag(document["never_empty"]),
        "softmax": _flag(document["softmax"]),
        "columns": _optional(lambda names: Columns.from_json(names, len(rows)), document["columns"]),
        "provenance": Provenance.from_json(_mapping(document["provenance"])),
    }
    _require_consistent(checked)
    return checked


def _require_consistent(found: dict[str, Any]) -> None:
    if sum(found["class_counts"].tolist()) != found["n_source"]:  # Python's integers cannot overflow
        raise ValueError("the source examples of the classes do not add up to n_source")
    if sum(found["predicted_counts"].tolist()) != found["n_target"]:
        raise ValueError("the target predictions of the classes do not add up to n_target")
    if found["n_target_labels"] > found["n_target"]:
        raise ValueError("more target rows have labels than there are")
    for side in ("source", "target"):
        grouped = found[f"{side}_grouped"]
        if grouped is not None and grouped.rows < found[f"n_{side}"]:
            raise ValueError(f"more {side} rows were counted than there are")
    if found["contamination"] >= found["epsilon"]:
        raise ValueError(f"contamination {found['contamination']:g} is not below epsilon {found['epsilon']:g}")
    facts, known = found["facts"], METHODS.get(found["method"])
    if known is not None:
        if found["guarantee"] != known.guarantee:
            raise ValueError(f"method {known.name} does not give guarantee {found['guarantee']!r}")
        for fact in ("any_mix", "tests_assumption", "needs_weights", "assumes_label_shift"):
            if getattr(facts, fact) != getattr(known, fact):
                raise ValueError(
                    f"method {known.name} has {fact} {getattr(known, fact)}, not {getattr(facts, fact)}"
                )
        if known.needs_labels and not found["n_target_labels"]:
            raise ValueError(f"method {known.name} needs labels of target rows, but there are none")
        if found["guarantee"].startswith("pac-") and np.isposinf(found["thresholds"]).any():
            raise ValueError(f"a threshold of method {known.name} is infinite: it would miss a class always")
    if found["assumption"] is not None:
        if len(found["assumption"].mix) != len(found["classes"]):
            raise ValueError("the mix of the assumption must have one share per class")
        if found["assumption"].refuted and facts.assumes_label_shift:
            raise ValueError("label shift is refuted, and the promise rests on it")
    if found["set_sizes"] is not None and len(found["set_sizes"]) != len(found["classes"]) + 1:
        raise ValueError("target_set_sizes must count sizes 0 to the number of classes")


def _facts(document: Any) -> MethodFacts:
    checks: dict[Any, Callable[[Any], Any]] = {str: require_text, bool: _flag}
    return MethodFacts(**{fact.name: checks[fact.type](document[fact.name]) for fact in fields(MethodFacts)})


def _optional(read: Callable[[Any], Any], value: Any) -> Any:
    """What ``read`` makes of a value; None stays None."""
    return None if value is None else read(value)


def _need(value: Any, fits: bool, what: str) -> Any:
    if not fits:
        raise ValueError(f"{value!r} where {what} belongs")
    return value


def _number(value: Any) -> float:
    return float(_need(value, value in ("inf", "-inf") or is_number(value), "a number"))


def _list(value: Any) -> list[Any]:
    return cast(list[Any], _need(value, isinstance(value, list), "a list"))


def _floats(values: Any) -> FloatArray:
    return np.array([_number(value) for value in _list(values)], dtype=np.float64)


def _count(value: Any) -> int:
    return int(_need(value, is_count(value) and value < 2**63, "a count"))


def _counts(values: Any) -> IntArray:
    return np.array([_count(value) for value in _list(values)], dtype=np.int64)


def _share(value: Any) -> float:
    return float(_need(value, is_number(value) and 0 <= value <= 1, "a share between 0 and 1"))


def _mapping(value: Any) -> dict[str, Any]:
    return cast(dict[str, Any], _need(value, isinstance(value, dict), "options"))


def _flag(value: Any) -> bool:
    return bool(_need(value, isinstance(value, bool), "true or false"))


def _among(value: Any, choices: Any, what: str) -> Any:
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"unknown {what} {value!r}")
    return value


def _interval(rows: list[dict[str, Any]], name: str) -> Interval | None:
    if all(name not in row for row in rows):
        return None
    ends = np.array([_floats(row[name]) for row in rows])
    if ends.shape != (len(rows), 2) or (ends[:, 0] > ends[:, 1]).any() or (ends < 0).any():
        raise ValueError(f"a {name} interval must be two numbers, 0 <= lower <= upper")
    return Interval(ends[:, 0].copy(), ends[:, 1].copy())


def _curve(document: dict[str, Any]) -> BoundCurve:
    curve = BoundCurve(_floats(document["source_errors"]), _floats(document["bounds"]), _share(document["chosen"]))
    if len(curve.source_errors) != len(curve.bounds):
        raise ValueError("the bound curve's two lists differ in length")
    return curve


def _sensitivity(document: dict[str, Any]) -> Sensitivity:
    found = Sensitivity(_floats(document["contamination"]), _floats(document["bounds"]))
    if len(found.contamination) != len(found.bounds):
        raise ValueError("the two lists of the sensitivity differ in length")
    return found


def _assumption(document: Any) -> Assumption:
    for name in ("groups", "noticeable", "mix", "observed", "explained", "allowed"):
        _list(_mapping(document)[name])
    found = Assumption.from_json(document)
    lists = (found.groups, found.observed, found.explained, found.allowed.lower, found.allowed.upper)
    if len({len(one) for one in lists}) > 1:
        raise ValueError("the lists of the assumption differ in length")
    return found
