"""Whole files of every format that pacshift reads; their damaged copies are the cases of the soak."""

import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

from pacshift import Tally, UninformativeWarning, calibrate
from pacshift.arrays import FloatArray, IntArray

NAMES = ("ant", "bee", "cow")
ROWS = 300


def make_scores(seed: int = 0, rows: int = ROWS) -> tuple[FloatArray, IntArray]:
    """Scores of a fair classifier and the labels."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, len(NAMES), rows)
    raw = np.exp(rng.normal(size=(rows, len(NAMES))) + 3 * np.eye(len(NAMES))[labels])
    return raw / raw.sum(axis=1, keepdims=True), labels


def make_table(seed: int = 0, rows: int = ROWS) -> Any:
    """Scores as columns and as lists, labels as text and as a dictionary, an id."""
    scores, labels = make_scores(seed, rows)
    columns: dict[str, Any] = {"id": np.arange(rows)}
    columns |= {f"p_{name}": scores[:, place] for place, name in enumerate(NAMES)}
    names = pa.array(np.array(NAMES)[labels])
    return pa.table(columns | {"label": names, "kind": names.dictionary_encode()})


def make_lists(seed: int = 0, rows: int = ROWS) -> Any:
    """The same scores as one list column."""
    scores, labels = make_scores(seed, rows)
    return pa.table({"scores": pa.array(scores.tolist()), "label": np.array(NAMES)[labels]})


def _parquet(table: Any, **options: Any) -> bytes:
    buffer = io.BytesIO()
    pa.parquet.write_table(table, buffer, **options)
    return buffer.getvalue()


def _feather(table: Any, compression: str) -> bytes:
    buffer = io.BytesIO()
    pa.feather.write_feather(table, buffer, compression=compression, chunksize=128)
    return buffer.getvalue()


def _csv(table: Any) -> bytes:
    buffer = io.BytesIO()
    pa.csv.write_csv(table, buffer)
    return buffer.getvalue()


def _npz(save: Callable[..., None]) -> bytes:
    scores, labels = make_scores()
    buffer = io.BytesIO()
    save(buffer, probs=scores, labels=labels, class_names=np.array(NAMES))
    return buffer.getvalue()


def tables() -> dict[str, dict[str, bytes]]:
    """By suffix and flavour."""
    plain, lists = make_table(), make_lists()
    return {
        "parquet": {
            "snappy": _parquet(plain),
            "plain": _parquet(plain, compression="none", use_dictionary=False),
            "zstd-groups": _parquet(plain, compression="zstd", row_group_size=64),
            "lists": _parquet(lists),
        },
        "feather": {
            "plain": _feather(plain, "uncompressed"),
            "lz4": _feather(plain, "lz4"),
            "zstd": _feather(plain, "zstd"),
            "lists": _feather(lists, "uncompressed"),
            "lists-lz4": _feather(lists, "lz4"),
        },
        "csv": {"plain": _csv(plain)},
        "npz": {"stored": _npz(np.savez), "packed": _npz(np.savez_compressed)},
    }


def tally_files(folder: Path) -> dict[str, bytes]:
    """A source and a target, counted."""
    scores, labels = make_scores()
    names = np.array(NAMES)[labels]
    made = {
        "both": Tally.from_scores(scores, names, classes=NAMES) + Tally.from_target(scores, classes=NAMES),
        "grid": Tally.from_scores(scores, names, classes=NAMES, grid=True),
    }
    found = {}
    for flavour, tally in made.items():
        tally.save(folder / "sample.tally")
        found[flavour] = (folder / "sample.tally").read_bytes()
    return found


def certificate_files(folder: Path) -> dict[str, bytes]:
    """Certificates of three methods."""
    (scores, labels), (target, _) = make_scores(), make_scores(1)
    names = np.array(NAMES)[labels]
    found = {}
    for method in ("PS", "PS-W", "PS-LP"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UninformativeWarning)
            made = calibrate(
                scores, names, target, epsilon=0.2, delta=0.2, method=method, classes=NAMES, rng=0
            ).with_set_sizes(target)
        made.save(folder / "sample.json")
        found[method] = (folder / "sample.json").read_bytes()
    return found


def all_samples(folder: Path) -> dict[str, dict[str, bytes]]:
    """Every format with its flavours."""
    return tables() | {"tally": tally_files(folder), "json": certificate_files(folder)}
