"""SOURCE and TARGET on the command line: files, folders, or tallies counted elsewhere."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from pacshift.arrays import Label
from pacshift.cli.console import note, progress
from pacshift.errors import InputError
from pacshift.scores.check import ScoreMatrix
from pacshift.scores.transforms import resolve_transform
from pacshift.tally import Tally
from pacshift.tally.counter import CountOptions
from pacshift.tally.once import counted_twice, repeated_files, require_distinct, why_in_words
from pacshift.words.findings import logits_note

if TYPE_CHECKING:
    from pacshift.certificate import Certificate
    from pacshift.certification.certify import Data
    from pacshift.certification.label_sheet import LabelSheet
    from pacshift.certification.request import Request
    from pacshift.paths.labelled import LabelledTarget, RowsToPlan
    from pacshift.paths.sample import RowSample
    from pacshift.rows.columns import Columns
    from pacshift.tables.count import TableTally
    from pacshift.tables.evaluate import MeasuredSets
    from pacshift.tables.reader import TableReader
    from pacshift.tally.groups import Grouped, LabelsPer

WORDS = "patient|subject|person|participant|user|customer|client|member"
NAMED_LIKE_AN_ID = re.compile(rf"({WORDS})s?([ _-]?(id|no|nr|number|key))?|.+[ _-]id", re.IGNORECASE)

MIN_IDS = 20
"""With fewer different values it is rather a site or a device than a person. A round number; not measured."""


@dataclass(kw_only=True)
class Inputs:
    """Where the data are and how to read them.

    The target is read once, counted and kept in memory if it is small; only a larger one is read again to measure
    its sets. ``target_label`` names labels of the target by which sets are measured; they are not counted.
    ``some_labels`` names those of a random sample of its rows, chosen as ``labels_per`` says.
    ``sha256``: the tallies say what the files were. ``known_columns``: those of a certificate to be made again.
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
    some_labels: str | None = None
    labels_per: "LabelsPer | None" = None
    keep_source: bool = False
    by_position: bool = False
    group: str | None = None
    softmax: bool = False
    sha256: bool = False
    known_columns: "Columns | None" = None
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
        tally = self._count("target", options, classes).tally
        return replace(tally, target_grouped=tally.target_grouped and self._with_shared(tally.target_grouped))

    def _with_shared(self, grouped: "Grouped") -> "Grouped":
        """What is known of the target's groups, with how many of them are in the source too."""
        import numpy as np

        if self.engine == "spark":
            return grouped
        own, others = self._source_reader.choice, self._target_reader.choice
        assert own is not None  # both were counted by group
        assert others is not None
        n_shared = len(np.intersect1d(own.names, others.names))
        return replace(grouped, shared=n_shared, labels_per=self.labels_per)

    def with_labels(self, counted: "Data", request: "Request", sheet: "LabelSheet | None") -> "Data":
        """The counts with the labelled target rows, named by a column or a sheet, where there are any."""
        if sheet is not None:
            return replace(counted, labelled=self.sheet_target(sheet, counted.tally, request))
        if self.some_labels is not None:
            return replace(counted, labelled=self.labelled_target(counted.tally, request))
        return counted

    def labelled_target(self, tally: Tally, request: "Request") -> "LabelledTarget":
        """The target rows that have a label, in a second pass over source and target."""
        from pacshift.certification.labelled import split_at_random
        from pacshift.tables.labelled import labelled_rows, rows_to_plan

        if self.engine == "spark":
            raise InputError("--target-label does not work with --engine spark. Leave out one of them.")
        with progress("reading the labelled target", silent=self.silent) as report:
            scores, labels, unlabelled = labelled_rows(self._labelled_reader, report)
        with progress("reading rows to plan with", silent=self.silent) as report:
            to_plan = rows_to_plan(self._source_reader, unlabelled, report)
        rows = ScoreMatrix(scores, tally.classes)
        return split_at_random(rows, labels, request, to_plan, resolve_transform(tally.score), tally)

    def sheet_target(self, sheet: "LabelSheet", tally: Tally, request: "Request") -> "LabelledTarget":
        """The target rows of a label sheet, in a second pass over source and target."""
        from pacshift.certification.labelled import split_by_sheet
        from pacshift.tables.label import sheet_scores
        from pacshift.tables.labelled import rows_to_plan

        if self.engine == "spark":
            raise InputError("--labelled does not work with --engine spark. Leave out one of them.")
        with progress("reading the labelled target", silent=self.silent) as report:
            scores, others = sheet_scores(
                self._target_reader, sheet, drop_invalid=self.drop_invalid, progress=report
            )
        with progress("reading rows to plan with", silent=self.silent) as report:
            to_plan = rows_to_plan(self._source_reader, others, report)
        rows = ScoreMatrix(scores, tally.classes)
        return split_by_sheet(sheet, rows, request, to_plan, resolve_transform(tally.score), tally)

    def rows_to_plan(self) -> "RowsToPlan":
        """Samples of source and target, to say after a refusal what labels would bring."""
        from pacshift.tables.labelled import rows_to_plan, target_sample

        with progress("estimating what labels would bring", silent=self.silent) as report:
            return rows_to_plan(self._source_reader, target_sample(self._target_reader), report)

    def sample_of(self, tally: Tally, *, needed: bool = False) -> "Callable[[], RowSample] | None":
        """What reads samples of source and target again; None on a cluster or where there are too many rows.

        They are read in any case if they are ``needed`` to make a certificate again.
        """
        from pacshift.tables.sample import MAX_ROWS_READ_TWICE

        few = needed or tally.n_source + tally.n_target <= MAX_ROWS_READ_TWICE
        return partial(self._sample, tally) if few and self.target and self.engine != "spark" else None

    def _sample(self, tally: Tally) -> "RowSample":
        from pacshift.tables.sample import row_sample

        with progress("reading rows to tune thresholds with", silent=self.silent) as report:
            return row_sample(self._source_reader, self._target_reader, tally, report)

    def measure(self, certificates: "Sequence[Certificate]") -> "list[MeasuredSets]":
        """Sizes and errors of the target's sets, all certificates in one pass."""
        from pacshift.tables.evaluate import measure_sets

        with progress("measuring the sets", silent=self.silent) as report:
            return measure_sets(self._target_reader, certificates, drop_invalid=self.drop_invalid, progress=report)

    @cached_property
    def _source_reader(self) -> "TableReader":
        asked = {"scores": self.scores, "classes": self.classes, "columns": self.known_columns}
        return self._reader("source", label=self.label, **asked, keep=self.keep_source)

    @cached_property
    def _target_reader(self) -> "TableReader":
        known = self._source_reader.layout
        found = self._reader(
            "target",
            label=self.target_label,
            classes=known.classes,
            columns=known.remembered,
            keep=True,
            some_labels=self.target_label is not None,
            labels_per="row",
        )
        if self.group is not None and self.some_labels is not None:  # labels have a say in which rows are counted
            found.choose_as(self._labelled_reader, drop_invalid=self.drop_invalid)
        return found

    @cached_property
    def _labelled_reader(self) -> "TableReader":
        known = self._source_reader.layout
        return self._reader(
            "target",
            label=self.some_labels,
            classes=known.classes,
            columns=known.remembered,
            some_labels=True,
            labels_per=self.labels_per,
        )

    def _reader(self, what: str, **options: Any) -> "TableReader":
        from pacshift.rows.arrow.layout import ColumnsError
        from pacshift.tables.reader import TableReader

        try:
            known: dict[str, Any] = {"by_position": self.by_position, "softmax": self.softmax, "group": self.group}
            return TableReader(list(getattr(self, what)), **known, **options)
        except ColumnsError as error:
            said = str(error)
            if what == "target":  # whose labels have a flag of their own
                said = said.replace("label=NAME", "target_labels=NAME")
            raise ColumnsError(f"{what}: {said}") from None

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
        tell_dropped(what, counted.n_dropped, counted.n_usable, counted.dropped_why)
        if what == "source" and self.group is None and self.engine == "arrow" and not self.silent:
            tell_repeated_ids(self.source, counted.columns)
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
            group=self.group,
            score=options.transform,
            soft=options.soft,
            bins=options.bins,
            softmax=options.softmax,
            drop_invalid=self.drop_invalid,
        )


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
