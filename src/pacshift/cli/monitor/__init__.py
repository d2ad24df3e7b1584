"""``pacshift monitor``: does the certificate still hold, period after period?"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pacshift.cli import groups, options
from pacshift.cli.console import BROKEN, note
from pacshift.cli.options import basic, known, output
from pacshift.defaults import DELTA, EPSILON
from pacshift.errors import InputError

if TYPE_CHECKING:
    from pacshift import Certificate, Monitor


@dataclass(frozen=True, kw_only=True)
class Promise:
    """What the sets in use must keep; where it is not said, what the certificate in use promises."""

    epsilon: Annotated[
        float | None, basic("--epsilon -e", "Share that sets may miss. Default: the certificate's, else 0.1.")
    ] = None
    delta: options.Delta = DELTA
    method: options.Method = "PS-LP"
    class_epsilon: Annotated[
        float | None,
        known(
            "--class-epsilon SHARE",
            "Share of any one class (with --contamination: of its label-shifted part) that sets may miss. "
            "Default: the certificate's, else no limit.",
        ),
    ] = None
    contamination: Annotated[
        float | None,
        known(
            "--contamination SHARE",
            "Share of every period that may be of any kind. Default: the certificate's, else 0.",
        ),
    ] = None

    def request(self, certificate: "Certificate | None") -> dict[str, Any]:
        """The same as arguments of ``Monitor``."""
        defaults = {"epsilon": EPSILON, "class_epsilon": None, "contamination": 0.0}
        asked = {name: getattr(self, name) for name in defaults}
        for name, default in defaults.items():
            if asked[name] is None:
                asked[name] = default if certificate is None else getattr(certificate, name)
        return {**asked, "delta": self.delta, "method": self.method}


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
        Path | None, basic("--state DIR", "Folder that remembers the counts, so that runs continue it.")
    ] = None,
    certificate_file: Annotated[
        Path | None, basic("--certificate FILE", "The certificate in use. Default: the first period's fresh one.")
    ] = None,
    adopt: Annotated[
        str | None, basic("--adopt PERIOD", "From now on use the fresh certificate of this period.")
    ] = None,
    forever: Annotated[
        bool, basic("--forever", "Make all reports hold simultaneously, however many there will be.")
    ] = False,
    promise: Promise,
    label: options.LabelColumn = "label",
    known: options.Known = None,
    columns: groups.Columns,
    table: Annotated[
        Path | None, output("--table FILE", "All numbers as Parquet, Feather, CSV or JSON, by the ending.")
    ] = None,
    fail_on: Annotated[
        Literal["broken", "consistent"],
        output("--fail-on", "Exit with 4 if something broke, or also if a period is not proven."),
    ] = "broken",
    model_id: options.UsedModelId = None,
    score: options.Score = "probability",
    exact: options.Exact = False,
    seed: options.Seed = 0,
    force: options.Force = False,
    printing: groups.Printing,
) -> None:
    """Report on every period of an unlabelled TARGET: label mix, assumption, whether the sets in use still hold.

    Example: pacshift monitor source.parquet visits/ --timestamp seen_at --period month --state watch
    """
    from pacshift import Certificate, Monitor
    from pacshift.cli.monitor.output import check_outputs, show, write
    from pacshift.cli.monitor.reading import Reading, count_source, follow

    files = [out] if table is None else [out, table]
    check_outputs(files, force, [source, *targets])
    certificate = None if certificate_file is None else Certificate.load(certificate_file)
    asked, known_mix = promise.request(certificate), options.read_known(known)
    options.check_request(**asked, score=score)
    reading = Reading(timestamp, period, columns, promise.method, printing.silent)
    counted, found = count_source(source, label, score, reading, certificate, exact=exact)
    watch = Monitor(
        counted,
        **asked,
        forever=forever,
        certificate=certificate,
        known_mix=options.known_for(known_mix, counted.classes),
        model_id=model_id,
        state=state,
        columns=found,
        rng=seed,
    )
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
