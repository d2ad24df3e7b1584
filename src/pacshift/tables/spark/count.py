"""A data frame of Spark to a tally."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame

from pacshift.arrays import Label
from pacshift.errors import InputError
from pacshift.rows.arrow.find import Asked, find_layout
from pacshift.rows.arrow.table import require_score_columns
from pacshift.rows.columns import Columns
from pacshift.rows.faults import Faults
from pacshift.scores.transforms import Transform, TransformFunction, resolve_transform
from pacshift.tables.count import TableTally
from pacshift.tables.spark.frames import SparkSource, select, without_vectors
from pacshift.tables.spark.groups import digest_usable, one_per_group
from pacshift.tables.spark.jobs import PACKED, add, add_parts, counter_of, unpack
from pacshift.tally import Tally
from pacshift.tally.counter import CountOptions
from pacshift.tally.groups import Grouped

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
        ``scores``, ``classes``, ``by_position``, ``score``, ``soft``, ``bins``, ``softmax``, ``drop_invalid``
        and ``group`` as in ``tally_frame``.

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
    softmax: bool = False,
    drop_invalid: bool = False,
    group: str | None = None,
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
    softmax : bool, default False
        Whether the scores are logits, of which the softmax is counted. The tally remembers it.
    drop_invalid : bool, default False
        Leave out rows that cannot be used, instead of raising an error.
    group : str, optional
        Column that names the group of each row: one random row of each group is counted, the same as on one
        machine. The cluster shuffles the rows for it.

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
    plain = without_vectors(frame, scores, columns)
    source = SparkSource(plain)
    layout = find_layout(source, Asked(label, scores, classes, by_position, columns, group))
    options = CountOptions(resolve_transform(score), grid=True, soft=soft, bins=bins, softmax=softmax)
    rows, grouped, left_out = select(plain, layout.needed), None, Faults()
    if group is not None:
        digest, left_out = digest_usable(rows, layout, drop_invalid=drop_invalid, softmax=softmax)
        rows, grouped = one_per_group(rows, layout, digest, softmax=softmax), Grouped(int(digest[0]))
    parts = rows.mapInArrow(counter_of(layout, options), PACKED)
    # Added on the cluster first: the driver never holds a tally for every partition.
    sums = parts.repartition(_N_REDUCERS).mapInArrow(add_parts, PACKED)
    total = add(unpack(row[0]) for row in sums.collect())
    if total.error:
        raise InputError(total.error)
    n_usable = total.n_rows - total.faults.n_rows
    total.faults.raise_if_any(layout.classes, drop_invalid=drop_invalid, n_usable=n_usable)
    if total.tally is None or not n_usable:
        raise InputError("the data frame has no usable row. At least one example is needed.")
    if label is not None:
        require_score_columns(total.tally.class_counts, layout, source)
    unlabelled = label is None
    counted = replace(
        total.tally,
        source_grouped=None if unlabelled else grouped,
        target_grouped=grouped if unlabelled else None,
    )
    n_dropped = total.faults.n_rows + left_out.n_rows
    left_out.add(total.faults)
    return TableTally(counted, n_usable, n_dropped, layout.remembered, left_out.why)
