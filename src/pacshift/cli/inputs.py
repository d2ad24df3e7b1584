"""SOURCE and TARGET on the command line: files, folders, or tallies counted elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from pacshift.arrays import Label
from pacshift.cli.console import note, progress
from pacshift.cli.options import seed_for
from pacshift.errors import InputError
from pacshift.tally import Tally

Paths: TypeAlias = Annotated[
    list[Path] | None,
    typer.Argument(metavar="SOURCE TARGET", help="Tables, each a file or a folder; with --tallies: tally files."),
]
MoreSource: TypeAlias = Annotated[
    list[Path] | None, typer.Option("--source", metavar="PATH", help="More files of the source; can be repeated.")
]
MoreTarget: TypeAlias = Annotated[
    list[Path] | None, typer.Option("--target", metavar="PATH", help="More files of the target; can be repeated.")
]
Tallies: TypeAlias = Annotated[
    bool, typer.Option("--tallies", help="The paths are tallies (`pacshift tally`), which are added up.")
]


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """Where the data are and how to read them."""

    source: tuple[Path, ...]
    target: tuple[Path, ...]
    label: str
    scores: str
    classes: tuple[Label, ...] | None
    grid: bool
    drop_invalid: bool
    seed: int
    silent: bool
    engine: str = "arrow"
    master: str | None = None

    def tally(self, score: str, *, soft: bool, bins: bool) -> Tally:
        """The counts of source and target, which may be absent."""
        source = self._count("source", self.source, label=self.label, score=score, soft=soft)
        if not self.target:
            return source
        named = replace(self, classes=source.classes)  # the target's columns are matched to the source's
        return source + named._count("target", self.target, label=None, score=score, soft=soft, bins=bins)

    def _count(self, what: str, paths: Sequence[Path], **options: Any) -> Tally:
        options |= {"scores": self.scores, "classes": self.classes}
        options |= {"drop_invalid": self.drop_invalid, "rng": seed_for(self.seed, what)}
        with progress(f"counting the {what}", silent=self.silent) as report:
            if self.engine == "spark":
                from pacshift.cli.spark import tally_with_spark

                counted = tally_with_spark(self.master, paths, **options)
            else:
                from pacshift.tables import tally_table

                counted = tally_table(list(paths), **options, grid=self.grid, progress=report)
        tell_dropped(what, counted.n_dropped, counted.n_rows)
        return counted.tally


def tell_dropped(what: str, dropped: int, rows: int) -> None:
    """Say how many rows were left out; never leave any out silently."""
    if dropped:
        note(f"{what}: {dropped:,} of {dropped + rows:,} rows left out (--drop-invalid).")


def split_paths(
    paths: Sequence[Path] | None, source: Sequence[Path] | None, target: Sequence[Path] | None
) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """The first path is the source, the second the target; options add more of either."""
    named = list(paths or ())
    if len(named) > 2:
        raise InputError(
            f"one SOURCE and one TARGET, got {len(named)} paths. Add more files with --source FILE and "
            "--target FILE, or put the files of each into a folder."
        )
    first, second = [*named[:1], *(source or ())], [*named[1:], *(target or ())]
    if not first:
        raise InputError("no SOURCE: name a labelled table (a file or a folder).")
    return tuple(first), tuple(second)


def load_tallies(paths: Sequence[Path] | None) -> Tally:
    """The sum of tally files, whatever site each came from."""
    if not paths:
        raise InputError("--tallies: name at least one tally file (made with `pacshift tally`).")
    return Tally.sum(Tally.load(path) for path in paths)
