"""Where rows come from: files, folders, archives and frames, opened as one table that gives record batches."""

from pacshift.certificate.columns import Columns
from pacshift.tables.sources.base import Source, Tables, is_frame
from pacshift.tables.sources.files import KINDS, FileSource, list_files
from pacshift.tables.sources.frames import frame_source
from pacshift.tables.sources.npy import NpySource
from pacshift.tables.sources.npz import NpzSource


def open_source(
    paths: Tables, *, label: str | None, scores: str | None = None, columns: Columns | None = None
) -> Source:
    """The table; archives and arrays are told what they may be called."""
    if is_frame(paths):
        return frame_source(paths)
    files = list_files(paths)
    kind = KINDS[files[0].suffix.lower()]
    if kind not in ("npz", "npy"):
        return FileSource(files)
    remembered = columns.scores[0] if columns is not None and len(columns.scores) == 1 else None
    arrays = NpzSource if kind == "npz" else NpySource
    return arrays(files, scores=scores or remembered, label=label)
