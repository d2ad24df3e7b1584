"""``pacshift monitor --labelled``: the labels of a refuted period certify sets, and become the source."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pacshift.certification.certify import Data, certify
from pacshift.certification.label_sheet import LabelSheet
from pacshift.certification.labelled import split_by_sheet
from pacshift.certification.request import Request
from pacshift.cli.console import note, progress
from pacshift.cli.monitor.reading import Reading
from pacshift.errors import InputError
from pacshift.methods import PST
from pacshift.monitor import Monitor
from pacshift.paths.labelled import LabelledTarget, RowsToPlan, ScoreRows
from pacshift.rows.arrow.source import Tables
from pacshift.rows.columns import Columns
from pacshift.rows.sets import mean_and_empty
from pacshift.scores.check import ScoreMatrix
from pacshift.scores.transforms import resolve_transform
from pacshift.tables.count import count_table
from pacshift.tables.evaluate import measure_sets
from pacshift.tables.label import sheet_scores
from pacshift.tables.labelled import rows_to_plan
from pacshift.tables.reader import TableReader
from pacshift.tally import Tally
from pacshift.tally.counter import CountOptions
from pacshift.words.numbers import mean_size


@dataclass(frozen=True)
class NewSource:
    """The first source, the files of the period that was labelled, and how both are read."""

    source: Path
    label: str
    counted: Tally
    columns: Columns | None
    targets: Sequence[Path]
    reading: Reading

    def use(self, watch: Monitor, file: Path, request: Request) -> None:
        """Certify by the labels of a sheet, use this certificate, and make the labelled rows the source.

        The thresholds are planned with the first source, at every look: what is planned must not have seen the
        rows of the test, which an earlier look has put into the source in use (Lemma 1 of docs/methods/ps-t.md).
        """
        sheet, target = LabelSheet.load(file), self._target()
        options = CountOptions(soft=self.counted.soft is not None, softmax=self.counted.softmax)
        with progress("counting the period", silent=self.reading.silent) as report:
            rows = count_table(target, options, labelled=False, drop_invalid=self._drops, progress=report).tally
        period = self._period(watch, rows)
        labelled = self._labelled(target, sheet, request)
        data = Data(self.counted + rows, labelled, resolve_transform(self.counted.score))
        # Labelled rows speak for the whole period: there is nothing that bounds of the mix could narrow down.
        asked = replace(request, contamination=0.0, known_mix=None).for_classes(self.counted.classes)
        certificate = certify(data, PST(), asked)
        (sets,) = measure_sets(target, [certificate], drop_invalid=self._drops)
        certificate = certificate.changed(columns=self.columns, set_sizes=sets.set_sizes)
        watch.new_source(period, labelled.counted, certificate, sheet=sheet)
        size, _ = mean_and_empty(sets.set_sizes)
        note(f"{labelled.n_rows:,} labelled rows of {period} certify sets of {mean_size(size)} labels on average.")
        if watch.source_looks > 1:
            note(
                f"labelling could have stopped at {watch.source_looks:,} places, so each later report gets 1 of "
                f"{watch.source_looks:,} parts of its share of delta. A sheet without looks keeps all of it."
            )

    def _labelled(self, target: TableReader, sheet: LabelSheet, request: Request) -> LabelledTarget:
        with progress("reading the labelled rows", silent=self.reading.silent) as report:
            scores, others = sheet_scores(target, sheet, drop_invalid=self._drops, progress=report)
        rows, transform = ScoreMatrix(scores, self.counted.classes), resolve_transform(self.counted.score)
        return split_by_sheet(sheet, rows, request, self._to_plan(others), transform, self.counted)

    def _period(self, watch: Monitor, rows: Tally) -> str:
        """The period that these rows are, all of them and no others."""
        found = watch.period_of(rows)
        if found is None:
            raise InputError(
                f"--labelled: the {rows.n_target:,} rows of TARGET are not those of a period that was counted. "
                "Give all rows of one period and no others, as the sheet was made from them; in any file, if "
                "periods share files. Count a new period first, without --labelled."
            )
        return found

    def _target(self) -> TableReader:
        if any(path.suffix == ".tally" for path in self.targets):
            raise InputError("--labelled is about rows of a TARGET table, but a tally has none. Give the table.")
        return self._reader(list(self.targets), label=None, keep=True)

    def _to_plan(self, others: ScoreRows) -> RowsToPlan | None:
        """Rows to plan with; a tally has none."""
        if self.source.suffix == ".tally":
            return None
        with progress("reading rows to plan with", silent=self.reading.silent) as report:
            return rows_to_plan(self._reader(self.source, label=self.label), others, report)

    def _reader(self, paths: Tables, *, label: str | None, keep: bool = False) -> TableReader:
        known = {"classes": self.counted.classes, **self.reading.table(self.columns)}
        return TableReader(paths, label=label, keep=keep, softmax=self.counted.softmax, **known)

    @property
    def _drops(self) -> bool:
        return self.reading.columns.drop_invalid
