"""AG News: the official ``train.csv`` and ``test.csv`` (class 1 to 4, title, description), or a Parquet table."""

from pathlib import Path
from typing import Any

import numpy as np

from pacshift.errors import InputError
from paper.recipes.raw.data import RawData
from paper.recipes.raw.tables import find_table, read_table, require_columns

CLASSES = ("World", "Sports", "Business", "Sci/Tech")
OFFICIAL = ("class", "title", "description")


def read_agnews(place: Path) -> RawData:
    """Title and description of every article as one text."""
    if (place / "train.csv").is_file():
        return _read_official(place)
    path = find_table(place, "train.csv and test.csv, or a Parquet table", names=("agnews.parquet",))
    table = read_table(path)
    require_columns(path, table, ("text", "label"))
    labels = _labels(path, table["label"], first=0)
    is_test = np.zeros(len(labels), bool)
    if "part" in table.column_names:
        is_test = np.array(table["part"].to_pylist()) == "test"
    return RawData("AG News", np.arange(len(labels)), labels, CLASSES, table["text"].to_pylist(), is_test)


def _read_official(folder: Path) -> RawData:
    """Train rows, then test rows; both files lack a header."""
    texts: list[str] = []
    labels, is_test = [], []
    for name in ("train.csv", "test.csv"):
        table = read_table(folder / name, column_names=OFFICIAL)
        labels.append(_labels(folder / name, table["class"], first=1))
        parts = zip(table["title"].to_pylist(), table["description"].to_pylist(), strict=True)
        texts += [f"{title} {description}" for title, description in parts]
        is_test.append(np.full(table.num_rows, name == "test.csv"))
    known = np.concatenate(labels)
    return RawData("AG News", np.arange(len(known)), known, CLASSES, texts, np.concatenate(is_test))


def _labels(path: Path, column: Any, *, first: int) -> Any:
    """Class numbers counted from 0."""
    try:
        labels = column.to_numpy().astype(np.int64) - first
    except (TypeError, ValueError) as error:
        raise InputError(f"{path}: the classes must be numbers ({error}).") from error
    wrong = np.flatnonzero((labels < 0) | (labels >= len(CLASSES)))
    if len(wrong):
        last = first + len(CLASSES) - 1
        raise InputError(
            f"{path}: row {wrong[0]} has class {labels[wrong[0]] + first}, expected {first} to {last}."
        )
    return labels
