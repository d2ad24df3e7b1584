"""NumPy archives as a table: ``probs`` (n, K), ``labels`` (n,) and ``class_names`` (K,), never unpickled.

Labels are class names or, where they are whole numbers and the names are texts, positions in ``class_names``.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pacshift.errors import InputError
from pacshift.files import read_arrays
from pacshift.tables.sources import BATCH_VALUES, Batch

SCORES, LABELS, CLASSES = "probs", "labels", "class_names"


class NpzSource:
    """Archives are unpacked one at a time: memory holds the largest of them."""

    def __init__(self, files: Sequence[Path]) -> None:
        self.files = files
        arrays = _load(files[0])
        self.class_names = arrays[CLASSES].tolist() if CLASSES in arrays else None
        self.schema = _table(arrays, files[0]).schema
        self._rows: int | None = len(arrays[SCORES]) if len(files) == 1 else None

    def count_rows(self) -> int | None:
        return self._rows

    def batches(self, scores: Sequence[str], others: Sequence[str], n_scores: int) -> Iterator[Batch]:
        """Slices of the arrays."""
        for file in self.files:
            arrays = _load(file)
            if CLASSES in arrays and arrays[CLASSES].tolist() != self.class_names:
                raise InputError(f"{file}: its class_names differ from those of {self.files[0]}.")
            table = _table(arrays, file)
            for name in (*scores, *others):
                if name not in table.schema.names or table.schema.field(name).type != self.schema.field(name).type:
                    raise InputError(f"{file}: array {name!r} is not what it is in {self.files[0]}.")
            first_row = 0
            for data in table.select([*scores, *others]).to_batches(
                max_chunksize=max(1, BATCH_VALUES // n_scores)
            ):
                yield Batch(data, str(file), first_row)
                first_row += data.num_rows


def _load(file: Path) -> dict[str, NDArray[Any]]:
    try:
        return read_arrays(file)
    except InputError:
        raise
    except ValueError as error:
        raise InputError(
            f"cannot read {file}: {error}. It must be an .npz of plain arrays: "
            "np.savez(file, probs=..., labels=...)."
        ) from None


def _table(arrays: dict[str, NDArray[Any]], file: Path) -> Any:
    """Every array with one entry per row, as columns; the scores as a list column."""
    if SCORES not in arrays or arrays[SCORES].ndim != 2 or arrays[SCORES].dtype.kind not in "fiu":
        shapes = {name: array.shape for name, array in arrays.items()}
        raise InputError(f"{file}: it must hold numbers {SCORES!r} with one row per example; it holds {shapes}.")
    probs = arrays[SCORES]
    columns = {SCORES: pa.FixedSizeListArray.from_arrays(pa.array(probs.ravel()), max(1, probs.shape[1]))}
    for name, array in arrays.items():
        if name == LABELS and array.shape != (len(probs),):
            raise InputError(f"{file}: {len(probs)} rows of {SCORES} but labels of shape {array.shape}.")
        if name not in (SCORES, CLASSES) and array.shape == (len(probs),) and array.dtype.kind in "fiubU":
            columns[name] = pa.array(array)
    if LABELS in columns and CLASSES in arrays:
        columns[LABELS] = _named(arrays[LABELS], arrays[CLASSES], file)
    return pa.table(columns)


def _named(labels: NDArray[Any], names: NDArray[Any], file: Path) -> Any:
    """Whole numbers beside names that are texts are positions in the names."""
    if labels.dtype.kind not in "iu" or names.dtype.kind != "U":
        return pa.array(labels)
    if len(labels) and not 0 <= labels.min() <= labels.max() < len(names):
        raise InputError(
            f"{file}: labels must lie between 0 and {len(names) - 1}, one number for each class name."
        )
    return pa.DictionaryArray.from_arrays(pa.array(labels.astype(np.int64)), pa.array(names))
