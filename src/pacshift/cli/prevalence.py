"""``pacshift prevalence``: how frequent each class is on the target."""

import shlex
from typing import TYPE_CHECKING, Any

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
    target_label: options.TargetLabel = None,
    labels_per: options.LabelsPer = None,
    labelled: options.Labelled = None,
    reading: options.Reading,
    as_json: options.Json = False,
) -> None:
    """Bound the share of each class in the TARGET, without its labels or with a few.

    Example: pacshift prevalence source.parquet target.parquet --label diagnosis --known 'heart disease=0..0.3'
    """
    import pacshift
    from pacshift.cli.certificates import SHEET, column_words
    from pacshift.cli.inputs import open_data
    from pacshift.tally.groups import check_labels_per

    known_mix = options.read_known(known)
    check_labels_per(labels_per, has_labels=target_label is not None, has_groups=reading.group is not None)
    labels: dict[str, Any] = {"target_label": target_label, "labelled": labelled, "labels_per": labels_per}
    data = open_data(files, reading.of_source(), silent=as_json, **labels)
    if data[-1] is None:
        raise InputError("no TARGET: name an unlabelled table after the labelled one.")
    try:
        found = pacshift.prevalence(*data, delta=delta, known_mix=known_mix, labelled=labelled)
    except AssumptionError as refused:
        if target_label or labelled:
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
    made: dict[str, object] = {
        "delta": found.delta,
        "rests_on": found.rests_on,
        "labels": found.n_labels,
        **accuracy,
        "classes": rows,
    }
    if found.rests_on == "labels":
        beside = found.by_label_shift
        made |= {"by_label_shift": None if beside is None else document(beside), "refusal": found.refusal or None}
    return made


def _show(found: "Prevalence") -> None:
    """The table, of many classes those with the highest bounds; labels and label shift in columns of their own."""
    import numpy as np

    from pacshift.words.display import MAX_ROWS

    console, sure, other = results(), f"with confidence {all_but(found.delta)}", found.by_label_shift
    by_labels, shares = found.rests_on == "labels", found.class_counts / found.class_counts.sum()
    shown = np.arange(len(found.classes))
    if len(shown) > MAX_ROWS:
        shown = np.argsort(-found.mix.upper, kind="stable")[:MAX_ROWS]
    beside = ("by label shift",) if by_labels else ("weight", "recall")
    table = Table("class", "source", "target", *beside)
    for place in shown.tolist():
        row = [percent(shares[place]), between(found.mix.lower[place], found.mix.upper[place])]
        if by_labels:
            row.append("-" if other is None else between(other.mix.lower[place], other.mix.upper[place]))
        else:
            row.append(numbers_between(found.weights.lower[place], found.weights.upper[place]))
            row.append(between(found.recall.lower[place], found.recall.upper[place]))
        table.add_row(plain(found.classes[place]), *row)
    console.print(table)
    if len(found.classes) > len(shown):
        console.print(f"The {MAX_ROWS} highest bounds of {len(found.classes):,}; --json has all.")
    if not by_labels:
        said = f"If label shift holds, all bounds hold together {sure}."
        if found.accuracy_at_most - found.accuracy <= WIDEST_TOLD:
            said += f" Accuracy of the top label: {between(found.accuracy, found.accuracy_at_most)}."
        console.print(said)
        return
    console.print(f"The bounds rest on {found.n_labels:,} random labels alone; they hold together {sure}.")
    if other is None:
        console.print(f"By predictions nothing can be said: {plain(found.refusal)}", soft_wrap=True)
        return
    apart = ((found.mix.lower > other.mix.upper) | (other.mix.lower > found.mix.upper)).any()
    overlap = (
        "The two do not overlap: label shift hardly holds." if apart else "The two overlap; that proves nothing."
    )
    console.print(
        f"If label shift holds, those beside them hold together {sure} too, by themselves. {overlap} Do not "
        "choose the ones you like."
    )
