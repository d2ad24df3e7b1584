"""A note about a column that looks like the id of a patient and repeats: such rows are not independent."""

import re
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from pacshift.cli.console import note

if TYPE_CHECKING:
    from pacshift.rows.columns import Columns

WORDS = "patient|subject|person|participant|user|customer|client|member"
NAMED_LIKE_AN_ID = re.compile(rf"({WORDS})s?([ _-]?(id|no|nr|number|key))?|.+[ _-]id", re.IGNORECASE)

MIN_IDS = 20
"""With fewer different values it is rather a site or a device than a person. A round number; not measured."""


def tell_repeated_ids(paths: Sequence[Path], columns: "Columns | None", scores: str | None = None) -> None:
    """Say which column of a table may name groups, if it is not one of ``columns``. Looks at a batch."""
    import pyarrow.compute as pc

    from pacshift.rows.arrow.files import open_source
    from pacshift.rows.arrow.source import without_codes

    source = open_source(list(paths), label=None, scores=scores, columns=columns)
    used = () if columns is None else columns.used
    names = [name for name in source.schema.names if NAMED_LIKE_AN_ID.fullmatch(name) and name not in used]
    for name in (name for name in names if source.schema.names.count(name) == 1):
        batch = next(source.batches([], 1, [name]), None)
        if batch is None:
            return
        batch.require_sound()
        values = without_codes(batch.data.column(0)).drop_null()
        n_ids = pc.count_distinct(values).as_py()
        if MIN_IDS <= n_ids < len(values):
            note(
                f"column {name!r} repeats ({n_ids:,} ids in {len(values):,} rows). If rows of one id belong to "
                "one person, they are not independent, and the promise does not hold: "
                f"--group {quote(name)} counts one random row of each."
            )
            return
