"""What may hold a matrix of scores: arrays, tensors, nested lists and frames of any library."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import Label
from pacshift.errors import InputError
from pacshift.scores.names import shorten, text_of
from pacshift.scores.streams import is_stream, join_blocks, stream_column, stream_pieces


def to_matrix(
    scores: Any, name: str, classes: tuple[Label, ...] | None, columns: Sequence[str]
) -> tuple[NDArray[np.floating[Any]], list[Label] | None]:
    """The scores of the wanted columns; for a frame also the names of all its columns."""
    if is_stream(scores):
        return _stream_to_matrix(scores, name, classes, columns)
    values, found = to_values(scores, name, classes, columns)
    return to_floats(values, name), found


def to_values(
    scores: Any, name: str, classes: tuple[Label, ...] | None, columns: Sequence[str]
) -> tuple[NDArray[Any], list[Label] | None]:
    """The same for what is no stream, with values of the type they have."""
    is_arrow, found = _is_arrow(scores), column_names(scores)
    if found is None or not (is_arrow or hasattr(scores, "to_numpy")):
        return as_array(scores, name, "scores"), found
    if classes is not None:
        scores = _select(scores, found, classes, columns, name)
    if is_arrow:
        parts = [_column_values(column, name) for column in scores.itercolumns()]
        return np.column_stack(parts) if parts else np.empty((0, 0)), found
    return as_array(scores.to_numpy(), name, "scores"), found


def column_names(table: Any) -> list[Label] | None:
    """The column names of a frame of pandas, polars or Arrow; None for what has none."""
    found = table.column_names if _is_arrow(table) else getattr(table, "columns", None)
    return None if found is None else list(found)


def _is_arrow(table: Any) -> bool:
    return hasattr(table, "column_names") and hasattr(table, "itercolumns")  # a table or a record batch


def _stream_to_matrix(
    stream: Any, name: str, classes: tuple[Label, ...] | None, columns: Sequence[str]
) -> tuple[NDArray[np.floating[Any]], list[Label] | None]:
    """The same, piece after piece; no other column is kept."""
    parts = [to_matrix(piece, name, classes, columns) for piece in stream_pieces(stream)]
    found = parts[0][1]
    blocks = [values for values, _ in parts]
    parts.clear()
    return join_blocks(blocks), found


def _select(frame: Any, found: list[Label], classes: tuple[Label, ...], columns: Sequence[str], name: str) -> Any:
    """The columns of a frame in the order of ``classes``, by name, never by position."""
    texts = [text_of(column) for column in found]
    has_columns = len(columns) == len(classes) and set(columns) <= set(texts)
    wanted = [text_of(label) for label in (columns if has_columns else classes)]
    twice = [text for text in wanted if texts.count(text) > 1]
    if twice:
        raise InputError(f"{name}: {len(twice)} score column name(s) occur twice: {shorten(twice)}. Rename them.")
    missing = [text for text in wanted if text not in texts]
    if missing:
        raise InputError(
            f"{name}: no score column for {shorten(missing)}; the columns are {shorten(found)}. Name them "
            "after the classes, or pass a plain array (frame.to_numpy()) with columns in the order of the classes."
        )
    order = [texts.index(text) for text in wanted]
    if order == list(range(len(found))):
        return frame
    if hasattr(frame, "iloc"):
        return frame.iloc[:, order]
    return frame.select(order) if hasattr(frame, "itercolumns") else frame[:, order]


def _column_values(column: Any, name: str) -> NDArray[Any]:
    try:
        values: NDArray[Any] = column.to_numpy(zero_copy_only=False)  # nulls become NaN
        return values
    except Exception as error:  # of Arrow, which is not imported here
        raise InputError(f"{name}: scores must be numbers ({error}). Keep only the score columns.") from None


def to_floats(scores: Any, name: str) -> NDArray[np.floating[Any]]:
    values = as_array(scores, name, "scores")
    if values.dtype.name in ("float16", "bfloat16"):
        raise half_error(name, values.dtype.name)
    if values.dtype.kind in "biu":
        return values.astype(np.float64)
    if values.dtype.kind == "O":  # frames with nulls, nested lists with None
        return _objects_to_floats(values, name)
    if values.dtype.kind != "f":
        raise InputError(
            f"{name}: scores must be real numbers, got dtype {values.dtype}. Convert the columns to floats."
        )
    return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)


def half_error(name: str, kind: str) -> InputError:
    """Thresholds survive a rounding to single precision; the steps of half precision are 8,000 times as wide."""
    return InputError(
        f"{name}: scores of half precision ({kind}) are refused, because rows that were rounded so and rows that "
        "were not get different sets. If the rows that calibrate and the rows in use are both of half precision, "
        "convert both: scores.astype(np.float32), of a torch tensor .float()."
    )


def _objects_to_floats(values: NDArray[Any], name: str) -> NDArray[np.floating[Any]]:
    text = next((value for value in values.flat if isinstance(value, (str, bytes))), None)
    try:
        if text is not None:  # NumPy would read "0.5" as a number, and "nan" too
            raise TypeError(f"found the text {text!r}")
        return values.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name}: scores must be numbers ({error}). Keep only the score columns.") from None


def as_array(data: Any, name: str, what: str) -> NDArray[Any]:
    """Any container as an array; what it raises becomes an InputError."""
    if np.ma.is_masked(data):
        masked = int(np.ma.getmaskarray(data).sum())
        raise InputError(f"{name}: {masked} of the {what} are masked. Drop those rows.")
    try:
        if is_stream(data):
            return stream_column(data, name, what)
        if not hasattr(data, "__array__") and hasattr(data, "__dlpack__"):
            return np.from_dlpack(data)
        return np.asarray(data)
    except InputError:
        raise
    except Exception as error:  # whatever a foreign container raises, the user gets one kind of error
        if "BFloat16" in str(error):  # of torch
            raise half_error(name, "bfloat16") from error
        remedy = "Pass a NumPy array or something np.asarray understands (for torch: tensor.detach().cpu())."
        raise InputError(f"{name}: cannot read the {what} ({error}). {remedy}") from error
