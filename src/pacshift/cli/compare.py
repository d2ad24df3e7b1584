"""``pacshift compare``: every method on the same data, side by side."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich.table import Table

from pacshift.certificate import Certificate
from pacshift.cli import inputs, options
from pacshift.cli.console import note, plain, print_json, progress, results
from pacshift.cli.inputs import Inputs
from pacshift.cli.methods import guarantee_cell
from pacshift.comparison.table import ComparisonRow, Measured, compare_methods, own_score
from pacshift.defaults import DELTA, EPSILON
from pacshift.errors import InputError
from pacshift.methods import METHODS
from pacshift.wording import mean_size, percent

if TYPE_CHECKING:
    from pacshift.tables.evaluate import MeasuredSets


def compare(
    paths: inputs.Paths = None,
    epsilon: options.Epsilon = EPSILON,
    delta: options.Delta = DELTA,
    label: options.LabelColumn = "label",
    target_label: Annotated[
        str | None,
        typer.Option(
            "--target-label", metavar="COLUMN", help="Column of the target's labels, if known: shows the error."
        ),
    ] = None,
    scores: options.Scores = None,
    classes: options.Classes = None,
    by_position: options.ByPosition = False,
    source: inputs.MoreSource = None,
    target: inputs.MoreTarget = None,
    score: options.Score = "probability",
    weights: options.Weights = None,
    class_epsilon: options.ClassEpsilon = None,
    contamination: options.Contamination = 0.0,
    known: options.Known = None,
    exact: options.Exact = False,
    drop_invalid: options.DropInvalid = False,
    seed: options.Seed = 0,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Run all methods on the same SOURCE and TARGET; ORACLE only with --weights.

    Example: pacshift compare source.parquet target.parquet --label diagnosis --epsilon 0.05
    """
    options.check_request(epsilon, delta, score=score, class_epsilon=class_epsilon, contamination=contamination)
    known_mix = options.read_known(known)
    files = inputs.split_paths(paths, source, target)
    if not files[1]:
        raise InputError("no TARGET: name a table of target scores to measure the sets on.")
    data = Inputs(
        source=files[0],
        target=files[1],
        label=label,
        scores=scores,
        classes=options.read_classes(classes),
        grid=not exact,
        drop_invalid=drop_invalid,
        silent=quiet or as_json,
        target_label=target_label,
        keep_source=True,
        by_position=by_position,
    )
    chosen = [method() for method in METHODS.values() if weights or not method.needs_weights]
    names = dict.fromkeys([score, *(own_score(method, score) for method in chosen)])
    sources = {name: data.source_tally(name, soft=True) for name in names}
    target_counts = data.target_tally(sources[score].classes, soft=True, bins=True)

    def measure(certificates: Sequence[Certificate]) -> list[Measured]:
        return [_summary(sets, labelled=target_label is not None) for sets in data.measure(certificates)]

    with progress("comparing methods", silent=data.silent) as report:
        made = compare_methods(
            chosen,
            lambda method: sources[own_score(method, score)] + target_counts,
            measure,
            progress=report,
            epsilon=epsilon,
            delta=delta,
            weights=options.read_numbers(weights, "--weights"),
            rng=seed,
            class_epsilon=class_epsilon,
            contamination=contamination,
            known_mix=options.known_for(known_mix, target_counts.classes),
        )
    compared = [row for row, _certificate in made]
    if as_json:
        print_json(
            {
                "epsilon": epsilon,
                "delta": delta,
                "rows": target_counts.n_target,
                "methods": list(map(asdict, compared)),
            }
        )
    elif not quiet:
        show(compared, epsilon=epsilon)


def _summary(sets: "MeasuredSets", *, labelled: bool) -> Measured:
    """Error (where labels are known), mean size and share of empty sets."""
    n_sets = int(sets.set_sizes.sum())
    mean = float(sets.set_sizes @ np.arange(len(sets.set_sizes)) / n_sets)
    return sets.n_missed / n_sets if labelled else None, mean, float(sets.set_sizes[0] / n_sets)


def show(rows: Sequence[ComparisonRow], *, epsilon: float) -> None:
    """Print the comparison as a table, its notes below it."""
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


def cells(row: ComparisonRow, *, epsilon: float, with_error: bool) -> list[str]:
    """One method as cells with Rich markup; red where the error is above what was asked for."""
    made = [f"[bold]{plain(row.method)}[/]", guarantee_cell(row.guarantee)]
    if with_error:
        made.append("-" if row.error is None else error_cell(row.error, epsilon))
    if row.size is None or row.empty is None:
        return [*made, "refused", "-"]
    return [*made, mean_size(row.size) + (" (all labels)" if row.trivial else ""), percent(row.empty)]


def error_cell(error: float, epsilon: float) -> str:
    """The error beside what was allowed, in a colour and a sign."""
    bad = error > epsilon
    return f"[{'red' if bad else 'green'}]{error:.4f} {'>' if bad else '<='} {plain(f'{epsilon:g}')}[/]"
