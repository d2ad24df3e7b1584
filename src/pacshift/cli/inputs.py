"""SOURCE and TARGET on the command line: files, folders, or tallies counted elsewhere."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from pacshift.cli.console import note, progress
from pacshift.errors import InputError
from pacshift.tally import Tally
from pacshift.tally.once import counted_twice, repeated_files, require_distinct, why_in_words

if TYPE_CHECKING:
    from pacshift.cli.console import Report
    from pacshift.rows.base import Doing, Rows
    from pacshift.rows.columns import Columns


WORDS = "patient|subject|person|participant|user|customer|client|member"
NAMED_LIKE_AN_ID = re.compile(rf"({WORDS})s?([ _-]?(id|no|nr|number|key))?|.+[ _-]id", re.IGNORECASE)

MIN_IDS = 20
"""With fewer different values it is rather a site or a device than a person. A round number; not measured."""


@dataclass(eq=False)
class Watch:
    """Shows a bar around every pass, and says once what was left out and what looks like the id of a group."""

    silent: bool
    paths: Sequence[Path] = ()
    """Files in which repeated ids are looked for."""
    told: set[str] = field(default_factory=set)

    @contextmanager
    def __call__(self, rows: "Rows", doing: "Doing") -> "Iterator[Report | None]":
        with progress(f"counting the {rows.name}" if doing == "counting" else doing, silent=self.silent) as report:
            yield report
        if doing not in ("counting", "checking", "drawing rows") or rows.name in self.told:
            return
        self.told.add(rows.name)
        faults = rows.last.faults
        tell_dropped(rows.name, faults.n_rows, rows.last.n_rows - faults.n_rows, faults.why)
        if self.paths and rows.labels == "all" and rows.grouped is None and not self.silent:
            tell_repeated_ids(self.paths, rows.columns)


def open_both(
    source: Sequence[Path],
    target: Sequence[Path],
    *,
    silent: bool,
    engine: str = "arrow",
    master: str | None = None,
    target_label: str | None = None,
    some_labels: bool = False,
    labels_per: Any = None,
    columns: Any = None,
    grid: bool = True,
    **reading: Any,
) -> "tuple[Rows, Rows | None]":
    """A labelled source and, if there is one, a target whose columns are those of the source.

    ``reading`` are the arguments of ``read_rows``, ``columns`` those of a certificate to be made again.
    ``target_label`` names labels of all rows of the target, or of some.
    """
    watch = Watch(silent, source if engine == "arrow" else ())
    if engine == "spark":
        from pacshift.rows.spark import cluster_rows

        if not grid:
            raise InputError(
                "--exact does not work with --engine spark, which counts on the grid. Leave out one of them."
            )
        if target_label is not None:
            raise InputError("--target-label does not work with --engine spark. Leave out one of them.")
        own: Rows = cluster_rows(source, master=master, name="source", role="source", watch=watch, **reading)
        if not target:
            return own, None
        reading |= {"label": None, "scores": None, "classes": own.classes, "columns": own.columns}
        return own, cluster_rows(target, master=master, name="target", role="target", watch=watch, **reading)
    from pacshift.rows.arrow.table import read_rows

    own = read_rows(list(source), **reading, name="source", role="source", columns=columns, grid=grid, watch=watch)
    if not target:
        return own, None
    reading |= {"label": target_label, "scores": None, "classes": None}
    how: dict[str, Any] = {"some_labels": some_labels, "labels_per": labels_per, "grid": grid, "watch": watch}
    return own, read_rows(list(target), **reading, **how, name="target", role="target", like=own)


def tell_dropped(what: str, dropped: int, rows: int, why: Sequence[tuple[str, int]] = ()) -> None:
    """Say how many rows were left out, and why where it is known; never leave any out silently."""
    if dropped:
        note(f"{what}: {dropped:,} of {dropped + rows:,} rows left out{why_in_words(why)}.")


def load_tallies(paths: Sequence[Path]) -> Tally:
    """The sum of tally files, whatever site each came from."""
    for first, second, *_ in repeated_files(paths):  # also those of arrays
        raise counted_twice(first, second)
    tallies = [Tally.load(path) for path in paths]
    require_distinct(tallies, [str(path) for path in paths])
    return Tally.sum(tallies)


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
        values = without_codes(batch.data.column(0)).drop_null()
        n_ids = pc.count_distinct(values).as_py()
        if MIN_IDS <= n_ids < len(values):
            note(
                f"column {name!r} repeats ({n_ids:,} ids in {len(values):,} rows). If rows of one id belong to "
                "one person, they are not independent, and the promise does not hold: "
                f"--group {quote(name)} counts one random row of each."
            )
            return
