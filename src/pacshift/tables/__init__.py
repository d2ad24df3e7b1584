"""Score tables of any size: Parquet, Feather, CSV and NPZ files, one or many, counted batch after batch."""

try:
    import pyarrow as _pyarrow  # noqa: F401  # said here once, so that the modules below can just import it
except ImportError as error:  # pragma: no cover  # needs an environment without pyarrow
    raise ImportError("pacshift.tables needs pyarrow: pip install 'pacshift[tables]'") from error

from pacshift.tables.evaluating import TableEvaluation, count_set_sizes, evaluate_table
from pacshift.tables.history import history_rows, write_history
from pacshift.tables.reading import LoadedTable, TableTally, read_table, tally_table
from pacshift.tables.sets import SetsWritten, write_sets

__all__ = [
    "LoadedTable",
    "SetsWritten",
    "TableEvaluation",
    "TableTally",
    "count_set_sizes",
    "evaluate_table",
    "history_rows",
    "read_table",
    "tally_table",
    "write_history",
    "write_sets",
]
