"""``pacshift compare``: every method on the same data, side by side."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from pacshift.cli import options
from pacshift.cli.console import note, plain, print_json, results, right_aligned
from pacshift.cli.options import known
from pacshift.defaults import DELTA, EPSILON
from pacshift.errors import InputError
from pacshift.words.numbers import mean_size, percent

if TYPE_CHECKING:
    from pacshift.comparison import ComparisonRow
    from pacshift.methods import Guarantee


def compare(
    *,
    files: options.Files = None,
    epsilon: options.Epsilon = EPSILON,
    delta: options.Delta = DELTA,
    label: options.LabelColumn = "label",
    target_label: Annotated[
        str | None, known("--target-label COLUMN", "Label column of the target, to show the error.")
    ] = None,
    columns: options.ColumnOptions,
    as_json: options.Json = False,
) -> None:
    """Run all methods on the same SOURCE and TARGET.

    Example: pacshift compare source.parquet target.parquet --label diagnosis --epsilon 0.05
    """
    import pacshift
    from pacshift.cli.inputs import open_data

    every: dict[str, Any] = {"some_labels": False, "labels_per": "row"}  # every row has a label
    data = open_data(files, columns.reading(label), silent=as_json, target_label=target_label, **every)
    if len(data) == 1 or data[1] is None:
        raise InputError("no TARGET: name a table of target scores to measure the sets on.")
    rates: dict[str, Any] = {"epsilon": epsilon, "delta": delta}
    compared = pacshift.compare(*data, **rates)
    if as_json:
        print_json({**rates, "rows": data[1].last.n_given, "methods": list(map(asdict, compared.rows))})
        return
    with_error = any(row.error is not None for row in compared.rows)
    error = ["error"] if with_error else []
    shown = right_aligned("method", "promise", *error, "labels per set", "empty sets", left=2)
    for row in compared.rows:
        shown.add_row(*cells(row, epsilon=compared.epsilon, with_error=with_error))
    results().print(shown)
    results().print("Smaller sets are better only among methods with the same promise.")
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
