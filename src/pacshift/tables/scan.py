"""One scan of a table: batches are mapped on all cores, results come back in order, memory stays bounded."""

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np

from pacshift.arrays import Label
from pacshift.errors import InputError
from pacshift.parallel import map_ordered
from pacshift.scores.check import check_rng
from pacshift.tables.convert import Faults, Rows, convert
from pacshift.tables.layout import find_layout
from pacshift.tables.npz import NpzSource
from pacshift.tables.sources import KINDS, Batch, FileSource, PathLike, Source, list_files

Progress: TypeAlias = Callable[[int, int | None], None]
"""Called with the rows done so far and, where known, the rows in all."""

_Result = TypeVar("_Result")


class Scan:
    """A table, its layout, and after :meth:`map` the rows seen and the rows that could not be used."""

    def __init__(
        self,
        paths: PathLike | Sequence[PathLike],
        *,
        label: str | None,
        scores: str,
        classes: Sequence[Label] | None,
        rng: Any = None,
    ) -> None:
        files = list_files(paths)
        npz = KINDS[files[0].suffix.lower()] == "npz"
        self.source: Source = NpzSource(files) if npz else FileSource(files)
        self.layout = find_layout(self.source, label=label, scores=scores, classes=classes)
        self.n_rows, self.faults = 0, Faults()
        self._rng = check_rng(rng)

    def map_batches(
        self,
        work: Callable[[Batch, np.random.Generator], tuple[_Result | None, Faults]],
        *,
        keep: Sequence[str] = (),
        drop_invalid: bool = False,
        progress: Progress | None = None,
    ) -> Iterator[_Result]:
        """``work`` of every batch, in order. Faulty rows raise at the end, so that all of them are counted."""
        total = self.source.count_rows() if progress else None
        for n_rows, result, faults in map_ordered(self._jobs(work, keep)):
            self.n_rows += n_rows
            self.faults.add(faults)
            if result is not None and (drop_invalid or not self.faults.n_rows):
                yield result
            if progress:
                progress(self.n_rows, total)
        self.faults.raise_if_any(self.layout.classes, drop_invalid=drop_invalid)
        if self.n_rows == self.faults.n_rows:
            raise InputError("the table has no usable row. At least one example is needed.")
        _advance(self._rng, self.n_rows)

    def map(
        self, work: Callable[[Rows, Batch, np.random.Generator], _Result], **options: Any
    ) -> Iterator[_Result]:
        """``work`` of the usable rows of every batch, in order; options as in :meth:`map_batches`."""

        def on_rows(batch: Batch, rng: np.random.Generator) -> tuple[_Result | None, Faults]:
            rows = convert(batch, self.layout)
            return work(rows, batch, rng) if len(rows.scores) else None, rows.faults

        return self.map_batches(on_rows, **options)

    def _jobs(
        self, work: Callable[[Batch, np.random.Generator], tuple[_Result | None, Faults]], keep: Sequence[str]
    ) -> Iterator[Callable[[], tuple[int, _Result | None, Faults]]]:
        first_row = 0
        for batch in self.layout.batches(self.source, keep):
            rng = _ahead(self._rng, first_row)
            first_row += batch.data.num_rows

            def job(batch: Batch = batch, rng: np.random.Generator = rng) -> tuple[int, _Result | None, Faults]:
                return (batch.data.num_rows, *work(batch, rng))

            yield job


def _ahead(rng: np.random.Generator, rows: int) -> np.random.Generator:
    """The generator as it will be ``rows`` uniform numbers later: a row's number does not depend on batches."""
    return _advance(np.random.Generator(copy.deepcopy(rng.bit_generator)), rows)


def _advance(rng: np.random.Generator, rows: int) -> np.random.Generator:
    advance = getattr(rng.bit_generator, "advance", None)
    if advance is None:
        rng.random(rows)
    else:
        advance(rows)
    return rng
