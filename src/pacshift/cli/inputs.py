"""SOURCE and TARGET on the command line: files, folders, or tallies counted elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pacshift.arrays import Label
from pacshift.certification.notes import logits_note
from pacshift.cli.console import note, progress
from pacshift.errors import InputError
from pacshift.files.repeated import counted_twice, repeated_files
from pacshift.scores.transforms import resolve_transform
from pacshift.tally import Tally
from pacshift.tally.counter import CountOptions
from pacshift.tally.repeats import require_distinct

if TYPE_CHECKING:
    from pacshift.certificate import Certificate
    from pacshift.certificate.columns import Columns
    from pacshift.tables.count import TableTally
    from pacshift.tables.evaluate import MeasuredSets
    from pacshift.tables.reader import TableReader


@dataclass(kw_only=True)
class Inputs:
    """Where the data are and how to read them.

    The target is read once, counted and kept in memory if it is small; only a larger one is read again to measure
    its sets. ``target_label`` names labels of the target by which sets are measured; they are not counted.
    ``sha256``: the tallies say what the files were.
    """

    source: tuple[Path, ...]
    target: tuple[Path, ...]
    label: str
    scores: str | None
    classes: tuple[Label, ...] | None
    grid: bool
    drop_invalid: bool
    silent: bool
    engine: str = "arrow"
    master: str | None = None
    target_label: str | None = None
    keep_source: bool = False
    by_position: bool = False
    softmax: bool = False
    sha256: bool = False
    columns: "Columns" = field(init=False)
    """The columns that the source was read from; known once it has been counted."""

    def tally(self, score: str, *, soft: bool, bins: bool) -> Tally:
        """The counts of source and target, which may be absent."""
        source = self.source_tally(score, soft=soft)
        return source + self.target_tally(source.classes, soft=soft, bins=bins) if self.target else source

    def source_tally(self, score: str, *, soft: bool) -> Tally:
        """The counts of the source."""
        options = CountOptions(resolve_transform(score), grid=self.grid, soft=soft, softmax=self.softmax)
        counted = self._count("source", options)
        self.columns = counted.columns
        return counted.tally

    def target_tally(self, classes: tuple[Label, ...], *, soft: bool, bins: bool) -> Tally:
        """The counts of the target, whose columns are matched to the source's ``classes``."""
        options = CountOptions(grid=self.grid, soft=soft, bins=bins, softmax=self.softmax)
        return self._count("target", options, classes).tally

    def labelled_target(self, column: str, classes: tuple[Label, ...], score: str) -> Tally:
        """The counts of the target rows that have a label in ``column``, in a second pass over the target."""
        from pacshift.tables.count import count_table

        if self.engine == "spark":
            raise InputError("--target-label does not work with --engine spark. Leave out one of them.")
        reader = self._reader("target", label=column, classes=classes, columns=self.columns)
        options = CountOptions(resolve_transform(score), grid=self.grid, soft=False, softmax=self.softmax)
        with progress("counting the labelled target", silent=self.silent) as report:
            # Rows without a label are why rows are dropped here; other faults were found in the first pass.
            return count_table(reader, options, drop_invalid=True, progress=report).tally

    def measure(self, certificates: "Sequence[Certificate]") -> "list[MeasuredSets]":
        """Sizes and errors of the target's sets, all certificates in one pass."""
        from pacshift.tables.evaluate import measure_sets

        with progress("measuring the sets", silent=self.silent) as report:
            return measure_sets(self._target_reader, certificates, drop_invalid=self.drop_invalid, progress=report)

    @cached_property
    def _source_reader(self) -> "TableReader":
        return self._reader(
            "source", label=self.label, scores=self.scores, classes=self.classes, keep=self.keep_source
        )

    @cached_property
    def _target_reader(self) -> "TableReader":
        known = self._source_reader.layout
        return self._reader(
            "target", label=self.target_label, classes=known.classes, columns=known.remembered, keep=True
        )

    def _reader(self, what: str, **options: Any) -> "TableReader":
        from pacshift.tables.columns.refusals import ColumnsError
        from pacshift.tables.reader import TableReader

        try:
            known = {"by_position": self.by_position, "softmax": self.softmax}
            return TableReader(list(getattr(self, what)), **known, **options)
        except ColumnsError as error:
            raise ColumnsError(f"{what}: {error}") from None

    def _count(self, what: str, options: CountOptions, classes: tuple[Label, ...] | None = None) -> "TableTally":
        from pacshift.tables.count import count_table

        with progress(f"counting the {what}", silent=self.silent) as report:
            if self.engine == "spark":
                counted = self._count_on_cluster(what, options, classes)
            else:
                counted = count_table(
                    self._source_reader if what == "source" else self._target_reader,
                    options,
                    labelled=what == "source",
                    drop_invalid=self.drop_invalid,
                    sha256=self.sha256,
                    progress=report,
                )
        tell_dropped(what, counted.n_dropped, counted.n_rows)
        return counted

    def _count_on_cluster(
        self, what: str, options: CountOptions, classes: tuple[Label, ...] | None
    ) -> "TableTally":
        from pacshift.cli.spark import tally_with_spark

        if what == "source":
            own: dict[str, Any] = {"label": self.label, "classes": self.classes, "scores": self.scores}
        else:
            own = {"label": None, "classes": classes, "columns": self.columns}
        return tally_with_spark(
            self.master,
            getattr(self, what),
            **own,
            by_position=self.by_position,
            score=options.transform,
            soft=options.soft,
            bins=options.bins,
            softmax=options.softmax,
            drop_invalid=self.drop_invalid,
        )


def tell_dropped(what: str, dropped: int, rows: int) -> None:
    """Say how many rows were left out; never leave any out silently."""
    if dropped:
        note(f"{what}: {dropped:,} of {dropped + rows:,} rows left out (--drop-invalid).")


def tell_logits(source: Tally) -> None:
    """Say that scores look like logits, where no certificate will say it."""
    for text in logits_note(source):
        note(text)


def load_tallies(paths: Sequence[Path] | None) -> Tally:
    """The sum of tally files, whatever site each came from."""
    if not paths:
        raise InputError("--tallies: name at least one tally file (made with `pacshift tally`).")
    for first, second, *_ in repeated_files(paths):  # tallies of older versions do not say what was counted
        raise counted_twice(first, second)
    tallies = [Tally.load(path) for path in paths]
    require_distinct(tallies, [str(path) for path in paths])
    return Tally.sum(tallies)
