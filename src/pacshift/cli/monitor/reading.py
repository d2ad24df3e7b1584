"""How ``pacshift monitor`` reads files: the source, and each new target once, cut into periods and reported on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from pacshift.arrays import IntArray
from pacshift.certificate import Certificate
from pacshift.certificate.columns import Columns
from pacshift.cli import groups
from pacshift.cli.console import progress
from pacshift.cli.inputs import Inputs, tell_dropped
from pacshift.errors import InputError
from pacshift.files.repeated import file_sha256
from pacshift.methods import Method
from pacshift.methods.base import score_for
from pacshift.monitor import Monitor, PeriodReport
from pacshift.monitor.periods import Counted
from pacshift.monitor.state import Delivery
from pacshift.tables.periods import Calendar, CountedFile, Cut, RowRanges, WholeFile, count_periods, read_period
from pacshift.tables.reader import MAX_KEPT_BYTES
from pacshift.tables.sources.files import list_files
from pacshift.tally import Tally

Sizes: TypeAlias = Callable[[Certificate], dict[str, IntArray]]
"""Sizes of a certificate's sets in a file that was counted, by period."""


@dataclass(frozen=True)
class Reading:
    """How files are read and cut into periods."""

    timestamp: str | None
    period: str | None
    columns: groups.ColumnOptions
    method: Method
    silent: bool

    def cut(self, file: Path, rows_before: int) -> Cut:
        """The rule that gives each row its period."""
        unit = read_period(self.period or "month") if self.timestamp or self.period else None
        if isinstance(unit, int):
            return RowRanges(unit, rows_before)
        if unit is None:
            return WholeFile(file.stem)
        if self.timestamp is None:
            raise InputError(f"--period {unit} needs --timestamp COLUMN, the time of each row.")
        return Calendar(self.timestamp, unit)


def count_source(
    path: Path, label: str, score: str, reading: Reading, certificate: Certificate | None, *, exact: bool
) -> tuple[Tally, Columns | None]:
    """The counts of the source, and the columns of its table."""
    if path.suffix == ".tally":
        return Tally.load(path), None
    asked = reading.columns.reading(label)
    if certificate is not None:
        asked["classes"] = asked["classes"] or certificate.classes
        asked["softmax"] = asked["softmax"] or certificate.softmax
        score = certificate.score
    chosen = reading.method
    data = Inputs(source=(path,), target=(), **asked, grid=not exact, silent=reading.silent)
    return data.source_tally(score_for(chosen, score), soft=chosen.needs_soft), data.columns


def follow(
    watch: Monitor, targets: Sequence[Path], reading: Reading, columns: Columns | None
) -> list[PeriodReport]:
    """Count the files that are new, then report on every period that got rows; without any, on the last one.

    The source's ``columns`` are those of the targets, unless the source is a tally.
    """
    counted = _count_new(watch, _expand(targets), reading, columns)
    names = watch.waiting
    with progress("reporting", silent=reading.silent) as report:
        for done, name in enumerate(names, start=1):
            _report(watch, name, counted)
            if report:
                report(done, len(names))
    found = {report.period: report for report in watch.history}
    return [found[name] for name in names] or list(watch.history[-1:])


def _report(watch: Monitor, name: str, counted: Sequence[Sizes]) -> None:
    """Report on a period. If this adopts the first certificate, only now there are sets to count."""
    had_certificate = watch.certificate is not None
    with watch.one_step():
        watch.report(name)
        if not had_certificate and watch.certificate is not None:
            sizes: dict[str, IntArray] = {}
            for count in counted:
                for period, counts in count(watch.certificate).items():
                    sizes[period] = sizes.get(period, 0) + counts
            watch.set_sizes(sizes)


def _expand(targets: Sequence[Path]) -> list[Path]:
    return [file for path in targets for file in ([path] if path.suffix == ".tally" else list_files(path))]


def _count_new(watch: Monitor, files: Sequence[Path], reading: Reading, columns: Columns | None) -> list[Sizes]:
    """Count the files that the monitor does not know yet, one after another; each is saved when it is complete."""
    new: list[Sizes] = []
    for file in files:
        sha256 = file_sha256(file)
        if watch.has_counted(str(file), sha256):
            continue
        if file.suffix == ".tally":
            tally = _load_period(watch, file)
            watch.add({file.stem: Counted(tally)}, Delivery(str(file), sha256, tally.n_target))
        else:
            counted = _count_file(watch, file, reading, columns)
            watch.add(counted.periods, Delivery(str(file), sha256, counted.n_rows))
            new.append(counted.sizes)
    return new


def _load_period(watch: Monitor, file: Path) -> Tally:
    tally = Tally.load(file)
    if tally.n_source or tally.classes != watch.source.classes:
        raise InputError(f"{file}: a period must be the tally of unlabelled rows of the source's classes.")
    return tally


def _count_file(watch: Monitor, file: Path, reading: Reading, columns: Columns | None) -> CountedFile:
    rows_before = sum(delivery.rows for delivery in watch.deliveries)
    classes, chosen = watch.source.classes, reading.columns
    with progress(f"counting {file.name}", silent=reading.silent) as report:
        counted = count_periods(
            file,
            reading.cut(file, rows_before),
            classes=classes,
            table={
                "scores": chosen.scores if columns is None else None,
                "columns": columns,
                "by_position": chosen.by_position,
                "group": chosen.group,
            },
            soft=reading.method.needs_soft,
            softmax=watch.source.softmax,
            in_use=watch.certificate,
            drop_invalid=chosen.drop_invalid,
            # The first certificate is made from these rows, and then their sets are counted.
            keep=watch.certificate is None and 8 * len(classes) * rows_before < MAX_KEPT_BYTES,
            progress=report,
        )
    tell_dropped(str(file), counted.n_dropped, counted.n_rows - counted.n_dropped)
    return counted
