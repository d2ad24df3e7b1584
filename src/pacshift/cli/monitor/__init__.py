"""``pacshift monitor``: does the certificate still hold, period after period?"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pacshift.cli import groups, options
from pacshift.cli.console import BROKEN, note
from pacshift.cli.options import basic, output
from pacshift.errors import InputError

if TYPE_CHECKING:
    from pacshift import Certificate, Monitor


@dataclass(frozen=True, kw_only=True)
class MonitorPromise(groups.Promise):
    """What the sets in use must keep. What is not said is as the certificate in use promises it."""

    epsilon: options.Epsilon = None
    contamination: options.Contamination = None

    def as_in(self, certificate: "Certificate | None") -> groups.Promise:
        """The promise with nothing left open."""
        names = ("epsilon", "class_epsilon", "contamination")
        default = groups.Promise() if certificate is None else certificate
        unsaid = [name for name in names if getattr(self, name) is None]
        return replace(self, **{name: getattr(default, name) for name in unsaid})


def monitor(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="Labelled table, or its tally (*.tally).")],
    targets: Annotated[
        list[Path],
        typer.Argument(metavar="TARGET", help="Unlabelled tables, folders of them, or tallies, old or new."),
    ],
    *,
    out: Annotated[Path, basic("--out -o FILE", "The page.")] = Path("monitor.html"),
    timestamp: Annotated[
        str | None, basic("--timestamp COLUMN", "Time of each row; without it each file is a period.")
    ] = None,
    period: Annotated[
        str | None, basic("--period day|week|month|ROWS", "Length of a period. Default: month.")
    ] = None,
    state: Annotated[
        Path | None, basic("--state DIR", "Folder that remembers the counts for the next run.")
    ] = None,
    certificate_file: Annotated[
        Path | None,
        basic(
            "--certificate FILE",
            "The certificate in use. Default: the first period's fresh one. Its --epsilon, --class-epsilon and "
            "--contamination are the defaults of these options.",
        ),
    ] = None,
    adopt: Annotated[str | None, basic("--adopt PERIOD", "Use the fresh certificate of this period.")] = None,
    forever: Annotated[bool, basic("--forever", "Make all reports hold simultaneously, however many.")] = False,
    method: options.Method = "PS-LP",
    promise: MonitorPromise,
    label: options.LabelColumn = "label",
    columns: groups.ColumnOptions,
    table: Annotated[
        Path | None, output("--table FILE", "All numbers as Parquet, Feather, CSV or JSON, by the ending.")
    ] = None,
    fail_on: Annotated[
        Literal["broken", "consistent"],
        output("--fail-on", "Exit with 4 if something broke, or also if a period is not proven."),
    ] = "broken",
    model_id: options.UsedModelId = None,
    exact: options.Exact = False,
    force: options.Force = False,
    printing: groups.Printing,
) -> None:
    """Report on every period of an unlabelled TARGET: label mix, assumption, whether the sets in use still hold.

    Example: pacshift monitor source.parquet visits/ --timestamp seen_at --period month --state watch
    """
    from pacshift import Certificate, Monitor
    from pacshift.cli.monitor.output import check_outputs, show, write
    from pacshift.cli.monitor.reading import Reading, count_source, follow
    from pacshift.methods import resolve_method
    from pacshift.monitor.check import require_own_promise

    files = [out] if table is None else [out, table]
    check_outputs(files, force, [source, *targets])
    certificate = None if certificate_file is None else Certificate.load(certificate_file)
    asked = promise.as_in(certificate)
    asked.check(model_id=model_id)
    chosen = require_own_promise(resolve_method(method))
    reading = Reading(timestamp, period, columns, chosen, printing.silent)
    counted, found = count_source(source, label, asked.score, reading, certificate, exact=exact)
    kept: dict[str, Any] = {"certificate": certificate, "model_id": model_id, "state": state, "columns": found}
    watch = Monitor(counted, method=chosen, forever=forever, **asked.arguments(counted.classes), **kept)
    if adopt is not None:
        _adopt(watch, adopt)
    for text in watch.warnings():
        note(text)
    examined = follow(watch, targets, reading, found)
    write(watch, files, force)
    failed = [report for report in examined if report.alert or report.verdict == fail_on]
    show(watch, examined, failed, files, printing)
    if failed:
        raise typer.Exit(BROKEN)


def _adopt(watch: "Monitor", name: str) -> None:
    """Use the fresh certificate of a period that was reported in an earlier run."""
    from pacshift.scores.check import shorten

    found = {report.period: report for report in watch.history}
    if name not in found:
        known = shorten(list(found)) if found else "none yet (earlier runs are remembered with --state)"
        raise InputError(f"--adopt {name}: no report on this period. The periods are {known}.")
    watch.adopt(found[name].fresh)
