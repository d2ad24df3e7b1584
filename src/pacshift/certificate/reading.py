"""What a certificate file says, checked field by field: no other types, no numbers that contradict each other."""

import math
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, get_args

import numpy as np

from pacshift.arrays import FloatArray, IntArray
from pacshift.assumption import Assumption
from pacshift.bounds import BoundCurve, Interval
from pacshift.certificate.columns import Columns
from pacshift.certificate.provenance import Provenance
from pacshift.certificate.sensitivity import Sensitivity
from pacshift.methods import METHODS, Guarantee, MethodFacts
from pacshift.methods.base import facts_of
from pacshift.scores.check import check_classes, check_rate
from pacshift.scores.kind import ScoreKind
from pacshift.scores.transforms import TRANSFORMS

CLASS_INTERVALS = {
    "weight": "weights",
    "prevalence": "prevalence",
    "missed": "class_miss",
    "known_share": "known_mix",
}
"""Name of each pair of bounds in a class's row of the file, and the field it belongs to."""


def checked_fields(document: dict[str, Any]) -> dict[str, Any]:
    """The fields of a certificate, or an exception that says what is wrong with the document."""
    rows = _list(document["classes"])
    for line in _list(document.get("in_words", [])):
        _text(line)
    method, options = _text(document["method"]), _mapping(document["options"])
    checked = {
        "thresholds": _floats([row["threshold"] for row in rows]),
        "classes": check_classes([row["name"] for row in rows]),
        "epsilon": check_rate(_finite(document["epsilon"]), "epsilon"),
        "delta": check_rate(_finite(document["delta"]), "delta"),
        "method": method,
        "options": options,
        "facts": _facts(document.get("method_facts"), method, options),
        "score": _among(document["score"], (*TRANSFORMS, "custom"), "score"),
        "guarantee": _among(document["guarantee"], get_args(Guarantee), "guarantee"),
        "n_source": _count(document["n_source"]),
        "n_target": _count(document["n_target"]),
        "n_target_labels": _count(document.get("n_target_labels", 0)),
        "class_counts": _counts([row["source_examples"] for row in rows]),
        "predicted_counts": _counts([row["target_predicted"] for row in rows]),
        **{field: _interval(rows, name) for name, field in CLASS_INTERVALS.items()},
        "accuracy": None if document["accuracy_at_least"] is None else _share(document["accuracy_at_least"]),
        "class_epsilon": _rate_or_none(document.get("class_epsilon"), "class_epsilon"),
        "contamination": _share(document.get("contamination", 0.0)),
        "assumption": _assumption(document.get("assumption")),
        "score_kind": _score_kind(document.get("source_scores")),
        "reasons": tuple(_text(reason) for reason in _list(document["reasons"])),
        "notes": tuple(_text(note) for note in _list(document.get("notes", []))),
        "curve": _curve(document["bound_curve"]),
        "sensitivity": _sensitivity(document.get("sensitivity")),
        "set_sizes": None if document["target_set_sizes"] is None else _counts(document["target_set_sizes"]),
        "never_empty": _flag(document["never_empty"]),
        "softmax": _flag(document.get("softmax", False)),
        "columns": _columns(document.get("columns"), len(rows)),  # files from before columns were kept have none
        "provenance": _provenance(document.get("provenance")),  # nor have older files this
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
    known = METHODS.get(found["method"])
    if known is not None and found["guarantee"] != known.guarantee:
        raise ValueError(f"method {known.name} does not give guarantee {found['guarantee']!r}")
    if known is not None and found["facts"].any_mix != known.any_mix:
        raise ValueError(f"method {known.name} has any_mix {known.any_mix}, not {found['facts'].any_mix}")
    if found["assumption"] is not None and len(found["assumption"].mix) != len(found["classes"]):
        raise ValueError("the mix of the assumption must have one share per class")
    if found["set_sizes"] is not None and len(found["set_sizes"]) != len(found["classes"]) + 1:
        raise ValueError("target_set_sizes must count sizes 0 to the number of classes")


def _columns(document: Any, n_classes: int) -> Columns | None:
    return None if document is None else Columns.from_json(document, n_classes)


def _provenance(document: Any) -> Provenance | None:
    return None if document is None else Provenance.from_json(_mapping(document))


def _facts(document: Any, method: str, options: dict[str, Any]) -> MethodFacts:
    """What the file says about its method. Files from before facts were kept rely on the registered method."""
    if document is not None:
        checks: dict[Any, Callable[[Any], Any]] = {str: _text, bool: _flag}
        said = {"version": ""} | document  # older files do not say which version of the method made them
        return MethodFacts(**{fact.name: checks[fact.type](said[fact.name]) for fact in fields(MethodFacts)})
    if method not in METHODS:
        raise ValueError(f"unknown method {method!r}, and the file has no method_facts about it")
    try:
        known = facts_of(METHODS[method](**options))
    except (TypeError, ValueError):  # options of another version of the method
        known = facts_of(METHODS[method]())
    return replace(known, version="")


def _number(value: Any) -> float:
    number = float(value) if value in ("inf", "-inf") or _is_number(value) else math.nan
    if math.isnan(number):
        raise ValueError(f"{value!r} where a number belongs")
    return number


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _finite(value: Any) -> float:
    if not _is_number(value):
        raise ValueError(f"{value!r} where a number belongs")
    return float(value)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{value!r} where a list belongs")
    return value


def _floats(values: Any) -> FloatArray:
    return np.array([_number(value) for value in _list(values)], dtype=np.float64)


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise ValueError(f"{value!r} where a count belongs")
    return value


def _counts(values: Any) -> IntArray:
    return np.array([_count(value) for value in _list(values)], dtype=np.int64)


def _share(value: Any) -> float:
    if not 0 <= _finite(value) <= 1:
        raise ValueError(f"{value!r} where a share between 0 and 1 belongs")
    return float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} where text belongs")
    return value


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{value!r} where options belong")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} where true or false belongs")
    return value


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


def _curve(document: dict[str, Any] | None) -> BoundCurve | None:
    if document is None:
        return None
    curve = BoundCurve(_floats(document["source_errors"]), _floats(document["bounds"]), _share(document["chosen"]))
    if len(curve.source_errors) != len(curve.bounds):
        raise ValueError("the bound curve's two lists differ in length")
    return curve


def _sensitivity(document: dict[str, Any] | None) -> Sensitivity | None:
    if document is None:
        return None
    found = Sensitivity(_floats(document["contamination"]), _floats(document["bounds"]))
    if len(found.contamination) != len(found.bounds):
        raise ValueError("the two lists of the sensitivity differ in length")
    return found


def _assumption(document: Any) -> Assumption | None:
    if document is None:
        return None
    found = Assumption.from_json(_mapping(document))
    lists = (found.groups, found.observed, found.explained, found.allowed.lower, found.allowed.upper)
    if len({len(one) for one in lists}) > 1:
        raise ValueError("the lists of the assumption differ in length")
    return found


def _score_kind(document: Any) -> ScoreKind | None:
    return None if document is None else ScoreKind.from_json(_mapping(document))


def _rate_or_none(value: Any, name: str) -> float | None:
    return None if value is None else check_rate(_finite(value), name)
