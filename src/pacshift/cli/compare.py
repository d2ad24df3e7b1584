"""``pacshift compare``: every method on the same data, side by side."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

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
from pacshift.methods import METHODS
from pacshift.tally import Tally

if TYPE_CHECKING:
    from pacshift.report import ComparisonRow
    from pacshift.tables.evaluating import MeasuredSets


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
        target_label=target_label,
        keep_source=True,
    )
    sources = {name: data.source_tally(name, soft=True) for name in dict.fromkeys([score, "aps"])}
    target_counts = data.target_tally(sources[score].classes, soft=True, bins=True)
    answers = calibrate_methods(
        [name for name in METHODS if name != "ORACLE" or weights],
        lambda method: sources["aps" if method == "APS" else score] + target_counts,
        silent=data.silent,
        epsilon=epsilon,
        delta=delta,
        weights=options.read_numbers(weights, "--weights"),
        rng=options.seed_for(seed, "method"),
    )
    certificates = [answer for answer in answers.values() if isinstance(answer, Certificate)]
    measured = data.measure(certificates) if certificates else []
    rest = iter(measured)
    compared = [
        compared_row(name, answer, next(rest) if isinstance(answer, Certificate) else None, target_label)
        for name, answer in answers.items()
    ]
    if as_json:
        rows = int(measured[0].set_sizes.sum()) if measured else target_counts.n_target
        print_json({"epsilon": epsilon, "delta": delta, "rows": rows, "methods": list(map(asdict, compared))})
    elif not quiet:
        show(compared, epsilon=epsilon)


def calibrate_methods(
    methods: Sequence[str], tally_of: Callable[[str], Tally], *, silent: bool, **request: Any
) -> dict[str, Certificate | PacshiftError]:
    """One certificate per method, or the error of a method that refuses."""
    answers: dict[str, Certificate | PacshiftError] = {}
    with progress("calibrating", silent=silent) as report:
        for name in methods:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UninformativeWarning)  # the row says it
                    answers[name] = calibrate_tally(tally_of(name), method=name, **request)
            except PacshiftError as problem:
                answers[name] = problem
            if report:
                report(len(answers), len(methods))
    return answers


def compared_row(
    name: str, answer: Certificate | PacshiftError, sets: "MeasuredSets | None", target_label: str | None
) -> "ComparisonRow":
    """What one method gave; the error only where labels of the target are known."""
    from pacshift.report import ComparisonRow

    guarantee = METHODS[name].guarantee
    if isinstance(answer, PacshiftError) or sets is None:
        return ComparisonRow(name, guarantee, None, note=f"refused: {answer}")
    n_sets = int(sets.set_sizes.sum())
    return ComparisonRow(
        name,
        guarantee,
        size=float(sets.set_sizes @ np.arange(len(sets.set_sizes)) / n_sets),
        empty=float(sets.set_sizes[0] / n_sets),
        error=None if target_label is None else sets.n_missed / n_sets,
        trivial=answer.trivial,
        note=" ".join(answer.reasons),
    )


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
