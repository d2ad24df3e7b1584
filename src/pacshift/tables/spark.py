"""The same counts from a Spark cluster: one tally per partition, added by Spark, a few collected.

Each executor runs ``pacshift.tables.reading.count_batch`` on its Arrow batches, so pacshift must be installed on
the workers. Randomised scores draw from a generator seeded by (seed, partition): a task that Spark runs again
draws the same numbers, another partitioning draws others.
"""

import pickle
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from pacshift.arrays import Label
from pacshift.certificate import Certificate
from pacshift.errors import InputError, MissingExtraError, PacshiftError
from pacshift.scores.check import check_prediction_rng, check_rng
from pacshift.scores.transforms import Transform, TransformFunction, resolve_transform
from pacshift.tables.convert import Faults, convert
from pacshift.tables.layout import Layout, find_layout
from pacshift.tables.reading import TableTally, count_batch
from pacshift.tables.sets import SET, SET_SIZE, require_columns, sets_batch
from pacshift.tables.sources import KINDS, Batch, PathLike, list_files
from pacshift.tally import Tally
from pacshift.tally.counter import Counter, CountOptions

try:
    from pyspark import TaskContext
    from pyspark.ml.functions import vector_to_array
    from pyspark.sql import DataFrame
    from pyspark.sql import SparkSession as SparkSession
    from pyspark.sql import types as spark_types
    from pyspark.sql.functions import col
    from pyspark.sql.pandas.types import to_arrow_schema
except ModuleNotFoundError as error:
    raise MissingExtraError("pacshift.tables.spark", error, "spark") from None

_Batches: TypeAlias = Iterator[Any]
_N_REDUCERS = 8  # tallies that reach the driver, however many partitions there are
_PACKED = "packed binary"


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """What a partition sends: its counts, or the message of the error that stopped it."""

    tally: Tally | None
    n_rows: int
    faults: Faults
    error: str = ""


def tally(frame: DataFrame, *, label: str | None, **options: Any) -> Tally:
    """Count a data frame; without ``label`` it is an unlabelled target.

    The counts equal those of ``tally_table`` on the same rows bit for bit, however they are partitioned.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        One row per example.
    label : str or None
        Column of the true labels; None for an unlabelled target.
    **options
        ``scores``, ``classes``, ``score``, ``soft``, ``bins``, ``drop_invalid`` and ``rng`` as in ``tally_frame``.

    Returns
    -------
    Tally
        Counts on the grid.

    Raises
    ------
    InputError
        If columns are missing or rows cannot be used.

    Examples
    --------
    >>> source = tally(labelled_frame, label="diagnosis")  # doctest: +SKIP
    >>> target = tally(unlabelled_frame, label=None, classes=source.classes)  # doctest: +SKIP
    """
    return tally_frame(frame, label=label, **options).tally


def tally_frame(
    frame: DataFrame,
    *,
    label: str | None,
    scores: str = "p_*",
    classes: Sequence[Label] | None = None,
    score: str | TransformFunction | Transform = "probability",
    soft: bool = True,
    bins: bool = True,
    drop_invalid: bool = False,
    rng: Any = None,
) -> TableTally:
    """Count a data frame as ``tally`` does, and say how many rows were counted and left out.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        One row per example.
    label : str or None
        Column of the true labels; None for an unlabelled target.
    scores : str, default "p_*"
        A pattern of column names, whose star stands for the class name, or the name of one column of lists or
        vectors, as Spark ML models write them.
    classes : sequence, optional
        Class names in the order of the scores. Default: what the star stands for, else 0 to K-1.
    score : str or callable, default "probability"
        Transform of the scores that thresholds are compared with.
    soft : bool, default True
        Keep sums of probabilities, which only PS-R and WCP use.
    bins : bool, default True
        Keep a target's scores in coarse bins, by which PS-LP finds the smallest sets.
    drop_invalid : bool, default False
        Leave out rows that cannot be used, instead of raising an error.
    rng : int, numpy.random.Generator or None
        Source of the numbers of randomised transforms, which depend on the partitions.

    Returns
    -------
    TableTally
        The counts on the grid, and how many rows were counted and left out.

    Raises
    ------
    InputError
        If columns are missing or rows cannot be used.

    Examples
    --------
    >>> counted = tally_frame(labelled_frame, label="diagnosis", drop_invalid=True)  # doctest: +SKIP
    >>> counted.n_rows, counted.n_dropped  # doctest: +SKIP
    """
    plain = _without_vectors(frame, scores)
    layout = find_layout(_FrameSource(plain), label=label, scores=scores, classes=classes)
    options = CountOptions(resolve_transform(score), grid=True, soft=soft, bins=bins)
    job = _counter(layout, options, _seed(check_rng(rng)))
    parts = _select(plain, _needed(layout)).mapInArrow(job, _PACKED)
    # Added on the cluster first: the driver never holds a tally for every partition.
    sums = parts.repartition(_N_REDUCERS).mapInArrow(_add_parts, _PACKED)
    total = _add(_unpack(row[0]) for row in sums.collect())
    if total.error:
        raise InputError(total.error)
    total.faults.raise_if_any(layout.classes, drop_invalid=drop_invalid)
    if total.tally is None or total.n_rows == total.faults.n_rows:
        raise InputError("the data frame has no usable row. At least one example is needed.")
    return TableTally(total.tally, total.n_rows - total.faults.n_rows, total.faults.n_rows)


def predict_sets(
    frame: DataFrame,
    certificate: Certificate,
    *,
    scores: str = "p_*",
    keep: Sequence[str] | None = None,
    drop_invalid: bool = False,
    rng: Any = None,
) -> DataFrame:
    """Prediction sets of a data frame; lazy, as Spark is.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        One row per example.
    certificate : Certificate
        Makes the sets.
    scores : str, default "p_*"
        As in ``tally``.
    keep : sequence of str, optional
        Columns to copy. Default: all columns that are not scores.
    drop_invalid : bool, default False
        Leave out rows that cannot be used. Otherwise such a row fails the job.
    rng : int, numpy.random.Generator or None
        As in ``Certificate.sets``; the numbers depend on the partitions.

    Returns
    -------
    pyspark.sql.DataFrame
        The columns to ``keep``, then ``set`` (a list of class names) and ``set_size``.

    Raises
    ------
    InputError
        If columns are missing.

    Examples
    --------
    >>> predict_sets(frame, certificate, keep=["id"]).write.parquet("sets")  # doctest: +SKIP
    """
    plain = _without_vectors(frame, scores)
    layout = find_layout(_FrameSource(plain), label=None, scores=scores, classes=certificate.classes)
    kept = [name for name in frame.columns if name not in layout.columns] if keep is None else list(keep)
    require_columns(kept, frame.columns)
    fields = [plain.schema[name] for name in kept]
    fields.append(spark_types.StructField(SET, spark_types.ArrayType(spark_types.StringType())))
    fields.append(spark_types.StructField(SET_SIZE, spark_types.IntegerType()))
    job = _predictor(layout, certificate, kept, drop_invalid, _seed(check_prediction_rng(rng)))
    needed = dict.fromkeys([*layout.columns, *kept])  # a score column may be kept, but is needed once
    return _select(plain, list(needed)).mapInArrow(job, spark_types.StructType(fields))


def read_frame(session: SparkSession, paths: PathLike | Sequence[PathLike]) -> DataFrame:
    """Read Parquet or CSV files and folders that every worker can see, as one data frame.

    Parameters
    ----------
    session : pyspark.sql.SparkSession
        The cluster.
    paths : path-like or sequence of path-like
        Files or folders of one kind.

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
        return session.read.csv(files, header=True, inferSchema=True)
    raise InputError(f"{files[0]}: Spark reads .parquet and .csv here. Convert it, or use the Arrow engine.")


class _FrameSource:
    """As much of a table source as finding the layout needs."""

    def __init__(self, frame: DataFrame) -> None:
        self._frame = frame
        self.schema = to_arrow_schema(frame.schema)

    def count_rows(self) -> int | None:
        return None

    def batches(self, scores: Sequence[str], _others: Sequence[str], _n_scores: int) -> Iterator[Batch]:
        (column,) = scores
        row = self._frame.where(_column(column).isNotNull()).select(_column(column)).first()
        values = pa.array([] if row is None else [row[0]], self.schema.field(column).type)
        yield Batch(pa.record_batch({column: values}), "the data frame", 0)


def _counter(layout: Layout, options: CountOptions, seed: int) -> Callable[[_Batches], _Batches]:
    def count_partition(batches: _Batches) -> _Batches:
        place = _partition()
        counter = Counter(len(layout.classes), options, labelled=layout.label is not None)
        n_rows, faults, rng = 0, Faults(), np.random.default_rng([seed, place])
        try:
            for data in batches:
                batch = Batch(data, f"partition {place}", n_rows)
                uniform = options.transform.draw(data.num_rows, rng)
                faults.add(count_batch(batch, layout, counter, uniform))
                n_rows += data.num_rows
            yield _pack(_Part(Tally.from_counter(counter, layout.classes), n_rows, faults))
        except PacshiftError as error:  # Spark would wrap it into a page of Java
            yield _pack(_Part(None, n_rows, faults, str(error)))

    return count_partition


def _predictor(
    layout: Layout, certificate: Certificate, keep: list[str], drop_invalid: bool, seed: int
) -> Callable[[_Batches], _Batches]:
    def predict_partition(batches: _Batches) -> _Batches:
        place, n_rows = _partition(), 0
        rng = np.random.default_rng([seed, place])
        for data in batches:
            uniform = rng.random(data.num_rows) if certificate.is_randomized else None
            rows = convert(Batch(data, f"partition {place}", n_rows), layout, uniform)
            rows.faults.raise_if_any(layout.classes, drop_invalid=drop_invalid)
            n_rows += data.num_rows
            if len(rows.scores):
                sets = certificate.sets_of_rows(rows.scores, rows.uniform)
                yield sets_batch(data, rows, sets, keep, certificate.classes)

    return predict_partition


def _add_parts(batches: _Batches) -> _Batches:
    parts = [_unpack(value.as_py()) for data in batches for value in data.column(0)]
    if parts:
        yield _pack(_add(parts))


def _add(parts: Iterable[_Part]) -> _Part:
    tallies: list[Tally] = []
    n_rows, faults = 0, Faults()
    for part in parts:
        if part.tally is None:
            return part
        n_rows += part.n_rows
        faults.add(part.faults)
        tallies.append(part.tally)
    return _Part(Tally.sum(tallies) if tallies else None, n_rows, faults)


def _pack(part: _Part) -> Any:
    # Pickled as Spark itself does with everything that goes between its own processes.
    return pa.record_batch({"packed": pa.array([zlib.compress(pickle.dumps(part), 1)], pa.binary())})


def _unpack(value: bytes) -> _Part:
    part: _Part = pickle.loads(zlib.decompress(bytes(value)))
    return part


def _partition() -> int:
    context = TaskContext.get()
    return 0 if context is None else int(context.partitionId())


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**63))


def _needed(layout: Layout) -> list[str]:
    return [*layout.columns, *([layout.label] if layout.label else [])]


def _column(name: str) -> Any:
    return col("`" + name.replace("`", "``") + "`")  # a dot in a name would mean a field of a struct


def _select(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    return frame.select(*(_column(name) for name in names))


def _without_vectors(frame: DataFrame, scores: str) -> DataFrame:
    if scores in frame.columns and frame.schema[scores].dataType.simpleString() == "vector":
        return frame.withColumn(scores, vector_to_array(_column(scores)))
    return frame
