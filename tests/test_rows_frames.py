"""Frames of other libraries: the same counts and sets as from arrays, and never a copy of the whole."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pacshift import InputError, Tally, calibrate, read

NAMES = ["cat", "dog", "owl"]


def columns(n: int = 3000, seed: int = 0) -> dict[str, Any]:
    """A table with an id, a text that nobody needs, scores out of order, and a label."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    logits = rng.normal(0, 1, (n, 3)) + 3 * np.eye(3)[labels]
    scores = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    made: dict[str, Any] = {"id": np.arange(n), "p_owl": scores[:, 2], "note": np.array(["x" * 9] * n)}
    return made | {"p_cat": scores[:, 0], "p_dog": scores[:, 1], "animal": np.array(NAMES)[labels]}


def duckdb_relation(table: Any) -> Any:
    duckdb = pytest.importorskip("duckdb")
    own = duckdb.connect()
    return own.from_arrow(pa.table(table))


class Streamed:
    """Any object with an Arrow stream. ``most`` is the most memory that Arrow held while it was read."""

    def __init__(self, table: dict[str, Any], rows: int = 100) -> None:
        self._table, self._rows = pa.table(table), rows
        self._before, self.most = pa.total_allocated_bytes(), 0

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        reader = pa.RecordBatchReader.from_batches(self._table.schema, self._batches())
        return reader.__arrow_c_stream__(requested_schema)

    def _batches(self) -> Iterator[Any]:
        for batch in self._table.to_batches(max_chunksize=self._rows):
            self.most = max(self.most, pa.total_allocated_bytes() - self._before)
            yield pa.RecordBatch.from_pylist(batch.to_pylist(), schema=batch.schema)  # in memory of its own


FRAMES: dict[str, Callable[[Any], Any]] = {
    "pandas": pd.DataFrame,
    "pandas with an index": lambda table: pd.DataFrame(table).set_index("id").sample(frac=1, random_state=0),
    "polars": pl.DataFrame,
    "lazy polars": pl.LazyFrame,
    "arrow": pa.table,
    "arrow reader": lambda table: pa.table(table).to_reader(max_chunksize=500),
    "duckdb": duckdb_relation,
    "any stream": Streamed,
}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_counts_like_arrays(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pacshift.rows.arrow.source.BATCH_VALUES", 2100)  # 700 rows at a time
    table = columns()
    scores = np.column_stack([table[f"p_{name}"] for name in NAMES])
    counted = read(FRAMES[kind](table), label="animal", classes=NAMES).tally()
    assert counted == Tally.from_scores(scores, table["animal"], classes=NAMES, grid=True)
    assert counted.inputs == ()
    target = read(FRAMES[kind](table), classes=NAMES).tally()
    assert target == Tally.from_target(scores, classes=NAMES)


@pytest.mark.parametrize("kind", [kind for kind in FRAMES if kind != "pandas with an index"])  # its order differs
def test_calibrate_and_sets_take_frames(kind: str) -> None:
    table, other = columns(), columns(2000, seed=1)
    names = [f"p_{name}" for name in NAMES]
    scores, target = (np.column_stack([one[name] for name in names]) for one in (table, other))
    asked: dict[str, Any] = {"epsilon": 0.1, "delta": 0.05, "classes": names}
    labels = np.array([f"p_{name}" for name in table["animal"]])
    wanted = calibrate(scores, labels, target, **asked)
    made = calibrate(FRAMES[kind](table), labels, FRAMES[kind](other), **asked)
    assert made.thresholds.tolist() == wanted.thresholds.tolist()
    assert np.array_equal(np.asarray(made.sets(FRAMES[kind](other))), wanted.sets(target))


def test_labels_may_be_a_column_of_a_stream() -> None:
    table = columns(500)
    scores = pl.LazyFrame({name: table[f"p_{name}"] for name in NAMES})
    labels: Any = pl.LazyFrame({"animal": table["animal"]})
    lazy = Tally.from_scores(scores, labels)
    assert lazy == Tally.from_scores(scores.collect(), table["animal"])
    related = duckdb_relation({"animal": table["animal"]})
    assert lazy == Tally.from_scores(scores, related)
    with pytest.raises(InputError, match="must be one column, got 2"):
        Tally.from_scores(scores, labels.with_columns(b=1))


def test_batches_are_given_back_before_the_next_ones_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many batches there are, only as many are in memory as the cores work on."""
    monkeypatch.setattr("pacshift.rows.arrow.table.MAX_KEPT_BYTES", 0)
    few, many = Streamed(columns(2000), rows=50), Streamed(columns(20_000), rows=50)
    for stream in (few, many):
        read(stream, label="animal").tally()
    whole = pa.table(columns(20_000)).nbytes
    assert few.most > 0
    assert many.most < 0.1 * whole


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (pd.DataFrame({"p_a": [0.5, "x"], "p_b": [0.5, 0.5]}), "Give every column one type"),
        (pl.LazyFrame({"p_a": [0.5], "p_b": [0.5]}).select(pl.col("missing")), "cannot read the frame"),
        (pl.LazyFrame({"p_a": [], "p_b": []}, schema={"p_a": pl.Float64, "p_b": pl.Float64}), "no usable row"),
        (pd.DataFrame([[0.5, 0.5, 0.1]], columns=["p_a", "p_b", "p_a"]), "'p_a'"),
        (pd.DataFrame({"p_a": [0.5, np.nan], "p_b": [0.5, 0.5]}), "1 row"),
    ],
)
def test_bad_frames_are_refused(frame: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read(frame).tally()


MEMORY = """
import resource
import duckdb
from pacshift import read
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
base = duckdb.connect()
base.execute("SET threads = 1; SET enable_progress_bar = false")
def rows(n):
    scores = ", ".join(f"((i * {7919 + 2 * k}) % 1000) / 1000.0 AS p_{k}" for k in range(8))
    others = "i % 8 AS label, 'text that nobody needs ' || i AS note"
    return base.sql(f"SELECT {scores}, {others} FROM range({n}) r(i)")
read(rows(200_000), label="label").tally(soft=False)
before = peak()
counted = read(rows(4_000_000), label="label").tally(soft=False)
print(counted.n_source, peak() - before)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_rows_of_a_relation() -> None:
    """Four million rows are 300 MB of scores and labels, and 150 MB of text."""
    pytest.importorskip("duckdb")
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    n_rows, grown = done.stdout.split()
    assert int(n_rows) == 4_000_000
    assert float(grown) < 150
