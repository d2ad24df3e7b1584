"""Tables to tallies: each batch is counted, the counts are added; memory does not grow with the rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import IntArray, Label
from pacshift.certificate import Certificate
from pacshift.scores.transforms import Transform, TransformFunction, resolve_transform
from pacshift.tables.convert import Faults, Rows, convert, label_index, plain_columns
from pacshift.tables.counts import FEW_CLASSES, Counts, Part, count, count_columns
from pacshift.tables.layout import Layout
from pacshift.tables.scan import Progress, Scan
from pacshift.tables.sources import Batch, PathLike
from pacshift.tally import Tally


@dataclass(frozen=True, slots=True, eq=False)
class TableTally:
    """The counts of a table, how many rows they were taken from and how many were left out."""

    tally: Tally
    n_rows: int
    n_dropped: int


@dataclass(frozen=True, slots=True, eq=False)
class LoadedTable:
    """A table in memory; ``labels`` are names among ``classes``."""

    scores: NDArray[np.floating[Any]]
    labels: NDArray[Any] | None
    classes: tuple[Label, ...]


def tally_table(
    paths: PathLike | Sequence[PathLike],
    *,
    label: str | None,
    scores: str = "p_*",
    classes: Sequence[Label] | None = None,
    score: str | TransformFunction = "probability",
    grid: bool = True,
    soft: bool = True,
    bins: bool = True,
    drop_invalid: bool = False,
    rng: Any = None,
    progress: Progress | None = None,
) -> TableTally:
    """Count a table of any size; without ``label`` it is an unlabelled target.

    The counts equal ``Tally.from_scores(..., grid=True)`` of the whole table bit for bit, whatever the batches.
    ``scores`` is a pattern of column names, whose star stands for the class name, or the name of a list column.
    Class names that are all whole numbers become ints; labels match them by value, 1 and "1" alike.
    """
    scan = Scan(paths, label=label, scores=scores, classes=classes, rng=rng)
    transform, known = resolve_transform(score), scan.layout.classes

    def exact(rows: Rows, _batch: Batch, rng: np.random.Generator) -> Tally:
        return Tally.from_scores(rows.scores, rows.index, score=transform, soft=soft, rng=rng)

    def coded(batch: Batch, rng: np.random.Generator) -> tuple[Part | None, Faults]:
        return count_batch(batch, scan.layout, transform=transform, soft=soft, bins=bins, rng=rng)

    if label is not None and not grid:  # every distinct score is kept: memory grows with the rows
        parts = scan.map(exact, drop_invalid=drop_invalid, progress=progress)
        total = replace(Tally.sum(parts), classes=known)
    else:
        counts = Counts(known, labelled=label is not None, soft=soft, bins=bins)
        for part in scan.map_batches(coded, drop_invalid=drop_invalid, progress=progress):
            counts.add(part)
        total = counts.tally(transform.name)
    return TableTally(total, scan.n_rows - scan.faults.n_rows, scan.faults.n_rows)


def count_batch(
    batch: Batch, layout: Layout, *, transform: Transform, soft: bool, bins: bool, rng: np.random.Generator
) -> tuple[Part | None, Faults]:
    """What every engine does with a batch: count the usable rows, if any, and say what is wrong with others."""
    quick = transform.function is None and len(layout.classes) <= FEW_CLASSES
    columns = plain_columns(batch, layout) if quick else None
    if columns is not None and batch.data.num_rows:
        index = None if layout.label is None else label_index(batch.data.column(len(columns)), layout.classes)
        if index is None or index.min() >= 0:
            part = count_columns(columns, index, soft=soft, bins=bins)
            if part is not None:
                return part, Faults()
    rows = convert(batch, layout)  # the slower way, row by row
    if not len(rows.scores):
        return None, rows.faults
    return count(rows.scores, rows.index, transform=transform, soft=soft, bins=bins, rng=rng), rows.faults


def count_set_sizes(
    certificate: Certificate,
    paths: PathLike | Sequence[PathLike],
    *,
    scores: str = "p_*",
    drop_invalid: bool = False,
    rng: Any = None,
    progress: Progress | None = None,
) -> IntArray:
    """How many sets of a table hold 0, 1, ..., K labels: the certificate's ``set_sizes``."""
    scan = Scan(paths, label=None, scores=scores, classes=certificate.classes, rng=rng)
    n_sizes = len(certificate.classes) + 1

    def sizes(rows: Rows, _batch: Batch, rng: np.random.Generator) -> IntArray:
        return np.bincount(certificate.sets(rows.scores, rng=rng).sum(axis=1), minlength=n_sizes)

    parts = scan.map(sizes, drop_invalid=drop_invalid, progress=progress)
    return sum(parts, np.zeros(n_sizes, np.int64))


def read_table(
    paths: PathLike | Sequence[PathLike],
    *,
    label: str | None = None,
    scores: str = "p_*",
    classes: Sequence[Label] | None = None,
    drop_invalid: bool = False,
) -> LoadedTable:
    """A whole table in memory, for what needs every score at once."""
    scan = Scan(paths, label=label, scores=scores, classes=classes)
    parts = list(scan.map(lambda rows, _batch, _rng: rows, drop_invalid=drop_invalid))
    values = np.concatenate([part.scores for part in parts])
    if label is None:
        return LoadedTable(values, None, scan.layout.classes)
    index = np.concatenate([part.index for part in parts if part.index is not None])
    return LoadedTable(values, _names(scan.layout.classes)[index], scan.layout.classes)


def _names(classes: tuple[Label, ...]) -> NDArray[Any]:
    """An array of the names in their own type; a mix of types stays a mix."""
    return np.array(classes, None if len({type(name) for name in classes}) == 1 else object)
