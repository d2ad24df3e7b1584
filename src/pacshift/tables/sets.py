"""Prediction sets of a table of any size, written as they are made."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet

from pacshift.arrays import BoolArray, IntArray, Label
from pacshift.certificate import Certificate
from pacshift.errors import InputError
from pacshift.files import atomic_write
from pacshift.scores.check import shorten
from pacshift.tables.convert import Rows
from pacshift.tables.scan import Progress, Scan
from pacshift.tables.sources import KINDS, Batch, PathLike

SET, SET_SIZE = "set", "set_size"
_SEPARATOR = ";"  # between the labels of a set in CSV, which has no lists
_Write: TypeAlias = Callable[[Any], None]


@dataclass(frozen=True, slots=True, eq=False)
class SetsWritten:
    """Rows written, rows left out, and how many of the sets hold 0, 1, ..., K labels."""

    n_rows: int
    n_dropped: int
    set_sizes: IntArray


def write_sets(
    certificate: Certificate,
    paths: PathLike | Sequence[PathLike],
    output: PathLike,
    *,
    scores: str = "p_*",
    keep: Sequence[str] = (),
    drop_invalid: bool = False,
    overwrite: bool = False,
    rng: Any = None,
    progress: Progress | None = None,
) -> SetsWritten:
    """Write the columns to ``keep``, then ``set`` (a list of class names; in CSV joined by ``;``), ``set_size``.

    Rows come in the order of the table, without those that ``drop_invalid`` leaves out.
    """
    kind = _kind(output, certificate.classes)
    scan = Scan(paths, label=None, scores=scores, classes=certificate.classes, rng=rng)
    _require_columns(keep, scan.source.schema)
    sizes = np.zeros(len(certificate.classes) + 1, np.int64)

    def work(rows: Rows, batch: Batch, rng: np.random.Generator) -> tuple[Any, IntArray]:
        sets = certificate.sets(rows.scores, rng=rng)
        data = batch.data if rows.kept is None else batch.data.filter(pa.array(rows.kept))
        columns = {name: data.column(name) for name in keep}
        return pa.record_batch(columns | set_columns(sets, certificate.classes)), sets.sum(axis=1)

    with atomic_write(output, overwrite=overwrite) as draft, _writer(draft, kind) as write:
        for result, counts in scan.map(work, keep=keep, drop_invalid=drop_invalid, progress=progress):
            write(result)
            sizes += np.bincount(counts, minlength=len(sizes))
    return SetsWritten(scan.n_rows - scan.faults.n_rows, scan.faults.n_rows, sizes)


def set_columns(sets: BoolArray, classes: tuple[Label, ...]) -> dict[str, Any]:
    """A boolean matrix of sets as a list column of class names and a column of sizes."""
    sizes = sets.sum(axis=1, dtype=np.int32)
    offsets = np.concatenate([np.zeros(1, np.int32), np.cumsum(sizes, dtype=np.int32)])
    names = pa.array([str(name) for name in classes], pa.string()).take(pa.array(np.nonzero(sets)[1]))
    return {SET: pa.ListArray.from_arrays(pa.array(offsets), names), SET_SIZE: pa.array(sizes)}


def _kind(output: PathLike, classes: tuple[Label, ...]) -> str:
    kind = KINDS.get(Path(output).suffix.lower())
    if kind not in ("parquet", "feather", "csv"):
        raise InputError(
            f"cannot write sets to {output}: its name must end in .parquet, .feather, .arrow or .csv."
        )
    if kind == "csv" and any(_SEPARATOR in str(name) for name in classes):
        raise InputError(
            f"a class name holds {_SEPARATOR!r}, which separates labels in CSV. Write .parquet instead."
        )
    return kind


def _require_columns(keep: Sequence[str], schema: Any) -> None:
    absent = [name for name in keep if schema.names.count(name) != 1 or name in (SET, SET_SIZE)]
    if absent:
        raise InputError(
            f"cannot keep {shorten(absent)}: each must be one column of the table and not be called {SET!r} or "
            f"{SET_SIZE!r}. The columns are {shorten(schema.names, 20)}."
        )


@contextmanager
def _writer(path: Path, kind: str) -> Iterator[_Write]:
    """A function that appends a record batch to the file; the file is opened with the first one's schema."""
    opened: list[Any] = []

    def write(batch: Any) -> None:
        batch = _joined(batch) if kind == "csv" else batch
        if not opened:
            opened.append(_open(path, kind, batch.schema))
        opened[0].write_batch(batch)

    try:
        yield write
    finally:
        for writer in opened:
            writer.close()


def _open(path: Path, kind: str, schema: Any) -> Any:
    if kind == "parquet":
        return pyarrow.parquet.ParquetWriter(path, schema)
    if kind == "csv":
        return pyarrow.csv.CSVWriter(path, schema)
    return pyarrow.ipc.new_file(path, schema)


def _joined(batch: Any) -> Any:
    text = pyarrow.compute.binary_join(batch.column(SET), _SEPARATOR)
    return batch.set_column(batch.schema.get_field_index(SET), SET, text)
