"""Tables that a spreadsheet does not run: texts that look like formulas get an apostrophe in front."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pacshift.files.spreadsheet import FORMULA, NUMBER, escape_cell


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
