"""``pacshift compare``: every method on the same data, side by side."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np
import typer
from rich.table import Table

from pacshift.calibrate import calibrate_tally
from pacshift.certificate import Certificate
from pacshift.cli import inputs, options
from pacshift.cli.console import note, plain, print_json, progress, results
from pacshift.cli.inputs import Inputs
from pacshift.cli.methods import SHORT
from pacshift.errors import InputError, PacshiftError, UninformativeWarning
from pacshift.evaluate import evaluate
from pacshift.methods import METHODS
from pacshift.tally import Tally

if TYPE_CHECKING:
    from pacshift.report import ComparisonRow

Measured: TypeAlias = tuple[float | None, float, float]
"""Error (where labels are known), mean set size, share of empty sets."""


def compare(
    paths: inputs.Paths = None,
    epsilon: options.Epsilon = 0.1,
    delta: options.Delta = 0.05,
    label: options.LabelColumn = "label",
    target_label: Annotated[
        str | None,
        typer.Option("--target-label", metavar="COLUMN", help="Labels of the target, if known: shows the error."),
    ] = None,
    scores: options.Scores = "p_*",
    classes: options.Classes = None,
    source: inputs.MoreSource = None,
    target: inputs.MoreTarget = None,
    score: options.Score = "probability",
    weights: options.Weights = None,
    exact: options.Exact = False,
    drop_invalid: options.DropInvalid = False,
    seed: options.Seed = 0,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Run all methods on one SOURCE and TARGET; ORACLE only with --weights.

    Example: pacshift compare source.parquet target.parquet --label diagnosis --epsilon 0.05
    """
    from pacshift.tables import read_table

    options.check_request(epsilon, delta, score=score)
    files = inputs.split_paths(paths, source, target)
    if not files[1]:
        raise InputError("no TARGET: name a table of target scores, whose sets are measured.")
    data = Inputs(
        source=files[0],
        target=files[1],
        label=label,
        scores=scores,
        classes=options.read_classes(classes),
        grid=not exact,
        drop_invalid=drop_invalid,
        seed=seed,
        silent=quiet or as_json,
    )
    tallies = {name: data.tally(name, soft=True, bins=True) for name in dict.fromkeys([score, "aps"])}
    rows = read_table(
        list(data.target),
        label=target_label,
        scores=scores,
        classes=tallies[score].classes,
        drop_invalid=drop_invalid,
    )

    def measure(certificate: Certificate) -> Measured:
        sets = certificate.sets(rows.scores, rng=options.seed_for(seed, "predict"))
        sizes = sets.sum(axis=1)
        error = None if rows.labels is None else evaluate(sets, rows.labels, classes=certificate.classes).error
        return error, float(sizes.mean()), float(np.mean(sizes == 0))

    chosen = [name for name in METHODS if name != "ORACLE" or weights]
    with progress("comparing methods", silent=data.silent) as report:
        compared = []
        made = run_methods(
            chosen,
            lambda method: tallies["aps" if method == "APS" else score],
            measure,
            epsilon=epsilon,
            delta=delta,
            weights=options.read_numbers(weights, "--weights"),
            rng=options.seed_for(seed, "method"),
        )
        for row, _certificate in made:
            compared.append(row)
            if report:
                report(len(compared), len(chosen))
    if as_json:
        print_json(
            {"epsilon": epsilon, "delta": delta, "rows": len(rows.scores), "methods": list(map(asdict, compared))}
        )
    elif not quiet:
        show(compared, epsilon=epsilon)


def run_methods(
    methods: Sequence[str],
    tally_of: Callable[[str], Tally],
    measure: Callable[[Certificate], Measured],
    **ask: Any,
) -> "Iterator[tuple[ComparisonRow, Certificate | None]]":
    """Calibrate and measure one method after the other; a method that refuses says why."""
    from pacshift.report import ComparisonRow

    for name in methods:
        guarantee = METHODS[name].guarantee
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UninformativeWarning)  # the row says it
                certificate = calibrate_tally(tally_of(name), method=name, **ask)
            error, size, empty = measure(certificate)
        except PacshiftError as problem:
            yield ComparisonRow(name, guarantee, None, note=f"refused: {problem}"), None
            continue
        reasons = " ".join(certificate.reasons)
        trivial = certificate.trivial
        yield ComparisonRow(name, guarantee, size, empty, error, trivial, reasons), certificate


def show(rows: "Sequence[ComparisonRow]", *, epsilon: float) -> None:
    """The comparison as a table, its notes below it."""
    with_error = any(row.error is not None for row in rows)
    table = Table("method", "guarantees", *(["target error"] if with_error else []), "mean set size", "empty sets")
    for column in table.columns[2:]:
        column.justify = "right"
    for row in rows:
        table.add_row(*cells(row, epsilon=epsilon, with_error=with_error))
    results().print(table)
    for row in rows:
        if row.note:
            note(f"{row.method}: {row.note}")


def cells(row: "ComparisonRow", *, epsilon: float, with_error: bool) -> list[str]:
    """One method as cells with Rich markup; red where the error is above what was asked for."""
    colour = "green" if row.guarantee == "pac-target" else "yellow"
    made = [f"[bold]{row.method}[/]", f"[{colour}]{SHORT[row.guarantee]}[/]"]
    if with_error:
        made.append("-" if row.error is None else error_cell(row.error, epsilon))
    if row.size is None or row.empty is None:
        return [*made, "refused", "-"]
    return [*made, f"{row.size:.3f}" + (" (all labels)" if row.trivial else ""), f"{row.empty:.1%}"]


def error_cell(error: float, epsilon: float) -> str:
    """The error beside what was allowed, in a colour and a sign."""
    bad = error > epsilon
    return f"[{'red' if bad else 'green'}]{error:.4f} {'>' if bad else '<='} {plain(f'{epsilon:g}')}[/]"
