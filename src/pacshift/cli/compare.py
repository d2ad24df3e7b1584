"""``pacshift compare``: every method on the same data, side by side."""

from typing import TYPE_CHECKING, Annotated

from pacshift.cli import options
from pacshift.cli.console import make_table, note, plain, print_json, results
from pacshift.cli.options import known
from pacshift.defaults import DELTA, EPSILON
from pacshift.errors import InputError

if TYPE_CHECKING:
    from pacshift.comparison import ComparisonRow
    from pacshift.methods import Guarantee


def compare(
    *,
    files: options.Files = None,
    epsilon: options.Epsilon = EPSILON,
    delta: options.Delta = DELTA,
    target_label: Annotated[
        str | None, known("--target-label COLUMN", "Label column of the target, to show the error.", of_rows=True)
    ] = None,
    reading: options.Reading,
    as_json: options.Json = False,
) -> None:
    """Run all methods on the same SOURCE and TARGET.

    Example: pacshift compare source.parquet target.parquet --label diagnosis --epsilon 0.05
    """
    import pacshift
    from pacshift.cli.inputs import open_data

    data = open_data(files, reading.of_source(), options.TargetLabels(target_label=target_label), silent=as_json)
    if len(data) == 1 or data[1] is None:
        raise InputError(
            "no TARGET: name two tables, SOURCE and TARGET. Sets are measured on rows; tallies hold none."
        )
    compared = pacshift.compare(*data, epsilon=epsilon, delta=delta)
    if as_json:
        print_json(
            {"epsilon": epsilon, "delta": delta, "rows": data[1].last_scan.n_given, "methods": compared.rows}
        )
        return
    shown = make_table(*compared.columns, left=2)
    for row in compared.rows:
        shown.add_row(*cells(row, compared.epsilon)[: len(compared.columns)])
    results().print(shown)
    results().print("Smaller sets are better only among methods with the same promise.")
    for row in compared.rows:
        if row.note:
            note(f"{row.method}: {row.note}")


def cells(row: "ComparisonRow", epsilon: float) -> list[str]:
    """One method as cells with Rich markup; red where the error is above what was asked for."""
    method, _, *numbers, error = row.texts
    if row.error is not None:
        colour, sign = ("red", ">") if row.error > epsilon else ("green", "<=")
        error = f"[{colour}]{error} {sign} {epsilon:g}[/]"
    return [f"[bold]{plain(method)}[/]", guarantee_cell(row.guarantee), *numbers, error]


def guarantee_cell(guarantee: "Guarantee") -> str:
    """A guarantee in two words with Rich markup, green if it holds on the target."""
    from pacshift.methods.guarantee import MEANINGS

    meaning = MEANINGS[guarantee]
    return f"[{'green' if meaning.tone == 'good' else 'yellow'}]{meaning.in_short}[/]"
