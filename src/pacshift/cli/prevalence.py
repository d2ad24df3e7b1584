"""``pacshift prevalence``: how frequent each class is on the target."""

import shlex
from typing import TYPE_CHECKING

from rich.table import Table

from pacshift.cli import options
from pacshift.cli.console import plain, print_json, results
from pacshift.defaults import DELTA
from pacshift.errors import AssumptionError, InputError
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
    labels: options.TargetLabels,
    reading: options.Reading,
    as_json: options.Json = False,
) -> None:
    """Bound the share of each class in the TARGET, without its labels or with a few.

    Example: pacshift prevalence source.parquet target.parquet --label diagnosis --known 'heart disease=0..0.3'
    """
    import pacshift
    from pacshift.cli.certificates import SHEET, column_words
    from pacshift.cli.inputs import open_data

    known_mix = options.read_known(known)
    data = open_data(files, reading.of_source(), labels, silent=as_json)
    if data[-1] is None:
        raise InputError("no TARGET: name an unlabelled table after the labelled one.")
    try:
        bounds = pacshift.prevalence(*data, delta=delta, known_mix=known_mix, labelled=labels.labelled)
    except AssumptionError as refused:
        if labels.are_given:
            raise
        table = str(files[1]) if files and len(data) > 1 else "TARGET"
        asked_for = column_words(reading, data[0].columns if len(data) > 1 else None)
        draw = shlex.join(["pacshift", "label", table, "--budget", "200", *asked_for, "-o", SHEET])
        ways = (
            "Label a random sample of the target: labels bound these shares whatever the shift is. Draw the rows "
            f"with `{draw}`, fill in their labels, and run this command again with `--labelled {SHEET}`."
        )
        raise AssumptionError(refused.refusal, ways, assumption=refused.assumption) from None
    if as_json:
        print_json(bounds)
    else:
        _show(bounds)


def _show(bounds: "Prevalence") -> None:
    """The table, of many classes those with the highest bounds; labels and label shift in columns of their own."""
    import numpy as np

    from pacshift.words.display import MAX_ROWS

    console, sure, other = results(), f"with confidence {all_but(bounds.delta)}", bounds.by_label_shift
    by_labels, shares = bounds.rests_on == "labels", bounds.class_counts / bounds.class_counts.sum()
    shown = np.arange(len(bounds.classes))
    if len(shown) > MAX_ROWS:
        shown = np.argsort(-bounds.mix.upper, kind="stable")[:MAX_ROWS]
    beside = ("by label shift",) if by_labels else ("weight", "recall")
    table = Table("class", "source", "target", *beside)
    for place in shown.tolist():
        row = [percent(shares[place]), between(bounds.mix.lower[place], bounds.mix.upper[place])]
        if by_labels:
            row.append("-" if other is None else between(other.mix.lower[place], other.mix.upper[place]))
        else:
            row.append(numbers_between(bounds.weights.lower[place], bounds.weights.upper[place]))
            row.append(between(bounds.recall.lower[place], bounds.recall.upper[place]))
        table.add_row(plain(bounds.classes[place]), *row)
    console.print(table)
    if len(bounds.classes) > len(shown):
        console.print(f"The {MAX_ROWS} highest bounds of {len(bounds.classes):,}; --json has all.")
    if not by_labels:
        sentence = f"If label shift holds, all bounds hold together {sure}."
        if bounds.accuracy_at_most - bounds.accuracy <= WIDEST_TOLD:
            sentence += f" Accuracy of the top label: {between(bounds.accuracy, bounds.accuracy_at_most)}."
        console.print(sentence)
        return
    console.print(f"The bounds rest on {bounds.n_labels:,} random labels alone; they hold together {sure}.")
    if other is None:
        console.print(f"By predictions nothing can be said: {plain(bounds.refusal)}", soft_wrap=True)
        return
    apart = ((bounds.mix.lower > other.mix.upper) | (other.mix.lower > bounds.mix.upper)).any()
    overlap = (
        "The two do not overlap: label shift hardly holds." if apart else "The two overlap; that proves nothing."
    )
    console.print(
        f"If label shift holds, those beside them hold together {sure} too, by themselves. {overlap} Do not "
        "choose the ones you like."
    )
