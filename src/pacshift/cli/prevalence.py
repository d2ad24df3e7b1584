"""``pacshift prevalence``: how frequent each class is on the target."""

import shlex
from typing import TYPE_CHECKING, Annotated, Any

from rich.table import Table

from pacshift.cli import options
from pacshift.cli.commands import words
from pacshift.cli.console import plain, print_json, results
from pacshift.defaults import DELTA
from pacshift.errors import AssumptionError, InputError
from pacshift.words.numbers import all_but, between, numbers_between, percent

if TYPE_CHECKING:
    from pacshift import Prevalence


def prevalence(
    *,
    files: options.Files = None,
    delta: options.Delta = DELTA,
    known: options.Known = None,
    target_label: options.TargetLabel = None,
    labels_per: options.LabelsPer = None,
    labelled: options.Labelled = None,
    assume_label_shift: Annotated[
        bool,
        options.known(
            "--assume-label-shift", "With target labels: you state, before you see either, that label shift holds."
        ),
    ] = False,
    label: options.LabelColumn = "label",
    columns: options.ColumnOptions,
    as_json: options.Json = False,
) -> None:
    """Bound the share of each class on the TARGET, from a labelled SOURCE and predictions, or from a few labels.

    Example: pacshift prevalence source.parquet target.parquet --label diagnosis --known 'heart disease=0..0.3'
    """
    import pacshift
    from pacshift.cli.inputs import open_data

    known_mix = options.read_known(known)
    labels: dict[str, Any] = {"target_label": target_label, "labelled": labelled, "labels_per": labels_per}
    data = open_data(files, columns.reading(label), silent=as_json, **labels)
    if data[-1] is None:
        raise InputError("no TARGET: name an unlabelled table after the labelled one.")
    asked: dict[str, Any] = {"labelled": labelled, "assume_label_shift": assume_label_shift}
    try:
        found = pacshift.prevalence(*data, delta=delta, known_mix=known_mix, **asked)
    except AssumptionError as refused:
        if target_label or labelled:
            raise
        table = str(files[1]) if files and len(data) > 1 else "TARGET"
        draw = shlex.join(["pacshift", "label", table, "--budget", "200", *words(columns), "-o", "to_label.csv"])
        ways = (
            "Label a random sample of the target: labels bound these shares whatever the shift is. Draw the rows "
            f"with `{draw}`, fill in their labels, and run this command again with `--labelled to_label.csv`."
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
    from pacshift.words.statements import guessing, tells_accuracy

    console = results()
    sure = f"is right with probability at least {all_but(found.delta)}"
    if found.rests_on == "labels":
        _show_by_labels(found, sure)
        return
    table = Table("class", "share of the target", "share of the source", "weight", "recall")
    shares = found.class_counts / found.class_counts.sum()
    for place, name in enumerate(found.classes):
        share = between(found.mix.lower[place], found.mix.upper[place])
        weight = numbers_between(found.weights.lower[place], found.weights.upper[place])
        recall = between(found.recall.lower[place], found.recall.upper[place])
        table.add_row(plain(name), share, percent(shares[place]), weight, recall)
    console.print(table)
    beside = guessing(found.mix) if tells_accuracy(found.accuracy, found.mix, len(found.classes)) else ""
    bounds = between(found.accuracy, found.accuracy_at_most)
    accuracy = f" The classifier's accuracy on the target is then {bounds}{beside}."
    labels = f", and the {found.n_labels:,} labelled rows are a random sample" if found.n_labels else ""
    console.print(
        f"If label shift holds{labels}, all of this {sure}.{accuracy} "
        "The bounds of these shares on a certificate are wider: it spends most of delta on its sets."
    )


def _show_by_labels(found: "Prevalence", sure: str) -> None:
    """The shares by labels, and by label shift in a column of its own."""
    other = found.by_label_shift
    table = Table("class", "share of the target", "by label shift", "share of the source")
    shares = found.class_counts / found.class_counts.sum()
    for place, name in enumerate(found.classes):
        share = between(found.mix.lower[place], found.mix.upper[place])
        shift = "-" if other is None else between(other.mix.lower[place], other.mix.upper[place])
        table.add_row(plain(name), share, shift, percent(shares[place]))
    console = results()
    console.print(table)
    console.print(
        f"These shares rest on {found.n_labels:,} random labels alone: this {sure}, whatever the shift is."
    )
    if other is None:
        console.print(f"By predictions nothing can be said: {plain(found.refusal)}", soft_wrap=True)
        return
    apart = ((found.mix.lower > other.mix.upper) | (other.mix.lower > found.mix.upper)).any()
    overlap = (
        "The two do not overlap: label shift hardly holds." if apart else "The two overlap, which proves nothing."
    )
    console.print(
        f"If label shift holds, the column beside it {sure}, a statement of its own. {overlap} Do not choose the "
        "one that you like."
    )
