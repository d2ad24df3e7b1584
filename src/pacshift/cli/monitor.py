"""``pacshift monitor``: does the certificate still hold, period after period?"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pacshift.certificate import Certificate
from pacshift.cli import options
from pacshift.cli.console import BROKEN, print_json, progress
from pacshift.cli.inputs import Inputs, tell_dropped
from pacshift.cli.monitor_output import document, show
from pacshift.defaults import DELTA
from pacshift.errors import InputError
from pacshift.methods import resolve_method
from pacshift.methods.base import score_for
from pacshift.monitor import Monitor, PeriodReport
from pacshift.monitor.state import Delivery
from pacshift.scores.check import shorten
from pacshift.tally import Tally

if TYPE_CHECKING:
    from pacshift.arrays import IntArray
    from pacshift.certificate.columns import Columns
    from pacshift.tables.periods import Cut


def monitor(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="Labelled table, or its tally (*.tally).")],
    targets: Annotated[
        list[Path],
        typer.Argument(metavar="TARGET", help="Unlabelled tables, folders of them, or tallies, old or new."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The page.")] = Path("monitor.html"),
    table: Annotated[
        Path | None,
        typer.Option(
            "--table", metavar="FILE", help="All numbers as Parquet, Feather, CSV or JSON, by the ending."
        ),
    ] = None,
    timestamp: Annotated[
        str | None,
        typer.Option("--timestamp", metavar="COLUMN", help="Time of each row; without it each file is a period."),
    ] = None,
    period: Annotated[
        str | None,
        typer.Option("--period", metavar="day|week|month|ROWS", help="Length of a period. Default: month."),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option("--state", metavar="DIR", help="Folder that remembers the counts, so that runs continue it."),
    ] = None,
    certificate_file: Annotated[
        Path | None,
        typer.Option(
            "--certificate", metavar="FILE", help="The certificate in use. Default: the first period's fresh one."
        ),
    ] = None,
    adopt: Annotated[
        str | None,
        typer.Option("--adopt", metavar="PERIOD", help="From now on use the fresh certificate of this period."),
    ] = None,
    forever: Annotated[
        bool, typer.Option("--forever", help="Make all reports right at once, however many there will be.")
    ] = False,
    fail_on: Annotated[
        Literal["broken", "consistent"],
        typer.Option("--fail-on", help="Exit with 4 if something broke, or already if a period is not proven."),
    ] = "broken",
    epsilon: Annotated[
        float | None,
        typer.Option("--epsilon", "-e", help="Share that sets may miss. Default: the certificate's, else 0.1."),
    ] = None,
    delta: options.Delta = DELTA,
    method: options.Method = "PS-LP",
    known: options.Known = None,
    label: options.LabelColumn = "label",
    scores: options.Scores = None,
    classes: options.Classes = None,
    by_position: options.ByPosition = False,
    score: options.Score = "probability",
    exact: options.Exact = False,
    drop_invalid: options.DropInvalid = False,
    seed: options.Seed = 0,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Report on every period of an unlabelled TARGET: label mix, assumption, whether the sets in use still hold.

    Example: pacshift monitor source.parquet visits/ --timestamp seen_at --period month --state watch
    """
    from pacshift.report import write_history_page
    from pacshift.tables.history import check_history_path, write_history

    options.check_output(out, force, [source, *targets])
    if table is not None:
        options.check_output(table, force, [source, *targets])
        check_history_path(table)
    certificate = None if certificate_file is None else Certificate.load(certificate_file)
    epsilon = epsilon if epsilon is not None else (0.1 if certificate is None else certificate.epsilon)
    options.check_request(epsilon, delta, score=score, method=method)
    known_mix, silent = options.read_known(known), quiet or as_json
    chosen_score = score if certificate is None else certificate.score
    data = Inputs(
        source=(source,),
        target=(),
        label=label,
        scores=scores,
        classes=options.read_classes(classes) or (None if certificate is None else certificate.classes),
        grid=not exact,
        drop_invalid=drop_invalid,
        seed=seed,
        silent=silent,
        by_position=by_position,
    )
    counted, columns = _source_tally(data, chosen_score, method)
    watch = Monitor(
        counted,
        epsilon=epsilon,
        delta=delta,
        forever=forever,
        method=method,
        certificate=certificate,
        known_mix=options.known_for(known_mix, counted.classes),
        state=state,
        columns=columns,
        rng=seed,
    )
    reading = Reading(
        timestamp=timestamp,
        period=period,
        # The target's columns are those of the source, unless the source is a tally.
        table={"scores": scores if columns is None else None, "columns": columns, "by_position": by_position},
        soft=resolve_method(method).needs_soft,
        drop_invalid=drop_invalid,
        seed=seed,
        silent=silent,
    )
    if adopt is not None:
        _adopt(watch, adopt)
    examined = follow(watch, targets, reading)
    write_history_page(watch, out, overwrite=force)
    if table is not None:
        write_history(watch.history, table, overwrite=force)
    failed = [report for report in examined if report.alert or report.verdict == fail_on]
    if as_json:
        print_json(document(watch, failed, out, table))
    elif not quiet:
        show(watch, examined, [out, *([] if table is None else [table])])
    if failed:
        raise typer.Exit(BROKEN)


@dataclass(frozen=True)
class Reading:
    """How target files are read and cut into periods."""

    timestamp: str | None
    period: str | None
    table: dict[str, Any]
    soft: bool
    drop_invalid: bool
    seed: int
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


def _adopt(watch: Monitor, name: str) -> None:
    """Use the fresh certificate of a period that was reported in an earlier run."""
    found = {report.period: report for report in watch.history}
    if name not in found:
        known = shorten(list(found)) if found else "none yet (earlier runs are remembered with --state)"
        raise InputError(f"--adopt {name}: no report on this period. The periods are {known}.")
    watch.adopt(found[name].fresh)


def _source_tally(data: Inputs, score: str, method: str) -> "tuple[Tally, Columns | None]":
    """The counts of the source, and the columns of its table."""
    (path,) = data.source
    if path.suffix == ".tally":
        return Tally.load(path), None
    chosen = resolve_method(method)
    return data.source_tally(score_for(chosen, score), soft=chosen.needs_soft), data.columns


def _expand(targets: Sequence[Path]) -> list[Path]:
    from pacshift.tables.sources import list_files

    return [file for path in targets for file in ([path] if path.suffix == ".tally" else list_files(path))]


def _count_new(watch: Monitor, files: Sequence[Path], reading: Reading) -> list[tuple[Path, int]]:
    """Count the files that the monitor does not know yet, one after another; each is saved when it is complete."""
    from pacshift.tables.periods import file_sha256

    new = []
    for file in files:
        try:
            sha256 = file_sha256(file)
        except OSError as error:
            raise InputError(f"cannot read {file}: {error.strerror or error}.") from None
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
            rng=options.seed_for(reading.seed, "predict"),
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
