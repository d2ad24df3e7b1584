"""Prediction sets of a data frame of Spark."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, IntegerType, StringType, StructField, StructType

from pacshift.certificate import Certificate
from pacshift.rows.arrow.batch import Layout
from pacshift.rows.arrow.find import Asked, find_layout
from pacshift.rows.columns import require_columns
from pacshift.rows.faults import Faults
from pacshift.tables.sets import SET, SET_SIZE, refuse_both
from pacshift.tables.spark.frames import SparkSource, select, without_vectors
from pacshift.tables.spark.jobs import PACKED, fault_finder, predictor_of, unpack


def predict_sets(
    frame: DataFrame,
    certificate: Certificate,
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
        Leave out rows that cannot be used. Otherwise all rows are looked at now, in a job of its own, so that such
        rows are reported before the work and not by a failure in the midst of it.
    keep_invalid : bool, default False
        Keep rows that cannot be used: their ``set`` and ``set_size`` are null.

    Returns
    -------
    pyspark.sql.DataFrame
        The columns to ``keep``, then ``set`` (a list of class names) and ``set_size``.

    Raises
    ------
    InputError
        If columns are missing or rows cannot be used.

    Examples
    --------
    >>> predict_sets(frame, certificate, keep=["id"]).write.parquet("sets")  # doctest: +SKIP
    """
    refuse_both(drop_invalid, keep_invalid)
    plain = without_vectors(frame, scores, certificate.columns)
    asked = Asked(None, scores, certificate.classes, by_position, certificate.columns)
    layout = find_layout(SparkSource(plain), asked)
    others = [name for name in frame.columns if name not in layout.columns]
    kept = others if keep is None else list(dict.fromkeys(keep))
    require_columns(kept, frame.columns, taken=(SET, SET_SIZE))
    if not (drop_invalid or keep_invalid):
        _require_usable(plain, layout, softmax=certificate.softmax)
    fields = [plain.schema[name] for name in kept]
    fields.append(StructField(SET, ArrayType(StringType())))
    fields.append(StructField(SET_SIZE, IntegerType()))
    needed = list(dict.fromkeys([*layout.columns, *kept]))  # a score column may be kept, but is needed once
    job = predictor_of(layout, certificate, needed, kept, keep_invalid=keep_invalid)
    return select(plain, needed).mapInArrow(job, StructType(fields))


def _require_usable(frame: DataFrame, layout: Layout, *, softmax: bool) -> None:
    """Raise here where workers would: Spark would wrap their words into a page of Java."""
    total, job = Faults(), fault_finder(layout, softmax=softmax)
    for row in select(frame, layout.columns).mapInArrow(job, PACKED).collect():
        total.add(unpack(row[0]).faults)
    total.raise_if_any(layout.classes, drop_invalid=False)
