"""Prediction sets of a table of any size, written as they are made: columnar files, safe CSV."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet

from pacshift.arrays import IntArray
from pacshift.errors import InputError, param
from pacshift.files.writing import FORMULA, NUMBER, PathLike, atomic_write, check_output, escape_cell
from pacshift.progress import Progress
from pacshift.rows.arrow.batch import ArrowBatch
from pacshift.rows.arrow.files import KINDS
from pacshift.rows.arrow.find import ReadOptions
from pacshift.rows.arrow.source import Tables, is_frame, without_codes
from pacshift.rows.arrow.table import ArrowRows, read_rows
from pacshift.rows.base import Batch
from pacshift.rows.columns import require_columns
from pacshift.rows.sets import shown_names
from pacshift.scores.names import shorten

if TYPE_CHECKING:
    from pacshift.certificate import Certificate

SET, SET_SIZE = "set", "set_size"
_SEPARATOR = ";"  # between the labels of a set in CSV, which has no lists


@dataclass(frozen=True, slots=True, eq=False)
class SetsWritten:
    """What ``write_sets`` has written.

    Parameters
    ----------
    n_rows : int
        Rows written.
    n_dropped : int
        Rows that were left out because they cannot be used.
    set_sizes : numpy.ndarray of shape (K + 1,)
        How many of the sets hold 0, 1, ..., K labels.
    n_invalid : int
        Rows that were written without a set, because they cannot be used.
    """

    n_rows: int
    n_dropped: int
    set_sizes: IntArray
    n_invalid: int = 0


def write_sets(
    certificate: Certificate,
    table: Tables,
    output: PathLike,
    *,
    scores: str | None = None,
    by_position: bool = False,
    keep: Sequence[str] = (),
    drop_invalid: bool | float = False,
    keep_invalid: bool = False,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> SetsWritten:
    """Write the prediction set of every row of a table.

    The file has the columns to ``keep``, then ``set`` and ``set_size``. A set is a list of class names, of
    their own type or, if they have several, of texts; in CSV they are joined by ``;``. Rows come in the order of
    the table. The file appears when it is complete, or not at all.

    Parameters
    ----------
    certificate : Certificate
        Makes the sets.
    table : path-like, sequence of path-like or frame
        Files, folders or a frame, as in ``read``.
    output : path-like
        A name that ends in .parquet, .feather, .arrow or .csv.
    scores : str, optional
        The score columns, as in ``read``. Default: those that the certificate was made from.
    by_position : bool, default False
        Match columns to classes in their order, if their names do not tell.
    keep : sequence of str, optional
        Columns to copy.
    drop_invalid : bool or float, default False
        Leave out rows that cannot be used, instead of raising an error: up to this share of all, or 5 % with True.
    keep_invalid : bool, default False
        Write rows that cannot be used, too: their ``set`` and ``set_size`` are null (empty in CSV). A table in
        which no row can be used is refused all the same.
    overwrite : bool, default False
        Whether a file that exists may be replaced.
    progress : callable, optional
        Called with the rows done so far and, where known, the rows in all.

    Returns
    -------
    SetsWritten
        Rows written and left out, and the sizes of the sets.

    Raises
    ------
    InputError
        If a table cannot be read, the output cannot be written, or rows cannot be used.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from pacshift import calibrate
    >>> made = calibrate([[0.9, 0.1], [0.2, 0.8]] * 50, [0, 1] * 50, None, epsilon=0.1, delta=0.1, method="PS")
    >>> folder = tempfile.TemporaryDirectory()
    >>> table, sets = pathlib.Path(folder.name, "new.csv"), pathlib.Path(folder.name, "sets.csv")
    >>> _ = table.write_text("id,p_0,p_1\\n7,0.95,0.05\\n8,0.6,0.4\\n")
    >>> write_sets(made, table, sets, keep=["id"]).n_rows
    2
    >>> print(sets.read_text().strip())
    "id","set","set_size"
    7,"0",1
    8,"",0
    >>> folder.cleanup()
    """
    suffix = Path(output).suffix.lower()
    kind = KINDS.get(suffix, "")
    if kind not in _WRITERS:
        raise InputError(
            f"cannot write sets to {output}: its name must end in .parquet, .feather, .arrow or .csv."
        )
    if kind == "csv" and any(_SEPARATOR in str(name) for name in certificate.classes):
        raise InputError(
            f"a class name holds {_SEPARATOR!r}, which separates labels in CSV. Write .parquet instead."
        )
    refuse_both(drop_invalid, keep_invalid)
    reading = ReadOptions(None, scores, None, by_position, drop_invalid=1.0 if keep_invalid else drop_invalid)
    rows = read_rows(table, reading, like=certificate, keep=False)
    assert isinstance(rows, ArrowRows)  # there are no groups
    tables: Any = () if is_frame(table) else [table] if isinstance(table, (str, os.PathLike)) else table
    require_columns(keep, rows.column_names, taken=(SET, SET_SIZE))
    nested = [name for name in keep if pa.types.is_nested(rows.source.schema.field(name).type)]
    if nested and kind == "csv":
        raise InputError(
            f"cannot keep {shorten(nested)} in a CSV file, which has no lists. Write .parquet or .feather instead."
        )
    check_output(output, overwrite=overwrite, inputs=[*tables, *rows.source.files])

    names = pa.array(list(map(str, certificate.classes)) if kind == "csv" else shown_names(certificate.classes))

    def made_of(batch: Batch) -> Any:
        assert isinstance(batch, ArrowBatch)
        return sets_batch(certificate, names, keep, batch, keep_invalid=keep_invalid)

    total = np.zeros(len(certificate.classes) + 1, np.int64)
    with atomic_write(output, overwrite=overwrite) as draft, ExitStack() as stack:
        writer = None
        for sets in rows.map(made_of, keep=keep, progress=progress):
            if sets is None:
                continue
            try:
                if kind == "csv":
                    text = pc.binary_join(sets.column(SET), _SEPARATOR)
                    shown = escape_batch(sets.set_column(sets.schema.get_field_index(SET), SET, text))
                else:
                    shown = sets
                writer = writer or stack.enter_context(_WRITERS[kind](draft, shown.schema))
                writer.write_batch(shown)
            except pa.ArrowException as error:
                reason = str(error).splitlines()[0].rstrip(".")
                raise InputError(f"cannot write the sets as {kind}: {reason}. Keep other columns.") from None
            total += np.bincount(sets.column(SET_SIZE).drop_null(), minlength=len(total))
    n_bad = rows.last_scan.faults.n_rows
    if keep_invalid:
        return SetsWritten(rows.last_scan.n_rows, 0, total, n_bad)
    return SetsWritten(rows.last_scan.n_given, n_bad, total)


def refuse_both(drop_invalid: bool | float, keep_invalid: bool) -> None:
    """Rows cannot be left out and kept."""
    if drop_invalid and keep_invalid:
        raise InputError(
            f"{param('drop_invalid=True')} leaves out rows that cannot be used, {param('keep_invalid=True')} "
            "keeps them. Use one of them."
        )


def sets_batch(
    certificate: Certificate, names: Any, keep: Sequence[str], batch: ArrowBatch, *, keep_invalid: bool = False
) -> Any:
    """A record batch of the columns to ``keep``, the sets and their sizes, for usable rows or for all.

    ``names`` are the class names as an Arrow array.
    Rows that are kept although they cannot be used have nulls for both. None if there is nothing to write.
    """
    data, has_set, scores = batch.data, batch.kept, batch.raw_scores
    if not (keep_invalid or len(scores)):
        return None
    if has_set is not None and not keep_invalid:
        data, has_set = data.filter(pa.array(has_set)), None
    sets = np.zeros((data.num_rows, len(certificate.classes)), bool)
    if len(scores):
        sets[slice(None) if has_set is None else has_set] = certificate.sets_of_rows(scores)
    unknown = None if has_set is None else ~has_set
    # An Arrow file cannot hold a dictionary that changes from batch to batch.
    kept = {name: without_codes(data.column(name)) for name in keep}
    sizes = sets.sum(axis=1, dtype=np.int32)
    offsets = np.concatenate([np.zeros(1, np.int32), np.cumsum(sizes, dtype=np.int32)])
    inside = names.take(pa.array(np.nonzero(sets)[1]))
    lists = pa.ListArray.from_arrays(
        pa.array(offsets), inside, mask=None if unknown is None else pa.array(unknown)
    )
    return pa.record_batch(kept | {SET: lists, SET_SIZE: pa.array(sizes, mask=unknown)})


def escape_batch(batch: Any) -> Any:
    """A record batch whose names and text columns are safe to open in a spreadsheet, which would run formulas."""
    columns = list[Any]()
    for column in batch.columns:
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            risky = pc.match_substring_regex(column, FORMULA)
            if pc.any(risky).as_py():
                risky = pc.and_(risky, pc.invert(pc.match_substring_regex(column, NUMBER)))
                quote, nothing = pa.scalar("'", column.type), pa.scalar("", column.type)
                column = pc.if_else(risky, pc.binary_join_element_wise(quote, column, nothing), column)
        columns.append(column)
    return pa.record_batch(columns, names=[escape_cell(name) for name in batch.schema.names])


_WRITERS: dict[str, Callable[[Path, Any], Any]] = {
    "parquet": partial(pyarrow.parquet.ParquetWriter, write_page_checksum=True),
    "feather": pyarrow.ipc.new_file,
    "csv": pyarrow.csv.CSVWriter,
}
