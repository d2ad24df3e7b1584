"""Frames in give frames out: results in the library of the scores, with the index of the scores."""

from collections.abc import Sequence
from typing import Any

from pacshift.arrays import BoolArray, Label
from pacshift.scores.names import text_of


def frame_like(scores: Any, sets: BoolArray, classes: Sequence[Label]) -> Any:
    """The matrix ``sets`` as a frame if ``scores`` is one of pandas, polars or Arrow, else as it is."""
    return to_frame(_library(scores), sets, classes, index_of(scores))


def to_frame(library: str, sets: BoolArray, classes: Sequence[Label], index: Any = None) -> Any:
    """A matrix with one column per class as a frame of ``library``; as it is for any other name."""
    names = [str(text_of(name)) for name in classes]  # only pandas has columns that are not called by a text
    if library == "pandas":
        import pandas

        return pandas.DataFrame(sets, index=index, columns=list(classes))
    if library == "polars":
        import polars

        return polars.DataFrame(dict(zip(names, sets.T, strict=True)))
    if library == "pyarrow":
        import pyarrow

        return pyarrow.table(list(sets.T), names=names)
    return sets


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


def _library(scores: Any) -> str:
    """The library of a frame; "" for what is not a frame."""
    if not hasattr(type(scores), "columns"):  # asking a lazy frame itself would compute its schema
        return ""
    origins = (kind.__module__.partition(".")[0] for kind in type(scores).__mro__)
    return next((library for library in origins if library in ("pandas", "polars", "pyarrow")), "")
