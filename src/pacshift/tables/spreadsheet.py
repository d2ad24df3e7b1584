"""CSV that a spreadsheet does not run: texts that look like formulas get an apostrophe in front."""

import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_FORMULA = r"^[=+\-@\t\r\n＝＋－＠]"
_NUMBER = r"^[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"  # begins with a sign, yet is no formula


def escape_cell(text: str) -> str:
    """One text.

    >>> escape_cell("=1+1"), escape_cell("-3.5"), escape_cell("wren")
    ("'=1+1", '-3.5', 'wren')
    """
    risky = re.match(_FORMULA, text) and not re.fullmatch(_NUMBER[1:-1], text)
    return f"'{text}" if risky else text


def escape_batch(batch: Any) -> Any:
    """A record batch whose names and text columns are safe to open."""
    columns = [_escape_column(column) for column in batch.columns]
    return pa.record_batch(columns, names=[escape_cell(name) for name in batch.schema.names])


def _escape_column(column: Any) -> Any:
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    risky = pc.match_substring_regex(column, _FORMULA)
    if not pc.any(risky).as_py():
        return column
    risky = pc.and_(risky, pc.invert(pc.match_substring_regex(column, _NUMBER)))
    marked = pc.binary_join_element_wise(pa.scalar("'", column.type), column, pa.scalar("", column.type))
    return pc.if_else(risky, marked, column)
