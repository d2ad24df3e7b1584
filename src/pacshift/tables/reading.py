"""Tables to tallies: each batch is counted, the counts are added; memory does not grow with the rows."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import Label
from pacshift.certificate.columns import Columns
from pacshift.files.repeated import file_sha256
from pacshift.scores.check import ignore_rng
from pacshift.scores.names import shorten
from pacshift.scores.plausible import foreign_columns
from pacshift.scores.transforms import TransformFunction, resolve_transform
from pacshift.tables.convert import Faults, Rows, batch_labels, convert, raw_scores
from pacshift.tables.finding import sample_scores
from pacshift.tables.layout import Layout
from pacshift.tables.reader import Progress, TableReader
from pacshift.tables.sources import Batch, Source, Tables
from pacshift.tables.suggest import ColumnsError
from pacshift.tally import Tally
from pacshift.tally.counter import Counter, CountOptions
from pacshift.tally.inputs import Input, Role, printable

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class TableTally:
    """The counts of a table.

    Parameters
    ----------
    tally : Tally
        The counts.
    n_rows : int
        Rows that were counted.
    n_dropped : int
        Rows that were left out because they cannot be used.
    columns : Columns
        The columns that were read.
    """

    tally: Tally
    n_rows: int
    n_dropped: int
    columns: Columns


@dataclass(frozen=True, slots=True, eq=False)
class LoadedTable:
    """A table in memory.

    Parameters
    ----------
    scores : numpy.ndarray of shape (n, K)
        One row per example, one column per class.
    labels : numpy.ndarray of shape (n,) or None
        Names among ``classes``.
    classes : tuple
        Class names, in the order of the columns.
    """

    scores: NDArray[np.floating[Any]]
    labels: NDArray[Any] | None
    classes: tuple[Label, ...]


def tally_table(
    paths: Tables,
    *,
    label: str | None,
    scores: str | None = None,
    classes: Sequence[Label] | None = None,
    by_position: bool = False,
    score: str | TransformFunction = "probability",
    grid: bool = True,
    soft: bool = True,
    bins: bool = True,
    drop_invalid: bool = False,
    sha256: bool = False,
    rng: Any = None,
    progress: Progress | None = None,
) -> TableTally:
    """Count a table of any size; without ``label`` it is an unlabelled target.

    The counts equal ``Tally.from_scores(..., grid=True)`` of the whole table bit for bit, whatever the batches.

    Parameters
    ----------
    paths : path-like, sequence of path-like or frame
        Parquet, Feather, CSV or NPZ files, or folders of them. All together are one table. Or a frame of pandas or
        polars, a lazy frame of polars, a relation of DuckDB, or anything else with ``__arrow_c_stream__``. Frames
        are read in batches; there is no copy of the whole.
    label : str or None
        Column of the true labels; None for an unlabelled target.
    scores : str, optional
        The score columns: a pattern whose star stands for the class name (``"p_*"``), a comma list of columns, or
        one column of lists. Default: ``"p_*"`` if there are such columns, else those named as the classes or, in a
        labelled table, as the labels.
    classes : sequence, optional
        Class names. Columns are matched to them by name. Default: what the star stands for, else the names of the
        columns, for lists 0 to K-1. Names that are all whole numbers become ints. Names of labels, classes and
        columns are compared as text: 1 and "1" are the same, "01" is another name.
    by_position : bool, default False
        Match the score columns to ``classes`` in the order in which they stand in the table, if their names do
        not tell.
    score : str or callable, default "probability"
        Transform of the scores that thresholds are compared with.
    grid : bool, default True
        Round true-label scores down to 12 bits of mantissa. False keeps every score: memory grows with the rows.
    soft : bool, default True
        Keep sums of probabilities, which only PS-R and WCP use.
    bins : bool, default True
        Keep a target's scores in coarse bins, by which PS-LP finds the smallest sets.
    drop_invalid : bool, default False
        Leave out rows without a label or with non-numeric scores, instead of raising an error.
    sha256 : bool, default False
        List the SHA-256 of every file in the tally's ``inputs``. Files are read once more for it.
    rng : int, numpy.random.Generator or None
        Has no effect: randomised scores are fixed functions of their rows. Will be removed.
    progress : callable, optional
        Called with the rows done so far and, where known, the rows in all.

    Returns
    -------
    TableTally
        The counts, and how many rows were counted and left out.

    Raises
    ------
    InputError
        If a file cannot be read, columns are missing, or rows cannot be used.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "scores.csv")
    >>> _ = path.write_text("p_cat,p_dog,animal\\n0.9,0.1,cat\\n0.3,0.7,dog\\n0.6,0.4,dog\\n")
    >>> tally_table(path, label="animal").tally.confusion.tolist()
    [[1, 1], [0, 1]]
    >>> folder.cleanup()
    """
    ignore_rng(rng)
    reader = TableReader(paths, label=label, scores=scores, classes=classes, by_position=by_position)
    options = CountOptions(resolve_transform(score), grid=grid, soft=soft, bins=bins)
    return count_table(reader, options, drop_invalid=drop_invalid, sha256=sha256, progress=progress)


def count_table(
    reader: TableReader,
    options: CountOptions,
    *,
    labelled: bool | None = None,
    drop_invalid: bool = False,
    sha256: bool = False,
    progress: Progress | None = None,
) -> TableTally:
    """Count what a reader reads; with ``labelled`` False as a target, although there may be labels."""
    layout = reader.layout.without_label() if labelled is False else reader.layout
    counter = Counter(len(layout.classes), options, labelled=layout.label is not None)
    start = perf_counter()

    def work(batch: Batch) -> tuple[None, Faults]:
        return None, count_batch(batch, layout, counter)

    for _ in reader.map_batches(work, drop_invalid=drop_invalid, progress=progress):
        pass
    tally = Tally.from_counter(counter, layout.classes)
    logger.info("counted %d rows of a table in %.2f s", tally.n_source + tally.n_target, perf_counter() - start)
    if counter.labelled:
        require_plausible(tally, layout, reader.source)
    tally = replace(tally, inputs=_inputs(reader, layout, sha256=sha256))
    return TableTally(tally, reader.n_usable, reader.faults.n_rows, layout.remembered)


def _inputs(reader: TableReader, layout: Layout, *, sha256: bool) -> tuple[Input, ...]:
    """The files that were counted; of a frame in memory none."""
    role: Role = "target" if layout.label is None else "source"
    columns = (*(() if layout.label is None else (layout.label,)), *layout.columns)
    return tuple(
        Input(role, printable(file.name), rows, columns, file_sha256(file) if sha256 else None)
        for file in reader.files
        if (rows := reader.usable_rows.get(str(file))) is not None
    )


def require_plausible(tally: Tally, layout: Layout, source: Source) -> None:
    """Raise where a column that nobody named as a class, such as ``id``, cannot be one."""
    if layout.is_named or layout.is_list or tally.class_counts.all():
        return
    foreign = foreign_columns(sample_scores(source, layout), tally.class_counts)
    if foreign:
        kept = [name for place, name in enumerate(layout.columns) if place not in foreign]
        raise ColumnsError(
            f"column {shorten([layout.columns[place] for place in foreign])} does not look like scores: no row "
            "has this label, and the values do not fit the other score columns. Leave it out with --scores, or "
            "name all classes with --classes if it is right.",
            ("--scores", ",".join(kept)),
        )


def count_batch(batch: Batch, layout: Layout, counter: Counter) -> Faults:
    """What every engine does with a batch: count the usable rows, and say what is wrong with the others."""
    labels, n_rows = batch_labels(batch, layout), batch.data.num_rows
    n_counted = 0
    if n_rows and (labels is None or labels.min() >= 0):
        n_counted = counter.count(raw_scores(batch, layout), labels)
    if n_counted == n_rows:
        return Faults()
    rest = Batch(batch.data.slice(n_counted), batch.file, batch.first_row + n_counted)
    rows = convert(rest, layout)  # finds the bad rows
    if len(rows.scores):
        counter.count(rows.scores, rows.index)
    return rows.faults


def read_table(
    paths: Tables,
    *,
    label: str | None = None,
    scores: str | None = None,
    classes: Sequence[Label] | None = None,
    by_position: bool = False,
    drop_invalid: bool = False,
) -> LoadedTable:
    """Read a whole table into memory, for what needs every score at once.

    Parameters
    ----------
    paths : path-like, sequence of path-like or frame
        Files, folders or a frame, as in ``tally_table``.
    label : str, optional
        Column of the true labels.
    scores : str, optional
        The score columns, as in ``tally_table``.
    classes : sequence, optional
        Class names, as in ``tally_table``.
    by_position : bool, default False
        Match columns to classes in their order, as in ``tally_table``.
    drop_invalid : bool, default False
        Leave out rows that cannot be used, instead of raising an error.

    Returns
    -------
    LoadedTable
        Scores, labels (where ``label`` is given) and class names.

    Raises
    ------
    InputError
        If a file cannot be read, columns are missing, or rows cannot be used.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "scores.csv")
    >>> _ = path.write_text("p_cat,p_dog,animal\\n0.9,0.1,cat\\n0.3,0.7,dog\\n")
    >>> read_table(path, label="animal").labels.tolist()
    ['cat', 'dog']
    >>> folder.cleanup()
    """
    reader = TableReader(paths, label=label, scores=scores, classes=classes, by_position=by_position)
    parts: list[Rows] = list(reader.map_rows(lambda rows, _batch: rows, drop_invalid=drop_invalid))
    values, known = np.concatenate([part.scores for part in parts]), reader.layout.classes
    if label is None:
        return LoadedTable(values, None, known)
    index = np.concatenate([part.index for part in parts if part.index is not None])
    return LoadedTable(values, _names(known)[index], known)


def _names(classes: tuple[Label, ...]) -> NDArray[Any]:
    """An array of the names in their own type; a mix of types stays a mix."""
    return np.array(classes, None if len({type(name) for name in classes}) == 1 else object)
