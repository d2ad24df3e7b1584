"""A table of raw rows, CSV (also compressed) or Parquet, as Arrow columns."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pacshift.errors import InputError

SUFFIXES = (".parquet", ".csv", ".csv.gz")


def find_table(place: Path, what: str, *, names: Sequence[str] = ()) -> Path:
    """``place`` itself if it is a file; else the one table in the folder, the first of ``names`` that is there."""
    if place.is_file():
        return place
    if not place.is_dir():
        raise InputError(f"{place}: no such file or folder. It should be {what}. Check the path.")
    known = [place / name for name in names if (place / name).is_file()]
    found = sorted(path for path in place.iterdir() if path.name.lower().endswith(SUFFIXES))
    if known or len(found) == 1:
        return (known or found)[0]
    shown = ", ".join(path.name for path in found[:5]) or "none"
    raise InputError(f"{place}: expected one table, {what}. Found: {shown}. Name the file itself.")


def read_table(path: Path, *, column_names: Sequence[str] | None = None) -> Any:
    """An Arrow table. ``column_names`` is for CSV files without a header."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    try:
        if path.suffix == ".parquet":
            return pa.parquet.read_table(path)
        read = pa.csv.ReadOptions(column_names=list(column_names) if column_names else None)
        # News articles quote with doubled quotes and run over several lines.
        parse = pa.csv.ParseOptions(newlines_in_values=True)
        with pa.OSFile(str(path)) as raw:
            stream = pa.CompressedInputStream(raw, "gzip") if path.suffix == ".gz" else raw
            return pa.csv.read_csv(stream, read_options=read, parse_options=parse)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file. Check the path.") from None
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path}: not a readable table ({error}). Use CSV or Parquet.") from error


def require_columns(path: Path, table: Any, names: Sequence[str]) -> None:
    """Refuse a table without the columns of its data set."""
    missing = [name for name in names if name not in table.column_names]
    if missing:
        raise InputError(
            f"{path}: column {missing[0]!r} is missing. The columns are {', '.join(table.column_names[:30])}."
        )
