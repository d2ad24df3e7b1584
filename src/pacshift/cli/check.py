"""``pacshift check``: labels arrived later. Was the guarantee kept?"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.table import Table

from pacshift.cli import options
from pacshift.cli.console import BROKEN, plain, print_json, progress, results
from pacshift.cli.options import basic, expert, output
from pacshift.wording import between, given, mean_size, percent

if TYPE_CHECKING:
    from pacshift import Certificate, Evaluation


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the observed error says about the error of the whole population, at confidence ``level``."""

    lower: float
    upper: float
    level: float
    word: str
    text: str


def check(
    certificate_file: options.CertificateFile,
    table: Annotated[list[Path], typer.Argument(metavar="LABELLED", help="Files or folders, with labels.")],
    label: Annotated[
        str | None,
        basic(
            "--label -l COLUMN", "Column of the true labels, if it is named differently from the certificate's."
        ),
    ] = None,
    scores: options.KnownScores = None,
    by_position: options.ByPosition = False,
    level: Annotated[float, expert("--level", "Confidence of the interval around the error.")] = 0.95,
    fail_on: Annotated[
        Literal["broken", "consistent"],
        output("--fail-on", "Exit with 4 if the promise is broken, or also if it is not proven kept."),
    ] = "broken",
    model_id: options.UsedModelId = None,
    drop_invalid: options.DropInvalid = False,
    seed: options.NoSeed = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Compare the sets with true labels: error and size per class, and whether the guarantee was kept.

    Exit code 4 says that the guarantee was broken: the error is above epsilon (see --level, --fail-on).

    Example: pacshift check certificate.json labelled.parquet --label diagnosis
    """
    from pacshift import Certificate
    from pacshift.cli.inputs import tell_dropped
    from pacshift.cli.provenance import warn_before_use
    from pacshift.scores.check import check_rate
    from pacshift.tables import evaluate_table

    options.tell_no_seed(seed)
    certificate = Certificate.load(certificate_file)
    level = check_rate(level, "--level")
    warn_before_use(certificate, model_id)
    with progress("checking", silent=quiet or as_json) as report:
        found = evaluate_table(
            certificate,
            list(table),
            label=label,
            scores=scores,
            by_position=by_position,
            drop_invalid=drop_invalid,
            progress=report,
        )
    result = found.evaluation
    tell_dropped("table", found.n_dropped, result.n)
    verdict = judge(certificate, result, level)
    if as_json:
        print_json(_document(certificate, result, verdict))
    elif not quiet:
        _show(certificate, result, verdict)
    if fails(verdict, fail_on):
        raise typer.Exit(BROKEN)


def fails(verdict: Verdict, fail_on: Literal["broken", "consistent"]) -> bool:
    """Whether the command ends with exit code 4. Nothing was promised where the error is only "above"."""
    return verdict.word == "broken" if fail_on == "broken" else verdict.word != "kept"


def judge(certificate: "Certificate", result: "Evaluation", level: float) -> Verdict:
    """Compare ε with an exact interval for the error of the population that the rows were drawn from."""
    import numpy as np

    from pacshift.bounds import clopper_pearson

    missed = round(result.error * result.n)
    interval = clopper_pearson(np.array(missed), result.n, delta=1 - level)
    lower, upper = float(interval.lower), float(interval.upper)
    allowed, sure = given(certificate.epsilon), given(level)
    where = f"error {percent(result.error, 4)}, {sure} interval {between(lower, upper, 4)}"
    if lower > certificate.epsilon:
        word = "broken" if certificate.guarantee == "pac-target" else "above"
        text = f"The error is above the {allowed} asked for ({where}). " + _why_above(certificate)
    elif upper <= certificate.epsilon:
        word = "kept"
        text = f"The error is at most the {allowed} asked for ({where})." + _caveat(certificate)
    else:
        word = "consistent"
        text = (
            f"An error of at most {allowed} is possible, but {result.n:,} rows are too few to be sure ({where})."
        )
        text += _caveat(certificate)
    return Verdict(lower, upper, level, word, text)


def _why_above(certificate: "Certificate") -> str:
    if certificate.guarantee == "pac-target":
        extra = certificate.facts.extra_assumption
        return (
            "The guarantee was broken. Either these rows are not from the target that was calibrated for, or "
            f"label shift does not hold, {f'or this does not hold: “{extra}”, ' if extra else ''}"
            f"or this is one of the unlucky calibrations, at most {given(certificate.delta)}."
        )
    return _what_was_promised(certificate)


def _caveat(certificate: "Certificate") -> str:
    return "" if certificate.guarantee == "pac-target" else f" {_what_was_promised(certificate)}"


def _what_was_promised(certificate: "Certificate") -> str:
    promise = {
        "pac-source": "guarantees this on the source only, not on a target with another label mix",
        "marginal": "guarantees this only on average over many calibrations",
        "none": "does not guarantee this",
    }
    return f"{certificate.method} {promise[certificate.guarantee]}."


def _document(certificate: "Certificate", result: "Evaluation", verdict: Verdict) -> dict[str, object]:
    rows = zip(certificate.classes, result.class_counts, result.class_error, result.class_size, strict=True)
    return {
        "verdict": verdict.word,
        "in_words": verdict.text,
        "epsilon": certificate.epsilon,
        "delta": certificate.delta,
        "method": certificate.method,
        "guarantee": certificate.guarantee,
        "rows": result.n,
        "error": result.error,
        "error_interval": [verdict.lower, verdict.upper],
        "level": verdict.level,
        "size": result.size,
        "empty": result.empty,
        "classes": [
            {
                "name": name,
                "rows": int(count),
                "error": options.finite_or_none(error),
                "size": options.finite_or_none(size),
            }
            for name, count, error, size in rows
        ],
    }


def _show(certificate: "Certificate", result: "Evaluation", verdict: Verdict) -> None:
    table = Table("class", "rows", "error", "mean size")
    for column in table.columns[1:]:
        column.justify = "right"
    rows = zip(certificate.classes, result.class_counts, result.class_error, result.class_size, strict=True)
    for name, count, error, size in rows:
        known = (f"{error:.4f}", mean_size(size)) if count else ("-", "-")
        table.add_row(plain(name), f"{count:,}", *known)
    table.add_section()
    table.add_row("all", f"{result.n:,}", f"{result.error:.4f}", mean_size(result.size), style="bold")
    console = results()
    console.print(table)
    colour = {"broken": "red", "above": "red", "kept": "green"}.get(verdict.word, "yellow")
    console.print(f"[{colour}]{verdict.word}[/]: {plain(verdict.text)}")
