"""Data frames of Spark: as a source in which columns are looked for, with columns chosen by number."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.ml.functions import vector_to_array
from pyspark.sql import DataFrame
from pyspark.sql.functions import col
from pyspark.sql.pandas.types import to_arrow_schema

from pacshift.certificate.columns import Columns
from pacshift.scores.plausible import SAMPLE_ROWS
from pacshift.tables.sources import MAX_LABEL_VALUES, Batch


class SparkSource:
    """As much of a table source as finding the layout needs."""

    class_names: list[Any] | None = None
    has_text_labels = False

    def __init__(self, frame: DataFrame) -> None:
        self._frame = frame
        self.schema = to_arrow_schema(frame.schema)

    def count_rows(self) -> int | None:
        return None

    def batches(
        self, scores: Sequence[str], _others: Sequence[str], _n_scores: int, _label: str | None = None
    ) -> Iterator[Batch]:
        """A few rows."""
        frame = select(self._frame, scores)
        rows = frame.dropna(subset=frame.columns[:1]).limit(SAMPLE_ROWS).collect()
        fields = [self.schema.field(name) for name in scores]
        columns = [pa.array([row[place] for row in rows], field.type) for place, field in enumerate(fields)]
        yield Batch(pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields)), "the data frame", 0)

    def label_values(self, column: str, *, whole: bool = True) -> list[Any]:
        labels = select(self._frame, [column])
        labels = labels if whole else labels.limit(SAMPLE_ROWS)
        return [row[0] for row in labels.distinct().limit(MAX_LABEL_VALUES + 1).collect()]


def select(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """Columns by number: Spark takes p_a and p_A for one name, and a dot for a field of a struct."""
    numbered = frame.toDF(*(f"c{place}" for place in range(len(frame.columns))))
    return numbered.select(*(f"c{frame.columns.index(name)}" for name in names))


def without_vectors(frame: DataFrame, scores: str | None, columns: Columns | None) -> DataFrame:
    name = scores or (columns.scores[0] if columns is not None and len(columns.scores) == 1 else None)
    if name is not None and name in frame.columns and frame.schema[name].dataType.simpleString() == "vector":
        return frame.withColumn(name, vector_to_array(_column(name)))
    return frame


def _column(name: str) -> Any:
    return col("`" + name.replace("`", "``") + "`")
