"""PS-T: thresholds certified by labelled target rows alone, whatever the shift.

The mathematics is in ``pacshift.paths``: ``labelled``, ``looks``, and the paths that PS-LP uses too. The proof is
on its page (docs/methods/ps-t.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pacshift.arrays import FloatArray, Label
from pacshift.errors import InputError
from pacshift.methods.base import Method, Solution, Task
from pacshift.methods.guarantee import needs_labels
from pacshift.methods.ps import too_few
from pacshift.paths.labelled import AIM, Family, LabelledTarget, families, mean_sizes, smallest
from pacshift.paths.looks import look_cuts
from pacshift.scores.names import shorten
from pacshift.tally import Tally
from pacshift.words.numbers import MAX_LISTED, given, mean_size


@dataclass(frozen=True)
class PST(Method):
    """The largest step of a path of thresholds at which few enough labelled target rows are missed. No options.

    A part of the labels, the pilot, plans the path together with the source and unlabelled target rows. The other
    labels run an exact binomial test. The source may be anything that does not hold the labelled rows.

    Examples
    --------
    >>> PST().guarantee, PST().assumes_label_shift
    ('pac-target', False)
    """

    name = "PS-T"
    idea = "tests thresholds on labelled target rows; needs no label shift"
    guarantee = "pac-target"
    assumes_label_shift = False
    needs_target = True
    needs_labels = True
    needs_bins = True

    def solve(self, tally: Tally, task: Task) -> Solution:
        """Find one threshold per class (Lemma 1 of the page)."""
        labelled = task.labelled
        if labelled is None:
            raise InputError(f"method PS-T {needs_labels()}")
        tried = families(labelled, tally, epsilon=task.epsilon)
        delta = task.delta / len(tried)
        # All looks in reach hold at once, whichever rows were left blank: the smallest sets may be chosen.
        each = [(one, family) for one in (labelled, *labelled.other_looks) for family in tried]
        cuts = [one.cut(epsilon=task.epsilon, delta=delta) for one, _ in each]
        candidates = [family(one.test, cut, one.blanks) for (one, family), cut in zip(each, cuts, strict=True)]
        chosen = smallest(tally, candidates, task.rows.mean_sizes)
        (labelled, family), thresholds, cut = each[chosen], candidates[chosen], cuts[chosen]
        reasons: tuple[str, ...] = ()
        if np.isneginf(thresholds).all():
            rows, unknown = labelled.looks[labelled.look], labelled.n_unknown
            reasons = too_few(rows, epsilon=task.epsilon, delta=delta, what="labelled target rows") or (
                f"no threshold passes on the {rows} rows of the test that this look may use.",
            )
            if unknown and cut + unknown >= 0:
                reasons = (
                    f"{unknown} of the {rows} rows of the test could not be labelled, and count as missed.",
                )
        aim = AIM * task.epsilon if labelled.is_tuned else None
        seen = misses_seen(labelled, thresholds, tally.classes, aim=aim)
        later = next_look(labelled, family, thresholds, tally, replace(task, delta=delta))
        return Solution(
            thresholds, reasons=reasons, notes=(*left_blank(labelled, thresholds, task), *seen, *later)
        )


def left_blank(labelled: LabelledTarget, thresholds: FloatArray, task: Task) -> tuple[str, ...]:
    """How blank rows were counted, and what the promise is about then (Lemma 5)."""
    if labelled.blanks is None:
        return ()
    whole = "" if task.contamination else (
        f" So the promise is that at most {given(task.epsilon)} of the target has a class and is missed: "
        "that every row has a class was not looked at."
    )  # fmt: skip
    return (
        f"{labelled.n_blank:,} rows of the test were left blank. Such a row counts as missed unless its set holds "
        f"all labels, which {labelled.blanks.count_misses(thresholds):,} do not.{whole}",
    )


def misses_seen(
    labelled: LabelledTarget, thresholds: FloatArray, classes: Sequence[Label], *, aim: float | None
) -> tuple[str, ...]:
    """What the rows of the test saw, class by class, and what the thresholds aim at."""
    if np.isneginf(thresholds).all():
        return ()
    missed, rows = labelled.test.misses(thresholds), labelled.test.class_counts
    order = [each for each in np.argsort(-missed, kind="stable").tolist() if rows[each]]
    listed = [f"{missed[each]} of {rows[each]} of class {classes[each]!r}" for each in order[:MAX_LISTED]]
    more = f", and so on for {len(order) - len(listed)} more classes" if len(order) > len(listed) else ""
    unknown = f", with {labelled.n_unknown} that nobody could label" if labelled.n_unknown else ""
    without = [name for name, count in zip(classes, labelled.counted.class_counts, strict=True) if not count]
    none = f" No labelled row is of {shorten(without)}." if without else ""
    aimed = "" if aim is None else (
        f" The thresholds aim at missing at most {given(min(aim, 1.0))} of every class of the source. This is an "
        "aim, not a promise."
    )  # fmt: skip
    return (
        f"of the {labelled.looks[labelled.look] - labelled.n_blank:,} labelled rows of the test "
        f"{int(missed.sum()) + labelled.n_unknown} were missed{unknown}: {', '.join(listed)}{more}.{none}{aimed}",
    )


def next_look(
    labelled: LabelledTarget, family: Family, thresholds: FloatArray, tally: Tally, task: Task
) -> tuple[str, ...]:
    """About how large the sets are now and after the next look, if it sees misses as often as this one."""
    sizes = mean_sizes(tally, [thresholds], task.rows.mean_sizes)
    if labelled.look + 1 >= len(labelled.looks) or sizes is None:
        return ()
    cuts = look_cuts(labelled.looks, epsilon=task.epsilon, delta=task.delta)
    now, then = labelled.looks[labelled.look : labelled.look + 2]
    more_allowed = round(cuts[labelled.look + 1] / then * now) - labelled.n_unknown
    expected = family(labelled.test, more_allowed, labelled.blanks)
    (later,) = mean_sizes(tally, [expected], task.rows.mean_sizes) or sizes
    more = then - now
    return (
        f"the sets hold {mean_size(sizes[0])} labels on average now; with the next {more:,} labels of the sheet "
        f"about {mean_size(later)} are expected. All looks hold together, so going on costs nothing but labels.",
    )
