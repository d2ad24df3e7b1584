"""``pacshift monitor``: does the certificate still hold, period after period?"""

from dataclasses import dataclass
from dataclasses import replace as changed
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pacshift.cli import options
from pacshift.cli.options import basic, output
from pacshift.errors import InputError

if TYPE_CHECKING:
    from pacshift import Certificate


class FailOn(StrEnum):
    """What to fail on, besides when something broke or label shift was rejected."""

    BROKEN = "broken"
    NOT_PROVEN = "not-proven"
    CONSISTENT = "consistent"  # the same, as it was called before
    GAP = "gap"


@dataclass(frozen=True, kw_only=True)
class MonitorPromise(options.Promise):
    """What the sets in use must keep. What is not said is as the certificate in use promises it."""

    epsilon: options.Epsilon = None
    contamination: options.Contamination = None

    def as_in(self, certificate: "Certificate | None") -> options.Promise:
        """The promise with nothing left open."""
        names = ("epsilon", "class_epsilon", "contamination")
        default = options.Promise() if certificate is None else certificate
        unsaid = [name for name in names if getattr(self, name) is None]
        return changed(self, **{name: getattr(default, name) for name in unsaid})


@dataclass(frozen=True, kw_only=True)
class Watching:
    """How rows are cut into periods and told apart, what is remembered, which certificate and source are used."""

    timestamp: Annotated[
        str | None,
        basic("--timestamp COLUMN", "Time of each row. Without it, each file is a period.", of_rows=True),
    ] = None
    period: Annotated[
        str | None, basic("--period day|week|month|ROWS", "Length of a period. Default: month.", of_rows=True)
    ] = None
    state: Annotated[Path | None, basic("--state DIR", "Folder that keeps the counts between runs.")] = None
    certificate_file: Annotated[
        Path | None,
        basic(
            "--certificate FILE",
            "Certificate in use. Default: the first period's own. Its promise is the default of this one.",
        ),
    ] = None
    adopt: Annotated[
        str | None, basic("--adopt PERIOD", "From now on use this period's certificate, or this file.")
    ] = None
    replace: Annotated[
        str | None, basic("--replace PERIOD", "Count this period again, from these TARGET files alone.")
    ] = None
    labelled: Annotated[
        Path | None,
        basic("--labelled SHEET", "Filled-in sheet of a rejected period; later periods are compared with it."),
    ] = None
    back_to: Annotated[
        Literal["first"] | None, basic("--source", "Undo --labelled: compare later periods with SOURCE again.")
    ] = None
    key: Annotated[
        str | None,
        basic(
            "--key COLUMN",
            "Column that identifies rows, so none counts twice. Needed from the first run.",
            of_rows=True,
        ),
    ] = None
    forever: Annotated[
        bool, basic("--forever", "Make all reports hold together, however many. Needs --state.")
    ] = False

    def check(self, group: str | None) -> None:
        """Refuse to forget what later runs need, what would cut or choose rows in two ways, and other pairs."""
        if self.forever and self.state is None:
            raise InputError(
                "--forever makes all reports hold, so they have to be remembered. Name a folder: --state DIR."
            )
        if self.labelled is not None:
            if self.state is None:
                raise InputError(
                    "--labelled makes labelled rows the source of later runs. Name the folder: --state DIR."
                )
            for name, value in {"adopt": self.adopt, "replace": self.replace, "source": self.back_to}.items():
                if value is not None:
                    raise InputError(
                        f"--labelled does not go with --{name}: the labels choose the certificate. Run twice."
                    )
        if isinstance(self.unit, str) and self.timestamp is None:
            raise InputError(f"--period {self.unit} needs --timestamp COLUMN, the time of each row.")
        for name, value in {"--key": self.key, "--replace": self.replace}.items():
            if value is not None and isinstance(self.unit, int):
                raise InputError(
                    f"{name} does not go with --period {self.unit}: which rows make a period would change. Use "
                    "--timestamp COLUMN, or a file per period."
                )
        if self.key is not None and group is not None:
            raise InputError(
                "--key does not go with --group: of the rows of a group one is counted, and only its key would be "
                "known. Leave out one of them."
            )

    @property
    def unit(self) -> Any:
        """Of what length periods are, a unit of the calendar or a number of rows; None if each file is one."""
        from pacshift.monitor.calendar import read_period

        return read_period(self.period or "month") if self.timestamp or self.period else None


def monitor(
    ctx: typer.Context,
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="Table with labels, or its tally (*.tally).")],
    targets: Annotated[
        list[Path],
        typer.Argument(metavar="TARGET", help="Tables without labels, folders of them, or tallies; old or new."),
    ],
    *,
    out: Annotated[Path, basic("--out -o FILE", "Page to write.")] = Path("monitor.html"),
    watching: Watching,
    method: options.Method = "PS-LP",
    promise: MonitorPromise,
    label: options.LabelColumn = "label",
    columns: options.ColumnOptions,
    table: Annotated[
        Path | None,
        output(
            "--table FILE", "Also write all numbers: .parquet, .feather, .csv, .json, or .prom for Prometheus."
        ),
    ] = None,
    fail_on: Annotated[
        list[FailOn] | None,
        output("--fail-on", "Also exit with 4 if not proven, or with 6 for missing periods; repeatable."),
    ] = None,
    model_id: options.UsedModelId = None,
    force: options.Force = False,
    as_json: options.Json = False,
    quiet: Annotated[bool, output("--quiet -q", "Print only errors and alerts.")] = False,
) -> None:
    """Watch a TARGET over time: label mix, assumption and promise of each period.

    Example: pacshift monitor source.parquet visits/ --timestamp seen_at --period month --state watch
    """
    from pacshift import Certificate, Monitor
    from pacshift.certification.request import check_request
    from pacshift.cli.inputs import look_at_first_rows
    from pacshift.cli.monitor.output import check_outputs, findings, report_failure, show, words_for
    from pacshift.cli.monitor.run import choose_certificate, follow, go_back, label_period, read_source
    from pacshift.methods import resolve_method
    from pacshift.monitor import write_history
    from pacshift.monitor.check import require_own_promise
    from pacshift.report import write_history_page
    from pacshift.rows.arrow.files import list_files

    watching.check(columns.group)
    adopted = None if watching.adopt is None else Path(watching.adopt)  # as a rule a period, which is no file
    inputs = [source, *targets, watching.certificate_file, adopted, watching.labelled]
    check_outputs(out, table, inputs, watching.state)
    with report_failure(table, force):
        given = None if watching.certificate_file is None else Certificate.load(watching.certificate_file)
        asked = promise.as_in(given).arguments() | {"model_id": model_id}
        check_request(**asked)  # before the source is counted
        chosen, silent = require_own_promise(resolve_method(method)), as_json or quiet

        def before_work(*rows: Any) -> None:
            def look() -> None:
                look_at_first_rows(*rows)
                for target in targets:
                    if target.suffix != ".tally":
                        list_files(target, lambda _file, _why: None)

            for file in [out] if table is None else [out, table]:
                options.require_new(file, force, look)

        counted, found, read = read_source(source, label, columns, chosen, given, before_work, silent=silent)
        kept: dict[str, Any] = {"state": watching.state, "forever": watching.forever, "columns": found}
        watch = Monitor(counted, method=chosen, **asked, **kept)
        with watch.exclusive():
            not_counted: dict[str, str] = {}
            with watch.one_step():  # rows, reports and choices together: an interrupted run leaves nothing behind
                if watching.back_to is not None:
                    go_back(watch)
                choose_certificate(watch, given, watching.adopt, model_id)
                if watching.labelled is None:
                    about: Any = {"source": source, "group": columns.group, "soft": chosen.needs_soft}
                    not_counted = follow(watch, targets, read, watching, **about, silent=silent)
                else:
                    first = source, label, counted, found
                    label_period(watch, first, targets, read, watching.labelled, silent=silent)
            fails = ["not-proven" if one == "consistent" else str(one) for one in fail_on or ()]
            told = findings(watch, fails, not_counted)
            words = words_for(ctx, source, changed(columns, softmax=counted.softmax), found, watching.key)
            write_history_page(watch, out, overwrite=force, gaps=told.gaps, words=words, not_counted=not_counted)
            if table is not None:
                write_history(watch.history, table, overwrite=force, not_counted=not_counted)
            show(watch, told, out, table, words, as_json=as_json, quiet=quiet)
            watch.mark_delivered(told.gaps)  # what did not get so far is told by the next run
    if told.exit_code:
        raise typer.Exit(told.exit_code)
