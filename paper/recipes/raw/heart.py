"""CDC heart: the BRFSS survey as a table of answers, "had heart disease or a heart attack" as the label."""

from pathlib import Path
from typing import Any

import numpy as np

from pacshift.errors import InputError
from paper.recipes.raw.data import RawData
from paper.recipes.raw.tables import find_table, read_table

LABELS = ("HeartDiseaseorAttack", "HeartDisease")
"""Of the extracts of 2015 and 2020."""
NOT_ANSWERS = ("fit",)
CLASSES = ("no heart disease", "heart disease")


def read_heart(place: Path) -> RawData:
    """Every column but the label is an answer. Words (as in 2020) become one column per word."""
    path = find_table(place, "the BRFSS survey as CSV or Parquet", names=("brfss2015.parquet",))
    table = read_table(path)
    label = next((name for name in LABELS if name in table.column_names), None)
    if label is None:
        raise InputError(
            f"{path}: no column {' or '.join(LABELS)}. The columns are {', '.join(table.column_names[:30])}."
        )
    names = [name for name in table.column_names if name not in (label, *NOT_ANSWERS)]
    answers = [_columns(path, table, name) for name in names]
    truth = table[label].to_numpy()
    labels = (truth == "Yes" if truth.dtype == object else truth > 0).astype(np.int64)
    year = "2020" if label == "HeartDisease" else "2015"
    return RawData(
        f"BRFSS {year}",
        np.arange(len(labels)),
        labels,
        CLASSES,
        np.column_stack(answers),
        np.zeros(len(labels), bool),
        columns=tuple(name for name, part in zip(names, answers, strict=True) for _ in range(part.shape[1])),
    )


def _columns(path: Path, table: Any, name: str) -> Any:
    values = table[name].to_numpy()
    if values.dtype == object:
        words = sorted(set(values))
        return (values[:, None] == np.array(words[1:], object)).astype(np.float64)
    values = values.astype(np.float64)
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise InputError(f"{path}: column {name!r} has no answer in row {row}. Drop such rows or fill them in.")
    return values[:, None]
