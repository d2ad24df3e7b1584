"""Frames in give frames out, with the index of the scores; labels with another index are refused."""

from collections.abc import Sequence
from typing import Any

from pacshift.arrays import BoolArray, Label
from pacshift.errors import InputError
from pacshift.scores.names import shorten, text_of


def frame_like(scores: Any, sets: BoolArray, classes: Sequence[Label]) -> Any:
    """The matrix ``sets`` as a frame if ``scores`` is one of pandas, polars or Arrow, else as it is."""
    return to_frame(_library(scores), sets, classes, index_of(scores))


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


def index_of(table: Any) -> Any:
    """The index of a pandas frame or series; None for what has none."""
    return table.index if hasattr(table, "iloc") else None


def require_same_index(index: Any, values: Any, name: str, *, rows: str = "scores", what: str = "labels") -> None:
    """Refuse values whose pandas index differs from the ``index`` of the rows, or has another order.

    Values are matched to rows by position, so each would go to a row of another name. They are not put in order
    silently: only the user knows which side is wrong. Where one side has no index, there is nothing to compare;
    unequal lengths are refused elsewhere.
    """
    own = index_of(values)
    if index is None or own is None or len(index) != len(own) or index.equals(own):
        return
    place = next((row for row in range(len(own)) if not _same_name(index[row], own[row])), None)
    if place is None:  # two types that hold the same names
        return
    found, wanted = own[[place]].tolist()[0], index[[place]].tolist()[0]
    raise InputError(
        f"{name}: the {rows} and the {what} have different indexes: row {place} is {wanted!r} in the {rows} and "
        f"{found!r} in the {what}. Match them by index: {what}.loc[{rows}.index]. If they belong together row by "
        f"row as they stand, say so with {what}.to_numpy(), or with reset_index(drop=True) on both."
    )


def _same_name(one: Any, other: Any) -> bool:
    try:
        return one is other or bool(one == other) or bool(one != one and other != other)  # NaN is NaN
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
    found, wanted = [text_of(one) for one in index], [text_of(one) for one in classes]
    if len(found) != len(wanted) or set(found) != set(wanted):
        raise InputError(
            f"{name}: the index holds {shorten(list(index))}, but the classes are {shorten(classes)}. Name every "
            "class once, or pass a plain list in the order of the classes."
        )
    return values.iloc[[found.index(one) for one in wanted]]


def _library(scores: Any) -> str:
    """The library of a frame; "" for what is not a frame."""
    if not hasattr(type(scores), "columns"):  # asking a lazy frame itself would compute its schema
        return ""
    origins = (kind.__module__.partition(".")[0] for kind in type(scores).__mro__)
    return next((library for library in origins if library in ("pandas", "polars", "pyarrow")), "")
