"""What may hold scores, labels and other columns: arrays, tensors, nested lists, frames of any library, streams.

Frames in give frames out, with the index of the scores; labels with another index are refused. Frames that are
computed when they are read (polars' lazy frames, relations of DuckDB, other Arrow streams) are read as a whole.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import BoolArray, Label
from pacshift.errors import InputError, MissingExtraError
from pacshift.scores.names import shorten, text_of
from pacshift.words.numbers import plural


def to_matrix(
    scores: Any, name: str, classes: tuple[Label, ...] | None, columns: Sequence[str]
) -> tuple[NDArray[np.floating[Any]], list[Label] | None]:
    """The scores of the wanted columns; for a frame also the names of all its columns."""
    if type(scores) is np.ndarray:
        return to_floats(scores, name), None
    values, columns_there = to_values(in_memory(scores) if is_stream(scores) else scores, name, classes, columns)
    return to_floats(values, name), columns_there


def to_values(
    scores: Any, name: str, classes: tuple[Label, ...] | None, columns: Sequence[str]
) -> tuple[NDArray[Any], list[Label] | None]:
    """The same for what is no stream, with values of the type they have."""
    is_arrow, names = _is_arrow(scores), column_names(scores)
    if names is None or not (is_arrow or hasattr(scores, "to_numpy")):
        refuse_half(scores, name)
        return as_array(scores, name, "scores"), names
    if classes is not None:  # by name, never by position
        texts = [text_of(column) for column in names]
        has_columns = len(columns) == len(classes) and set(columns) <= set(texts)
        wanted = [text_of(label) for label in (columns if has_columns else classes)]
        twice = [text for text in wanted if texts.count(text) > 1]
        if twice:
            raise InputError(
                f"{name}: {len(twice)} score column name(s) occur twice: {shorten(twice)}. Rename them."
            )
        missing = [text for text in wanted if text not in texts]
        if missing:
            raise InputError(
                f"{name}: no score column for {shorten(missing)}; the columns are {shorten(names)}. Name them "
                "after the classes, or pass a plain array (frame.to_numpy()) with columns in their order."
            )
        order = [texts.index(text) for text in wanted]
        if order != list(range(len(names))):
            by_place = scores.iloc[:, order] if hasattr(scores, "iloc") else None
            scores = scores.select(order) if is_arrow else scores[:, order] if by_place is None else by_place
    refuse_half(scores, name)
    if not is_arrow:
        return as_array(scores.to_numpy(), name, "scores"), names
    try:
        parts = [column.to_numpy(zero_copy_only=False) for column in scores.itercolumns()]  # nulls become NaN
    except Exception as error:  # of Arrow, which is not imported here
        raise InputError(f"{name}: scores must be numbers ({error}). Pass the score columns only.") from None
    return np.column_stack(parts) if parts else np.empty((0, 0)), names


def column_names(table: Any) -> list[Label] | None:
    """The column names of a frame of pandas, polars or Arrow; None for what has none."""
    names = table.column_names if _is_arrow(table) else getattr(table, "columns", None)
    return None if names is None else list(names)


def _is_arrow(table: Any) -> bool:
    return hasattr(table, "column_names") and hasattr(table, "itercolumns")  # a table or a record batch


def to_floats(scores: Any, name: str) -> NDArray[np.floating[Any]]:
    """Numbers of any type as float32, if they are, or float64."""
    if type(scores) is not np.ndarray:
        refuse_half(scores, name)
    values = as_array(scores, name, "scores")
    if values.dtype in (np.float32, np.float64):
        return values
    refuse_half(values.ravel().tolist() if values.dtype.kind == "O" else values, name)
    kind = values.dtype.kind
    if values.shape == () and kind == "O":
        raise InputError(
            f"{name}: scores must be an array or frame of numbers, got {type(values.item()).__name__}."
        )
    if (
        kind in "OUS"
    ):  # frames with nulls, nested lists with None; NumPy would read "0.5" as a number, and "nan" too
        text = next((value for value in values.flat if isinstance(value, (str, bytes))), None)
        if text is not None:
            raise InputError(
                f"{name}: scores must be numbers, found the text {str(text)!r}. Pass the score columns only, as "
                "numbers."
            )
        try:
            return values.astype(np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"{name}: scores must be numbers ({error}). Pass the score columns only.") from None
    if kind not in "fbiu":
        raise InputError(
            f"{name}: scores must be real numbers, got dtype {values.dtype}. Convert the columns to floats."
        )
    return values.astype(np.float64)


_HALF = re.compile(r"b?float_?(16|[468](?!\d))|halffloat", re.IGNORECASE)
"""Types of fewer bits than single precision, as libraries call them: float16, torch.bfloat16, Float8_e4m3fn."""


def refuse_half(scores: Any, name: str) -> None:
    """Refuse scores of which a column, a row or a number is of half precision or less.

    Thresholds survive a rounding to single precision; the steps of half precision are 8,000 times as wide. A
    matrix made of such columns and others has the type of the others: the parts have to be looked at.
    """
    refuse_half_types(list_types(scores), name)


def refuse_half_types(types: Iterable[tuple[str, str]], name: str) -> None:
    """The same for the types themselves, each with the words that say where it is."""
    for kind, place in types:
        if _HALF.search(kind):
            raise half_error(name, f"{kind}{place}")


def list_types(scores: Any) -> Iterator[tuple[str, str]]:
    """The types of all parts of what may hold scores, each with its column, if it has one."""
    if isinstance(scores, (list, tuple)):
        kinds = set(map(type, scores))
        if kinds and kinds <= {list, tuple}:
            yield from list_types([*chain.from_iterable(scores)])
            return
        yield from ((kind.__name__, "") for kind in kinds if issubclass(kind, np.generic))
        others = {kind for kind in kinds if not issubclass(kind, (float, int, str, np.generic))}
        if others:
            yield from {kind for part in scores if type(part) in others for kind in list_types(part)}
        return
    names = column_names(scores)
    if names is None:
        yield str(getattr(scores, "dtype", "")), ""
        return
    for place, kind in enumerate(scores.schema.types if _is_arrow(scores) else getattr(scores, "dtypes", ())):
        where = f" in column {names[place]!r}"
        yield str(kind), where
        if str(kind) == "object" and hasattr(scores, "iloc"):
            yield from ((inner, where) for inner, _ in list_types(scores.iloc[:, place].tolist()))


def half_error(name: str, kind: str) -> InputError:
    """What to do about it."""
    return InputError(
        f"{name}: scores of half precision or less ({kind}) are refused, because rows that were rounded so and "
        "rows that were not get different sets. If the rows that calibrate and the rows in use are both of half "
        "precision, convert both: scores.astype(np.float32), of a torch tensor .float()."
    )


def as_array(data: Any, name: str, what: str) -> NDArray[Any]:
    """Any container as an array; what it raises becomes an InputError."""
    if type(data) is np.ndarray:
        return data
    if hasattr(data, "logits"):  # of transformers
        raise InputError(f"{name}: got the output of a model ({type(data).__name__}). Pass its .logits.")
    if np.ma.is_masked(data):
        masked = int(np.ma.getmaskarray(data).sum())
        raise InputError(f"{name}: {masked} of the {what} are masked. Drop those rows.")
    try:
        if is_stream(data):
            table = in_memory(data)
            columns = list(table.columns if _is_arrow(table) else table.get_columns())
            if len(columns) != 1:
                raise InputError(f"{name}: the {what} must be one column, got {len(columns)}. Select that column.")
            return np.asarray(columns[0])
        if not hasattr(data, "__array__") and hasattr(data, "__dlpack__"):
            return np.from_dlpack(data)
        return np.asarray(data)
    except InputError:
        raise
    except Exception as error:  # whatever a foreign container raises, the user gets one kind of error
        if kind := _HALF.search(str(error)):  # of torch
            raise half_error(name, kind[0].lower()) from error
        if isinstance(data, (list, tuple)) and data and len(getattr(data[0], "shape", ())) == 2:
            remedy = "Join them with np.concatenate or torch.cat, or add up one Tally of each."
            raise InputError(f"{name}: got a list of {plural(len(data), 'batch', 'batches')}. {remedy}") from error
        is_tensor = hasattr(data, "detach")  # of torch, with gradients or on a graphics card
        remedy = "tensor.detach().cpu()" if is_tensor else "a NumPy array or something np.asarray understands"
        raise InputError(f"{name}: cannot read the {what} ({error}). Pass {remedy}.") from error


def is_lazy(frame: Any) -> bool:
    """Whether this is a lazy frame of polars."""
    return hasattr(frame, "collect_schema") and hasattr(frame, "collect")


def is_stream(frame: Any) -> bool:
    """Whether rows have to be read piece by piece: neither an array nor a frame whose columns are in memory."""
    kinds = ("__array__", "to_numpy", "itercolumns")
    return is_lazy(frame) or (
        hasattr(frame, "__arrow_c_stream__") and not any(hasattr(frame, kind) for kind in kinds)
    )


def in_memory(frame: Any) -> Any:
    """A stream as a frame of polars or Arrow. What does not fit is for ``pacshift.read``."""
    if is_lazy(frame):
        return frame.collect()
    try:
        import pyarrow
    except ModuleNotFoundError as error:
        raise MissingExtraError("reading a stream of Arrow batches", error, "tables") from None
    return pyarrow.RecordBatchReader.from_stream(frame).read_all()


def frame_like(scores: Any, sets: BoolArray, classes: Sequence[Label]) -> Any:
    """The matrix ``sets`` as a frame if ``scores`` is one of pandas, polars or Arrow, else as it is."""
    return sets if type(scores) is np.ndarray else to_frame(_library(scores), sets, classes, index_of(scores))


def to_frame(library: str, sets: BoolArray, classes: Sequence[Label], index: Any = None) -> Any:
    """A matrix with one column per class as a frame of ``library``; as it is for any other name."""
    if library == "pandas":
        import pandas

        return pandas.DataFrame(sets, index=index, columns=list(classes))
    if library not in ("polars", "pyarrow"):
        return sets
    names = [str(text_of(name)) for name in classes]  # only pandas has columns that are not called by a text
    if library == "polars":
        import polars

        return polars.DataFrame(dict(zip(names, sets.T, strict=True)))
    import pyarrow

    return pyarrow.table(list(sets.T), names=names)


def series_like(scores: Any, lists: list[list[Label]]) -> Any:
    """Lists of class names as a series if ``scores`` is a frame of pandas or polars, else as they are."""
    library = _library(scores)
    if library == "pandas":
        import pandas

        return pandas.Series(lists, index=scores.index, name="labels", dtype=object)
    if library == "polars":
        import polars

        return polars.Series("labels", lists, strict=False)
    return lists


def _library(scores: Any) -> str:
    """The library of a frame; "" for what is not a frame."""
    if not hasattr(type(scores), "columns"):  # asking a lazy frame itself would compute its schema
        return ""
    origins = (kind.__module__.partition(".")[0] for kind in type(scores).__mro__)
    return next((library for library in origins if library in ("pandas", "polars", "pyarrow")), "")


def index_of(table: Any) -> Any:
    """The index of a pandas frame or series; None for what has none."""
    return table.index if hasattr(table, "iloc") else None


def require_same_index(index: Any, values: Any, name: str, *, rows: str = "scores", what: str = "labels") -> None:
    """Refuse values whose pandas index differs from the ``index`` of the rows, or has another order.

    Values are matched to rows by position, so each would go to a row of another name. They are not put in order
    silently: only the user knows which side is wrong. Where one side has no index, there is nothing to compare;
    unequal lengths are refused elsewhere.
    """
    other = index_of(values)
    if index is None or other is None or len(index) != len(other) or index.equals(other):
        return
    place = next((row for row in range(len(other)) if not _same_name(index[row], other[row])), None)
    if place is None:  # two types that hold the same names
        return
    there, here = other[[place]].tolist()[0], index[[place]].tolist()[0]
    raise InputError(
        f"{name}: the {rows} and the {what} have different indexes: row {place} is {here!r} in the {rows} and "
        f"{there!r} in the {what}. Match them by index: {what}.loc[{rows}.index]. If they belong together row by "
        f"row as they stand, say so with {what}.to_numpy(), or with reset_index(drop=True) on both."
    )


def _same_name(name: Any, other: Any) -> bool:
    try:
        return name is other or bool(name == other) or bool(name != name and other != other)  # NaN is NaN
    except (TypeError, ValueError):  # NA beside a name
        return False


def in_class_order(values: Any, classes: Sequence[Label], name: str) -> Any:
    """The values of a pandas series in the order of ``classes``, by the names in its index; others as they are.

    >>> in_class_order([0.5, 1.5], ("healthy", "sick"), "weights")
    [0.5, 1.5]
    """
    index = index_of(values)
    if index is None or (type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1):
        return values  # numbers that pandas gave to the rows are not names
    names, class_texts = [text_of(label) for label in index], [text_of(label) for label in classes]
    if len(names) != len(class_texts) or set(names) != set(class_texts):
        raise InputError(
            f"{name}: the index holds {shorten(list(index))}, but the classes are {shorten(classes)}. Name every "
            "class once, or pass a plain list in the order of the classes."
        )
    return values.iloc[[names.index(label) for label in class_texts]]
