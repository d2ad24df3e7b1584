"""More than 2,000 damaged inputs: each gets a PacshiftError (exit 2 or 3) with a message, or a right answer.

Seeded: the same inputs every time. Warnings are errors here too, so a quiet overflow fails the test.
"""

import json
import math
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from pacshift import (
    METHODS,
    Certificate,
    PacshiftError,
    Tally,
    UninformativeWarning,
    calibrate,
    evaluate,
    resample,
)
from pacshift.bounds import binomial_cut
from pacshift.certificate.file import to_document
from pacshift.cli import app
from pacshift.scores.transforms import TRANSFORMS

RUNS = range(20)  # times the cases of each test below: 20 x (50 + 25 + 35) + 10 x 45 = 2,650
ODD = [
    math.nan,
    math.inf,
    -math.inf,
    0.0,
    -0.0,
    1e308,
    -1e308,
    5e-324,
    1e-300,
    2.0**70,
    -1,
    True,
    None,
    "x",
    "0.5",
    "",
]
NAMES = [
    "a",
    "b",
    "",
    "naïve",
    "日本",
    "a b",
    "x" * 300,
    "\n",
    "'",
    '"',
    "<b>",
    "%s",
    "{}",
    "p_*",
    "-1",
    "1.0",
    "\x1b[2J",
]
RATES = [
    0.1,
    0.05,
    0.5,
    0.999999,
    1e-12,
    5e-324,
    1 - 2**-53,
    0,
    1,
    -1,
    2,
    math.nan,
    math.inf,
    None,
    "0.1",
    "x",
    [0.1],
]


def pick(rng: np.random.Generator, choices: Any) -> Any:
    """One of the choices, in its own type (rng.choice would make all of them texts)."""
    choices = list(choices)
    return choices[int(rng.integers(len(choices)))]


def table(rng: np.random.Generator) -> tuple[Any, Any]:
    """A plausible score matrix with labels."""
    size, n_classes = int(pick(rng, [1, 2, 30, 300])), int(pick(rng, [2, 3, 7, 40]))
    labels = rng.integers(0, n_classes, size)
    kind = pick(rng, ["probabilities", "logits", "coarse", "same"])
    if kind == "probabilities":
        scores = rng.dirichlet(np.full(n_classes, 0.5), size) * 0.5 + 0.5 * np.eye(n_classes)[labels]
    elif kind == "logits":
        scores = rng.normal(0, 3, (size, n_classes)) * pick(rng, [1, 1e-310, 1e300])
    else:
        scores = rng.integers(0, 3, (size, n_classes)) / 2 if kind == "coarse" else np.full((size, n_classes), 0.5)
    return scores, labels


def damage_scores(scores: Any, rng: np.random.Generator) -> Any:
    """One of many ways in which scores arrive wrong, or unusual but right."""
    row, column = int(rng.integers(len(scores))), int(rng.integers(scores.shape[1]))
    ways: list[Callable[[], Any]] = [
        lambda: scores,
        lambda: _with(scores, (row, column), pick(rng, [value for value in ODD if isinstance(value, float)])),
        lambda: _with(scores.astype(object), (row, column), pick(rng, ODD)),
        lambda: scores[:, :-1],
        lambda: scores[: row + 1],
        lambda: scores[:0],
        lambda: scores.ravel(),
        lambda: scores[None],
        lambda: scores.tolist(),
        lambda: [*scores.tolist(), [0.5]],
        lambda: scores.astype(str),
        lambda: scores * 1j,
        lambda: scores.astype(np.float32) if np.abs(scores).max() < 1e30 else scores,
        lambda: np.asfortranarray(scores)[::-1][::-1],
        lambda: np.ma.masked_greater(scores, 0.9),
        lambda: pick(rng, [None, 3, "scores", {}, [], [[]], object(), b"bytes", float("nan")]),
        lambda: pd.DataFrame(scores, columns=[pick(rng, NAMES) for _ in range(scores.shape[1])]),
        lambda: pl.DataFrame({f"{place}": values for place, values in enumerate(scores.T)}),
        lambda: pa.table({f"c{place}": values for place, values in enumerate(scores.T)}),
    ]
    return pick(rng, ways)()


def damage_labels(labels: Any, rng: np.random.Generator) -> Any:
    row = int(rng.integers(len(labels)))
    ways: list[Callable[[], Any]] = [
        lambda: labels,
        lambda: labels,
        lambda: labels.tolist(),
        lambda: labels.astype(str),
        lambda: labels.astype(float),
        lambda: labels[:-1],
        lambda: labels[:, None],
        lambda: _with(labels.astype(object), row, pick(rng, ODD)),
        lambda: _with(labels.astype(float), row, pick(rng, [math.nan, 0.5, -1, 1e300])),
        lambda: pd.Series(labels, dtype="category"),
        lambda: pa.array(labels),
        lambda: pick(rng, [None, 3, "labels", {}, [], [[]], b"x"]),
    ]
    return pick(rng, ways)()


def _with(array: Any, place: Any, value: Any) -> Any:
    changed = array.copy()
    changed[place] = value
    return changed


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
    assert 0 < certificate.epsilon < 1
    certificate.save(folder / "c.json")
    loaded = Certificate.load(folder / "c.json")
    assert np.array_equal(loaded.thresholds, certificate.thresholds)
    sets = outcome(lambda: loaded.sets(scores, rng=0))
    if isinstance(sets, PacshiftError):
        return require_message(sets)
    assert sets.dtype == np.bool_
    if own and certificate.method == "PS" and certificate.score == "probability":
        cut = binomial_cut(certificate.n_source, epsilon=certificate.epsilon, delta=certificate.delta)
        result = outcome(lambda: evaluate(sets, labels, classes=certificate.classes))
        if not isinstance(result, PacshiftError) and np.isfinite(certificate.thresholds).all():
            assert round(result.error * result.n) <= max(cut, 0)


@pytest.mark.parametrize("seed", RUNS)
def test_calibrate_on_damaged_arrays(seed: int, tmp_path: Path) -> None:
    for case in range(50):
        rng = np.random.default_rng([seed, case])
        scores, labels = table(rng)
        source, given = damage_scores(scores, rng), damage_labels(labels, rng)
        target = damage_scores(scores, rng) if rng.random() < 0.7 else scores
        ask: dict[str, Any] = {"epsilon": 0.3, "delta": 0.3, "method": pick(rng, METHODS), "rng": 0}
        if rng.random() < 0.4:
            ask["epsilon"], ask["delta"] = pick(rng, RATES), pick(rng, RATES)
        if rng.random() < 0.2:
            ask["score"] = pick(rng, [*TRANSFORMS, "nope", 3, np.sign])
        if rng.random() < 0.2:
            ask["classes"] = pick(rng, [NAMES[: scores.shape[1]], ["a", "a"], "ab", 3, [None, 1], list(range(7))])
        if rng.random() < 0.2:
            ask["weights"] = pick(rng, [np.ones(scores.shape[1]), [1], "x", [math.nan] * scores.shape[1]])
        if rng.random() < 0.1:
            ask["rng"] = pick(rng, [-1, "seed", None, 2**70])
        answer = outcome(lambda: calibrate(source, given, target, **ask))  # noqa: B023
        if isinstance(answer, PacshiftError):
            require_message(answer)
        else:
            require_sound(answer, source, given, tmp_path)


@pytest.mark.parametrize("seed", RUNS)
def test_sets_and_evaluation_of_damaged_arrays(seed: int) -> None:
    for case in range(25):
        rng = np.random.default_rng([1, seed, case])
        scores, labels = table(rng)
        options: dict[str, Any] = {"epsilon": 0.3, "delta": 0.3, "method": "PS", "score": pick(rng, TRANSFORMS)}
        certificate = outcome(lambda: calibrate(scores, labels, None, **options))  # noqa: B023
        if isinstance(certificate, PacshiftError):
            continue  # logits have no adaptive scores
        damaged = damage_scores(scores, rng)
        sets = outcome(lambda: certificate.sets(damaged))  # noqa: B023
        if isinstance(sets, PacshiftError):
            require_message(sets)
            continue
        assert sets.shape[1] == scores.shape[1]
        result = outcome(lambda: evaluate(sets, damage_labels(labels, rng)))  # noqa: B023
        if isinstance(result, PacshiftError):
            require_message(result)
        else:
            assert 0 <= result.error <= 1
        drawn = outcome(lambda: resample(damage_labels(labels, rng), np.ones(scores.shape[1]), 5, rng))  # noqa: B023
        assert isinstance(drawn, PacshiftError) or len(drawn) == 5


def nodes(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON document."""
    inside = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in inside:
        yield (*path, key)
        if isinstance(value, (dict, list)):
            yield from nodes(value, (*path, key))


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


@pytest.mark.parametrize("seed", RUNS)
def test_damaged_certificates_and_tallies(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng([2, seed])
    labels = rng.integers(0, 3, 200)
    scores = rng.dirichlet(np.ones(3), 200) * 0.4 + 0.6 * np.eye(3)[labels]
    method = pick(rng, [name for name in METHODS if name != "ORACLE"])
    certificate = calibrate(scores, labels, scores, epsilon=0.2, delta=0.2, method=method).with_set_sizes(scores)
    text = json.dumps(to_document(certificate))
    tally = Tally.from_scores(scores, labels) + Tally.from_target(scores)
    tally.save(tmp_path / "a.tally")
    packed = (tmp_path / "a.tally").read_bytes()
    for case in range(35):
        rng = np.random.default_rng([3, seed, case])
        path = tmp_path / "x"
        if case % 3 == 0:
            path.write_bytes(damage_bytes(packed, rng))
            loaded = outcome(lambda: Tally.load(path))  # noqa: B023
            assert isinstance(loaded, PacshiftError) or loaded == tally
            continue
        path.write_bytes(damage_json(text, rng))
        loaded = outcome(lambda: Certificate.load(path))  # noqa: B023
        if isinstance(loaded, PacshiftError):
            require_message(loaded)
            assert str(path) in str(loaded)
        else:
            require_sound(loaded, scores, labels, tmp_path, own=False)  # another number is still a number


def write(path: Path, columns: dict[str, Any]) -> None:
    """A table in the format that the name asks for."""
    data = pa.table(columns)
    if path.suffix == ".parquet":
        pa.parquet.write_table(data, path)
    elif path.suffix == ".feather":
        pa.feather.write_feather(data, str(path))
    elif path.suffix == ".csv":
        pa.csv.write_csv(data, path)
    else:
        names = [name for name in columns if name.startswith("p_")]
        arrays = {"probs": np.column_stack([np.asarray(columns[name]) for name in names])} if names else {}
        arrays |= {"labels": np.asarray(columns["label"])} if "label" in columns else {}
        np.savez(path, **arrays)  # type: ignore[arg-type]


def damage_table(columns: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Columns lost, renamed, retyped, with odd values, or none at all."""
    size = len(columns["id"])
    name = pick(rng, columns)
    row = int(rng.integers(size))
    ways: list[Callable[[], dict[str, Any]]] = [
        lambda: columns,
        lambda: {key: value for key, value in columns.items() if key != name},
        lambda: {(pick(rng, NAMES) if key == name else key): value for key, value in columns.items()},
        lambda: {(f"p_{pick(rng, NAMES)}" if key == name else key): value for key, value in columns.items()},
        lambda: {**columns, name: [str(value) for value in columns[name]]},
        lambda: {**columns, name: [None] * size},
        lambda: {**columns, name: [[0.5, 0.5]] * size},
        lambda: {**columns, name: [True] * size},
        lambda: {**columns, "p_b": _with(np.asarray(columns["p_b"]), row, pick(rng, [math.nan, math.inf, 1e308]))},
        lambda: {**columns, "p_extra": np.ones(size)},
        lambda: {key: value[:0] for key, value in columns.items()},
        lambda: {key: value[:1] for key, value in columns.items()},
        lambda: {**columns, "label": _with(np.asarray(columns["id"]).astype(object).astype(str), row, "a")},
        lambda: {**columns, "label": np.asarray(columns["id"]) % 3},
        lambda: {"only": np.arange(3)},
    ]
    changed: dict[str, Any] = pick(rng, ways)()
    return changed


@pytest.mark.parametrize("seed", range(10))
def test_the_command_line_on_damaged_files(seed: int, tmp_path: Path) -> None:
    start = np.random.default_rng([4, seed])
    labels = start.integers(0, 3, 120)
    scores = start.dirichlet(np.ones(3), 120) * 0.4 + 0.6 * np.eye(3)[labels]
    columns: dict[str, Any] = {"id": np.arange(120), "label": np.array(list("abc"))[labels]}
    columns |= {f"p_{name}": scores[:, place] for place, name in enumerate("abc")}
    good = tmp_path / "good.parquet"
    write(good, columns)
    certificate = tmp_path / "good.json"
    calibrate(
        scores, labels, None, epsilon=0.3, delta=0.3, method="PS", classes=[0, 1, 2], never_empty=bool(seed % 2)
    )
    made = CliRunner().invoke(app, ["calibrate", str(good), "-m", "PS", "-e", "0.3", "-o", str(certificate)])
    assert made.exit_code == 0, made.output
    for case in range(45):
        rng = np.random.default_rng([5, seed, case])
        path = tmp_path / f"bad{pick(rng, ['.parquet', '.feather', '.csv', '.npz'])}"
        damaged = outcome_of_writing(path, damage_table(columns, rng))
        if not damaged or rng.random() < 0.4:
            path.write_bytes(damage_bytes(good.read_bytes(), rng))
        broken = tmp_path / "broken.json"
        broken.write_bytes(damage_json(certificate.read_text(), rng))
        run_one(pick(rng, calls(path, good, certificate, broken, tmp_path / "out", rng)), tmp_path)


def outcome_of_writing(path: Path, columns: dict[str, Any]) -> bool:
    """Whether the format can hold these columns at all."""
    try:
        write(path, columns)
    except (pa.ArrowException, ValueError):
        return False
    return True


def calls(
    bad: Path, good: Path, certificate: Path, broken: Path, out: Path, rng: np.random.Generator
) -> list[list[object]]:
    rate, name = str(pick(rng, RATES)), pick(rng, NAMES)
    method = pick(rng, [name for name in METHODS if name != "ORACLE"])
    json_out, sets = out.with_suffix(".json"), out.with_suffix(pick(rng, [".parquet", ".csv", ".feather", ".xls"]))
    return [
        ["calibrate", bad, good, "-m", method, "-o", json_out, "-e", "0.3"],
        ["calibrate", good, bad, "-m", method, "-o", json_out, "-e", "0.3", "--drop-invalid"],
        ["calibrate", bad, bad, "-m", method, "-o", json_out, "--scores", name, "--label", name],
        ["calibrate", good, bad, "-m", method, "-o", json_out, "--classes", name, "-e", rate],
        ["calibrate", good, good, "-m", method, "-o", json_out, "-e", rate, "-d", str(pick(rng, RATES))],
        ["calibrate", "--tallies", bad, good, "-o", json_out, "-m", "PS"],
        ["predict", certificate, bad, "-o", sets, "--keep", "id"],
        ["predict", certificate, bad, "-o", sets, "--keep", name, "--drop-invalid"],
        ["predict", broken, good, "-o", sets, "--json"],
        ["check", certificate, bad, "--level", rate],
        ["check", certificate, bad, "--drop-invalid", "--json"],
        ["check", broken, good],
        ["compare", good, bad, "-e", "0.3"],
        ["compare", bad, good, "-e", rate, "--target-label", "label"],
        ["report", broken, "-o", out.with_suffix(".html")],
        ["report", certificate, "--comparison", broken, "-o", out.with_suffix(".html")],
        ["tally", bad, "-o", out.with_suffix(".tally"), "--label", "label"],
    ]


def run_one(words: list[object], folder: Path) -> None:
    """Exit 0, or 2 or 3 with one line that says why; outputs whole or absent."""
    before = {path.name for path in folder.iterdir()}
    result = CliRunner().invoke(app, [str(word) for word in words])
    told = f"{words}\n{result.output}"
    assert result.exit_code in (0, 2, 3), told
    assert "Traceback" not in result.output, told
    if result.exit_code == 2:
        assert result.stdout == "", told
        assert result.stderr.splitlines()[-1].startswith("error: "), told
        assert len(result.stderr.strip()) > 20, told
    if "--json" in words and result.exit_code == 0:
        json.loads(result.stdout)
    new = {path.name for path in folder.iterdir()} - before
    assert len(new) <= (result.exit_code != 2), told
    for name in new:
        assert not name.startswith("."), told
        if name.endswith(".json"):
            Certificate.load(folder / name)
        (folder / name).unlink()


@pytest.mark.parametrize(("size", "n_classes"), [(40, 600), (400_000, 2)], ids=["wide", "long"])
def test_huge_tables(size: int, n_classes: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    labels = rng.integers(0, n_classes, size)
    columns: dict[str, Any] = {"id": np.arange(size), "label": labels}
    columns |= {f"p_{place}": rng.random(size) * 0.5 + 0.5 * (labels == place) for place in range(n_classes)}
    write(tmp_path / "huge.parquet", columns)
    for words in (
        [
            "calibrate",
            tmp_path / "huge.parquet",
            tmp_path / "huge.parquet",
            "-m",
            "PS-W",
            "-o",
            tmp_path / "out.json",
        ],
        ["calibrate", tmp_path / "huge.parquet", "-m", "PS", "-o", tmp_path / "out.json"],
        ["tally", tmp_path / "huge.parquet", "--label", "label", "-o", tmp_path / "out.tally"],
    ):
        run_one(words, tmp_path)
