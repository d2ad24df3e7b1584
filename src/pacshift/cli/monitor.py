"""``pacshift monitor``: does the certificate still hold, period after period?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pacshift.certificate import Certificate
from pacshift.cli import options
from pacshift.cli.console import BROKEN, note, print_json
from pacshift.cli.inputs import Inputs
from pacshift.cli.monitor_output import document, show
from pacshift.cli.monitor_periods import Reading, follow
from pacshift.cli.provenance import UsedModelId
from pacshift.defaults import DELTA, EPSILON
from pacshift.errors import InputError
from pacshift.methods import resolve_method
from pacshift.methods.base import score_for
from pacshift.monitor import Monitor
from pacshift.scores.check import shorten
from pacshift.tally import Tally

if TYPE_CHECKING:
    from pacshift.certificate.columns import Columns


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
        bool, typer.Option("--forever", help="Make all reports hold simultaneously, however many there will be.")
    ] = False,
    fail_on: Annotated[
        Literal["broken", "consistent"],
        typer.Option("--fail-on", help="Exit with 4 if something broke, or also if a period is not proven."),
    ] = "broken",
    epsilon: Annotated[
        float | None,
        typer.Option("--epsilon", "-e", help="Share that sets may miss. Default: the certificate's, else 0.1."),
    ] = None,
    delta: options.Delta = DELTA,
    method: options.Method = "PS-LP",
    class_epsilon: Annotated[
        float | None,
        typer.Option(
            "--class-epsilon",
            metavar="SHARE",
            help="Share of any one class (with --contamination: of its label-shifted part) that sets may miss. "
            "Default: the certificate's, else no limit.",
        ),
    ] = None,
    contamination: Annotated[
        float | None,
        typer.Option(
            "--contamination",
            metavar="SHARE",
            help="Share of every period that may be of any kind. Default: the certificate's, else 0.",
        ),
    ] = None,
    known: options.Known = None,
    model_id: UsedModelId = None,
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
    promise = _promise(certificate, epsilon, class_epsilon, contamination) | {"delta": delta, "method": method}
    options.check_request(**promise, score=score)
    known_mix, silent = options.read_known(known), quiet or as_json
    data = Inputs(
        source=(source,),
        target=(),
        label=label,
        scores=scores,
        classes=options.read_classes(classes) or (None if certificate is None else certificate.classes),
        grid=not exact,
        drop_invalid=drop_invalid,
        silent=silent,
        by_position=by_position,
    )
    counted, columns = _source_tally(data, score if certificate is None else certificate.score, method)
    watch = Monitor(
        counted,
        **promise,
        forever=forever,
        certificate=certificate,
        known_mix=options.known_for(known_mix, counted.classes),
        model_id=model_id,
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
        silent=silent,
    )
    if adopt is not None:
        _adopt(watch, adopt)
    for text in watch.warnings():
        note(text)
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


def _promise(
    certificate: Certificate | None,
    epsilon: float | None,
    class_epsilon: float | None,
    contamination: float | None,
) -> dict[str, Any]:
    """What was asked for; the rest is as the certificate in use has it."""
    if certificate is not None:
        epsilon = certificate.epsilon if epsilon is None else epsilon
        class_epsilon = certificate.class_epsilon if class_epsilon is None else class_epsilon
        contamination = certificate.contamination if contamination is None else contamination
    return {
        "epsilon": EPSILON if epsilon is None else epsilon,
        "class_epsilon": class_epsilon,
        "contamination": contamination or 0.0,
    }


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
