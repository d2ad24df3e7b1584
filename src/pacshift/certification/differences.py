"""Where two certificates differ: field by field, as they stand in their files."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pacshift.certificate import Certificate
from pacshift.certificate.file import COMPARED, Compared, how_compared, to_document
from pacshift.certificate.provenance import Provenance
from pacshift.files.codec import is_number
from pacshift.tally.once import Input

SAME_THRESHOLD = 1e-12
"""Relative amount by which a threshold may be lower: another machine may round the last digit otherwise. A higher
one misses more, by all rows at it if scores repeat."""

COMPARED_HERE: tuple[Compared, ...] = ("equal", "downward", "rounding", "words")
"""What else there is, ``origins_differ`` compares or ``left_open`` lists."""

SAME_BOUND = 1e-6
"""Relative difference of bounds that is rounding: solvers of linear programs compute them to about this."""


@dataclass(frozen=True, slots=True)
class Differences:
    """Numbers that differ and words that differ, one sentence each."""

    numbers: tuple[str, ...]
    words: tuple[str, ...]


def differences(stored: Certificate, found: Certificate) -> Differences:
    """Compare all that is computed from data, each field as ``COMPARED`` says."""
    numbers, words = dict[str, str](), dict[str, str]()
    for path, compared, said, made in _walk(_content(stored), _content(found), "", ""):
        name = path.partition("[")[0]  # of a list that differs the first place is enough
        if compared == "words":
            words.setdefault(name, f"{name} is worded otherwise")
        else:
            numbers.setdefault(
                name, f"{path}: the certificate says {_short(said)}, these data give {_short(made)}"
            )
    return Differences(tuple(numbers.values()), tuple(words.values()))


def _content(certificate: Certificate) -> dict[str, Any]:
    """The file's fields; classes by name, because that is how people speak of them."""
    document = to_document(certificate)
    return document | {"classes": {repr(row["name"]): row for row in document["classes"]}}


def _walk(said: Any, made: Any, path: str, field: str) -> Iterator[tuple[str, Compared, Any, Any]]:
    """Every place where two documents differ, with its name for people and how it was compared."""
    if isinstance(said, dict) and isinstance(made, dict):
        for name in [*said, *(name for name in made if name not in said)]:
            below = "classes[]" if field == "classes" else f"{field}.{name}" if field else name
            yield from _walk(said.get(name), made.get(name), f"{path}.{name}" if path else name, below)
    elif isinstance(said, list) and isinstance(made, list) and len(said) == len(made):
        for place, (one, other) in enumerate(zip(said, made, strict=True)):
            yield from _walk(one, other, f"{path}[{place}]", f"{field}[]")
    else:
        compared = how_compared(field)
        if compared in COMPARED_HERE and not _same(said, made, compared):
            yield path, compared, said, made


def _same(said: Any, made: Any, compared: Compared) -> bool:
    if compared == "downward" and is_number(said) and is_number(made):
        return bool(said == made or 0 < made - said <= SAME_THRESHOLD * abs(made))
    if compared == "rounding" and is_number(said) and is_number(made):
        return math.isclose(said, made, rel_tol=SAME_BOUND, abs_tol=SAME_BOUND)
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
        left_out = [
            [(one.left_out, one.left_out_why, one.rows_read) for one in inputs] for inputs in (before, now)
        ]
        if comparable(before, now) and sorted(left_out[0], key=str) != sorted(left_out[1], key=str):
            differ.append(f"{role}: other rows were left out than those on record")
    return differ


def comparable(stored: list[Input], found: list[Input]) -> bool:
    """Whether both are files, or both are rows in memory, with a known SHA-256 each."""
    both = [*stored, *found]
    kinds = {one.name is None for one in both}
    return bool(stored and found) and len(kinds) == 1 and all(one.sha256 is not None for one in both)


def left_open(stored: Certificate, now: Provenance | None, *, named: bool = False) -> list[str]:
    """What cannot be compared: what the maker said.

    ``named``: the data have the names of the columns that the certificate was made from, and were read by them.
    """
    made, given = stored.provenance, () if now is None else now.inputs
    open_ends = []
    if stored.columns is not None and not named:
        open_ends.append("columns: the maker's word, because these data have no names of columns")
    stated = [name.partition(".")[2] for name, compared in COMPARED.items() if compared == "maker"]
    said = [name for name in stated if getattr(made, name) is not None]
    open_ends.append(f"{', '.join(said)}: the maker's word")
    if stored.n_target_labels:
        chosen = "the target's labels, and how their rows, or the seed of their sheet, were chosen"
        open_ends.append(f"{chosen}: the maker's word")
    if made.code is None:
        open_ends.append("the file does not say by which code it was made")
    for role in ("source", "target"):
        before, after = ([one for one in inputs if one.role == role] for inputs in (made.inputs, given))
        if before and after and not comparable(before, after):
            open_ends.append(f"{role}: it is of another kind than the {role} on record, so SHA-256 tells nothing")
    return open_ends
