"""``pacshift compare``: every method on the same data, side by side."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from pacshift.cli import options
from pacshift.cli.console import note, plain, print_json, results, right_aligned
from pacshift.cli.options import known
from pacshift.words.numbers import mean_size, percent

if TYPE_CHECKING:
    from pacshift.comparison import ComparisonRow
    from pacshift.methods import Guarantee


def compare(
    *,
    files: options.Files,
    promise: options.Promise,
    label: options.LabelColumn = "label",
    target_label: Annotated[
        str | None, known("--target-label COLUMN", "Column of the target's labels, if known: shows the error.")
    ] = None,
    weights: options.Weights = None,
    columns: options.ColumnOptions,
    printing: options.Printing,
) -> None:
    """Run all methods on the same SOURCE and TARGET; ORACLE only with --weights.

    Example: pacshift compare source.parquet target.parquet --label diagnosis --epsilon 0.05
    """
    from pacshift.cli.inputs import open_both
    from pacshift.comparison import compare_rows
    from pacshift.methods import usable_methods

    request = promise.check(weights=options.read_numbers(weights, "--weights"))
    source, target = open_both(
        **files.split(target="a table of target scores to measure the sets on"),
        **columns.reading(label),
        silent=printing.silent,
        target_label=target_label,
        labels_per="row",  # every row has a label
    )
    assert target is not None  # else there was an error
    methods = usable_methods(with_weights=bool(request.weights))
    compared = compare_rows(source, target, methods, request, promise.score)
    if printing.as_json:
        rates = {"epsilon": request.epsilon, "delta": request.delta}
        print_json({**rates, "rows": target.last.n_given, "methods": list(map(asdict, compared.rows))})
    else:
        with_error = any(row.error is not None for row in compared.rows)
        error = ["target error"] if with_error else []
        shown = right_aligned("method", "guarantees", *error, "mean set size", "empty sets", left=2)
        for row in compared.rows:
            shown.add_row(*cells(row, epsilon=request.epsilon, with_error=with_error))
        results().print(shown)
        for row in compared.rows:
            if row.note:
                note(f"{row.method}: {row.note}")


def cells(row: "ComparisonRow", *, epsilon: float, with_error: bool) -> list[str]:
    """One method as cells with Rich markup; red where the error is above what was asked for."""
    made = [f"[bold]{plain(row.method)}[/]", guarantee_cell(row.guarantee)]
    if with_error:
        colour, sign = ("red", ">") if row.error is not None and row.error > epsilon else ("green", "<=")
        made.append("-" if row.error is None else f"[{colour}]{row.error:.4f} {sign} {epsilon:g}[/]")
    if row.size is None or row.empty is None:
        return [*made, "refused", "-"]
    return [*made, mean_size(row.size) + (" (all labels)" if row.trivial else ""), percent(row.empty)]


def guarantee_cell(guarantee: "Guarantee") -> str:
    """A guarantee in two words with Rich markup, green if it holds on the target."""
    from pacshift.methods.guarantee import MEANINGS

    meaning = MEANINGS[guarantee]
    return f"[{'green' if meaning.tone == 'good' else 'yellow'}]{meaning.in_short}[/]"
