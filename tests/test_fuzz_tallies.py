"""Forged tallies: one field is changed and all checksums are computed again.

Each is refused, or it is read and calibrated within a moment, to a certificate or an honest refusal. Seeded: the
same files every time. Warnings are errors here too.
"""

import json
import time
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from damage import ODD, damage_json, outcome, pick, require_message
from pacshift import PacshiftError, Rows, Tally, accept, calibrate, prevalence
from pacshift.files.codec import seal
from pacshift.tally.file import checksums

SECONDS = 1.0
Content = tuple[dict[str, Any], dict[str, NDArray[Any]]]


def scores_of(rng: np.random.Generator, n_rows: int, n_classes: int) -> Any:
    labels = rng.integers(0, n_classes, n_rows)
    raw = np.exp(rng.normal(size=(n_rows, n_classes)) + 3 * np.eye(n_classes)[labels])
    return raw / raw.sum(axis=1, keepdims=True), labels


@cache
def honest() -> dict[str, Content]:
    """Header and arrays of tallies of every kind."""
    rng = np.random.default_rng(7)
    (source, labels), (target, _) = scores_of(rng, 600, 3), scores_of(rng, 500, 3)
    (many, many_labels), (many_target, _) = scores_of(rng, 1500, 25), scores_of(rng, 900, 25)
    groups = np.arange(600) // 2
    made = {
        "plain": Tally.from_scores(source, labels) + Tally.from_target(target),
        "grid": Tally.from_scores(source, labels, grid=True, soft=False) + Tally.from_target(target, bins=False),
        "groups": Rows(source, labels, groups=groups).tally() + Rows(target, groups=groups[:500]).tally(),
        "logits": Tally.from_scores(8 * source - 3, labels) + Tally.from_target(8 * target - 3),
        "softmax": Tally.from_scores(5 * source, labels, softmax=True)
        + Tally.from_target(5 * target, softmax=True),
        "margin": Tally.from_scores(source, labels, score="margin") + Tally.from_target(target),
        "both kinds": Tally.sum(
            [Tally.from_scores(source, labels), Tally.from_scores(2 * source, labels), Tally.from_target(target)]
        ),
        "many classes": Tally.from_scores(many, many_labels) + Tally.from_target(many_target),
        "few rows": Tally.from_scores(source[:4], labels[:4], classes=range(3)) + Tally.from_target(target[:2]),
        "source": Tally.from_scores(source, labels),
    }
    contents = {}
    for name, tally in made.items():
        with TemporaryDirectory() as folder:
            tally.save(Path(folder) / "a.tally")
            with np.load(Path(folder) / "a.tally") as file:
                arrays = {each: file[each] for each in file.files}
        contents[name] = json.loads(str(arrays.pop("header"))), arrays
    return contents


def write(path: Path, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """A tally file whose checksums fit."""
    with open(path, "wb") as file:
        text = json.dumps(seal(header | {"arrays": checksums(arrays)}))
        np.savez(file, header=np.array(text), **arrays)  # type: ignore[arg-type]


NUMBERS = [-1, 0, 1, 2, 3, 13, 257, 2**31, 2**40, 2**53, 2**60, 2**62, -(2**63)]
WAYS: dict[str, Callable[[Any, np.random.Generator], Any]] = {
    "one number": lambda array, rng: put(array, rng, pick(rng, NUMBERS)),
    "one odd number": lambda array, rng: put(array, rng, pick(rng, [x for x in ODD if isinstance(x, float)])),
    "one more": lambda array, rng: put(array, rng, array.flat[int(rng.integers(array.size))] + 1),
    "one less": lambda array, rng: put(array, rng, array.flat[int(rng.integers(array.size))] - 1),
    "all more": lambda array, rng: array + pick(rng, [1, 2, 1000]),
    "all times": lambda array, rng: array * pick(rng, [-1, 0, 2, 10, 2**20, 2**40]),
    "all one": lambda array, rng: np.full_like(array, array.flat[int(rng.integers(array.size))]),
    "reversed": lambda array, rng: array[::-1].copy(),
    "mixed up": lambda array, rng: rng.permutation(array),
    "sorted": lambda array, rng: np.sort(array, axis=0),
    "halved": lambda array, rng: array[: len(array) // 2],
    "empty": lambda array, rng: array[:0],
    "twice": lambda array, rng: np.concatenate([array, array]),
    "one left out": lambda array, rng: np.delete(array, int(rng.integers(len(array))), axis=0),
    "floats": lambda array, rng: array.astype(np.float64) + 0.5,
    "single": lambda array, rng: array.astype(np.float32),
    "32 bits": lambda array, rng: array.astype(np.int32),
    "texts": lambda array, rng: array.astype("U5"),
    "bool": lambda array, rng: array.astype(np.bool_),
    "flat": lambda array, rng: array.reshape(-1)[0],
    "deeper": lambda array, rng: array[None],
    "other bytes": lambda array, rng: array.astype(array.dtype.newbyteorder()),
}


def put(array: Any, rng: np.random.Generator, value: Any) -> Any:
    changed = array.copy()
    with np.errstate(all="ignore"):
        changed.flat[int(rng.integers(array.size))] = np.array(value).astype(array.dtype)
    return changed


def forge(rng: np.random.Generator) -> tuple[str, Content]:
    """One tally with one lie, and what the lie is."""
    kind = pick(rng, honest())
    header, arrays = honest()[kind]
    arrays, choice = dict(arrays), rng.random()
    name = pick(rng, arrays)
    if choice < 0.3:
        header = json.loads(damage_header(header, rng))
        return f"{kind}, header", (header, arrays)
    if choice < 0.33:
        arrays.pop(name)
        return f"{kind}, without {name}", (header, arrays)
    if choice < 0.38:
        other = pick(rng, arrays)
        arrays[name], arrays[other] = arrays[other], arrays[name]
        return f"{kind}, {name} and {other} swapped", (header, arrays)
    if choice < 0.43:
        factor = pick(rng, [2, 10, 2**10, 2**20, 2**24, 2**40])
        return f"{kind}, times {factor}", (
            scaled(header, factor),
            arrays | {each: arrays[each] * factor for each in arrays if is_count(each)},
        )
    way = pick(rng, WAYS)
    with np.errstate(all="ignore"):
        arrays[name] = WAYS[way](arrays[name], rng) if arrays[name].size else np.zeros(3, np.int64)
    return f"{kind}, {name} {way}", (header, arrays)


def is_count(name: str) -> bool:
    return name not in ("values", "starts", "soft_labels") and not name.endswith("codes")


def scaled(header: dict[str, Any], factor: int) -> dict[str, Any]:
    """The header of so many times as many rows: a lie without a contradiction."""
    header = json.loads(json.dumps(header))
    for side in ("source", "target"):
        kind = header[f"{side}_kind"] or {}
        kind.update({name: kind[name] * factor for name in ("n_rows", "n_sum_to_one") if kind})
        if header[f"{side}_grouped"]:
            header[f"{side}_grouped"]["rows"] *= factor
    for one in header["inputs"]:
        one.update(rows=one["rows"] * factor, rows_read=None)
    return header


def damage_header(header: dict[str, Any], rng: np.random.Generator) -> str:
    """The header with some other values, still JSON."""
    while True:
        text = damage_json(json.dumps(header), rng)
        try:
            document = json.loads(text)
            json.dumps(document, allow_nan=False).encode()
        except ValueError:
            continue
        if isinstance(document, dict) and document != header:
            return json.dumps(document)


USES: dict[str, Callable[[Tally], Any]] = {
    "calibrate": calibrate,
    "PS": lambda tally: calibrate(tally, method="PS", epsilon=0.2),
    "PS-W": lambda tally: calibrate(tally, method="PS-W", epsilon=0.2),
    "PS-R": lambda tally: calibrate(tally, method="PS-R"),
    "prevalence": prevalence,
    "accept": lambda tally: accept(tally, error=0.2),
    "sum": lambda tally: Tally.sum([tally, Tally.from_target([[0.9, 0.1, 0.0]])]),
}


def try_forged(seed: int, path: Path, seen: Counter[str]) -> None:
    """Load one forged tally and use it."""
    rng = np.random.default_rng([21, seed])
    lie, content = forge(rng)
    use = pick(rng, USES)
    try:
        write(path, *content)
        tally = outcome(lambda: Tally.load(path))
        seen["refused" if isinstance(tally, PacshiftError) else "read"] += 1
        if isinstance(tally, PacshiftError):
            require_message(tally)
            assert str(path) in str(tally)
            return
        start = time.process_time()
        answer = outcome(lambda: USES[use](tally))
        explain = getattr(answer, "explain", lambda: "")
        assert isinstance(explain(), str)
        assert repr(tally)
        assert time.process_time() - start < SECONDS
    except Exception as error:
        error.add_note(f"forged tally {seed}: {lie}; {use}")
        raise


@pytest.fixture(scope="module", autouse=True)
def _imports(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What is imported at the first call does not count."""
    path = tmp_path_factory.mktemp("whole") / "a.tally"
    write(path, *honest()["plain"])
    for use in USES.values():
        outcome(partial(use, Tally.load(path)))


@pytest.mark.parametrize("first", range(0, 400, 100))
def test_forged_tallies_are_refused_or_harmless(first: int, tmp_path: Path) -> None:
    seen = Counter[str]()
    for seed in range(first, first + 100):
        try_forged(seed, tmp_path / "x.tally", seen)
    assert seen["refused"] > 70
    assert seen["read"] > 2


@pytest.mark.soak
@pytest.mark.parametrize("first", range(1_000, 21_000, 1_000))
def test_many_forged_tallies(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + 1_000):
        try_forged(seed, tmp_path / "x.tally", Counter())
