"""Damaged arrays: each gets a PacshiftError with a message, or a right answer.

Seeded: the same inputs every time. Warnings are errors here too, so a quiet overflow fails the test.
"""

import math
from collections.abc import Callable
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

from damage import NAMES, ODD, RATES, outcome, pick, require_message, require_sound, with_value
from pacshift import METHODS, Oracle, PacshiftError, calibrate, evaluate, resample
from pacshift.scores.transforms import TRANSFORMS

RUNS = range(20)  # times the cases of each test


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
        lambda: with_value(scores, (row, column), pick(rng, [value for value in ODD if isinstance(value, float)])),
        lambda: with_value(scores.astype(object), (row, column), pick(rng, ODD)),
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
        lambda: with_value(labels.astype(object), row, pick(rng, ODD)),
        lambda: with_value(labels.astype(float), row, pick(rng, [math.nan, 0.5, -1, 1e300])),
        lambda: pd.Series(labels, dtype="category"),
        lambda: pa.array(labels),
        lambda: pick(rng, [None, 3, "labels", {}, [], [[]], b"x"]),
    ]
    return pick(rng, ways)()


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
            weights = pick(rng, [np.ones(scores.shape[1]), [1], [math.nan] * scores.shape[1], {"a": 1}])
            ask["method"] = Oracle(weights=weights)
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
        assert sets.shape[-1] == scores.shape[1]  # the first row alone is one row
        result = outcome(lambda: evaluate(sets, damage_labels(labels, rng)))  # noqa: B023
        if isinstance(result, PacshiftError):
            require_message(result)
        else:
            assert 0 <= result.error <= 1
        drawn = outcome(lambda: resample(damage_labels(labels, rng), np.ones(scores.shape[1]), 5, rng))  # noqa: B023
        assert isinstance(drawn, PacshiftError) or len(drawn) == 5
