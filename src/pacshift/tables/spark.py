"""The same counts from a Spark cluster: one tally a partition, added by Spark, a few collected.

Each executor runs :func:`~pacshift.tables.reading.count_batch` on its Arrow batches, so pacshift must be
installed on the workers. Randomised scores draw from a generator seeded by (seed, partition): a task that
Spark runs again draws the same numbers, another partitioning draws others.
"""

import pickle
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.ml.functions import vector_to_array
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as spark_types
from pyspark.sql.functions import col
from pyspark.sql.pandas.types import to_arrow_schema

from pacshift.arrays import Label
from pacshift.certificate import Certificate
from pacshift.errors import InputError, PacshiftError
from pacshift.scores.check import check_rng, shorten
from pacshift.scores.transforms import Transform, TransformFunction, resolve_transform
from pacshift.tables.convert import Faults, convert
from pacshift.tables.counts import Counts
from pacshift.tables.layout import Layout, find_layout
from pacshift.tables.reading import TableTally, count_batch
from pacshift.tables.sets import SET, SET_SIZE, set_columns
from pacshift.tables.sources import KINDS, Batch, PathLike, list_files
from pacshift.tally import Tally

_Batches: TypeAlias = Iterator[Any]
_REDUCERS = 8  # tallies that reach the driver, however many partitions there are
_PACKED = "packed binary"


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """What a partition sends: its counts, or the message of the error that stopped it."""

    tally: Tally | None
    n_rows: int
    faults: Faults
    error: str = ""


def tally(
    frame: DataFrame,
    *,
    label: str | None,
    scores: str = "p_*",
    classes: Sequence[Label] | None = None,
    score: str | TransformFunction = "probability",
    soft: bool = True,
    bins: bool = True,
    drop_invalid: bool = False,
    rng: Any = None,
) -> Tally:
    """Count a data frame; without ``label`` it is an unlabelled target. Parameters as in ``tally_table``.

    ``scores`` may also name a vector column, as Spark ML models write them.
    """
    counted = tally_frame(
        frame,
        label=label,
        scores=scores,
        classes=classes,
        score=score,
        soft=soft,
        bins=bins,
        drop_invalid=drop_invalid,
        rng=rng,
    )
    return counted.tally


def tally_frame(
    frame: DataFrame,
    *,
    label: str | None,
    scores: str = "p_*",
    classes: Sequence[Label] | None = None,
    score: str | TransformFunction = "probability",
    soft: bool = True,
    bins: bool = True,
    drop_invalid: bool = False,
    rng: Any = None,
) -> TableTally:
    """As :func:`tally`, with the number of rows counted and left out."""
    plain = _without_vectors(frame, scores)
    layout = find_layout(_FrameSource(plain), label=label, scores=scores, classes=classes)
    job = _counter(layout, resolve_transform(score), soft, bins, _seed(rng))
    parts = _select(plain, _needed(layout)).mapInArrow(job, _PACKED)
    # Added on the cluster first: the driver never holds a tally for every partition.
    sums = parts.repartition(_REDUCERS).mapInArrow(_add_parts, _PACKED)
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
    """The columns to ``keep`` (None: all that are no scores), then ``set`` and ``set_size``; lazy, as Spark is.

    A row that cannot be used fails the job, or is left out with ``drop_invalid``.
    """
    plain = _without_vectors(frame, scores)
    layout = find_layout(_FrameSource(plain), label=None, scores=scores, classes=certificate.classes)
    kept = [name for name in frame.columns if name not in layout.columns] if keep is None else list(keep)
    absent = [name for name in kept if frame.columns.count(name) != 1 or name in (SET, SET_SIZE)]
    if absent:
        raise InputError(f"cannot keep {shorten(absent)}: each must be one column of the frame, not {SET!r}.")
    fields = [plain.schema[name] for name in kept]
    fields.append(spark_types.StructField(SET, spark_types.ArrayType(spark_types.StringType())))
    fields.append(spark_types.StructField(SET_SIZE, spark_types.IntegerType()))
    job = _predictor(layout, certificate, kept, drop_invalid, _seed(rng))
    needed = dict.fromkeys([*layout.columns, *kept])  # a score column may be kept, but is needed once
    return _select(plain, list(needed)).mapInArrow(job, spark_types.StructType(fields))


def read_frame(session: SparkSession, paths: PathLike | Sequence[PathLike]) -> DataFrame:
    """Parquet or CSV files and folders that every worker can see, as one data frame."""
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


def _counter(
    layout: Layout, transform: Transform, soft: bool, bins: bool, seed: int
) -> Callable[[_Batches], _Batches]:
    def count_partition(batches: _Batches) -> _Batches:
        place = _partition()
        counts = Counts(layout.classes, labelled=layout.label is not None, soft=soft, bins=bins)
        n_rows, faults, rng = 0, Faults(), np.random.default_rng([seed, place])
        try:
            for data in batches:
                batch = Batch(data, f"partition {place}", n_rows)
                part, wrong = count_batch(batch, layout, transform=transform, soft=soft, bins=bins, rng=rng)
                n_rows += data.num_rows
                faults.add(wrong)
                if part is not None:
                    counts.add(part)
            yield _pack(_Part(counts.tally(transform.name), n_rows, faults))
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
            rows = convert(Batch(data, f"partition {place}", n_rows), layout)
            rows.faults.raise_if_any(layout.classes, drop_invalid=drop_invalid)
            n_rows += data.num_rows
            if len(rows.scores):
                usable = data if rows.kept is None else data.filter(pa.array(rows.kept))
                sets = set_columns(certificate.sets(rows.scores, rng=rng), certificate.classes)
                yield pa.record_batch({name: usable.column(name) for name in keep} | sets)

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


def _seed(rng: Any) -> int:
    return int(check_rng(rng).integers(2**63))


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
