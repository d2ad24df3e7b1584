"""Score tables of any size: Parquet, Feather, CSV and NPZ files, one or many, counted batch after batch."""

from pacshift.errors import MissingExtraError

try:
    import pyarrow as _pyarrow  # noqa: F401  # said here once, so that the modules below can just import it
except ModuleNotFoundError as error:
    raise MissingExtraError("pacshift.tables", error, "tables") from None

from pacshift.tables.count import TableTally, tally_table
from pacshift.tables.reader import LoadedTable, read_table
from pacshift.tables.sets import SetsWritten, write_sets

__all__ = [
    "LoadedTable",
    "SetsWritten",
    "TableTally",
    "read_table",
    "tally_table",
    "write_sets",
]
