"""``pacshift prevalence``: how frequent each class is on the target."""

from typing import TYPE_CHECKING

from rich.table import Table

from pacshift.cli import options
from pacshift.cli.console import plain, print_json, results
from pacshift.defaults import DELTA
from pacshift.errors import InputError
from pacshift.words.numbers import all_but, between, numbers_between, percent

if TYPE_CHECKING:
    from pacshift import Prevalence

WIDEST_TOLD = 0.5
"""A range of the accuracy that is wider says nothing. A round number."""


def prevalence(
    *,
    files: options.Files = None,
    delta: options.Delta = DELTA,
    known: options.Known = None,
    label: options.LabelColumn = "label",
    columns: options.ColumnOptions,
    as_json: options.Json = False,
) -> None:
    """Bound the share of each class on the TARGET, from a labelled SOURCE and the predictions alone.

    Example: pacshift prevalence source.parquet target.parquet --label diagnosis --known 'heart disease=0..0.3'
    """
    import pacshift
    from pacshift.cli.inputs import open_data

    known_mix = options.read_known(known)
    data = open_data(files, columns.reading(label), silent=as_json)
    if data[-1] is None:
        raise InputError("no TARGET: name an unlabelled table after the labelled one.")
    found = pacshift.prevalence(*data, delta=delta, known_mix=known_mix)
    if as_json:
        print_json(document(found))
    else:
        _show(found)


def document(found: "Prevalence") -> dict[str, object]:
    """What the JSON output holds: one entry per class, and what holds for all of them."""
    rows = {
        str(name): {
            "share": [float(found.mix.lower[place]), float(found.mix.upper[place])],
            "weight": [float(found.weights.lower[place]), options.finite_or_none(found.weights.upper[place])],
            "recall": [float(found.recall.lower[place]), float(found.recall.upper[place])],
            "source_rows": int(found.class_counts[place]),
            "predicted_target_rows": int(found.predicted_counts[place]),
        }
        for place, name in enumerate(found.classes)
    }
    accuracy = {"accuracy_at_least": found.accuracy, "accuracy_at_most": found.accuracy_at_most}
    return {"delta": found.delta, **accuracy, "classes": rows}


def _show(found: "Prevalence") -> None:
    import numpy as np

    from pacshift.words.display import MAX_ROWS

    shown, shares = np.arange(len(found.classes)), found.class_counts / found.class_counts.sum()
    if len(shown) > MAX_ROWS:
        shown = np.argsort(-found.mix.upper, kind="stable")[:MAX_ROWS]
    table = Table("class", "source", "target", "weight", "recall")
    for place in shown.tolist():
        share = between(found.mix.lower[place], found.mix.upper[place])
        weight = numbers_between(found.weights.lower[place], found.weights.upper[place])
        recall = between(found.recall.lower[place], found.recall.upper[place])
        table.add_row(plain(found.classes[place]), percent(shares[place]), share, weight, recall)
    console, said = (
        results(),
        f"If label shift holds, all bounds hold together with confidence {all_but(found.delta)}.",
    )
    console.print(table)
    if len(found.classes) > len(shown):
        console.print(
            f"The {MAX_ROWS} highest bounds; {len(found.classes) - MAX_ROWS:,} more classes with --json."
        )
    if found.accuracy_at_most - found.accuracy <= WIDEST_TOLD:
        said += f" Accuracy of the top label: {between(found.accuracy, found.accuracy_at_most)}."
    console.print(said)
