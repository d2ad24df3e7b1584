"""Rows of files and frames: record batches of Arrow, of which only a few are in memory at a time."""

from pacshift.errors import MissingExtraError

try:
    import pyarrow as _pyarrow  # noqa: F401  # said here once, so that the modules below can just import it
except ModuleNotFoundError as error:
    raise MissingExtraError("pacshift.read", error, "tables") from None
