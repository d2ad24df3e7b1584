"""The same counts from a Spark cluster: one tally per partition, added by Spark, a few collected.

Each executor runs ``pacshift.tables.reading.count_batch`` on its Arrow batches, so pacshift must be installed on
the workers. Partitions do not matter, nor do tasks that Spark runs again.
"""

from collections.abc import Sequence
from typing import Any

from pacshift.arrays import Label
from pacshift.certificate import Certificate
from pacshift.certificate.columns import Columns
from pacshift.errors import InputError, MissingExtraError
from pacshift.scores.check import ignore_rng
from pacshift.scores.transforms import Transform, TransformFunction, resolve_transform
from pacshift.tables.convert import Faults
from pacshift.tables.finding import find_layout
from pacshift.tables.layout import Layout
from pacshift.tables.reading import TableTally, require_plausible
from pacshift.tables.sets import SET, SET_SIZE, require_columns
from pacshift.tables.sources import KINDS, PathLike, list_files
from pacshift.tables.spark_jobs import PACKED, add, add_parts, counter_of, fault_finder, predictor_of, unpack
from pacshift.tally import Tally
from pacshift.tally.counter import CountOptions

try:
    from pyspark.sql import DataFrame
    from pyspark.sql import SparkSession as SparkSession
    from pyspark.sql import types as spark_types

    from pacshift.tables.spark_frames import SparkSource, select, without_vectors
except ModuleNotFoundError as error:
    raise MissingExtraError("pacshift.tables.spark", error, "spark") from None

_N_REDUCERS = 8  # tallies that reach the driver, however many partitions there are


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
        ``scores``, ``classes``, ``by_position``, ``score``, ``soft``, ``bins``, ``drop_invalid`` and ``rng`` as in
        ``tally_frame``.

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
    scores: str | None = None,
    classes: Sequence[Label] | None = None,
    by_position: bool = False,
    columns: Columns | None = None,
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
    scores : str, optional
        The score columns, as in ``pacshift.tables.tally_table``, or one column of vectors, as models of Spark ML
        write them.
    classes : sequence, optional
        Class names, as in ``pacshift.tables.tally_table``.
    by_position : bool, default False
        Match columns to classes in their order, if their names do not tell.
    columns : Columns, optional
        The columns of the source (``TableTally.columns``), which a target must have too.
    score : str or callable, default "probability"
        Transform of the scores that thresholds are compared with.
    soft : bool, default True
        Keep sums of probabilities, which only PS-R and WCP use.
    bins : bool, default True
        Keep a target's scores in coarse bins, by which PS-LP finds the smallest sets.
    drop_invalid : bool, default False
        Leave out rows that cannot be used, instead of raising an error.
    rng : int, numpy.random.Generator or None
        Has no effect: randomised scores are fixed functions of their rows. Will be removed.

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
    ignore_rng(rng)
    plain = without_vectors(frame, scores, columns)
    source = SparkSource(plain)
    layout = find_layout(
        source, label=label, scores=scores, classes=classes, by_position=by_position, columns=columns
    )
    options = CountOptions(resolve_transform(score), grid=True, soft=soft, bins=bins)
    job = counter_of(layout, options)
    parts = select(plain, _needed(layout)).mapInArrow(job, PACKED)
    # Added on the cluster first: the driver never holds a tally for every partition.
    sums = parts.repartition(_N_REDUCERS).mapInArrow(add_parts, PACKED)
    total = add(unpack(row[0]) for row in sums.collect())
    if total.error:
        raise InputError(total.error)
    total.faults.raise_if_any(layout.classes, drop_invalid=drop_invalid)
    if total.tally is None or total.n_rows == total.faults.n_rows:
        raise InputError("the data frame has no usable row. At least one example is needed.")
    if label is not None:
        require_plausible(total.tally, layout, source)
    return TableTally(total.tally, total.n_rows - total.faults.n_rows, total.faults.n_rows, layout.remembered)


def predict_sets(
    frame: DataFrame,
    certificate: Certificate,
    *,
    scores: str | None = None,
    by_position: bool = False,
    keep: Sequence[str] | None = None,
    drop_invalid: bool = False,
    rng: Any = None,
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
    rng : int, numpy.random.Generator or None
        Has no effect: randomised scores are fixed functions of their rows. Will be removed.

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
    ignore_rng(rng)
    plain = without_vectors(frame, scores, certificate.columns)
    layout = find_layout(
        SparkSource(plain),
        label=None,
        scores=scores,
        classes=certificate.classes,
        by_position=by_position,
        columns=certificate.columns,
    )
    others = [name for name in frame.columns if name not in layout.columns]
    kept = others if keep is None else list(dict.fromkeys(keep))
    require_columns(kept, frame.columns)
    if not drop_invalid:
        _require_usable(plain, layout)
    fields = [plain.schema[name] for name in kept]
    fields.append(spark_types.StructField(SET, spark_types.ArrayType(spark_types.StringType())))
    fields.append(spark_types.StructField(SET_SIZE, spark_types.IntegerType()))
    needed = list(dict.fromkeys([*layout.columns, *kept]))  # a score column may be kept, but is needed once
    job = predictor_of(layout, certificate, needed, kept)
    return select(plain, needed).mapInArrow(job, spark_types.StructType(fields))


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
        plain = spark_types.StringType()
        fields = [
            spark_types.StructField(one.name, plain if one.name in text else one.dataType) for one in guessed
        ]
        return session.read.schema(spark_types.StructType(fields)).csv(files, header=True)
    raise InputError(f"{files[0]}: Spark reads .parquet and .csv here. Convert it, or use the Arrow engine.")


def _require_usable(frame: DataFrame, layout: Layout) -> None:
    """Raise here where workers would: Spark would wrap their words into a page of Java."""
    total = Faults()
    for row in select(frame, layout.columns).mapInArrow(fault_finder(layout), PACKED).collect():
        total.add(unpack(row[0]).faults)
    total.raise_if_any(layout.classes, drop_invalid=False)


def _needed(layout: Layout) -> list[str]:
    return [*layout.columns, *([layout.label] if layout.label else [])]
