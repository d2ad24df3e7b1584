"""Data frames of Spark: read from files, as a source in which columns are looked for, with columns by number."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

from pacshift.errors import InputError
from pacshift.files.writing import PathLike
from pacshift.rows.arrow.files import KINDS, list_files
from pacshift.rows.arrow.source import MAX_LABEL_VALUES, Source
from pacshift.rows.columns import Columns
from pacshift.scores.check import SAMPLE_ROWS


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


class SparkSource(Source):
    """As much of a table source as finding the layout needs."""

    def __init__(self, frame: DataFrame) -> None:
        self._frame = frame
        self.schema = to_arrow_schema(frame.schema)

    def _read(self, fields: list[Any], rows: int) -> Iterator[tuple[str, Any]]:
        """A few rows."""
        frame = select(self._frame, [field.name for field in fields])
        some = frame.dropna(subset=frame.columns[:1]).limit(SAMPLE_ROWS).collect()
        columns = [pa.array([row[place] for row in some], field.type) for place, field in enumerate(fields)]
        yield "the data frame", pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))

    def label_values(self, column: str) -> list[Any]:
        labels = select(self._frame, [column]).distinct().limit(MAX_LABEL_VALUES + 1)
        return [row[0] for row in labels.collect()]


def select(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """Columns by number: Spark takes p_a and p_A for one name, and a dot for a field of a struct."""
    numbered = frame.toDF(*(f"c{place}" for place in range(len(frame.columns))))
    return numbered.select(*(f"c{frame.columns.index(name)}" for name in names))


def without_vectors(frame: DataFrame, scores: str | None, columns: Columns | None) -> DataFrame:
    """The frame with lists in place of the vectors of Spark ML, if these are the scores."""
    name = scores or (columns.scores[0] if columns is not None and len(columns.scores) == 1 else None)
    if name is not None and name in frame.columns and frame.schema[name].dataType.simpleString() == "vector":
        from pyspark.ml.functions import vector_to_array  # loads a large part of Spark

        return frame.withColumn(name, vector_to_array(col("`" + name.replace("`", "``") + "`")))
    return frame
