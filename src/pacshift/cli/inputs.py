"""SOURCE and TARGET on the command line: files, folders, or tallies counted elsewhere."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pacshift.cli.console import note, progress
from pacshift.cli.repeated_ids import tell_repeated_ids
from pacshift.errors import InputError
from pacshift.files.repeated import counted_twice, repeated_files
from pacshift.tally import Tally
from pacshift.tally.inputs import why_in_words
from pacshift.tally.repeats import require_distinct
from pacshift.words.findings import logits_note

if TYPE_CHECKING:
    from pacshift.cli.console import Report
    from pacshift.rows.base import Doing, Rows


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
        from pacshift.cli.spark import cluster_rows

        if not grid:
            raise InputError(
                "--exact does not work with --engine spark, which counts on the grid. Leave out one of them."
            )
        if target_label is not None:
            raise InputError("--target-label does not work with --engine spark. Leave out one of them.")
        own: Rows = cluster_rows(master, source, name="source", role="source", watch=watch, **reading)
        if not target:
            return own, None
        reading |= {"label": None, "scores": None, "classes": own.classes, "columns": own.columns}
        return own, cluster_rows(master, target, name="target", role="target", watch=watch, **reading)
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


def tell_logits(source: Tally) -> None:
    """Say that scores look like logits, where no certificate will say it."""
    for text in logits_note(source):
        note(text)


def load_tallies(paths: Sequence[Path] | None) -> Tally:
    """The sum of tally files, whatever site each came from."""
    if not paths:
        raise InputError("--tallies: name at least one tally file (made with `pacshift tally`).")
    for first, second, *_ in repeated_files(paths):  # also those of arrays
        raise counted_twice(first, second)
    tallies = [Tally.load(path) for path in paths]
    require_distinct(tallies, [str(path) for path in paths])
    return Tally.sum(tallies)
