"""A target that refutes label shift, in memory and as tables, and people who know its labels."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from pacshift.arrays import FloatArray, IntArray
from pacshift.scores.transforms import softmax

NAMES = ("crow", "owl", "wren")


def world(n_rows: int, seed: Any, *, shifted: bool) -> tuple[FloatArray, IntArray]:
    """Three classes; in the target the third looks like the first, and scores are too sure: no label shift."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(3, n_rows, p=[0.3, 0.3, 0.4] if shifted else [0.5, 0.4, 0.1])
    logits = rng.normal(0, 1, (n_rows, 3)) + 2.0 * np.eye(3)[labels]
    if shifted:
        logits[labels == 2] += [0.8, 0.0, -0.8]
        logits *= 1.6
    return np.asarray(softmax(logits), float).round(6), labels  # rounded: the same bits on every processor


def table(scores: FloatArray, labels: IntArray | None = None, prefix: str = "p_") -> Any:
    columns: dict[str, Any] = {"id": np.arange(len(scores))}
    columns |= {f"{prefix}{name}": scores[:, place] for place, name in enumerate(NAMES)}
    return pa.table(columns if labels is None else columns | {"label": np.array(NAMES)[labels]})


def save(content: Any, path: Path) -> Path:
    pa.parquet.write_table(content, path)
    return path


def fill_in(sheet: Path, labels: Sequence[str]) -> None:
    """Type labels into a sheet, as a person does; those of the target's rows come in the order of the sheet."""
    lines = list(csv.reader(io.StringIO(sheet.read_text("utf-8-sig"))))
    place = lines[1].index("label")
    for line, label in zip(lines[2:], labels, strict=False):
        line[place] = label
    with sheet.open("w", newline="", encoding="utf-8") as opened:
        csv.writer(opened).writerows(lines)
