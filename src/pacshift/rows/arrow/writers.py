"""Writing record batches: JSON Lines, and CSV that a spreadsheet does not run."""

import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pacshift.errors import InputError
from pacshift.files.writing import FORMULA, NUMBER, escape_cell


class JsonLinesWriter:
    """Writes record batches as Arrow's own writers do.

    Times and decimals become texts. JSON has no NaN and no infinity, so these become null.
    """

    def __init__(self, path: Path, schema: Any) -> None:
        _require_json(schema)
        self._file = path.open("w", encoding="utf-8", newline="\n")

    def __enter__(self) -> "JsonLinesWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write_batch(self, batch: Any) -> None:
        """Add the rows of a batch."""
        columns = [_values(column) for column in batch.columns]
        names = batch.schema.names
        for row in zip(*columns, strict=True):
            line = json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False, allow_nan=False)
            self._file.write(line + "\n")


def _require_json(schema: Any) -> None:
    for field in schema:
        if "binary" in str(field.type):  # also inside of lists and structs
            raise InputError(
                f"cannot keep {field.name!r} in JSON Lines: it holds bytes ({field.type}). Convert it to text, or "
                "write .parquet instead."
            )


def _values(column: Any) -> list[Any]:
    kind = column.type
    if pa.types.is_temporal(kind) or pa.types.is_decimal(kind):
        return list(column.cast(pa.string()).to_pylist())
    values = column.to_pylist()
    is_plain = pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_boolean(kind)
    return values if is_plain else [_plain(value) for value in values]


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def escape_batch(batch: Any) -> Any:
    """A record batch whose names and text columns are safe to open."""
    columns = [_escape_column(column) for column in batch.columns]
    return pa.record_batch(columns, names=[escape_cell(name) for name in batch.schema.names])


def _escape_column(column: Any) -> Any:
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    risky = pc.match_substring_regex(column, FORMULA)
    if not pc.any(risky).as_py():
        return column
    risky = pc.and_(risky, pc.invert(pc.match_substring_regex(column, NUMBER)))
    marked = pc.binary_join_element_wise(pa.scalar("'", column.type), column, pa.scalar("", column.type))
    return pc.if_else(risky, marked, column)
