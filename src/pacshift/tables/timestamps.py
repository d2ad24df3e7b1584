"""A column of timestamps as days."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pacshift.errors import InputError
from pacshift.rows.arrow.source import without_codes

FIRST_YEAR, LAST_YEAR = 1901, 2199
"""Times outside are no times: 1900-01-01 and 9999-12-31 stand for "unknown" or "open" in many databases."""

_BELOW_SECONDS = r"(?i)(:[0-9]{2})(?:[.,][0-9]+)?(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)?$"  # and the zone


def column_days(column: Any, name: str, file: str) -> Any:
    """The day of each timestamp in its own time zone, NaT where there is none. Texts are read as ISO dates."""
    column = without_codes(column)
    kind = column.type
    is_text, is_time = pa.types.is_string(kind) or pa.types.is_large_string(kind), pa.types.is_timestamp(kind)
    if not (is_text or is_time or pa.types.is_date(kind) or pa.types.is_null(kind)):
        raise InputError(
            f"{file}: column {name!r} holds {kind}, not timestamps. Convert it to dates or timestamps."
        )
    if is_text:  # 23:30+02:00 is half past eleven where it was written
        column = pc.replace_substring_regex(column, pattern=_BELOW_SECONDS, replacement=r"\1")
    if is_time and kind.tz is not None:
        column = _local(column, name, file)
    try:
        days = column.cast(pa.timestamp("s"), safe=is_text).to_numpy(zero_copy_only=False).astype("M8[D]")
    except pa.ArrowInvalid as error:
        said = str(error).splitlines()[0]
        raise InputError(f"{file}: column {name!r} holds texts that are not ISO dates ({said}).") from None
    years = days.astype("M8[Y]").astype(np.int64) + 1970
    return np.where((years < FIRST_YEAR) | (years > LAST_YEAR), np.datetime64("NaT"), days)


def _local(column: Any, name: str, file: str) -> Any:
    try:
        return pc.local_timestamp(column)
    except pa.ArrowInvalid:
        raise InputError(
            f"{file}: column {name!r} is in the time zone {column.type.tz!r}, which this machine does not know. "
            "Convert it to UTC or another known zone, or install the time zone database (pip install tzdata)."
        ) from None
