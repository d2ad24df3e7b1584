"""How ``pacshift monitor`` reads files: the source, and each new target once, cut into periods and reported on."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from pacshift.arrays import IntArray, KeyArray
from pacshift.certificate import Certificate
from pacshift.cli import options
from pacshift.cli.console import note, progress
from pacshift.cli.inputs import open_both, tell_dropped
from pacshift.cli.monitor.names import period_name
from pacshift.errors import InputError
from pacshift.files.repeated import file_sha256
from pacshift.methods import Method
from pacshift.methods.base import score_for
from pacshift.monitor import Monitor
from pacshift.monitor.calendar import Unit
from pacshift.monitor.deliveries import Delivery, digests, find_repeats, is_repeated
from pacshift.monitor.periods import Counted, sum_of
from pacshift.rows.arrow.files import list_files
from pacshift.rows.columns import Columns
from pacshift.rows.fold import tally
from pacshift.scores.check import shorten
from pacshift.scores.transforms import resolve_transform
from pacshift.tables.periods import Calendar, CountedFile, Cut, RowRanges, WholeFile, count_periods, read_period
from pacshift.tables.reader import MAX_KEPT_BYTES
from pacshift.tally import Tally

Sizes: TypeAlias = Callable[[Certificate], dict[str, IntArray]]
"""Sizes of a certificate's sets in a file that was counted, by period."""


@dataclass(frozen=True)
class Reading:
    """How files are read and cut into periods.

    ``key`` identifies rows, so that none counts twice. ``replace`` is the one period that is counted anew.
    """

    timestamp: str | None
    period: str | None
    columns: options.ColumnOptions
    method: Method
    silent: bool
    key: str | None = None
    replace: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.unit, str) and self.timestamp is None:
            raise InputError(f"--period {self.unit} needs --timestamp COLUMN, the time of each row.")
        for name, value in (("--key", self.key), ("--replace", self.replace)):
            if value is not None and isinstance(self.unit, int):
                raise InputError(
                    f"{name} does not go with --period {self.unit}: which rows make a period would change. Use "
                    "--timestamp COLUMN, or a file per period."
                )

        if self.key is not None and self.columns.group is not None:
            raise InputError(
                "--key does not go with --group: of the rows of a group one is counted, and only its key would be "
                "known. Leave out one of them."
            )

    def table(self, columns: Columns | None) -> dict[str, Any]:
        """How the tables of targets are read; ``columns`` are the source's, None if it is a tally."""
        chosen = self.columns
        return {
            "scores": chosen.scores if columns is None else None,
            "columns": columns,
            "by_position": chosen.by_position,
            "group": chosen.group,
        }

    @property
    def remembered(self) -> dict[str, str | None]:
        """What must be the same in every run, or rows would be cut or chosen otherwise and count again."""
        unit = None if self.unit is None else str(self.unit)
        return {"timestamp": self.timestamp, "period": unit, "key": self.key, "group": self.columns.group}

    @property
    def unit(self) -> Unit | int | None:
        """Of what length periods are; None if each file is one."""
        return read_period(self.period or "month") if self.timestamp or self.period else None

    def cut(self, rows_before: int, name: Callable[[], str]) -> Cut:
        """The rule that gives each row its period; ``name`` is that of a file that is one."""
        unit = self.unit
        if isinstance(unit, int):
            return RowRanges(unit, rows_before)
        if unit is None or self.timestamp is None:
            return WholeFile(self.replace if self.replace is not None else name())
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
    rows, _ = open_both((path,), (), **asked, grid=not exact, silent=reading.silent)
    return tally(rows, resolve_transform(score_for(chosen, score)), soft=chosen.needs_soft), rows.columns


def follow(watch: Monitor, targets: Sequence[Path], reading: Reading, columns: Columns | None) -> None:
    """Count the files that are new, then report on every period that got rows. To be called within one step.

    The source's ``columns`` are those of the targets, unless the source is a tally.
    """
    watch.use_reading(reading.remembered)
    files = [file.resolve() for path in targets for file in _expand(path)]
    counting = _Counting(watch, reading, columns, files)
    counted = counting.new() if reading.replace is None else counting.again(reading.replace)
    names = watch.waiting
    with progress("reporting", silent=reading.silent) as report:
        for done, name in enumerate(names, start=1):
            _report(watch, name, counted)
            if report:
                report(done, len(names))


def _report(watch: Monitor, name: str, counted: Sequence[Sizes]) -> None:
    """Report on a period. If this adopts the first certificate, only now there are sets to count."""
    had_certificate = watch.certificate is not None
    watch.report(name)
    if not had_certificate and watch.certificate is not None:
        sizes: dict[str, IntArray] = {}
        for count in counted:
            for period, counts in count(watch.certificate).items():
                sizes[period] = sizes.get(period, 0) + counts
        watch.set_sizes(sizes)


def _expand(path: Path) -> list[Path]:
    return [path] if path.suffix == ".tally" else list_files(path)


@dataclass(frozen=True)
class _Counting:
    """Files of a run, by their resolved paths, and the monitor that counts them."""

    watch: Monitor
    reading: Reading
    columns: Columns | None
    files: Sequence[Path]

    def new(self) -> list[Sizes]:
        """Count the files that the monitor does not know yet."""
        sizes: list[Sizes] = []
        for file in self.files:
            sha256 = file_sha256(file)
            if self.watch.has_counted(sha256):
                continue
            counted = self._count(file, self.watch.known_keys())
            found = Delivery(str(file), sha256, counted.n_rows, whole=counted.whole)
            periods = counted.periods
            if not is_repeated(found.whole, self.watch.deliveries):
                periods = self._without_sources(file, periods)
            if self.watch.add(periods, found):
                sizes.append(counted.sizes)
            else:
                note(f"{file} holds rows that were counted before. They are not counted again.")
        return sizes

    def _require_unchanged(self, file: Path, counted: CountedFile) -> None:
        """Refuse corrected rows that would be left out because their keys are known (--key)."""
        changed = dict.fromkeys([*counted.moved, *self.watch.changed_periods(counted.again)])
        for name in changed:
            said = f"{file}: rows of {name} that were counted before (--key) have other scores or times now."
            if name not in self.watch.labelled_periods:
                raise InputError(
                    f"{said} A row counts once, as it came first. If they were corrected, count the period anew "
                    f"from all of its rows: --replace {shlex.quote(name)}. Else leave the file out."
                )
            note(f"{said} They are left out: labelled rows of this period are a source.")

    def _without_sources(self, file: Path, counted: dict[str, Counted]) -> dict[str, Counted]:
        """Late rows of a period that is a source are left out, and other rows of the file are counted."""
        known = find_repeats(digests(counted), self.watch.deliveries)
        late = [name for name in counted if name in self.watch.labelled_periods and name not in known]
        for name in late:
            note(
                f"{file}: {counted[name].target.n_target:,} late rows of {name} are left out. Labelled rows of "
                "this period are a source now, and no row can be compared with itself."
            )
        return {name: part for name, part in counted.items() if name not in late}

    def again(self, period: str) -> list[Sizes]:
        """Count a period anew, from all files that are given."""
        parts: list[Counted] = []
        deliveries: list[Delivery] = []
        sizes: list[Sizes] = []
        keys = self.watch.known_keys(but=period)
        for file in self.files:
            counted = self._count(file, keys)
            self._require_only(period, file, counted)
            own = {period: counted.periods[period]} if period in counted.periods else {}
            parts += own.values()
            keys |= {str(file): part.keys for part in own.values() if part.keys is not None}
            deliveries.append(Delivery(str(file), file_sha256(file), counted.n_rows, digests(own), counted.whole))
            sizes.append(counted.sizes)
        if not parts:
            raise InputError(f"--replace {period}: the files hold no row of this period.")
        self._require_distinct(deliveries)
        for name in self.watch.recount({period: sum_of(parts)}, deliveries):
            note(f"{name} no longer counts in {period}: it was not among the files that were given.")
        return sizes

    def _require_only(self, period: str, file: Path, counted: CountedFile) -> None:
        """Rows of other periods must have been counted before; else they would be lost, or counted twice."""
        others = {name: part for name, part in counted.periods.items() if name != period}
        known = find_repeats(digests(others), self.watch.deliveries)
        new = [name for name in others if name not in known]
        if new:
            raise InputError(
                f"--replace {period}: {file} also holds rows of {shorten(new)} that were not counted before, or "
                f"in another form. Give the rows of {period} in files of their own."
            )

    def _require_distinct(self, deliveries: Sequence[Delivery]) -> None:
        for place, one in enumerate(deliveries):
            if find_repeats(one.parts, deliveries[:place]):
                raise InputError(f"{one.name} holds the same rows as another file. Name every file once.")

    def _count(self, file: Path, keys: Mapping[str, KeyArray]) -> CountedFile:
        if file.suffix == ".tally":
            return self._load(file)
        rows_before = sum(delivery.rows for delivery in self.watch.deliveries)
        classes, chosen = self.watch.source.classes, self.reading.columns
        with progress(f"counting {file.name}", silent=self.reading.silent) as report:
            counted = count_periods(
                file,
                self.reading.cut(rows_before, lambda: self._name(file)),
                classes=classes,
                table=self.reading.table(self.columns),
                soft=self.reading.method.needs_soft,
                softmax=self.watch.source.softmax,
                in_use=self.watch.certificate,
                drop_invalid=chosen.drop_invalid,
                # The first certificate is made from these rows, and then their sets are counted.
                keep=self.watch.certificate is None and 8 * len(classes) * rows_before < MAX_KEPT_BYTES,
                key=self.reading.key,
                known_keys=keys,
                progress=report,
            )
        if self.reading.replace is None:
            self._require_unchanged(file, counted)
        tell_dropped(str(file), counted.n_dropped, counted.n_rows - counted.n_dropped)
        if counted.n_known:
            note(
                f"{file}: {counted.n_known:,} of {counted.n_rows:,} rows were counted before (--key), left out. "
                "Only --replace PERIOD counts a period anew."
            )
        return counted

    def _load(self, file: Path) -> CountedFile:
        counted = Tally.load(file)
        if counted.n_source or counted.classes != self.watch.source.classes:
            raise InputError(f"{file}: a period must be the tally of unlabelled rows of the source's classes.")
        if self.reading.key is not None:
            raise InputError(f"{file}: a tally has no rows, so --key cannot tell them apart. Give tables.")
        name = self.reading.replace or self._name(file)
        return CountedFile({name: Counted(counted)}, counted.n_target, 0, 0, lambda _certificate: {})

    def _name(self, file: Path) -> str:
        """The name of the period of a file; that of its first rows if some were counted before."""
        own = [one for one in self.watch.deliveries if one.name == str(file)]
        known = [name for one in own for name in one.parts]
        others = [Path(one.name) for one in self.watch.deliveries if one.name is not None]
        taken = () if own else self.watch.period_names
        return known[0] if known else period_name(file, [*self.files, *others], taken)
