"""What a certificate says besides its numbers: classes that are missed often, data that look like a mistake."""

from collections.abc import Sequence

import numpy as np

from pacshift.arrays import Label
from pacshift.bounds import Interval
from pacshift.certification.answers import Answer
from pacshift.methods import Method
from pacshift.scores.kind import OTHER
from pacshift.scores.transforms import TRANSFORMS
from pacshift.tally import Tally
from pacshift.tally.cells import Cells
from pacshift.words.numbers import at_least, given

OFTEN_MISSED = 2.0
"""A class whose miss rate has a lower bound above this many times epsilon is named in a note.
A round number; not measured."""

FEWEST_ROWS_ALIKE = 50
"""With fewer rows, source and target may well have the same counts by chance. A round number; not measured."""


def often_missed_note(
    misses: Interval, classes: Sequence[Label], *, epsilon: float, whose: str = ""
) -> tuple[str, ...]:
    """A note that names the classes which are shown to be missed more than twice as often as all cases may be.

    ``whose`` is "label-shifted " where the bounds are about that part of the target.
    """
    found = np.flatnonzero(misses.lower > OFTEN_MISSED * epsilon)
    if not len(found):
        return ()
    worst = found[np.argsort(-misses.lower[found], kind="stable")]
    listed = [f"{classes[label]!r} ({at_least(misses.lower[label])})" for label in worst[:6].tolist()]
    more = f" and {len(worst) - 6} more" if len(worst) > 6 else ""
    return (
        f"the sets miss more than {given(OFTEN_MISSED * epsilon)} (twice epsilon) of the {whose}cases of "
        f"{', '.join(listed)}{more}. The promise is about all cases "
        "together. To limit the misses of every class, set class_epsilon=, or use method PS-LW.",
    )


def by_labels_note(found: Answer, asked: Method, n_labels: int) -> tuple[str, ...]:
    """Why labelled target rows certify the thresholds, where another method was asked for."""
    if found.method.name == asked.name or found.method.assumes_label_shift:
        return ()
    alone = f"This certificate rests on {n_labels:,} labelled target rows alone."
    if found.refused is None:
        return (f"the labelled target rows give smaller sets than {asked.name} does under label shift. {alone}",)
    return (f"{asked.name} was asked for, but label shift was refuted. {alone}",)


def logits_note(tally: Tally) -> tuple[str, ...]:
    """A note where scores look like logits and no softmax was taken.

    A note and no warning: any scores keep the promise, and who means them has nothing to change. But with logits
    sets are often much larger, and who passed them by mistake wants to know.
    """
    kind = tally.full_source_kind
    if tally.softmax or tally.score not in TRANSFORMS or kind is None or kind.name != OTHER:
        return ()
    return (
        f"the source's scores are {kind}, and they are used as they are. The promise holds, but sets made from "
        "raw logits are often much larger than those made from probabilities. If these are logits, take their "
        "softmax: softmax=True.",
    )


def suspicious(tally: Tally) -> tuple[str, ...]:
    """Notes about data that look like a mistake but may be none."""
    found = [*logits_note(tally)]
    if tally.n_target >= FEWEST_ROWS_ALIKE and _same_cells(tally.source_cells, tally.target_cells):
        found.append(
            "source and target have the same number of rows in every group of predicted label and top score. If "
            "they are the same rows, nothing was learned about another population: pass the target's own scores."
        )
    shared = 0 if tally.target_grouped is None else tally.target_grouped.shared
    if shared:
        found.append(
            f"{shared:,} group(s) have the same id in source and target. If they are the same (patients who came "
            "twice), source and target are not independent, and the promise does not hold: leave these groups out "
            "of one of them. If only the ids are alike, all is well."
        )
    for name, kind, rows in (
        ("source", tally.source_kind, tally.n_source),
        ("target", tally.target_kind, tally.n_target),
    ):
        if kind is not None and kind.is_constant and rows > 1:
            found.append(
                f"all {rows:,} {name} rows have the same top score, {kind.high:.6g}. Check that they hold the "
                "model's output, and not a constant."
            )
    return tuple(found)


def _same_cells(source: Cells, target: Cells) -> bool:
    """Whether both have the same counts by predicted label and confidence."""
    if source.n_rows != target.n_rows or source.bins != target.bins:
        return False
    unlabelled, place = np.unique(source.codes // source.n_labels, return_inverse=True)
    counts = np.bincount(place, weights=source.counts, minlength=len(unlabelled))
    return np.array_equal(unlabelled, target.codes) and np.array_equal(counts, target.counts)
