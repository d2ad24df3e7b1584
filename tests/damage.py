"""Damaged inputs, seeded, and what every answer to one must be."""

import json
import math
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pacshift import Certificate, PacshiftError, UninformativeWarning, evaluate
from pacshift.bounds import binomial_cut

ODD: list[Any] = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1e308, -1e308, 5e-324, 1e-300, 2.0**70]
ODD += [-1, True, None, "x", "0.5", ""]
NAMES = ["a", "b", "", "naïve", "日本", "a b", "x" * 300, "\n", "'", '"', "<b>", "%s", "{}", "p_*", "-1", "1.0"]
NAMES.append("\x1b[2J")
RATES: list[Any] = [0.1, 0.05, 0.5, 0.999999, 1e-12, 5e-324, 1 - 2**-53, 0, 1, -1, 2, math.nan, math.inf]
RATES += [None, "0.1", "x", [0.1]]


def pick(rng: np.random.Generator, choices: Any) -> Any:
    """One of the choices, in its own type (rng.choice would make all of them texts)."""
    choices = list(choices)
    return choices[int(rng.integers(len(choices)))]


def with_value(array: Any, place: Any, value: Any) -> Any:
    """A copy with one other value."""
    copy = array.copy()
    copy[place] = value
    return copy


def damage_json(text: str, rng: np.random.Generator) -> bytes:
    if rng.random() < 0.4:
        return damage_bytes(text.encode(), rng)
    document = json.loads(text)
    for _ in range(int(rng.integers(1, 4))):
        *way, last = pick(rng, nodes(document))
        place = document
        for key in way:
            place = place[key]
        value = pick(rng, [*ODD, [], {}, [1, 2], {"a": 1}, 10**400, -5, 2**63, "inf", "-inf", "\ud800"])
        if rng.random() < 0.3:
            del place[last]
        else:
            place[last] = value
        if not document:
            break
    return json.dumps(document).encode()


def nodes(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON document."""
    inside = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in inside:
        yield (*path, key)
        if isinstance(value, (dict, list)):
            yield from nodes(value, (*path, key))


def damage_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    """Cut, flip, insert, empty or replace."""
    way = pick(rng, ["cut", "flip", "insert", "empty", "noise", "twice"])
    place = int(rng.integers(0, max(1, len(content))))
    if way == "cut":
        return content[:place]
    if way == "flip":
        changed = bytearray(content)
        for spot in rng.integers(0, len(content), int(rng.integers(1, 6))):
            changed[spot] = int(rng.integers(256))
        return bytes(changed)
    if way == "insert":
        return content[:place] + rng.bytes(7) + content[place:]
    return {"empty": b"", "noise": rng.bytes(200)}.get(way, content + content)


def outcome(call: Callable[[], Any]) -> Any:
    """The answer, or the PacshiftError with its message; anything else fails the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UninformativeWarning)
        try:
            return call()
        except PacshiftError as error:
            return error


def require_message(error: PacshiftError) -> None:
    assert len(str(error)) > 15
    assert "Traceback" not in str(error)


def require_sound(certificate: Certificate, scores: Any, labels: Any, folder: Path, *, own: bool = True) -> None:
    """What may be said of any certificate: it explains itself, survives a file and makes sets as it says."""
    assert not np.isnan(certificate.thresholds).any()
    assert certificate.explain()
    assert 2 <= len(repr(certificate).splitlines()) <= 5
    assert certificate._repr_html_().startswith("<div>")
    assert 0 < certificate.epsilon < 1
    certificate.save(folder / "c.json")
    loaded = Certificate.load(folder / "c.json")
    assert np.array_equal(loaded.thresholds, certificate.thresholds)
    sets = outcome(lambda: loaded.sets(scores))
    if isinstance(sets, PacshiftError):
        return require_message(sets)
    assert np.asarray(sets).dtype == np.bool_
    if own and certificate.method == "PS" and certificate.score == "probability":
        cut = binomial_cut(certificate.n_source, epsilon=certificate.epsilon, delta=certificate.delta)
        result = outcome(lambda: evaluate(sets, labels, classes=certificate.classes))
        if not isinstance(result, PacshiftError) and np.isfinite(certificate.thresholds).all():
            assert round(result.error * result.n) <= max(cut, 0)
