"""Frames that are computed when they are read: polars' lazy frames, relations of DuckDB, other Arrow streams.

They come piece after piece, so only one piece is in memory besides what is made of them.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.errors import InputError, MissingExtraError

PIECE_ROWS = 1 << 16
"""Rows asked for at a time; libraries may give more. A round number: 5 MB with 10 classes."""


def is_lazy(frame: Any) -> bool:
    """Whether this is a lazy frame of polars."""
    return hasattr(frame, "collect_schema") and hasattr(frame, "collect")


def is_stream(frame: Any) -> bool:
    """Whether rows have to be read piece by piece: neither an array nor a frame whose columns are in memory."""
    kinds = ("__array__", "to_numpy", "itercolumns")
    return is_lazy(frame) or (
        hasattr(frame, "__arrow_c_stream__") and not any(hasattr(frame, kind) for kind in kinds)
    )


def stream_pieces(frame: Any) -> Iterator[Any]:
    """The rows of a stream as frames in memory, of polars or Arrow; at least one, which may be empty."""
    if is_lazy(frame):
        # Older versions of polars can only collect the whole.
        pieces = getattr(frame, "collect_batches", None)
        found = iter([frame.collect()]) if pieces is None else iter(pieces(chunk_size=PIECE_ROWS))
    else:
        found = _arrow_batches(frame)
    first = next(found, None)
    yield frame.limit(0).collect() if first is None else first
    yield from found


def _arrow_batches(frame: Any) -> Iterator[Any]:
    try:
        import pyarrow
    except ModuleNotFoundError as error:
        raise MissingExtraError("reading a stream of Arrow batches", error, "tables") from None
    with pyarrow.RecordBatchReader.from_stream(frame) as reader:
        batches = iter(reader)
        yield next(batches, reader.schema.empty_table())
        yield from batches


def join_blocks(blocks: list[NDArray[Any]]) -> NDArray[Any]:
    """All blocks as one array. Each block is given back as soon as it is copied, so memory holds them once."""
    whole = np.empty((sum(map(len, blocks)), *blocks[0].shape[1:]), np.result_type(*blocks))
    end = len(whole)
    while blocks:
        block = blocks.pop()
        whole[end - len(block) : end] = block
        end -= len(block)
    return whole


def stream_column(frame: Any, name: str, what: str) -> NDArray[Any]:
    """The only column of a stream, as an array."""
    blocks = []
    for piece in stream_pieces(frame):
        columns = list(piece.columns if hasattr(piece, "itercolumns") else piece.get_columns())
        if len(columns) != 1:
            raise InputError(f"{name}: the {what} must be one column, got {len(columns)}. Select that column.")
        blocks.append(np.asarray(columns[0]))
    return join_blocks(blocks)
