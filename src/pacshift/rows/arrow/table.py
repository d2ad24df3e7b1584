"""Files and frames as ``Rows``: record batches are checked and worked on by all cores, memory stays bounded."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pacshift.arrays import IntArray, Label
from pacshift.errors import InputError, param, users_line
from pacshift.files.same import sha256_beside
from pacshift.progress import Progress
from pacshift.rows.arrow.batch import ArrowBatch, Layout, sample_scores
from pacshift.rows.arrow.files import open_source
from pacshift.rows.arrow.find import ColumnsError, ReadOptions, find_layout
from pacshift.rows.arrow.source import Records, Source, Tables
from pacshift.rows.base import CheckedRows, FileRows, Labels, Pass, Watch, resolve_drop, told, unwatched
from pacshift.rows.columns import Columns
from pacshift.rows.groups import OnePerGroup, Periods
from pacshift.scores.check import ScoreMatrix, require_plausible
from pacshift.scores.transforms import TransformFunction
from pacshift.tally import Tally
from pacshift.tally.groups import LabelsPer
from pacshift.tally.inputs import Input, Role, printable

if TYPE_CHECKING:
    from pacshift.certificate import Certificate

MAX_KEPT_BYTES = 1 << 26
"""A table up to this size (64 MB) is kept in memory when it is needed twice; a larger one is read twice."""


def read(
    table: Tables,
    *,
    label: str | None = None,
    target_label: str | None = None,
    scores: str | None = None,
    classes: Sequence[Label] | None = None,
    by_position: bool = False,
    group: str | None = None,
    labels_per: LabelsPer | None = None,
    softmax: bool = False,
    drop_invalid: bool | float = False,
    like: "CheckedRows | Certificate | None" = None,
    progress: Progress | None = None,
) -> CheckedRows:
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
        Column of the true labels: the table is a source. Without it, it is a target.
    target_label : str, optional
        Column of the labels of a random sample of a target's rows, null elsewhere, as ``target_labels`` of
        ``calibrate``.
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
    labels_per : {"row", "group"}, optional
        How rows of groups were chosen to be labelled, as in ``calibrate``.
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
    if label is not None and target_label is not None:
        raise InputError(
            f"{param('label=')} is for a source, {param('target_label=')} for a target. Give one of them."
        )
    return read_rows(
        table,
        label=label if target_label is None else target_label,
        some_labels=target_label is not None,
        scores=scores,
        classes=classes,
        by_position=by_position,
        group=group,
        labels_per=labels_per,
        softmax=softmax,
        drop_invalid=drop_invalid,
        like=like,
        name="target" if label is None else "source",
        role="source" if label is not None else "target",
        with_group=True,
        watch=told(progress),
    )


def tally_table(
    table: Tables,
    *,
    label: str | None,
    score: str | TransformFunction = "probability",
    grid: bool = True,
    soft: bool = True,
    bins: bool = True,
    sha256: bool = False,
    progress: Progress | None = None,
    **reading: Any,
) -> Tally:
    """Count a table of any size: ``read(table, label=label, ...).tally(score, ...)``, and keep nothing of it.

    Parameters
    ----------
    table : path-like, sequence of path-like or frame
        Files, folders or a frame, as in ``read``.
    label : str or None
        Column of the true labels; None for an unlabelled target.
    score : str or callable, default "probability"
        What is compared with thresholds, as in ``Rows.tally``.
    grid, soft, bins, sha256 : bool
        What is counted, as in ``Rows.tally``.
    progress : callable, optional
        Called with the rows done so far and, where known, the rows in all.
    **reading : Any
        How the table is read, as in ``read``.

    Returns
    -------
    Tally
        The counts; its ``inputs`` say how many rows of each file were counted and left out.

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
    >>> tally_table(path, label="animal").confusion.tolist()
    [[1, 1], [0, 1]]
    >>> folder.cleanup()
    """
    idle = {"score": score != "probability", "grid": not grid} if label is None else {"bins": not bins}
    for name in (name for name, value in idle.items() if value):
        without, alone = ("without", "a source") if label is None else ("with", "a target")
        raise InputError(
            f"{param(name)} is about {alone} alone, but this table is read {without} {param('label=')}. Leave "
            "it out."
        )
    rows = read_rows(table, label=label, keep=False, watch=told(progress), **reading)
    return rows.tally(score, grid=grid, soft=soft, bins=bins, sha256=sha256)


def read_rows(
    paths: Tables,
    *,
    name: str = "table",
    role: Role | None = None,
    some_labels: bool = False,
    labels_per: LabelsPer | None = None,
    like: "CheckedRows | Certificate | None" = None,
    with_group: bool = False,
    keep: bool = True,
    grid: bool = True,
    within: Periods | None = None,
    watch: Watch = unwatched,
    **reading: Any,
) -> CheckedRows:
    """A table as ``Rows``, for every adapter: what ``read`` takes, and how messages call it.

    ``reading`` are the fields of ``ReadOptions``; ``like`` gives columns, classes and the softmax together, and
    ``with_group`` its groups. With ``some_labels`` rows may lack a label, and ``labels_per`` says how those of
    groups were chosen. A small table stays in memory where ``keep`` says so. ``within`` gives the period of each
    row, where there is one row per group and period.
    """
    options = ReadOptions(**reading)
    if like is not None:
        classes, columns = options.classes or like.classes, options.columns or like.columns
        options = replace(options, classes=classes, columns=columns, softmax=options.softmax or like.softmax)
    kind_of_rows: type[ArrowRows] = ArrowRows
    try:
        source: Source
        if hasattr(paths, "mapInArrow"):  # a data frame of Spark
            from pacshift.rows.spark import SparkRows, SparkSource

            kind_of_rows, source = SparkRows, SparkSource(paths, options.scores, options.columns)
        else:
            source = open_source(paths, label=options.label, scores=options.scores, columns=options.columns)
        if with_group and options.group is None and like is not None:
            options = replace(options, group=_group_of(like, source))
        layout = find_layout(source, options)
    except ColumnsError as error:
        if name == "table":
            raise
        message = str(error)
        if name == "target":  # whose labels have a parameter of their own
            message = message.replace(param("label=NAME"), param("target_labels=NAME"))
        raise ColumnsError(f"{name}: {message}") from None
    kind: Labels = "none" if layout.label is None else "some" if some_labels else "all"
    files = ", ".join(map(str, source.files[:3])) + (", ..." if len(source.files) > 3 else "")
    rows = kind_of_rows(
        name=name,
        role=role or ("target" if kind != "all" else "source"),
        classes=layout.classes,
        labels=kind,
        softmax=options.softmax,
        drop_invalid=resolve_drop(options.drop_invalid),
        grid=grid,
        described=files or "the frame",
        watch=watch,
        source=source,
        layout=layout,
        kept=BatchCache(keep),
    )
    if options.group is None or rows.again == "never":  # a cluster chooses by itself
        return rows
    return OnePerGroup.of(rows, within=within, labels_per=labels_per)


def _group_of(like: "CheckedRows | Certificate", source: Source) -> str | None:
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

    def unlabelled(self) -> "ArrowRows":
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

    def hashes(self) -> "AbstractContextManager[Mapping[str, Any]]":
        return sha256_beside(self.source.files)

    def inputs(self, scan: Pass, digests: Mapping[str, str]) -> tuple[Input, ...]:
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
