"""Data frames of Spark whose rows come in groups: one random row of each, the same as on one machine."""

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f
from pyspark.sql.types import LongType, StructField, StructType

from pacshift.rows.arrow.batch import Layout
from pacshift.rows.faults import Faults
from pacshift.tables.spark.jobs import KEYS, PACKED, fault_finder, keys_job, unpack


def digest_usable(
    frame: DataFrame, layout: Layout, *, drop_invalid: bool, softmax: bool
) -> tuple[NDArray[np.uint64], Faults]:
    """The digest of the rows that can be used, and what is wrong with the others, or an InputError."""
    digest, faults = np.zeros(3, np.uint64), Faults()
    for row in frame.mapInArrow(fault_finder(layout, softmax=softmax), PACKED).collect():
        part = unpack(row[0])
        assert part.digest is not None  # the layout has a group
        digest += part.digest
        faults.add(part.faults)
    faults.raise_if_any(layout.classes, drop_invalid=drop_invalid)
    return digest, faults


def one_per_group(frame: DataFrame, layout: Layout, digest: NDArray[np.uint64], *, softmax: bool) -> DataFrame:
    """The chosen rows: ``pacshift.tally.groups.choose_rows`` in the words of Spark."""
    group, row = KEYS
    fields = [*frame.schema.fields, *(StructField(name, LongType()) for name in KEYS)]
    keyed = frame.mapInArrow(keys_job(layout, digest, softmax=softmax), StructType(fields))
    own = Window.partitionBy(group)
    size, place = f.count(f.lit(1)).over(own), f.row_number().over(own.orderBy(row)) - 1
    coin = f.shiftrightunsigned(group, 11) * f.lit(2.0**-53)
    chosen = f.least(f.floor(f.col("_size") * coin), f.col("_size") - 1)
    found = keyed.withColumn("_size", size).withColumn("_place", place).where(f.col("_place") == chosen)
    return found.select(*frame.columns)
