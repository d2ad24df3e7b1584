"""Arrays of NumPy as a table: one ``.npy`` file of scores (n, K), for labelled rows a second one of labels (n,).

An array has no name. Its column is called as it is asked for, else as in an archive (``npz.py``). Files are mapped
into memory and read piece by piece, never unpickled.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pacshift.certificate.columns import Columns
from pacshift.errors import InputError
from pacshift.files.reading import require_regular
from pacshift.tables.sources.base import Batch, Source, batch_rows, numbered, readable
from pacshift.tables.sources.npz import LABELS, SCORES, array_column

SUFFIX = ".npy"


class NpySource(Source):
    """One array of scores, or several with the same columns; ``label`` names the file of the labels."""

    def __init__(self, files: Sequence[Path], *, scores: str | None, label: str | None) -> None:
        self._name = scores if scores is not None and not set(scores) & set("*?[,") else SCORES
        self.files, self.usual, self.label_file = files, Columns((self._name,), LABELS), label
        self._arrays = [_scores(file) for file in files]
        self._labels = None if label is None else self._read_labels(label)
        for file, array in zip(files, self._arrays, strict=True):
            if array.shape[1:] != self._arrays[0].shape[1:]:
                raise InputError(
                    f"{file}: {array.shape[1]} columns, but {self._arrays[0].shape[1]} in {files[0]}. Arrays of "
                    "one table must have the same classes."
                )
        self.n_rows = sum(map(len, self._arrays))
        self.schema = self._batch(self._arrays[0], slice(0, 0)).schema

    def _read_labels(self, label: str) -> NDArray[Any]:
        if Path(label).suffix.lower() != SUFFIX:
            raise InputError(
                f"{self.files[0]}: an .npy file holds scores alone. Name the .npy file that holds their labels: "
                "label=FILE."
            )
        if len(self.files) > 1:
            raise InputError(
                f"{label} can hold the labels of one array of scores, got {len(self.files)}. Join the arrays, or "
                "count them one by one."
            )
        labels, n_rows = _load(Path(label)), len(self._arrays[0])
        if labels.shape != (n_rows,) or labels.dtype.kind not in "fiubU":
            raise InputError(
                f"{label}: labels must be text, numbers or booleans, one for each of the {n_rows:,} rows of "
                f"scores; it holds {labels.dtype} of shape {labels.shape}."
            )
        return labels

    def batches(
        self, scores: Sequence[str], n_scores: int, labels: Sequence[str] = (), others: Sequence[str] = ()
    ) -> Iterator[Batch]:
        """Slices of the arrays."""
        names, step = [*scores, *labels, *others], batch_rows(n_scores)
        for file, array in zip(self.files, self._arrays, strict=True):
            parts = (slice(start, start + step) for start in range(0, len(array), step))
            yield from numbered((self._batch(array, rows).select(names) for rows in parts), str(file))

    def _batch(self, array: NDArray[Any], rows: slice) -> Any:
        columns = {self._name: array_column(array[rows])}
        if self._labels is not None:
            columns[LABELS] = array_column(self._labels[rows])
        return pa.record_batch(columns)


def _scores(file: Path) -> NDArray[Any]:
    array = _load(file)
    if array.ndim != 2 or array.dtype.kind not in "fiu" or array.shape[1] < 2:
        raise InputError(
            f"{file}: it must hold numbers with one row per example and one column per class, at least 2; it "
            f"holds {array.dtype} of shape {array.shape}."
        )
    return array


def _load(file: Path) -> NDArray[Any]:
    require_regular(file)
    with readable(file, "npy"):
        return np.lib.format.open_memmap(file, mode="r")
