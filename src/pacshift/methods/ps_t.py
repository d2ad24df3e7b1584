"""PS-T: thresholds certified by labelled target rows alone, whatever the shift.

The mathematics is in ``pacshift.ps_t``, in the order of its page (docs/methods/ps-t.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pacshift.arrays import FloatArray, Label
from pacshift.errors import InputError
from pacshift.methods.base import Method, Solution, Task
from pacshift.methods.ps import too_few
from pacshift.ps_t.families import AIM, certified
from pacshift.ps_t.rows import LabelledTarget
from pacshift.ps_t.sizes import smallest
from pacshift.scores.names import shorten
from pacshift.tally import Tally
from pacshift.wording import given

MAX_CLASSES_LISTED = 6
"""Classes whose misses a note lists: what fits a screen. ``class_miss`` holds all of them."""


@dataclass(frozen=True)
class PST(Method):
    """The largest step of a path of thresholds at which few enough labelled target rows are missed. No options.

    A part of the labels, the pilot, plans the path together with the source and unlabelled target rows. The other
    labels run an exact binomial test. Nothing is assumed about how the source relates to the target.

    Examples
    --------
    >>> PST().guarantee, PST().assumes_label_shift
    ('pac-target', False)
    """

    name = "PS-T"
    idea = "an exact test on labelled target rows; assumes nothing about the shift"
    guarantee = "pac-target"
    assumes_label_shift = False
    needs_target = True
    needs_labels = True
    needs_bins = True

    def solve(self, tally: Tally, task: Task) -> Solution:
        """Find one threshold per class (Lemma 1 of the page)."""
        labelled = task.labelled
        if labelled is None:
            raise InputError(
                "method PS-T needs labelled target rows: pass target_labels= with None for rows without a label, "
                "or labelled= with a filled-in label sheet."
            )
        found = certified(labelled, tally, epsilon=task.epsilon, delta=task.delta)
        kind, thresholds = found[smallest(tally, [cuts for _, cuts in found], task.count_labels)]
        reasons = too_few(
            labelled.looks[labelled.look], epsilon=task.epsilon, delta=task.delta, what="labelled target rows"
        )
        if np.isneginf(thresholds).all() and not reasons:
            reasons = (_too_many_unknown(labelled),) if labelled.n_unknown else ()
        notes = misses_seen(labelled, thresholds, tally.classes, epsilon=task.epsilon, is_tuned=kind == "tuned")
        return Solution(thresholds, reasons=reasons, notes=notes)


def _too_many_unknown(labelled: LabelledTarget) -> str:
    rows = labelled.looks[labelled.look]
    return f"{labelled.n_unknown} of the {rows} rows of the test could not be labelled, and count as missed."


def misses_seen(
    labelled: LabelledTarget, thresholds: FloatArray, classes: Sequence[Label], *, epsilon: float, is_tuned: bool
) -> tuple[str, ...]:
    """What the rows of the test saw, class by class, and what the thresholds aim at."""
    if np.isneginf(thresholds).all():
        return ()
    missed, rows = labelled.test.misses(thresholds), labelled.test.class_counts
    order = np.argsort(-missed, kind="stable")
    order = order[rows[order] > 0]
    listed = [f"{missed[each]} of {rows[each]} of {classes[each]!r}" for each in order[:MAX_CLASSES_LISTED]]
    more = f", and so on for {len(order) - len(listed)} more classes" if len(order) > len(listed) else ""
    unknown = f", with {labelled.n_unknown} that nobody could label" if labelled.n_unknown else ""
    seen = (
        f"of the {labelled.test.n_source + labelled.n_unknown:,} labelled rows of the test "
        f"{int(missed.sum()) + labelled.n_unknown} were missed{unknown}: {', '.join(listed)}{more}."
    )
    without = np.flatnonzero(labelled.counted.class_counts == 0)
    none = (
        f" No labelled row is of {shorten([classes[each] for each in without.tolist()])}." if len(without) else ""
    )
    aim = (
        f" The thresholds aim at missing at most {given(min(AIM * epsilon, 1.0))} of every class of the source. "
        "This is an aim, not a promise."
    )
    return (f"{seen}{none}{aim if is_tuned else ''}",)
