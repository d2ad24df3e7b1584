"""Rows on a Spark cluster: counted there, one tally per partition, added by Spark, a few collected.

Each executor counts its Arrow batches as files are counted (``pacshift.rows.arrow``), so pacshift must be
installed on the workers. Partitions do not matter, nor do tasks that Spark runs again. There may be too many rows
to read them here, so what needs rows (sizes, samples, sheets) is refused.
"""

import os
import pickle
import re
import sys
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pacshift.arrays import IntArray, KeyArray
from pacshift.errors import InputError, MissingExtraError, PacshiftError, param
from pacshift.files.writing import PathLike
from pacshift.progress import Progress
from pacshift.rows.arrow.batch import ArrowBatch, Layout
from pacshift.rows.arrow.files import KINDS, list_files
from pacshift.rows.arrow.find import ReadOptions, find_layout
from pacshift.rows.arrow.sets import SET, SET_SIZE, refuse_both, sets_batch
from pacshift.rows.arrow.source import MAX_LABEL_VALUES, Records, Source
from pacshift.rows.arrow.table import ArrowRows, read_rows, table_input
from pacshift.rows.base import Faults, FileRows, Matrix, RereadCost, ScanReport, Watch
from pacshift.rows.columns import Columns, require_columns
from pacshift.rows.groups import keys_of
from pacshift.rows.sets import shown_names
from pacshift.scores.check import SAMPLE_ROWS
from pacshift.tally import Tally
from pacshift.tally.counter import Counter, CountOptions
from pacshift.tally.inputs import Grouped, Input, Role

if TYPE_CHECKING:
    from pacshift.certificate import Certificate

try:
    import pyarrow as pa
    from pyspark import TaskContext
    from pyspark.sql import DataFrame, SparkSession, Window
    from pyspark.sql import functions as f
    from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema
    from pyspark.sql.types import ArrayType, IntegerType, LongType, StringType, StructField, StructType
except ModuleNotFoundError as error:
    raise MissingExtraError("pacshift.rows.spark", error, "spark") from None

Job: TypeAlias = Callable[[Iterator[Any]], Iterator[Any]]
"""From the record batches of a partition to others, on a worker."""

KEYS = ("group", "row")
"""Columns of the coin of the group and of the number of the row."""

PACKED = "packed binary"
"""Schema of what a job sends."""

_N_REDUCERS = 8  # tallies that reach the driver, however many partitions there are


def read_frame(
    session: SparkSession, paths: PathLike | Sequence[PathLike], *, text: Sequence[str] = ()
) -> DataFrame:
    """Read Parquet or CSV files and folders that every worker can see, as one data frame.

    Parameters
    ----------
    session : pyspark.sql.SparkSession
        The cluster.
    paths : path-like or sequence of path-like
        Files or folders of one kind.
    text : sequence of str
        Columns of CSV files, such as the label, to read as text: Spark would make the number 1 of 01 and 1.0.

    Returns
    -------
    pyspark.sql.DataFrame
        All rows.

    Raises
    ------
    InputError
        If the files are missing, or of a kind that Spark does not read.

    Examples
    --------
    >>> frame = read_frame(session, "scores.parquet")  # doctest: +SKIP
    """
    files = [str(file.absolute()) for file in list_files(paths)]
    kind = KINDS["." + files[0].rpartition(".")[2].lower()]
    if kind == "parquet":
        return session.read.parquet(*files)
    if kind == "csv":
        guessed = session.read.csv(files, header=True, inferSchema=True).schema
        fields = [StructField(one.name, StringType() if one.name in text else one.dataType) for one in guessed]
        return session.read.schema(StructType(fields)).csv(files, header=True)
    raise InputError(f"{files[0]}: Spark reads .parquet and .csv here. Convert it, or use the Arrow engine.")


def cluster_rows(
    paths: Sequence[Path], options: ReadOptions, *, master: str, name: str, role: Role, watch: Watch
) -> "SparkRows":
    """Files that every worker can see, counted by the cluster at ``master``, or by this machine's cores."""
    if master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers need the environment of this process
    quiet: dict[str, bool | float | int | str | None] = {
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    with _in_words(master):
        session = SparkSession.builder.appName("pacshift").master(master).config(map=quiet).getOrCreate()
        text = [column for column in (options.label, options.group) if column is not None]
        frame: Any = read_frame(session, list(paths), text=text)
        rows = read_rows(frame, options, name=name, role=role, watch=watch)
    assert isinstance(rows, SparkRows)
    rows.source.files = paths
    return replace(rows, place=master, described=", ".join(map(str, paths)))


@dataclass(eq=False, kw_only=True, repr=False)
class SparkRows(ArrowRows):
    """A data frame of Spark and its layout."""

    source: "SparkSource"
    place: str = ""
    """The master, where the cluster was opened here."""
    reread_cost: RereadCost = "never"
    chosen: Grouped | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.labels == "some":
            raise InputError(
                "labels of some rows of a target are not read from a Spark cluster. Leave "
                f"{param('target_label=')} out, or save the rows as Parquet, and read the files."
            )

    @property
    def grouped(self) -> Grouped | None:
        return self.chosen

    def batches(self, keep: Sequence[str] = ()) -> Iterator[ArrowBatch]:
        raise InputError(
            f"{self.described}: rows on a Spark cluster are counted there and never read here, which this needs. "
            "Save them as Parquet, and read the files. Their sets are made there by "
            "pacshift.rows.spark.predict_sets(frame, certificate)."
        )

    def total(self, work: Callable[[Matrix], IntArray]) -> IntArray:
        def add_up(batches: Iterator[ArrowBatch]) -> IntArray | None:
            sums = [work(batch.raw_scores) for batch in batches if len(batch.raw_scores)]
            return np.sum(sums, axis=0) if sums else None

        with _in_words(self.place):
            rows, layout, _ = self._chosen_rows(self.layout.without_label())
            part = _run(rows, _job(layout, self.softmax, add_up))
        self._require_usable(part)
        return np.asarray(part.total)

    def hashes(self) -> AbstractContextManager[Mapping[str, Any]]:
        return nullcontext({})  # only the cluster may be able to read the files

    def count(self, options: CountOptions, progress: Progress | None) -> Tally:
        if not options.grid:
            raise InputError("Spark counts on the grid: grid=False does not work with it. Leave it out.")

        def count_batches(batches: Iterator[ArrowBatch]) -> Tally:
            counter = Counter(len(layout.classes), options, labelled=layout.label is not None)
            for batch in batches:
                batch.count(counter)
            return Tally.from_counter(counter, layout.classes)

        is_source = self.labels == "all"
        with _in_words(self.place):
            rows, layout, left_out = self._chosen_rows(self.layout if is_source else self.layout.without_label())
            # Added on the cluster first: the driver never holds a tally for every partition.
            parts = rows.mapInArrow(_job(layout, self.softmax, count_batches), PACKED)
            part = _run(parts.repartition(_N_REDUCERS), _add_parts)
        self._require_usable(part)
        in_all = part.n_rows if self.chosen is None else self.chosen.rows + left_out.n_rows
        left_out.add(part.faults)
        self.last_scan.files = {"": FileRows(in_all, part.n_rows - part.faults.n_rows, left_out)}
        tally: Tally = part.total
        return replace(
            tally,
            source_grouped=self.chosen if is_source else None,
            target_grouped=None if is_source else self.chosen,
        )

    def _require_usable(self, part: "Part") -> None:
        """Refuse rows that cannot be used, unless they may be left out and there are others."""
        n_usable = part.n_rows - part.faults.n_rows
        part.faults.raise_if_any(
            self.classes, drop_invalid=self.drop_invalid, n_rows=part.n_rows, n_usable=n_usable
        )
        if not n_usable:
            raise InputError("the data frame has no usable row. At least one is needed.")

    def _chosen_rows(self, layout: Layout) -> tuple[DataFrame, Layout, Faults]:
        """The columns of the layout, of all rows or of one of each group, and what is wrong with rows left out."""
        rows, left_out = _select(self.source.frame, layout.needed), Faults()
        if layout.group is not None:
            rows, self.chosen, left_out = self._one_per_group(rows, layout)
        return rows, layout, left_out

    def _one_per_group(self, rows: DataFrame, layout: Layout) -> tuple[DataFrame, Grouped, Faults]:
        """One random row of each group, the same as on one machine, and what is wrong with rows left out.

        It is ``pacshift.rows.choice.choose_rows`` in the words of Spark.
        """
        part = _run(rows, _look(layout, self.softmax))
        digest, faults = part.total, part.faults
        n_rows = int(digest[0]) + faults.n_rows
        faults.raise_if_any(self.classes, drop_invalid=self.drop_invalid, n_rows=n_rows)
        group, row = KEYS
        fields = [*rows.schema.fields, *(StructField(name, LongType()) for name in KEYS)]
        keyed = rows.mapInArrow(_add_keys(layout, digest, self.softmax), StructType(fields))
        of_group = Window.partitionBy(group)
        size, place = f.count(f.lit(1)).over(of_group), f.row_number().over(of_group.orderBy(row)) - 1
        coin = f.shiftrightunsigned(group, 11) * f.lit(2.0**-53)
        chosen = f.least(f.floor(f.col("_size") * coin), f.col("_size") - 1)
        one_each = keyed.withColumn("_size", size).withColumn("_place", place).where(f.col("_place") == chosen)
        return one_each.select(*rows.columns), Grouped(int(digest[0])), faults

    def inputs(self, scan: ScanReport, digests: Mapping[str, str]) -> tuple[Input, ...]:
        """All paths together, without SHA-256: how many rows came from which, only the cluster knows."""
        assert self.columns is not None
        (rows,) = scan.files.values()
        name = ", ".join(path.name for path in self.source.files)
        if not name and not rows.faults.n_rows:
            return ()
        return (table_input(self.columns, name or None, rows, None),)


def predict_sets(
    frame: DataFrame,
    certificate: "Certificate",
    *,
    scores: str | None = None,
    by_position: bool = False,
    keep: Sequence[str] | None = None,
    drop_invalid: bool = False,
    keep_invalid: bool = False,
) -> DataFrame:
    """Prediction sets of a data frame; lazy, as Spark is, but for a first look that finds rows it cannot use.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        One row per example.
    certificate : Certificate
        Makes the sets.
    scores : str, optional
        The score columns. Default: those that the certificate was made from.
    by_position : bool, default False
        Match columns to classes in their order, if their names do not tell.
    keep : sequence of str, optional
        Columns to copy. Default: all columns that are not scores.
    drop_invalid : bool, default False
        Leave out rows that cannot be used, however many. Otherwise all rows are looked at now, in a job of its
        own, so that such rows are reported before the work and not by a failure in the midst of it.
    keep_invalid : bool, default False
        Keep rows that cannot be used: their ``set`` and ``set_size`` are null.

    Returns
    -------
    pyspark.sql.DataFrame
        The columns to ``keep``, then ``set`` (a list of class names, of their own type or, if they have several,
        of texts) and ``set_size``.

    Raises
    ------
    InputError
        If columns are missing or rows cannot be used.

    Examples
    --------
    >>> predict_sets(frame, certificate, keep=["id"]).write.parquet("sets")  # doctest: +SKIP
    """
    refuse_both(drop_invalid, keep_invalid)
    source = SparkSource(frame, scores, certificate.columns)
    options = ReadOptions(None, scores, certificate.classes, by_position, certificate.columns)
    plain, layout = source.frame, find_layout(source, options)
    others = [name for name in frame.columns if name not in layout.columns]
    kept = others if keep is None else list(dict.fromkeys(keep))
    require_columns(kept, frame.columns, taken=(SET, SET_SIZE))
    if not (drop_invalid or keep_invalid):
        # Raised here where workers would: Spark would wrap their words into a page of Java.
        faults = _run(_select(plain, layout.columns), _look(layout, certificate.softmax)).faults
        faults.raise_if_any(layout.classes, drop_invalid=0.0, n_rows=faults.n_rows)
    fields, names = [plain.schema[name] for name in kept], shown_names(certificate.classes)
    fields.append(StructField(SET, ArrayType(from_arrow_type(pa.array(names).type))))
    fields.append(StructField(SET_SIZE, IntegerType()))
    needed = list(dict.fromkeys([*layout.columns, *kept]))  # a score column may be kept, but is needed once

    def make_sets(batches: Iterator[Any]) -> Iterator[Any]:
        named = (data.rename_columns(needed) for data in batches)
        for batch in _batches(named, layout, certificate.softmax):
            sets = sets_batch(certificate, pa.array(names), kept, batch, keep_invalid=keep_invalid)
            if sets is not None:
                yield sets

    return _select(plain, needed).mapInArrow(make_sets, StructType(fields))


class SparkSource(Source):
    """As much of a table source as finding the layout needs."""

    def __init__(self, frame: Any, scores: str | None, columns: Columns | None) -> None:
        self.frame = _without_vectors(frame, scores, columns)
        self.schema = to_arrow_schema(self.frame.schema)

    def _read(self, fields: list[Any], rows: int) -> Iterator[tuple[str, Any]]:
        """A few rows."""
        frame = _select(self.frame, [field.name for field in fields])
        some = frame.dropna(subset=frame.columns[:1]).limit(SAMPLE_ROWS).collect()
        columns = [pa.array([row[place] for row in some], field.type) for place, field in enumerate(fields)]
        yield "the data frame", pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))

    def label_values(self, column: str) -> list[Any]:
        labels = _select(self.frame, [column]).distinct().limit(MAX_LABEL_VALUES + 1)
        return [row[0] for row in labels.collect()]


def _select(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """Columns by number: Spark takes p_a and p_A for one name, and a dot for a field of a struct."""
    numbered = frame.toDF(*(f"c{place}" for place in range(len(frame.columns))))
    return numbered.select(*(f"c{frame.columns.index(name)}" for name in names))


def _without_vectors(frame: DataFrame, scores: str | None, columns: Columns | None) -> DataFrame:
    """The frame with lists in place of the vectors of Spark ML, if these are the scores."""
    name = scores or (columns.scores[0] if columns is not None and len(columns.scores) == 1 else None)
    if name is not None and name in frame.columns and frame.schema[name].dataType.simpleString() == "vector":
        from pyspark.ml.functions import vector_to_array  # loads a large part of Spark

        return frame.withColumn(name, vector_to_array(f.col("`" + name.replace("`", "``") + "`")))
    return frame


@contextmanager
def _in_words(place: str) -> Iterator[None]:
    """What fails on a cluster that was opened here, in a line. Who brings a frame wants to see all of it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Spark's own about pandas
            yield
    except PacshiftError:
        raise
    except Exception as error:
        if not place:
            raise
        text = str(error)  # Java's errors are pages long: one line says it
        named = re.search(r"^\S*(?:Error|Exception): (.+)$", text, re.MULTILINE)
        reason = named.group(0) if named else (text.strip().splitlines() or ["no reason given"])[0].rstrip(".")
        raise InputError(
            f"Spark at {place} failed: {reason}. Is Java there, and does this master answer?"
        ) from None


# What workers do with their Arrow batches, and what they send


@dataclass(slots=True, eq=False)
class Part:
    """What a partition sends: how many rows it has, what is wrong with some, and a total; or why it stopped."""

    n_rows: int = 0
    faults: Faults = field(default_factory=Faults)
    total: Any = None
    """A tally or an array; None where no row can be used."""
    error: str = ""


def _job(layout: Layout, softmax: bool, work: Callable[[Iterator[ArrowBatch]], Any]) -> Job:
    """A job that sends the total that ``work`` makes of a partition."""

    def send(batches: Iterator[Any]) -> Iterator[Any]:
        part = Part()

        def watch_faults() -> Iterator[ArrowBatch]:
            for batch in _batches(batches, layout, softmax):
                yield batch
                part.faults.add(batch.faults)
                part.n_rows += batch.n_rows

        try:
            part.total = work(watch_faults())
        except PacshiftError as error:  # Spark would wrap it into a page of Java
            part.error = str(error)
        yield _pack(part)

    return send


def _look(layout: Layout, softmax: bool) -> Job:
    """A job that looks for rows that cannot be used and, with groups, makes a digest of the others."""

    def look(batches: Iterator[ArrowBatch]) -> KeyArray:
        digest = np.zeros(3, np.uint64)
        for batch in batches:
            if layout.group is None:
                _ = batch.raw_scores
            else:
                digest += keys_of(batch, _role(layout)).digests[0]
        return digest

    return _job(layout, softmax, look)


def _add_keys(layout: Layout, digest: KeyArray, softmax: bool) -> Job:
    """A job that gives the usable rows with the coin of their group and their own number, as signed integers."""

    def add_keys(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in _batches(batches, layout, softmax):
            keys = keys_of(batch, _role(layout))
            coins = keys.coins({0: digest}, _role(layout))
            rows, in_order = batch.data.filter(pa.array(keys.kept)), keys.rows ^ np.uint64(1 << 63)
            columns = [*rows.columns, pa.array(coins.view(np.int64)), pa.array(in_order.view(np.int64))]
            yield pa.RecordBatch.from_arrays(columns, names=[*rows.schema.names, *KEYS])

    return add_keys


def _add_parts(batches: Iterator[Any]) -> Iterator[Any]:
    """A job that adds what several partitions sent."""
    parts = [_unpack(value.as_py()) for data in batches for value in data.column(0)]
    if parts:
        yield _pack(_sum(parts))


def _sum(parts: Sequence[Part]) -> Part:
    """The sum, or the first part that an error stopped."""
    whole, totals = Part(), [part.total for part in parts if part.total is not None]
    for part in parts:
        if part.error:
            return part
        whole.n_rows += part.n_rows
        whole.faults.add(part.faults)
    if totals:
        whole.total = Tally.sum(totals) if isinstance(totals[0], Tally) else np.sum(totals, axis=0)
    return whole


def _run(frame: DataFrame, job: Job) -> Part:
    """The sum of what a job sends from every partition."""
    whole = _sum([_unpack(row[0]) for row in frame.mapInArrow(job, PACKED).collect()])
    if whole.error:
        raise InputError(whole.error)
    return whole


def _batches(batches: Iterator[Any], layout: Layout, softmax: bool) -> Iterator[ArrowBatch]:
    context = TaskContext.get()
    place = f"partition {0 if context is None else context.partitionId()}"
    first_row = 0
    for data in batches:
        records = Records(data, place, first_row)
        yield ArrowBatch(records, layout, "none" if layout.label is None else "all", is_logits=softmax)
        first_row += data.num_rows


def _role(layout: Layout) -> Role:
    return "target" if layout.label is None else "source"


def _pack(part: Part) -> Any:
    # Pickled as Spark itself does with everything that goes between its own processes.
    return pa.record_batch({"packed": pa.array([zlib.compress(pickle.dumps(part), 1)], pa.binary())})


def _unpack(value: bytes) -> Part:
    part: Part = pickle.loads(zlib.decompress(bytes(value)))
    return part
