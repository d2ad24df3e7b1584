"""Where two certificates differ: field by field, as they stand in their files."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pacshift.certificate import Certificate
from pacshift.certificate.file import to_document
from pacshift.certificate.provenance import Provenance
from pacshift.tally.inputs import Input

SAME_THRESHOLD = 1e-12
"""Relative difference of thresholds that is rounding: another machine may round the last digit otherwise."""

SAME_BOUND = 1e-6
"""The same for bounds, which solvers of linear programs compute to about this."""

NOT_COMPARED = {"format", "version", "checksum", "in_words", "provenance", "columns"}
"""Fields of the file that are compared elsewhere, or do not come from the data."""

WORDS = ("method_facts", "notes", "reasons", "assumption.finding", "assumption.noticeable", "assumption.groups")
"""Fields that are words, which may change from version to version."""


@dataclass(frozen=True, slots=True)
class Differences:
    """Numbers that differ, words that differ, and what one of the files does not say, one sentence each."""

    numbers: tuple[str, ...]
    words: tuple[str, ...]
    unsaid: tuple[str, ...]


def differences(stored: Certificate, found: Certificate) -> Differences:
    """Compare all that is computed from data."""
    numbers, words, unsaid = dict[str, str](), dict[str, str](), dict[str, str]()
    for path, said, made in _walk(_content(stored), _content(found), ""):
        name = path.partition("[")[0]  # of a list that differs the first place is enough
        if said is None and made is not None:
            unsaid.setdefault(name, f"{name} is not in the file")
        elif name.startswith(WORDS):
            words.setdefault(name, f"{name} is worded otherwise")
        else:
            numbers.setdefault(
                name, f"{path}: the certificate says {_short(said)}, these data give {_short(made)}"
            )
    return Differences(tuple(numbers.values()), tuple(words.values()), tuple(unsaid.values()))


def _content(certificate: Certificate) -> dict[str, Any]:
    """The file's fields; classes by name, because that is how people speak of them."""
    document = {name: value for name, value in to_document(certificate).items() if name not in NOT_COMPARED}
    return document | {"classes": {repr(row["name"]): row for row in document["classes"]}}


def _walk(said: Any, made: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Every place where two documents differ."""
    if isinstance(said, dict) and isinstance(made, dict):
        for name in [*said, *(name for name in made if name not in said)]:
            yield from _walk(said.get(name), made.get(name), f"{path}.{name}" if path else name)
    elif isinstance(said, list) and isinstance(made, list) and len(said) == len(made):
        for place, (one, other) in enumerate(zip(said, made, strict=True)):
            yield from _walk(one, other, f"{path}[{place}]")
    elif not _same(said, made, path):
        yield path, said, made


def _same(said: Any, made: Any, path: str) -> bool:
    if isinstance(said, float) or isinstance(made, float):
        tolerance = SAME_THRESHOLD if path.endswith(".threshold") else SAME_BOUND
        numbers = all(isinstance(value, (int, float)) for value in (said, made))
        return numbers and math.isclose(said, made, rel_tol=tolerance, abs_tol=tolerance)
    return bool(said == made)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def origins_differ(stored: Provenance, found: Provenance) -> list[str]:
    """What is recorded about code and data and is another one now."""
    code = {"pacshift": "pacshift_version", "code": "code", "solver": "solver"}
    differ = [
        f"{name}: made by {getattr(stored, field)}, made again by {getattr(found, field)}"
        for name, field in code.items()
        if None not in (getattr(stored, field), getattr(found, field))
        and getattr(stored, field) != getattr(found, field)
    ]
    return [*differ, *_inputs_differ(stored.inputs, found.inputs)]


def _inputs_differ(stored: tuple[Input, ...], found: tuple[Input, ...]) -> list[str]:
    differ = []
    for role in ("source", "target"):
        before, now = ([one for one in inputs if one.role == role] for inputs in (stored, found))
        if comparable(before, now) and sorted(str(one.sha256) for one in before) != sorted(
            str(one.sha256) for one in now
        ):
            differ.append(f"{role}: other files than those on record, by their SHA-256")
        left_out = [[(one.left_out, one.left_out_why) for one in inputs] for inputs in (before, now)]
        if comparable(before, now) and sorted(left_out[0], key=str) != sorted(left_out[1], key=str):
            differ.append(f"{role}: other rows were left out than those on record")
    return differ


def comparable(stored: list[Input], found: list[Input]) -> bool:
    """Whether both are files, or both are rows in memory, with a known SHA-256 each."""
    both = [*stored, *found]
    kinds = {one.name is None for one in both}
    return bool(stored and found) and len(kinds) == 1 and all(one.sha256 is not None for one in both)


def left_open(stored: Certificate, now: Provenance | None) -> list[str]:
    """What cannot be compared: what the maker said, and what an older file leaves open."""
    made, given = stored.provenance, () if now is None else now.inputs
    if made is None:
        return [
            "the file does not say by which code and from which files it was made, nor its seed: 0 was assumed"
        ]
    stated = ("model_id", "note", "valid_until", "command")
    said = [name for name in stated if getattr(made, name) is not None]
    open_ends = [f"{', '.join(said)}: the maker's word"] if said else []
    if stored.n_target_labels:
        chosen = "the target's labels, and how their rows, or the seed of their sheet, were chosen"
        open_ends.append(f"{chosen}: the maker's word")
    if made.seed is None:
        open_ends.append("the file does not say its seed: 0 was assumed")
    if made.counting is None:
        open_ends.append("the file does not say how rows were counted: the usual way was assumed")
    if made.code is None:
        open_ends.append("the file does not say by which code it was made")
    for role in ("source", "target"):
        before, after = ([one for one in inputs if one.role == role] for inputs in (made.inputs, given))
        if before and after and not comparable(before, after):
            open_ends.append(f"{role}: it is of another kind than the {role} on record, so SHA-256 tells nothing")
    return open_ends
