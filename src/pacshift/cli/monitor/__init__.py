"""``pacshift monitor``: does the certificate still hold, period after period?"""

from dataclasses import dataclass
from dataclasses import replace as changed
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pacshift.cli import options
from pacshift.cli.options import basic, output
from pacshift.defaults import DELTA, EPSILON
from pacshift.errors import InputError

if TYPE_CHECKING:
    from pacshift import Certificate


class FailOn(StrEnum):
    """What to fail on, besides when something broke or label shift was rejected."""

    BROKEN = "broken"
    NOT_PROVEN = "not-proven"
    GAP = "gap"


@dataclass(frozen=True, kw_only=True)
class MonitorPromise:
    """What the sets in use must keep, and what is known beforehand."""

    epsilon: options.KnownEpsilon = None
    delta: options.Delta = DELTA
    known: options.Known = None

    def arguments(self, in_use: "Certificate | None") -> dict[str, Any]:
        """The same as arguments of ``Monitor``; limits that are not said are those of the certificate in use."""
        limits, contamination, epsilon = None, 0.0, EPSILON
        if in_use is not None:
            limits, contamination, epsilon = in_use.limits, in_use.contamination, in_use.epsilon
        return {
            "epsilon": epsilon if self.epsilon is None else self.epsilon,
            "delta": self.delta,
            "class_epsilon": None if limits is None else float(limits[0]),  # all sets have one limit
            "contamination": contamination,
            "known_mix": options.read_known(self.known),
        }


@dataclass(frozen=True, kw_only=True)
class MonitorOptions:
    """How rows are cut into periods, what is remembered, and which certificate is used."""

    timestamp: Annotated[
        str | None,
        basic("--timestamp COLUMN", "Time of each row. Without it, each file is a period.", of_rows=True),
    ] = None
    period: Annotated[
        Literal["day", "week", "month"] | None,
        basic("--period", "Length of a period. Default: month.", of_rows=True),
    ] = None
    state: Annotated[Path | None, basic("--state DIR", "Folder that keeps the counts between runs.")] = None
    certificate_file: Annotated[
        Path | None,
        basic(
            "--certificate FILE",
            "Certificate in use. Default: the first period's own. Its limits hold here too.",
        ),
    ] = None
    adopt: Annotated[
        str | None, basic("--adopt PERIOD", "From now on use this period's certificate, or this file.")
    ] = None
    replace: Annotated[
        str | None, basic("--replace PERIOD", "Count this period again, from these TARGET files alone.")
    ] = None
    forever: Annotated[
        bool, basic("--forever", "Make all reports hold together, however many. Needs --state.")
    ] = False

    def check(self) -> None:
        """Refuse to forget what later runs need, and to cut rows by a time that they do not have."""
        if self.forever and self.state is None:
            raise InputError(
                "--forever makes all reports hold, so they have to be remembered. Name a folder: --state DIR."
            )
        if self.period is not None and self.timestamp is None:
            raise InputError(f"--period {self.period} needs --timestamp COLUMN, the time of each row.")


def monitor(
    ctx: typer.Context,
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="Table with labels, or its tally (*.tally).")],
    targets: Annotated[
        list[Path],
        typer.Argument(metavar="TARGET", help="Tables without labels, folders of them, or tallies; old or new."),
    ],
    *,
    out: Annotated[Path, basic("--out -o FILE", "Page to write.")] = Path("monitor.html"),
    watching: MonitorOptions,
    method: options.Method = "PS-LP",
    promise: MonitorPromise,
    reading: options.Reading,
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
    from pacshift import Certificate, Monitor, Tally
    from pacshift.certificate.provenance import check_stamp
    from pacshift.certification.request import check_request
    from pacshift.cli.inputs import look_at_first_rows
    from pacshift.cli.monitor.output import check_outputs, look_back, report_failure, show
    from pacshift.cli.monitor.run import choose_certificate, ingest, open_source, read_like
    from pacshift.methods import resolve_method
    from pacshift.monitor import write_history
    from pacshift.monitor.check import require_own_promise, require_sets
    from pacshift.report import write_history_page
    from pacshift.rows.arrow.files import list_files

    watching.check()
    adopted = None if watching.adopt is None else Path(watching.adopt)  # as a rule a period, which is no file
    inputs = [source, *targets, watching.certificate_file, adopted]
    outputs = check_outputs(out, table, inputs, watching.state)
    with report_failure(table, force):
        in_use = None if watching.certificate_file is None else Certificate.load(watching.certificate_file)
        if in_use is not None:
            require_sets(in_use)
        request = promise.arguments(in_use)
        check_request(**request)  # before the source is counted
        check_stamp(model_id=model_id)
        request |= {"model_id": model_id}
        chosen, silent = require_own_promise(resolve_method(method)), as_json or quiet

        rows = open_source(source, reading, in_use, silent=silent)

        def look() -> None:
            """See what else is wrong before saying that an output exists."""
            look_at_first_rows(rows)
            for target in (target for target in targets if target.suffix != ".tally"):
                list_files(target, lambda _file, _why: None)

        for file in outputs:
            options.require_new(file, force, look)
        if isinstance(rows, Tally):
            counted, names = rows, None
        else:
            score = chosen.default_score if in_use is None else in_use.score
            counted, names = rows.tally(score, soft=chosen.needs_soft), rows.columns
        watch = Monitor(
            counted, method=chosen, state=watching.state, forever=watching.forever, columns=names, **request
        )
        with watch.exclusive():
            with watch.one_step():  # rows, reports and choices together: an interrupted run leaves nothing behind
                choose_certificate(watch, in_use, watching.adopt, model_id)
                not_counted = ingest(
                    watch,
                    targets,
                    read_like(reading, counted, names),
                    watching,
                    source=source,
                    group=reading.group,
                    soft=chosen.needs_soft,
                    silent=silent,
                )
            like_source = changed(reading, softmax=counted.softmax)
            findings = look_back(
                ctx, watch, fail_on or (), not_counted, source=source, reading=like_source, names=names
            )
            write_history_page(watch, out, overwrite=force, run=findings)
            if table is not None:
                write_history(watch.history, table, overwrite=force, not_counted=not_counted)
            show(watch, findings, outputs, as_json=as_json, quiet=quiet)
            watch.confirm_delivery(findings.gaps)  # what did not get so far is told by the next run
    if findings.exit_code:
        raise typer.Exit(findings.exit_code)
