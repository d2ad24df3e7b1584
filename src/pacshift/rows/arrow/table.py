"""Files and frames as ``Rows``: record batches are checked and run_on on by all cores, memory stays bounded."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from pacshift.arrays import IntArray, Label, LabelsLike
from pacshift.errors import InputError, param, users_line
from pacshift.files.same import sha256_beside
from pacshift.progress import Progress
from pacshift.rows.arrow.batch import ArrowBatch, Layout, sample_scores
from pacshift.rows.arrow.files import open_source
from pacshift.rows.arrow.find import ColumnsError, ReadOptions, find_layout
from pacshift.rows.arrow.source import Records, Source, Tables
from pacshift.rows.base import (
    CheckedRows,
    FileRows,
    Labels,
    ScanReport,
    Watch,
    no_progress,
    resolve_drop,
    watch_with,
)
from pacshift.rows.columns import Columns
from pacshift.rows.groups import OnePerGroup, Periods
from pacshift.rows.rows import Rows
from pacshift.scores.check import ScoreMatrix, check_flag, require_plausible
from pacshift.tally.inputs import Input, Role, printable
from pacshift.words.visible import visible

if TYPE_CHECKING:
    from pacshift.certificate import Certificate

Described: TypeAlias = "CheckedRows | Certificate"
"""What knows columns, classes and whether scores are logits."""

MAX_KEPT_BYTES = 1 << 26
"""A table up to this size (64 MB) is kept in memory when it is needed twice; a larger one is read twice."""


def read(
    table: Tables,
    *,
    label: str | None = None,
    scores: str | None = None,
    classes: Sequence[Label] | None = None,
    by_position: bool = False,
    group: str | None = None,
    softmax: bool = False,
    drop_invalid: bool | float = False,
    like: Rows | Certificate | None = None,
    progress: Progress | None = None,
) -> Rows:
    """Open a table of any size as rows, for ``calibrate`` and the others.

    Nothing but the names of the columns is read now. Rows are read batch by batch, by all cores, whenever they are
    needed; a table of up to 64 MB is then kept in memory. True-label scores are counted on a grid of 12 bits, so
    that memory stays bounded: the guarantee is the same.

    Parameters
    ----------
    table : path-like, sequence of path-like or frame
        Parquet, Feather, CSV, NPZ or NPY files, or folders of them. All together are one table. Or a frame of
        pandas or polars, a lazy frame of polars, a relation of DuckDB, anything else with
        ``__arrow_c_stream__``, or a data frame of Spark, which is counted on its cluster.
    label : str, optional
        Column of the true labels. Of a target some rows are enough, null elsewhere: they must be a random sample.
    scores : str, optional
        The score columns: a pattern whose star stands for the class name (``"p_*"``), a comma list of columns, or
        one column of lists. Default: ``"p_*"`` if there are such columns, else those named after the classes
        or, in a labelled table, after the labels.
    classes : sequence, optional
        Class names. Columns are matched to them by name. Names are compared as text.
    by_position : bool, default False
        Match score columns that are named otherwise to ``classes`` in the order in which they stand in the table.
    group : str, optional
        Column that names the group of each row, such as the patient: one random row of each group is used.
    softmax : bool, default False
        Whether the scores are logits, of which the softmax is taken.
    drop_invalid : bool or float, default False
        Leave out rows that cannot be used, instead of raising an error: up to this share of all, or 5 % with True,
        and no more of the groups. Nothing is promised for them.
    like : Rows or Certificate, optional
        Find the columns, the classes and whether scores are logits as there, and count one row of each group if
        that is done there: a target like its source.
    progress : callable, optional
        Called in every pass with the rows done so far and, where known, the rows in all.

    Returns
    -------
    Rows
        The table.

    Raises
    ------
    InputError
        If a file cannot be read, or columns are missing.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from pacshift import calibrate
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "source.csv")
    >>> _ = path.write_text("p_cat,p_dog,animal\\n" + "0.9,0.1,cat\\n0.3,0.7,dog\\n" * 200)
    >>> source = read(path, label="animal")
    >>> calibrate(source, read(path, like=source), method="PS-LW").n_source
    400
    >>> folder.cleanup()
    """
    return open_table(
        table,
        ReadOptions(label, scores, classes, by_position, None, group, softmax, drop_invalid),
        like=_find_columns(like),
        with_group=True,
        watch=watch_with(progress),
    )


def read_rows(
    table: Tables,
    options: ReadOptions,
    *,
    name: str = "table",
    role: Role | None = None,
    like: Described | None = None,
    with_group: bool = False,
    within: Periods | None = None,
    keep: bool = True,
    watch: Watch = no_progress,
) -> CheckedRows:
    """A table as checked rows, for adapters that know what it is; the rest is as in ``open_table``."""
    rows = open_table(table, options, name=name, like=like, with_group=with_group, keep=keep, watch=watch)
    return rows.bind(name=name, role=role or ("source" if rows.has_labels else "target"), within=within)


def open_table(
    table: Tables,
    options: ReadOptions,
    *,
    name: str = "table",
    like: Described | None = None,
    with_group: bool = False,
    keep: bool = True,
    watch: Watch = no_progress,
) -> TableRows:
    """A table whose columns are found, for every adapter: what ``read`` takes, and how messages call it.

    ``like`` gives columns, classes and the softmax together, and ``with_group`` its groups. A small table stays
    in memory where ``keep`` says so.
    """
    if like is not None:
        classes, columns = options.classes or like.classes, options.columns or like.columns
        options = replace(options, classes=classes, columns=columns, softmax=options.softmax or like.softmax)
    kind_of_rows: type[ArrowRows] = ArrowRows
    try:
        source: Source
        if hasattr(table, "mapInArrow"):  # a data frame of Spark
            from pacshift.rows.spark import SparkRows, SparkSource

            kind_of_rows, source = SparkRows, SparkSource(table, options.scores, options.columns)
        else:
            source = open_source(table, label=options.label, scores=options.scores, columns=options.columns)
        if with_group and options.group is None and like is not None:
            options = replace(options, group=_group_of(like, source))
        layout = find_layout(source, options)
    except ColumnsError as error:
        if name == "table":
            raise
        message = str(error)
        if name == "target":  # whose labels have an option of their own
            message = message.replace(param("label=NAME"), param("target_labels=NAME"))
        raise ColumnsError(f"{name}: {message}") from None
    files = ", ".join(map(str, source.files[:3])) + (", ..." if len(source.files) > 3 else "")
    return TableRows(
        kind_of_rows(
            name=name,
            role="target",
            classes=layout.classes,
            softmax=check_flag(options.softmax, "softmax"),
            drop_invalid=resolve_drop(options.drop_invalid),
            grid=True,
            described=files or "the frame",
            watch=watch,
            source=source,
            layout=layout,
            kept=BatchCache(keep),
        )
    )


def _find_columns(like: Rows | CheckedRows | Certificate | None) -> Described | None:
    """What knows the columns; arrays do not."""
    if isinstance(like, Rows) and not isinstance(like, TableRows):
        raise InputError("like= takes rows that were read, or a certificate: arrays do not say their columns.")
    return like.table if isinstance(like, TableRows) else like


def _group_of(like: Described, source: Source) -> str | None:
    """The column by which groups are told there, which this table should have too."""
    group = None if like.columns is None else like.columns.group
    if group is None or group in source.schema.names:
        return group
    problem = f"one row of each {group!r} is counted there, but this table has no column {group!r}"
    remedy = f"Name the column of its groups: {param('group=NAME')}."
    if isinstance(like, CheckedRows):
        raise ColumnsError(f"{problem}. {remedy} If every row is a group of its own, add a column of row numbers.")
    warnings.warn(f"{problem}: every row counts by itself. {remedy}", stacklevel=users_line())
    return None


class TableRows(Rows):
    """A table whose columns are found; a verb says whether it is a source or a target."""

    table: ArrowRows
    bound: dict[tuple[object, ...], CheckedRows]

    def __init__(self, table: ArrowRows) -> None:
        vars(self).update(scores=None, table=table, bound={}, classes=table.classes, softmax=table.softmax)

    def __repr__(self) -> str:
        has = "labelled rows" if self.has_labels else "rows"
        return f"<{has} of {visible(self.table.described)}, {len(self.table.classes)} classes>"

    @property
    def has_labels(self) -> bool:
        return self.table.layout.label is not None

    @property
    def column_names(self) -> Sequence[str]:
        return self.table.column_names

    def bind(
        self,
        *,
        name: str,
        role: Role,
        classes: Sequence[Label] | None = None,
        columns: Sequence[str] = (),
        softmax: bool | None = None,
        within: Periods | None = None,
    ) -> CheckedRows:
        """The rows as a source or a target, chosen and kept once for all verbs that call them the same.

        ``within`` gives the period of each row, where there is one row per group and period.
        """
        self._agree_on_classes(self.classes, classes, name)
        key = name, role, self._agree_on_softmax(softmax, name)
        if within is None and key in self.bound:
            return self.bound[key]
        labels: Labels = "none" if not self.has_labels else "all" if role == "source" else "some"
        rows: CheckedRows = replace(self.table, name=name, role=role, labels=labels, softmax=key[-1])
        if self.table.layout.group is not None and rows.reread_cost != "never":  # a cluster chooses by itself
            rows = OnePerGroup.of(rows, within=within)
        if within is None:
            self.bound[key] = rows
        return rows

    def _with_labels(self, labels: LabelsLike) -> Rows:
        column = param("label=COLUMN")
        raise InputError(f"labels of a table are one of its columns. Name it when the table is read: {column}.")


@dataclass(eq=False)
class BatchCache:
    """Batches of a small table, for the passes after the first one. Views of the same rows share them."""

    wanted: bool
    records: list[Records] = field(default_factory=list)
    columns: frozenset[str] = frozenset()


@dataclass(eq=False, kw_only=True, repr=False)
class ArrowRows(CheckedRows):
    """A source of record batches and its layout."""

    source: Source
    layout: Layout
    kept: BatchCache

    def __post_init__(self) -> None:
        is_counted_with = self.labels == "all" and self.role == "source"
        self.columns = (self.layout if is_counted_with else self.layout.without_label()).remembered

    def batches(self, keep: Sequence[str] = ()) -> Iterator[ArrowBatch]:
        first = 0
        for records in self._records(keep):
            yield ArrowBatch(records, self.layout, self.labels, is_logits=self.softmax, first=first)
            first += records.raw.num_rows

    def _records(self, keep: Sequence[str]) -> Iterator[Records]:
        """Score columns, label, group and the columns to ``keep``: from memory, or read again."""
        layout, kept = self.layout, self.kept
        if kept.records and kept.columns.issuperset(keep):
            yield from kept.records
            return
        others = [name for name in dict.fromkeys(keep) if name not in layout.needed]
        named = layout.needed[len(layout.columns) :]
        batches, n_bytes = list[Records](), 0
        for batch in self.source.batches(layout.columns, len(layout.classes), named, others):
            if kept.wanted:
                n_bytes += batch.n_bytes
                batches.append(batch)
                if n_bytes > MAX_KEPT_BYTES:
                    kept.wanted, batches = False, []
            yield batch
        kept.records, kept.columns = batches, frozenset(keep)

    def without_labels(self) -> ArrowRows:
        return replace(self, labels="none")

    @property
    def column_names(self) -> Sequence[str]:
        return list(self.source.schema.names)

    def count_rows(self) -> int | None:
        return self.source.count_rows()

    def require_plausible(self, class_counts: IntArray) -> None:
        layout = self.layout
        if not (layout.is_named or len(layout.columns) == 1 or class_counts.all()):
            require_plausible(ScoreMatrix(sample_scores(self.source, layout), layout.columns), class_counts)

    def hashes(self) -> AbstractContextManager[Mapping[str, Any]]:
        return sha256_beside(self.source.files)

    def inputs(self, scan: ScanReport, digests: Mapping[str, str]) -> tuple[Input, ...]:
        """The files that were counted; of a frame only what was left out has to be said."""
        assert self.columns is not None
        if not self.source.files:
            return tuple(
                table_input(self.columns, None, read, None) for read in scan.files.values() if read.faults.n_rows
            )
        counted = {file: scan.files[str(file)] for file in self.source.files if str(file) in scan.files}
        return tuple(
            table_input(self.columns, file.name, read, digests.get(str(file))) for file, read in counted.items()
        )


def table_input(columns: Columns, name: str | None, rows: FileRows, sha256: str | None) -> Input:
    """What a tally says about a table that was counted."""
    role: Role = "target" if columns.label is None else "source"
    read, faults = columns.scores if columns.label is None else (columns.label, *columns.scores), rows.faults
    shown_name = None if name is None else printable(name)
    return Input(role, shown_name, rows.n_given, read, sha256, faults.n_rows, faults.why, rows.n_rows)
