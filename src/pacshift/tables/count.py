"""Tables to tallies: each batch is counted, the counts are added; memory does not grow with the rows."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from pacshift.arrays import Label
from pacshift.progress import Progress
from pacshift.rows.arrow.layout import ColumnsError, Layout
from pacshift.rows.arrow.records import batch_labels, raw_scores, sample_scores, score_rows
from pacshift.rows.arrow.source import Records, Source, Tables
from pacshift.rows.columns import Columns
from pacshift.rows.faults import Faults
from pacshift.scores.check import foreign_columns
from pacshift.scores.names import shorten
from pacshift.scores.transforms import TransformFunction, resolve_transform
from pacshift.tables.reader import TableReader
from pacshift.tally import Tally
from pacshift.tally.counter import Counter, CountOptions
from pacshift.tally.once import Input, Role, printable, sha256_beside

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
    dropped_why : tuple of (str, int)
        Reasons for leaving rows out, each with its number of rows.
    """

    tally: Tally
    n_rows: int
    n_dropped: int
    columns: Columns
    dropped_why: tuple[tuple[str, int], ...] = ()

    @property
    def n_usable(self) -> int:
        """Rows that can be used. More than were counted if one row of each group was."""
        grouped = self.tally.source_grouped or self.tally.target_grouped
        return self.n_rows if grouped is None else grouped.rows


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
    softmax: bool = False,
    drop_invalid: bool = False,
    sha256: bool = False,
    group: str | None = None,
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
        one column of lists. Default: ``"p_*"`` if there are such columns, else those named after the classes
        or, in a labelled table, after the labels.
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
    softmax : bool, default False
        Whether the scores are logits, of which the softmax is counted. The tally remembers it.
    drop_invalid : bool, default False
        Leave out rows without a label or with non-numeric scores, instead of raising an error.
    sha256 : bool, default False
        List the SHA-256 of every file in the tally's ``inputs``. Files are read once more for it.
    group : str, optional
        Column that names the group of each row, such as the patient. Rows of one group are not independent, so one
        random row of each group is counted: ``Tally.from_scores(..., groups=...)`` chooses the same rows. Files
        are read once more for it, and memory grows with the rows: about 40 bytes each.
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
    asked: dict[str, Any] = {"label": label, "scores": scores, "classes": classes, "by_position": by_position}
    reader = TableReader(paths, softmax=softmax, group=group, **asked)
    options = CountOptions(resolve_transform(score), grid=grid, soft=soft, bins=bins, softmax=softmax)
    return count_table(reader, options, drop_invalid=drop_invalid, sha256=sha256, progress=progress)


def count_table(
    reader: TableReader,
    options: CountOptions,
    *,
    labelled: bool = True,
    drop_invalid: bool = False,
    sha256: bool = False,
    progress: Progress | None = None,
) -> TableTally:
    """Count what a reader reads; with ``labelled`` False as a target, although there may be labels."""
    layout = reader.layout if labelled else reader.layout.without_label()
    counter = Counter(len(layout.classes), options, labelled=layout.label is not None)
    start = perf_counter()

    def work(batch: Records) -> tuple[None, Faults]:
        return None, count_batch(batch, layout, counter)

    with sha256_beside(reader.source.files if sha256 else ()) as hashes:
        list(reader.map_batches(work, drop_invalid=drop_invalid, progress=progress))
        digests = {file: each.result() for file, each in hashes.items()}
    tally = Tally.from_counter(counter, layout.classes, reader.grouped)
    logger.info("counted %d rows of a table in %.2f s", tally.n_source + tally.n_target, perf_counter() - start)
    if counter.labelled:
        require_score_columns(tally, layout, reader.source)
    tally = replace(tally, inputs=_inputs(reader, layout.remembered, digests))
    faults = reader.faults
    return TableTally(tally, reader.n_usable, faults.n_rows, layout.remembered, why_of(faults))


def _inputs(reader: TableReader, columns: Columns, sha256: Mapping[str, str]) -> tuple[Input, ...]:
    """The files that were counted; of a frame only what was left out has to be said."""
    if not reader.source.files and reader.faults.n_rows:
        return (table_input(columns, None, reader.n_usable, None, reader.faults, reader.n_in_all),)
    return tuple(
        table_input(
            columns, file, rows, sha256.get(str(file)), reader.faults_of[str(file)], reader.rows_of[str(file)]
        )
        for file in reader.source.files
        if (rows := reader.usable_rows.get(str(file))) is not None
    )


def table_input(
    columns: Columns,
    path: Path | None,
    rows: int | None,
    sha256: str | None,
    faults: Faults | None,
    rows_read: int | None,
) -> Input:
    """What a tally says about a table that was counted; without ``faults`` nobody knows what was left out."""
    left_out, why = (None, ()) if faults is None else (faults.n_rows, why_of(faults))
    role: Role = "target" if columns.label is None else "source"
    read = columns.scores if columns.label is None else (columns.label, *columns.scores)
    name = None if path is None else printable(path.name)
    return Input(role, name, rows, read, sha256, left_out, why, rows_read)


def why_of(faults: Faults) -> tuple[tuple[str, int], ...]:
    """Why rows cannot be used, with how many they are."""
    return tuple(sorted(faults.reasons.items()))


def require_score_columns(tally: Tally, layout: Layout, source: Source) -> None:
    """Raise where a column that was not named as a class, such as ``id``, cannot be one."""
    if layout.is_named or layout.is_list or tally.class_counts.all():
        return
    foreign = foreign_columns(sample_scores(source, layout), tally.class_counts)
    if foreign:
        raise ColumnsError(
            f"column {shorten([layout.columns[place] for place in foreign])} does not look like scores: no row "
            "has this label, and the values do not fit the other score columns. Leave it out with scores=, or "
            "name all classes with classes= if it is right."
        )


def count_batch(batch: Records, layout: Layout, counter: Counter) -> Faults:
    """What every engine does with a batch: count the usable rows, and say what is wrong with the others."""
    labels, n_rows = batch_labels(batch, layout), batch.data.num_rows
    n_counted = 0
    if n_rows and (labels is None or labels.min() >= 0):
        n_counted = counter.count(raw_scores(batch, layout), labels)
    if n_counted == n_rows:
        return Faults()
    rest = Records(batch.data.slice(n_counted), batch.file, batch.first_row + n_counted)
    rows = score_rows(rest, layout, softmax=counter.options.softmax)  # finds the bad rows
    if len(rows.scores):
        counter.count(rows.scores, rows.index)
    return rows.faults
