"""``pacshift prevalence``: how frequent each class is on the target."""

import numpy as np
from rich.table import Table

from pacshift.certification.label_mix import prevalence_tally
from pacshift.cli import inputs, options
from pacshift.cli.console import plain, print_json, results
from pacshift.cli.inputs import Inputs
from pacshift.defaults import DELTA
from pacshift.errors import InputError
from pacshift.mix.prevalence import Prevalence
from pacshift.wording import all_but, at_least, between, numbers_between, percent


def prevalence(
    paths: inputs.Paths = None,
    delta: options.Delta = DELTA,
    known: options.Known = None,
    label: options.LabelColumn = "label",
    scores: options.Scores = None,
    classes: options.Classes = None,
    by_position: options.ByPosition = False,
    source: inputs.MoreSource = None,
    target: inputs.MoreTarget = None,
    tallies: inputs.Tallies = False,
    drop_invalid: options.DropInvalid = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Bound the share of each class on the TARGET, from a labelled SOURCE and the predictions alone.

    Example: pacshift prevalence source.parquet target.parquet --label diagnosis --known 'heart disease=0..0.3'
    """
    if tallies:
        tally = inputs.load_tallies(paths)
    else:
        files = inputs.split_paths(paths, source, target)
        if not files[1]:
            raise InputError("no TARGET: name an unlabelled table after the labelled one.")
        data = Inputs(
            source=files[0],
            target=files[1],
            label=label,
            scores=scores,
            classes=options.read_classes(classes),
            by_position=by_position,
            grid=True,
            drop_invalid=drop_invalid,
            silent=quiet or as_json,
        )
        tally = data.tally("probability", soft=False, bins=False)
    known_mix = options.known_for(options.read_known(known), tally.classes)
    found = prevalence_tally(tally, delta=delta, known_mix=known_mix)
    if as_json:
        print_json(document(found))
    elif not quiet:
        _show(found)


def document(found: Prevalence) -> dict[str, object]:
    """What the JSON output holds: one entry per class, and what holds for all of them."""
    unbounded = np.isinf(found.weights.upper)
    rows = {
        str(name): {
            "share": [float(found.mix.lower[place]), float(found.mix.upper[place])],
            "weight": [
                float(found.weights.lower[place]),
                None if unbounded[place] else float(found.weights.upper[place]),
            ],
            "source_rows": int(found.class_counts[place]),
            "predicted_target_rows": int(found.predicted_counts[place]),
        }
        for place, name in enumerate(found.classes)
    }
    return {"delta": found.delta, "accuracy_at_least": found.accuracy, "classes": rows}


def _show(found: Prevalence) -> None:
    table = Table("class", "share of the target", "share of the source", "weight")
    shares = found.class_counts / found.class_counts.sum()
    for place, name in enumerate(found.classes):
        share = between(found.mix.lower[place], found.mix.upper[place])
        weight = numbers_between(found.weights.lower[place], found.weights.upper[place])
        table.add_row(plain(name), share, percent(shares[place]), weight)
    console = results()
    console.print(table)
    console.print(
        f"If label shift holds, all of this is right with probability at least {all_but(found.delta)}. "
        f"The classifier's accuracy on the target is then {at_least(found.accuracy)}.",
        soft_wrap=True,
    )
