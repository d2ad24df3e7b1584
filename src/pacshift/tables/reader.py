"""One reader per table: batches are worked on by all cores, results come in order, memory stays bounded."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from pacshift.arrays import Label
from pacshift.certificate.columns import Columns
from pacshift.errors import InputError
from pacshift.parallel import map_ordered
from pacshift.tables.convert import Faults, Rows, convert
from pacshift.tables.finding import find_layout
from pacshift.tables.frames import FrameSource
from pacshift.tables.npz import NpzSource
from pacshift.tables.sources import KINDS, Batch, FileSource, Source, Tables, is_frame, list_files

Progress: TypeAlias = Callable[[int, int | None], None]
"""Called with the rows done so far and, where known, the rows in all."""

MAX_KEPT_BYTES = 1 << 26
"""A table up to this size (64 MB) is kept in memory when it is needed twice; a larger one is read twice."""

_Result = TypeVar("_Result")


class TableReader:
    """A table and its layout.

    After ``map_batches`` or ``map_rows``, ``n_rows`` counts the rows read, ``faults`` those that cannot be used,
    and ``usable_rows`` the others by file. With ``keep`` a small table stays in memory, so that reading it again
    costs nothing.
    """

    def __init__(
        self,
        paths: Tables,
        *,
        label: str | None,
        scores: str | None = None,
        classes: Sequence[Label] | None = None,
        by_position: bool = False,
        columns: Columns | None = None,
        keep: bool = False,
    ) -> None:
        self.files = [] if is_frame(paths) else list_files(paths)
        self.source: Source = FrameSource(paths) if is_frame(paths) else _open(self.files, label, scores, columns)
        self.layout = find_layout(
            self.source, label=label, scores=scores, classes=classes, by_position=by_position, columns=columns
        )
        self.n_rows, self.faults = 0, Faults()
        self.usable_rows: dict[str, int] = {}
        self._kept: list[Batch] | None = [] if keep else None
        self._kept_all = False

    @property
    def n_usable(self) -> int:
        """Rows that were not left out."""
        return self.n_rows - self.faults.n_rows

    def map_batches(
        self,
        work: Callable[[Batch], tuple[_Result | None, Faults]],
        *,
        columns: Sequence[str] = (),
        drop_invalid: bool = False,
        progress: Progress | None = None,
    ) -> Iterator[_Result]:
        """``work`` of every batch, in order; ``columns`` are read beside scores and label.

        Faulty rows raise at the end, so that all of them are counted.
        """
        self.n_rows, self.faults, self.usable_rows = 0, Faults(), {}
        total = self.source.count_rows() if progress else None
        for batch, result, faults in map_ordered(self._jobs(work, columns)):
            self.n_rows += batch.data.num_rows
            usable = batch.data.num_rows - faults.n_rows
            self.usable_rows[batch.file] = self.usable_rows.get(batch.file, 0) + usable
            self.faults.add(faults)
            if result is not None and (drop_invalid or not self.faults.n_rows):
                yield result
            if progress:
                progress(self.n_rows, total)
        self.faults.raise_if_any(self.layout.classes, drop_invalid=drop_invalid)
        if not self.n_usable:
            raise InputError("the table has no usable row. At least one example is needed.")

    def map_rows(self, work: Callable[[Rows, Batch], _Result], **options: Any) -> Iterator[_Result]:
        """``work`` of the usable rows of every batch, in order; options as in ``map_batches``."""

        def on_rows(batch: Batch) -> tuple[_Result | None, Faults]:
            rows = convert(batch, self.layout)
            return work(rows, batch) if len(rows.scores) else None, rows.faults

        return self.map_batches(on_rows, **options)

    def _jobs(
        self, work: Callable[[Batch], tuple[_Result | None, Faults]], columns: Sequence[str]
    ) -> Iterator[Callable[[], tuple[Batch, _Result | None, Faults]]]:
        for batch in self._batches(columns):

            def job(batch: Batch = batch) -> tuple[Batch, _Result | None, Faults]:
                batch.require_sound()
                return (batch, *work(batch))

            yield job

    def _batches(self, columns: Sequence[str]) -> Iterator[Batch]:
        if self._kept is not None and self._kept_all:
            yield from self._kept
            return
        kept: list[Batch] | None = [] if self._kept is not None else None
        n_bytes = 0
        for batch in self.layout.batches(self.source, columns):
            if kept is not None:
                batch.require_sound()  # counting its bytes looks at offsets
                n_bytes += batch.data.nbytes
                kept.append(batch)
                kept = kept if n_bytes <= MAX_KEPT_BYTES else None
            yield batch
        self._kept, self._kept_all = kept, kept is not None


def _open(files: list[Path], label: str | None, scores: str | None, columns: Columns | None) -> Source:
    if KINDS[files[0].suffix.lower()] != "npz":
        return FileSource(files)
    remembered = columns.scores[0] if columns is not None and len(columns.scores) == 1 else None
    return NpzSource(files, scores=scores or remembered, label=label)
