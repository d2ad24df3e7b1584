"""``pacshift monitor``: does the certificate still hold, period after period?"""

from dataclasses import dataclass
from dataclasses import replace as changed
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pacshift.cli import options
from pacshift.cli.console import BROKEN
from pacshift.cli.options import basic, output

if TYPE_CHECKING:
    from pacshift import Certificate


class SourceChoice(StrEnum):
    """Which source to go back to."""

    FIRST = "first"


class FailOn(StrEnum):
    """When to exit with 4, besides when something broke."""

    BROKEN = "broken"
    CONSISTENT = "consistent"
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


def monitor(
    ctx: typer.Context,
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
    adopt: Annotated[
        str | None, basic("--adopt PERIOD", "From now on use the fresh certificate of this period, or a file's.")
    ] = None,
    replace: Annotated[
        str | None, basic("--replace PERIOD", "Count this period anew, from the TARGET files alone.")
    ] = None,
    labelled: Annotated[
        Path | None,
        basic(
            "--labelled SHEET",
            "Labels of the TARGET, a refuted period: they certify sets, and later periods are compared with them.",
        ),
    ] = None,
    back_to: Annotated[
        SourceChoice | None,
        basic("--source", "Undo --labelled: compare later periods with SOURCE again."),
    ] = None,
    key: Annotated[
        str | None, basic("--key COLUMN", "Identifies rows: none counts twice. State from the first run on.")
    ] = None,
    forever: Annotated[
        bool, basic("--forever", "Make all reports hold simultaneously, however many. Needs --state.")
    ] = False,
    method: options.Method = "PS-LP",
    promise: MonitorPromise,
    label: options.LabelColumn = "label",
    columns: options.ColumnOptions,
    table: Annotated[
        Path | None, output("--table FILE", "All numbers as Parquet, Feather, CSV or JSON, by the ending.")
    ] = None,
    fail_on: Annotated[
        list[FailOn] | None,
        output("--fail-on", "Exit with 4 also if a period is not proven, or is missing; can be repeated."),
    ] = None,
    model_id: options.UsedModelId = None,
    exact: options.Exact = False,
    force: options.Force = False,
    printing: options.MonitorPrinting,
) -> None:
    """Report on every period of an unlabelled TARGET: label mix, assumption, whether the sets in use still hold.

    Example: pacshift monitor source.parquet visits/ --timestamp seen_at --period month --state watch
    """
    from pacshift import Certificate, Monitor
    from pacshift.cli.monitor.new_source import NewSource
    from pacshift.cli.monitor.output import check_outputs, deliver, words_for
    from pacshift.cli.monitor.reading import Reading, count_source, follow
    from pacshift.cli.monitor.run import choose_certificate, go_back, outcome_of, require_alone, require_state
    from pacshift.methods import resolve_method
    from pacshift.monitor.check import require_own_promise

    require_state(state, forever=forever, labelled=labelled)
    require_alone(labelled, adopt=adopt, replace=replace, source=back_to)
    files = [out] if table is None else [out, table]
    adopted = None if adopt is None else Path(adopt)  # a period has no file of its name, as a rule
    check_outputs(files, force, [source, *targets, certificate_file, adopted, labelled], state)
    certificate = None if certificate_file is None else Certificate.load(certificate_file)
    asked = promise.as_in(certificate)
    request = asked.check(model_id=model_id)
    chosen = require_own_promise(resolve_method(method))
    reading = Reading(timestamp, period, columns, chosen, printing.silent, key, replace)
    counted, found = count_source(source, label, asked.score, reading, certificate, exact=exact)
    kept: dict[str, Any] = {"model_id": model_id, "state": state, "columns": found}
    watch = Monitor(counted, method=chosen, forever=forever, **asked.arguments(), **kept)
    with watch.exclusive():
        with watch.one_step():  # rows, reports and choices together: an interrupted run leaves nothing behind
            if back_to is not None:
                go_back(watch)
            choose_certificate(watch, certificate, adopt, model_id)
            if labelled is None:
                follow(watch, targets, reading, found)
            else:
                NewSource(source, label, counted, found, targets, reading).use(watch, labelled, request)
        told = outcome_of(watch, fail_on or ())
        words = words_for(ctx, source, changed(columns, softmax=counted.softmax), found, key)
        deliver(watch, told, files, force, printing, words)
    if told.failed or told.failed_gaps:
        raise typer.Exit(BROKEN)
