"""Arrays of NumPy as a table, never unpickled: archives, and single ``.npy`` files.

An archive holds ``probs`` (n, K), ``labels`` (n,) and ``class_names`` (K,). Scores and labels may have other
names, which the user then gives. Labels are class names or, where they are whole numbers and the names are texts,
positions in ``class_names``.

A single file holds scores (n, K), a second one of labels (n,) may stand beside it. An array has no name: its
column is called as it is asked for, else as in an archive. Files are mapped into memory and read piece by piece.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pacshift.errors import InputError
from pacshift.files.reading import read_arrays, require_regular
from pacshift.rows.arrow.source import Records, Source, batch_rows, numbered, readable
from pacshift.rows.columns import Columns

SCORES, LABELS, CLASSES = "probs", "labels", "class_names"


class NpzSource(Source):
    """Archives are unpacked one at a time: memory holds the largest of them."""

    usual = Columns((SCORES,), LABELS)

    def __init__(self, files: Sequence[Path], *, scores: str | None = None, label: str | None = None) -> None:
        self.files = files
        self._scores, self._label = scores, label
        arrays = _load(files[0])
        table = self._table(arrays, files[0])
        self.schema = table.schema
        self.class_names = _class_names(arrays, files[0])
        self.n_rows = table.num_rows if len(files) == 1 else None

    def batches(
        self, scores: Sequence[str], n_scores: int, labels: Sequence[str] = (), others: Sequence[str] = ()
    ) -> Iterator[Records]:
        """Slices of the arrays."""
        names = [*scores, *labels, *others]
        for file in self.files:
            arrays = _load(file)
            if CLASSES in arrays and _class_names(arrays, file) != self.class_names:
                raise InputError(f"{file}: its class_names differ from those of {self.files[0]}.")
            table = self._table(arrays, file)
            for name in names:
                if name not in table.schema.names or table.schema.field(name).type != self.schema.field(name).type:
                    raise InputError(f"{file}: array {name!r} is not what it is in {self.files[0]}.")
            parts = table.select(names).to_batches(max_chunksize=batch_rows(n_scores))
            yield from numbered(parts, str(file))

    def _table(self, arrays: dict[str, NDArray[Any]], file: Path) -> Any:
        """Every array with one entry or one list of numbers per row, as columns."""
        main = self._main_array(arrays, file)
        n_rows = len(arrays[main])
        labels = [name for name in arrays if name in (LABELS, self._label)]
        for name in labels:
            if arrays[name].shape != (n_rows,):
                raise InputError(f"{file}: {n_rows} rows of {main} but {name} of shape {arrays[name].shape}.")
        usable = {name: array for name, array in arrays.items() if name != CLASSES and _fits(array, n_rows)}
        columns = {name: array_column(array) for name, array in usable.items()}
        if CLASSES in arrays:
            columns |= {name: _named(arrays[name], arrays[CLASSES], file) for name in labels if name in usable}
        return pa.table(columns)

    def _main_array(self, arrays: dict[str, NDArray[Any]], file: Path) -> str:
        """The scores that were asked for, or the usual ones; else the labels tell how many rows there are."""
        shapes = {name: array.shape for name, array in arrays.items()}
        for name in (self._scores, SCORES):
            if name is not None and name in arrays:
                if arrays[name].ndim != 2 or arrays[name].dtype.kind not in "fiu" or arrays[name].shape[1] < 2:
                    raise InputError(
                        f"{file}: {name!r} must hold numbers with one row per example and one column per class, "
                        f"at least 2; the arrays are {shapes}."
                    )
                return name
        for name in (self._label, LABELS):
            if name is not None and name in arrays and arrays[name].ndim:
                return name
        raise InputError(
            f"{file}: it must hold numbers {self._scores or SCORES!r} with one row per example; it holds "
            f"{shapes}. Name the scores: scores=NAME."
        )


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


def _fits(array: NDArray[Any], n_rows: int) -> bool:
    if array.ndim == 1:
        return len(array) == n_rows and array.dtype.kind in "fiubU"
    return array.ndim == 2 and len(array) == n_rows and array.shape[1] > 0 and array.dtype.kind in "fiu"


def array_column(array: NDArray[Any]) -> Any:
    """An array as an Arrow column, which knows neither foreign byte orders nor long doubles."""
    plain = array.astype(np.float64) if array.dtype.kind == "f" and array.dtype.itemsize > 8 else array
    plain = plain.astype(plain.dtype.newbyteorder("="), copy=False)
    if plain.ndim == 1:
        return pa.array(plain)
    return pa.FixedSizeListArray.from_arrays(pa.array(plain.ravel()), plain.shape[1])


def _class_names(arrays: dict[str, NDArray[Any]], file: Path) -> list[Any] | None:
    if CLASSES not in arrays:
        return None
    if arrays[CLASSES].ndim != 1:
        raise InputError(f"{file}: class_names must be a list of names, got shape {arrays[CLASSES].shape}.")
    names: list[Any] = arrays[CLASSES].tolist()
    return names


def _named(labels: NDArray[Any], names: NDArray[Any], file: Path) -> Any:
    """Whole numbers beside names that are texts are positions in the names."""
    if labels.dtype.kind not in "iu" or names.dtype.kind != "U":
        return array_column(labels)
    if len(labels) and not 0 <= labels.min() <= labels.max() < len(names):
        raise InputError(
            f"{file}: labels must lie between 0 and {len(names) - 1}, one number for each class name."
        )
    return pa.DictionaryArray.from_arrays(pa.array(labels.astype(np.int64)), pa.array(names.tolist()))


SUFFIX = ".npy"


class NpySource(Source):
    """One array of scores, or several with the same columns; ``label`` names the file of the labels."""

    def __init__(self, files: Sequence[Path], *, scores: str | None, label: str | None) -> None:
        self._name = scores if scores is not None and not set(scores) & set("*?[,") else SCORES
        self.files, self.usual, self.label_file = files, Columns((self._name,), LABELS), label
        self._arrays = [_mapped(file) for file in files]
        for file, array in zip(files, self._arrays, strict=True):
            if array.ndim != 2 or array.dtype.kind not in "fiu" or array.shape[1] < 2:
                raise InputError(
                    f"{file}: it must hold numbers with one row per example and one column per class, at least 2; "
                    f"it holds {array.dtype} of shape {array.shape}."
                )
            if array.shape[1:] != self._arrays[0].shape[1:]:
                raise InputError(
                    f"{file}: {array.shape[1]} columns, but {self._arrays[0].shape[1]} in {files[0]}. Arrays of "
                    "one table must have the same classes."
                )
        self._labels = None if label is None else self._read_labels(label)
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
        labels, n_rows = _mapped(Path(label)), len(self._arrays[0])
        if labels.shape != (n_rows,) or labels.dtype.kind not in "fiubU":
            raise InputError(
                f"{label}: labels must be text, numbers or booleans, one for each of the {n_rows:,} rows of "
                f"scores; it holds {labels.dtype} of shape {labels.shape}."
            )
        return labels

    def batches(
        self, scores: Sequence[str], n_scores: int, labels: Sequence[str] = (), others: Sequence[str] = ()
    ) -> Iterator[Records]:
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


def _mapped(file: Path) -> NDArray[Any]:
    require_regular(file)
    with readable(file, "npy"):
        return np.lib.format.open_memmap(file, mode="r")
