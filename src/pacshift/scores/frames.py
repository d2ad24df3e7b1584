"""Frames in give frames out: results in the library of the scores, with the index of the scores."""

from collections.abc import Sequence
from typing import Any

from pacshift.arrays import BoolArray, Label
from pacshift.scores.names import text_of


def frame_like(scores: Any, sets: BoolArray, classes: Sequence[Label]) -> Any:
    """The matrix ``sets`` as a frame if ``scores`` is one of pandas, polars or Arrow, else as it is."""
    library = _library(scores)
    if library == "pandas":
        import pandas

        return pandas.DataFrame(sets, index=scores.index, columns=list(classes))
    columns = {str(text_of(name)): column for name, column in zip(classes, sets.T, strict=True)}
    if library == "polars":
        return type(scores)(columns)
    return type(scores).from_pydict(columns) if library == "pyarrow" else sets


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
    if not hasattr(scores, "columns"):
        return ""
    origins = (kind.__module__.partition(".")[0] for kind in type(scores).__mro__)
    return next((library for library in origins if library in ("pandas", "polars", "pyarrow")), "")
