"""The certificate as a file: versioned JSON, one row per class, readable by a person, exact to the bit."""

import json
import math
import os
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from pacshift.certificate.reading import CLASS_INTERVALS, checked_fields
from pacshift.errors import InputError
from pacshift.files.documents import parse_json, require_seal, seal
from pacshift.files.reading import read_document
from pacshift.files.writing import atomic_write

if TYPE_CHECKING:
    from pacshift.certificate import Certificate

FORMAT = "pacshift-certificate"
VERSION = 1


def write(certificate: "Certificate", path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
    """Write the file whole or not at all."""
    write_document(to_document(certificate), path, overwrite=overwrite)


def write_document(document: dict[str, Any], path: str | os.PathLike[str], *, overwrite: bool = True) -> None:
    """Write a sealed document as JSON that a person can read, whole or not at all."""
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    with atomic_write(path, overwrite=overwrite) as draft:
        draft.write_text(text + "\n", encoding="utf-8")


def read_fields(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The fields of the certificate in a file, or an InputError that says what is wrong with it."""
    return read_checked(path, FORMAT, VERSION, sealed_fields)


def read_checked(
    path: str | os.PathLike[str],
    form: str,
    version: int,
    check: Callable[[dict[str, Any]], dict[str, Any]],
) -> dict[str, Any]:
    """What ``check`` makes of a file's document, or an InputError that says what is wrong with the file."""
    content = read_document(path)
    try:
        document = parse_json(content)
    except ValueError as error:
        raise InputError(f"{path} is not a certificate: it is not JSON ({error}).") from None
    if not isinstance(document, dict) or document.get("format") != form:
        raise InputError(f"{path} is not a certificate: it does not say format {form!r}.")
    said = document.get("version")
    if type(said) is not int or said != version:  # True == 1
        raise InputError(
            f"{path}: certificate version {said!r}, this pacshift reads {version}. Update pacshift or make the "
            "certificate again."
        )
    try:
        return check(document)
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        cause = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(f"{path}: damaged certificate: {cause}. Make it again.") from None


def words_in(path: str | os.PathLike[str]) -> list[str]:
    """The words that a certificate file holds beside its numbers."""
    words: list[str] = parse_json(read_document(path))["in_words"]
    return words


def sealed_fields(document: dict[str, Any]) -> dict[str, Any]:
    """The fields of a certificate of this version, or an exception that says what is wrong."""
    checked = checked_fields(document)
    require_seal(document)
    return checked


def to_document(certificate: "Certificate") -> dict[str, Any]:
    """A certificate as plain JSON values with their checksum, infinities as strings."""
    return seal(_content(certificate))


def _content(certificate: "Certificate") -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "in_words": certificate.explain().splitlines(),
        "guarantee": certificate.guarantee,
        "epsilon": certificate.epsilon,
        "delta": certificate.delta,
        "method": certificate.method,
        "options": {str(name): _plain_option(value) for name, value in certificate.options.items()},
        "method_facts": asdict(certificate.facts),
        "score": certificate.score,
        "columns": _json(certificate.columns),
        "provenance": _json(certificate.provenance),
        "never_empty": certificate.never_empty,
        "softmax": certificate.softmax,
        "n_source": certificate.n_source,
        "n_target": certificate.n_target,
        "n_target_labels": certificate.n_target_labels,
        "source_grouped": _json(certificate.source_grouped),
        "target_grouped": _json(certificate.target_grouped),
        "accuracy_at_least": certificate.accuracy,
        "one_label_error_at_most": certificate.one_label_error,
        "class_epsilon": certificate.class_epsilon,
        "contamination": certificate.contamination,
        "assumption": _json(certificate.assumption),
        "source_scores": _json(certificate.score_kind),
        "reasons": list(certificate.reasons),
        "notes": list(certificate.notes),
        "classes": [_class_row(certificate, label) for label in range(len(certificate.classes))],
        "target_set_sizes": None if certificate.set_sizes is None else certificate.set_sizes.tolist(),
        "bound_curve": _plain_lists(certificate.curve, "source_errors", "bounds", "chosen"),
        "sensitivity": _plain_lists(certificate.sensitivity, "contamination", "bounds"),
    }


def _json(part: Any) -> Any:
    return None if part is None else part.to_json()


def _plain_lists(part: Any, *names: str) -> dict[str, Any] | None:
    return None if part is None else {name: _plain_option(getattr(part, name)) for name in names}


def _class_row(certificate: "Certificate", label: int) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": certificate.classes[label],
        "threshold": _plain(certificate.thresholds[label]),
        "source_examples": int(certificate.class_counts[label]),
        "target_predicted": int(certificate.predicted_counts[label]),
    }
    for name, field in CLASS_INTERVALS.items():
        interval = getattr(certificate, field)
        if interval is not None:
            row[name] = [_plain(interval.lower[label]), _plain(interval.upper[label])]
    return row


def _plain_option(value: Any) -> Any:
    """An option as JSON can hold it; what JSON has no form for becomes text."""
    if isinstance(value, (np.generic, np.ndarray)):
        return _plain_option(value.tolist())
    if isinstance(value, float):
        return _plain(value)
    if isinstance(value, dict):
        return {str(name): _plain_option(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain_option(inner) for inner in value]
    return value if value is None or isinstance(value, (bool, int, str)) else repr(value)


def _plain(value: float) -> float | str:
    return float(value) if math.isfinite(value) else str(float(value))  # JSON has no infinity
