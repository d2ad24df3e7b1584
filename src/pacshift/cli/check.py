"""``pacshift check``: labels arrived later. Was the promise kept?"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pacshift.cli import options
from pacshift.cli.console import BROKEN, make_table, plain, print_json, results, to_json
from pacshift.cli.options import basic, expert, output, tables
from pacshift.words.numbers import DIGITS, MAX_LISTED, between, digits_against, given, mean_size, percent
from pacshift.words.verdicts import COLOURS

if TYPE_CHECKING:
    from pacshift import Certificate, Check
    from pacshift.bounds import Interval


def check(
    certificate_file: options.CertificateFile,
    table: Annotated[
        list[Path], typer.Argument(metavar="LABELLED", help="Table with scores and true labels: files or folders.")
    ],
    *,
    label: Annotated[str | None, basic("--label -l COLUMN", "Label column, if not the certificate's.")] = None,
    reading: options.KnownReading,
    level: Annotated[float, expert("--level SHARE", "Confidence of the intervals.")] = 0.95,
    fail_on: Annotated[
        Literal["broken", "not-proven"], output("--fail-on", "Exit with 4 if broken, or also if not proven.")
    ] = "broken",
    model_id: options.UsedModelId = None,
    group: Annotated[str | None, tables("--group COLUMN", "Group column. Default: the certificate's.")] = None,
    as_json: options.Json = False,
) -> None:
    """Compare the sets with true labels: is the promise kept?

    Exit code 4 says that the error is above epsilon, whatever was promised, or that these rows are not the
    target's (see --level, --fail-on).

    Example: pacshift check certificate.json labelled.parquet --label diagnosis
    """
    import pacshift
    from pacshift.cli.certificates import label_column, warn_before_use
    from pacshift.cli.inputs import Watch
    from pacshift.rows.arrow.find import ReadOptions
    from pacshift.rows.arrow.table import read_rows

    certificate = pacshift.Certificate.load(certificate_file)
    warn_before_use(certificate, model_id)
    columns = ReadOptions(
        label=label or label_column(certificate),
        scores=reading.scores,
        by_position=reading.by_position,
        group=group,
        drop_invalid=reading.drop_invalid or False,
    )
    rows = read_rows(table, columns, like=certificate, with_group=True, keep=False, watch=Watch(as_json))
    group = None if rows.columns is None else rows.columns.group
    outcome = pacshift.check(certificate, rows, level=level)
    if as_json:
        names = ("epsilon", "delta", "method", "guarantee", "classes", "class_miss")
        promised = {name: getattr(certificate, name) for name in names}
        print_json({**to_json(outcome), "error": outcome.error, "certificate": promised, "group": group})
    else:
        _show(certificate, outcome)
        if group is not None:
            results().print(f"One random row of each {plain(repr(group))} was compared.")
    fine = ("kept", "within-epsilon", *(["not-proven"] if fail_on == "broken" else []))
    if outcome.verdict not in fine:  # a pipeline must stop, whatever the method had promised
        raise typer.Exit(BROKEN)


def _ends(interval: "Interval", label: int) -> list[float]:
    return [float(interval.lower[label]), float(interval.upper[label])]


def _show(certificate: "Certificate", outcome: "Check") -> None:
    """The verdict, then the table: of many classes those that were missed most."""
    import numpy as np

    from pacshift.words.display import MAX_ROWS
    from pacshift.words.rules import words_of

    result, stated, console = outcome.evaluation, certificate.class_miss, results()
    console.print(f"[{COLOURS[outcome.shown.tone]}]{outcome.shown.word}[/]: {plain(outcome.text)}")
    interval = f"{given(outcome.level)} interval"
    table = make_table("class", "rows", "missed", interval, "certificate", "labels per set", left=1)

    def add(name: str, rows: int, error: float, ends: Sequence[Any], *says: str, style: str = "") -> None:
        low, high = map(float, ends)
        cells = (percent(error), between(low, high, digits if style else DIGITS)) if rows else ("-", "-")
        table.add_row(plain(name), f"{rows:,}", *cells, *says, style=style)

    digits = digits_against(outcome.lower, certificate.epsilon)  # as in the sentence
    shown = list(range(len(certificate.classes)))
    is_cut = len(shown) > MAX_ROWS
    if is_cut:  # a class without rows has no error
        errors = np.where(result.class_counts > 0, result.class_error, -1.0)
        shown = np.argsort(-errors, kind="stable")[:MAX_LISTED].tolist()
    for label in shown:
        rows, size = int(result.class_counts[label]), mean_size(result.class_size[label])
        says = "-" if stated is None else between(stated.lower[label], stated.upper[label])
        ends = _ends(outcome.class_interval, label)
        add(str(certificate.classes[label]), rows, result.class_error[label], ends, says, size if rows else "-")
    if is_cut:
        table.add_row(f"... the most missed of {len(certificate.classes)}; --json has all")
    table.add_section()
    promised = certificate.guarantee == "pac-target"
    promise = f"at most {given(certificate.epsilon)}" if promised else "-"
    which, size = words_of(certificate.rule).check_row(mean_size(result.size))
    add(which, outcome.n_judged, outcome.error, (outcome.lower, outcome.upper), promise, size, style="bold")

    def add_alone(label: int, which: str, says: str) -> None:
        count, ends = int(result.alone_counts[label]), _ends(outcome.alone_interval, label)
        add(f"{which} {certificate.classes[label]!r}", count, result.alone_error[label], ends, says, "1.000")

    wrong = certificate.accepted_error
    if certificate.rule.of_labels:
        for label in [] if wrong is None else shown:
            low, high = _ends(wrong, label)  # type: ignore[arg-type]
            add_alone(label, "accepted as", between(low, high))
    elif result.one_label:
        alone, n_alone = outcome.one_label_interval, int(result.alone_counts.sum())
        add("one-label sets", n_alone, result.one_label_error, (alone.lower, alone.upper), "-", "1.000")
        for label in [] if is_cut else shown:
            add_alone(label, "only", "-")
    console.print(table)
