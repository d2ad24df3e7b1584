"""``pacshift check``: labels arrived later. Was the guarantee kept?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pacshift.cli import options
from pacshift.cli.console import BROKEN, note, plain, print_json, results, right_aligned
from pacshift.cli.options import basic, expert, output, tables
from pacshift.words.numbers import at_most, between, given, mean_size, percent

if TYPE_CHECKING:
    from pacshift import Certificate, Check


def check(
    certificate_file: options.CertificateFile,
    table: Annotated[list[Path], typer.Argument(metavar="LABELLED", help="Files or folders, with labels.")],
    *,
    label: Annotated[
        str | None,
        basic("--label -l COLUMN", "Column of the true labels, if it is not named as the certificate's."),
    ] = None,
    scores: options.KnownScores = None,
    by_position: options.ByPosition = False,
    level: Annotated[float, expert("--level", "Confidence of the interval around the error.")] = 0.95,
    fail_on: Annotated[
        Literal["broken", "consistent"],
        output(
            "--fail-on", "Exit with 4 if the error is above epsilon, or also if these rows are too few to tell."
        ),
    ] = "broken",
    model_id: options.UsedModelId = None,
    group: Annotated[
        str | None,
        tables(
            "--group COLUMN",
            "Column that names the group of a row, such as a patient. Default: the certificate's, if it has one.",
        ),
    ] = None,
    drop_invalid: options.DropInvalid = False,
    as_json: options.Json = False,
) -> None:
    """Compare the sets with true labels: error and size per class, and whether the guarantee was kept.

    Exit code 4 says that the error is above epsilon, whatever was promised, or that these rows are not the
    target's (see --level, --fail-on).

    Example: pacshift check certificate.json labelled.parquet --label diagnosis
    """
    import pacshift
    from pacshift.cli.certificates import label_column, warn_before_use
    from pacshift.cli.inputs import Watch, open_table

    certificate = pacshift.Certificate.load(certificate_file)
    warn_before_use(certificate, model_id)
    group = group_column(certificate, table, group)
    rows = open_table(
        table,
        label=label or label_column(certificate),
        scores=scores,
        by_position=by_position,
        group=group,
        drop_invalid=drop_invalid,
        like=certificate,
        keep=False,
        watch=Watch(as_json, table),
    )
    found = pacshift.check(certificate, rows, level=level)
    if as_json:
        print_json({**_document(certificate, found), "group": group})
    else:
        _show(certificate, found)
        if group is not None:
            results().print(f"One random row of each {plain(repr(group))} was compared.")
    fine = ("kept",) if fail_on == "consistent" else ("kept", "consistent")
    if found.verdict not in fine:  # a pipeline must stop, whatever the method had promised
        raise typer.Exit(BROKEN)


def group_column(certificate: "Certificate", table: "list[Path]", group: str | None) -> str | None:
    """The column that was asked for, else the one that the certificate remembers, if the table has it."""
    remembered = None if certificate.columns is None else certificate.columns.group
    if group is not None or remembered is None:
        return group
    from pacshift.rows.arrow.files import open_source

    if remembered in open_source(list(table), label=None, columns=certificate.columns).schema.names:
        return remembered
    note(
        f"the certificate is about a random case of a random {remembered!r}, but this table has no such column: "
        "every row counts as a draw of its own. Name the column with --group if rows belong together."
    )
    return None


def _document(certificate: "Certificate", found: "Check") -> dict[str, object]:
    result, stated, ends = found.evaluation, certificate.class_miss, found.class_interval
    return {
        "verdict": found.verdict,
        "in_words": found.text,
        "epsilon": certificate.epsilon,
        "delta": certificate.delta,
        "method": certificate.method,
        "guarantee": certificate.guarantee,
        "rows": result.n,
        "missed": found.missed,
        "kept_up_to": found.kept_up_to,
        "broken_from": found.broken_from,
        "error": result.error,
        "error_interval": [found.lower, found.upper],
        "level": found.level,
        "size": result.size,
        "empty": result.empty,
        "one_label": {
            "share": result.one_label,
            "error": options.finite_or_none(result.one_label_error),
            "error_interval": [float(found.one_label_interval.lower), float(found.one_label_interval.upper)],
            "error_at_most": certificate.one_label_error,
        },
        "classes": [
            {
                "name": name,
                "rows": int(result.class_counts[label]),
                "error": options.finite_or_none(result.class_error[label]),
                "error_interval": [float(ends.lower[label]), float(ends.upper[label])],
                "stated": None if stated is None else [float(stated.lower[label]), float(stated.upper[label])],
                "size": options.finite_or_none(result.class_size[label]),
            }
            for label, name in enumerate(certificate.classes)
        ],
        "classes_above": list(found.classes_above),
        "classes_kept": list(found.classes_kept),
        "classes_apart": list(found.classes_apart),
        "seen_as": found.seen_as,
    }


def _show(certificate: "Certificate", found: "Check") -> None:
    result, stated, ends = found.evaluation, certificate.class_miss, found.class_interval
    level = given(found.level)
    table = right_aligned(
        "class", "rows", "missed", f"{level} interval", "the certificate says", "mean size", left=1
    )
    for label, name in enumerate(certificate.classes):
        says = "-" if stated is None else between(stated.lower[label], stated.upper[label])
        count, error = int(result.class_counts[label]), result.class_error[label]
        table.add_row(plain(name), *_cells(count, error, ends.lower[label], ends.upper[label]), says,
                      mean_size(result.class_size[label]) if count else "-")  # fmt: skip
    table.add_section()
    promise = f"at most {given(certificate.epsilon)}" if certificate.guarantee == "pac-target" else "-"
    shown = _cells(result.n, result.error, found.lower, found.upper)
    table.add_row("all", *shown, promise, mean_size(result.size), style="bold")
    if result.one_label:
        one, bound = found.one_label_interval, certificate.one_label_error
        shown = _cells(round(result.one_label * result.n), result.one_label_error, one.lower, one.upper)
        table.add_row("sets with one label", *shown, "-" if bound is None else at_most(bound), "1.000")
    console = results()
    console.print(table)
    colour = {"consistent": "yellow", "kept": "green"}.get(found.verdict, "red")
    console.print(f"[{colour}]{found.verdict}[/]: {plain(found.text)}")


def _cells(count: int, error: float, low: Any, high: Any) -> tuple[str, str, str]:
    """Rows, share missed, interval."""
    return (f"{count:,}", percent(error), between(float(low), float(high))) if count else ("0", "-", "-")
