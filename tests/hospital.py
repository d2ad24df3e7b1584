"""A simulated hospital whose truth is known: patients of three kinds, month by month."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from pacshift import Population, Tally
from pacshift.arrays import FloatArray, IntArray

NAMES = ("healthy", "pneumonia", "covid")
CENTRES = np.array([[4.5, 0.0, 0.0], [0.0, 3.0, 0.5], [1.0, 0.5, 2.5]])
USUAL, PANDEMIC = [0.88, 0.11, 0.01], [0.25, 0.05, 0.7]


def patients(n: int, mix: Any, rng: np.random.Generator, *, bias: float = 0.0) -> tuple[FloatArray, IntArray]:
    """Scores and labels; ``bias`` is what a new scanner adds to the score of healthy people."""
    labels = rng.choice(3, n, p=mix)
    logits = rng.normal(CENTRES[labels], 1.2)
    logits[:, 0] += bias
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    scores = odds / odds.sum(axis=1, keepdims=True)
    return scores.round(6), labels  # rounded: the same bits on every processor


def source_tally(n: int = 9000, seed: int = 0, mix: Any = USUAL) -> Tally:
    scores, labels = patients(n, mix, np.random.default_rng(seed))
    return Tally.from_scores(scores, np.array(NAMES)[labels], classes=NAMES, soft=False)


def population(seed: int = 99, n: int = 60_000) -> Population:
    """A large population of the same patients, for errors that are exact up to its own size."""
    scores, labels = patients(n, [1 / 3] * 3, np.random.default_rng(seed))
    return Population(scores, np.array(NAMES)[labels], classes=NAMES)


def table(scores: FloatArray, labels: IntArray | None = None, days: Any = None) -> Any:
    columns: dict[str, Any] = {f"p_{name}": scores[:, place] for place, name in enumerate(NAMES)}
    if labels is not None:
        columns["diagnosis"] = np.array(NAMES)[labels]
    if days is not None:
        columns["seen"] = pa.array(np.asarray(days).astype("M8[s]"))
    return pa.table(columns)


def month_days(month: int, n: int, rng: np.random.Generator) -> Any:
    """Times within a month of 2026."""
    start = np.datetime64(f"2026-{month:02d}-01", "s")
    return start + rng.integers(0, 28 * 86_400, n).astype("m8[s]")


def write_hospital(folder: Path, mixes: dict[int, list[float]], n: int = 2500) -> None:
    """``source.parquet`` and ``visits/MM.parquet`` for each month."""
    rng = np.random.default_rng(1)
    pa.parquet.write_table(table(*patients(20_000, USUAL, rng)), folder / "source.parquet")
    (folder / "visits").mkdir()
    for month, mix in mixes.items():
        made = table(patients(n, mix, rng)[0], days=month_days(month, n, rng))
        pa.parquet.write_table(made, folder / "visits" / f"{month:02d}.parquet")
