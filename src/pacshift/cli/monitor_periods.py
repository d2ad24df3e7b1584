"""How ``pacshift monitor`` reads target files: each new one is cut into periods, counted once, and reported on."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pacshift.cli.console import progress
from pacshift.cli.inputs import tell_dropped
from pacshift.errors import InputError
from pacshift.files.repeated import file_sha256
from pacshift.monitor import Monitor, PeriodReport
from pacshift.monitor.state import Delivery
from pacshift.tally import Tally

if TYPE_CHECKING:
    from pacshift.arrays import IntArray
    from pacshift.tables.periods import Cut


@dataclass(frozen=True)
class Reading:
    """How target files are read and cut into periods."""

    timestamp: str | None
    period: str | None
    table: dict[str, Any]
    soft: bool
    drop_invalid: bool
    silent: bool

    def cut(self, file: Path, rows_before: int) -> "Cut":
        """The rule that gives each row its period."""
        from pacshift.tables.periods import Calendar, RowRanges, WholeFile, read_period

        unit = read_period(self.period or "month") if self.timestamp or self.period else None
        if isinstance(unit, int):
            return RowRanges(unit, rows_before)
        if unit is None:
            return WholeFile(file.stem)
        if self.timestamp is None:
            raise InputError(f"--period {unit} needs --timestamp COLUMN, the time of each row.")
        return Calendar(self.timestamp, unit)


def follow(watch: Monitor, targets: Sequence[Path], reading: Reading) -> list[PeriodReport]:
    """Count the files that are new, then report on every period that got rows; without any, on the last one."""
    counted = _count_new(watch, _expand(targets), reading)
    had_certificate = watch.certificate is not None
    names = watch.waiting
    made = []
    with progress("reporting", silent=reading.silent) as report:
        for done, name in enumerate(names, start=1):
            made.append(watch.report(name).period)
            if report:
                report(done, len(names))
    if not had_certificate and watch.certificate is not None:
        _count_sizes(watch, counted, reading)  # only now there are sets to count
    found = {report.period: report for report in watch.history}
    return [found[name] for name in made] or list(watch.history[-1:])


def _expand(targets: Sequence[Path]) -> list[Path]:
    from pacshift.tables.sources.files import list_files

    return [file for path in targets for file in ([path] if path.suffix == ".tally" else list_files(path))]


def _count_new(watch: Monitor, files: Sequence[Path], reading: Reading) -> list[tuple[Path, int]]:
    """Count the files that the monitor does not know yet, one after another; each is saved when it is complete."""
    new = []
    for file in files:
        sha256 = file_sha256(file)
        if _is_known(watch, file, sha256):
            continue
        rows_before = sum(delivery.rows for delivery in watch.deliveries)
        periods, n_rows = _count_file(watch, file, rows_before, reading)
        watch.add(periods, Delivery(str(file), sha256, n_rows))
        new.append((file, rows_before))
    return new


def _is_known(watch: Monitor, file: Path, sha256: str) -> bool:
    """Whether the file was counted before; one that changed since is refused, its rows might count twice."""
    if any(delivery.sha256 == sha256 for delivery in watch.deliveries):
        return True
    if any(delivery.name == str(file) for delivery in watch.deliveries):
        raise InputError(
            f"{file} was counted before with other content, so some of its rows might be counted twice. "
            "Give new rows in a file of a new name."
        )
    return False


def _count_file(watch: Monitor, file: Path, rows_before: int, reading: Reading) -> tuple[dict[str, Any], int]:
    from pacshift.monitor.periods import Counted
    from pacshift.tables.periods import count_periods

    if file.suffix == ".tally":
        tally = Tally.load(file)
        if tally.n_source or tally.classes != watch.source.classes:
            raise InputError(f"{file}: a period must be the tally of unlabelled rows of the source's classes.")
        return {file.stem: Counted(tally)}, tally.n_target
    with progress(f"counting {file.name}", silent=reading.silent) as report:
        counted = count_periods(
            file,
            reading.cut(file, rows_before),
            classes=watch.source.classes,
            table=reading.table,
            soft=reading.soft,
            in_use=watch.certificate,
            drop_invalid=reading.drop_invalid,
            progress=report,
        )
    tell_dropped(str(file), counted.n_dropped, counted.n_rows - counted.n_dropped)
    return counted.periods, counted.n_rows


def _count_sizes(watch: Monitor, counted: Sequence[tuple[Path, int]], reading: Reading) -> None:
    """A second pass over the files of this run, for the sizes of the sets that were adopted in it."""
    sizes: dict[str, IntArray] = {}
    for file, rows_before in counted:
        for name, part in _count_file(watch, file, rows_before, reading)[0].items():
            if part.set_sizes is not None:
                sizes[name] = sizes.get(name, 0) + part.set_sizes
    watch.set_sizes(sizes)
