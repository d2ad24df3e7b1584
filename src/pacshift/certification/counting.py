"""From what a verb is given to what ``certify`` works on: how rows are counted and looked at again, in one place.

``calibrate`` decides by what the rows allow, ``verify`` by what the certificate says: the same ``Counting``.
"""

import os
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pacshift.arrays import Label, LabelsLike, ScoresLike, scipy
from pacshift.certificate import Certificate
from pacshift.certificate.provenance import Counting
from pacshift.certification.request import Request
from pacshift.errors import InputError, param, users_line
from pacshift.files.writing import PathLike
from pacshift.labels.labelled import split_at_random, split_by_sheet, use_label_counts
from pacshift.labels.sheet import LabelSheet
from pacshift.methods import Method, RowAccess
from pacshift.methods.base import NO_ROWS
from pacshift.methods.guarantee import promises_target
from pacshift.parallel import in_background
from pacshift.paths.labelled import LabelledTarget
from pacshift.rows import fold
from pacshift.rows.base import CheckedRows
from pacshift.rows.rows import Rows, bind_pair
from pacshift.scores.transforms import Transform, TransformFunction
from pacshift.tally import Tally
from pacshift.tally.repeats import find_source_repeats, find_target_repeats
from pacshift.words.findings import describe_copies

MAX_ROWS_READ_TWICE = 1_000_000
"""Tables with more rows, source and target together, are not read again: thresholds are then tuned on counts.
About as many rows as are read in a second."""


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationData:
    """What was counted: source and target, the labelled target rows, and the rows, if they may be read again."""

    tally: Tally
    labelled: LabelledTarget | None = None
    transform: Transform | None = None
    target: CheckedRows | None = None
    rows: RowAccess = NO_ROWS


def check_repeats(tally: Tally, labelled: Tally | None = None, *, name: str = "source") -> tuple[str, ...]:
    """Refuse labelled rows that are all there several times, and warn of other copies. Gives what it said.

    ``name`` is what the labelled rows of ``tally`` are called. A target of copies is no reason to refuse: a
    monitor has counted it, and must go on.
    """
    sides = [(name, True, find_source_repeats(tally)), ("target", False, find_target_repeats(tally))]
    if labelled is not None:
        sides.append(("labelled target", True, find_source_repeats(labelled)))
    notes = []
    for rows, have_labels, repeats in sides:
        if repeats is not None:
            notes.append(describe_copies(repeats, rows, tally.classes, have_labels=have_labels))
            if repeats.times > 1 and have_labels:
                raise InputError(notes[-1])
            warnings.warn(notes[-1], UserWarning, stacklevel=users_line())
    return tuple(notes)


def resolve_inputs(
    source: ScoresLike | Rows | CheckedRows | Tally,
    labels: LabelsLike | Rows | None,
    target: ScoresLike | Rows | CheckedRows | None,
    *,
    labelled: LabelSheet | Tally | PathLike | None = None,
    classes: Sequence[Label] | None = None,
    columns: Sequence[str] = (),
    softmax: bool = False,
    score: str | TransformFunction | None = None,
) -> tuple[CheckedRows | Tally, CheckedRows | None, LabelSheet | Tally | None]:
    """What a verb works on: rows of source and target and a label sheet, or a tally and that of labelled rows."""
    if isinstance(labelled, str | os.PathLike):
        labelled = LabelSheet.load(labelled)
    if not isinstance(source, Tally):
        if isinstance(labelled, Tally):
            raise InputError(
                f"{param('labelled')} is a tally, but the source is not: pass the target as Rows(scores, labels) "
                "instead."
            )
        rows = bind_pair(source, labels, target, classes=classes, columns=columns, softmax=softmax)
        if labelled is not None and rows[1] is not None and rows[1].labels != "none":
            raise InputError(
                f"the target has labels, and {param('labelled')} is a sheet: two ways to say the same. Give one "
                "of them."
            )
        return *rows, labelled
    about = {"labels": labels, "target": target, "classes": classes, "softmax": softmax or None, "score": score}
    for name in (name for name, value in about.items() if value is not None):
        raise InputError(
            f"{param(name)} is about rows, but a tally holds counts alone. Leave it out, or pass rows."
        )
    if isinstance(labelled, LabelSheet):
        raise InputError(
            f"{param('labelled')} is a sheet, but a tally holds counts alone. Pass the tally of its rows, or rows."
        )
    return source, None, labelled


def count(
    source: CheckedRows | Tally,
    target: CheckedRows | None,
    method: Method,
    request: Request,
    transform: Transform | None,
    *,
    labelled: LabelSheet | Tally | None = None,
    counting: Counting | None = None,
    predicted: bool | None = None,
) -> CalibrationData:
    """The counts, the labelled rows, and what is looked at again; as the ``counting`` of a certificate says.

    ``predicted``: whether predicted labels are counted; by default if they are needed.

    A tally counts source and target; ``labelled`` are then the counts of labelled target rows, else a sheet.
    """
    if isinstance(source, Tally):
        return CalibrationData(source, use_label_counts(labelled, source) if isinstance(labelled, Tally) else None)
    assert transform is not None  # only counts do without
    grid, bins = (None, method.needs_bins) if counting is None else (counting.grid, counting.bins)
    if predicted is None:
        tested = target is not None and promises_target(method) and method.assumes_label_shift
        predicted = method.needs_predicted or method.needs_target or tested
    how: Any = {"soft": method.needs_soft, "bins": bins, "predicted": predicted, "sha256": True}
    if "scipy.special" not in sys.modules:  # .13 s, while rows are counted; what uses it waits
        in_background(lambda: scipy.special)
    tally = fold.both(source, target, transform, grid=grid, **how)
    data = with_row_access(source, target, tally, transform, counting)
    if isinstance(labelled, LabelSheet):
        if target is None:
            raise InputError(
                f"{param('labelled')} is a sheet of target rows, but there is no target. Pass its scores too."
            )
        return replace(data, labelled=split_by_sheet(source, target, labelled, transform, tally, request))
    if target is None or target.labels != "some":
        return data
    scores, labels, others = fold.read_labelled_rows(target)
    to_plan = fold.to_plan(source, others)
    return replace(data, labelled=split_at_random(scores, labels, to_plan, transform, tally, request))


def with_row_access(
    source: CheckedRows,
    target: CheckedRows | None,
    tally: Tally,
    transform: Transform,
    counting: Counting | None = None,
) -> CalibrationData:
    """The counts with rows that are read again, where it does not take too long."""
    if target is None or "never" in (source.reread_cost, target.reread_cost):
        return CalibrationData(tally, transform=transform)
    is_cheap = source.reread_cost == target.reread_cost == "cheap"
    sizes = samples = is_cheap or tally.n_source + tally.n_target <= MAX_ROWS_READ_TWICE
    if counting is not None:
        sizes, samples = counting.rows, counting.sample
    access = RowAccess(
        mean_sizes=partial(fold.mean_sizes, target) if sizes and transform.function is None else None,
        sample=partial(fold.sample, source, target, tally) if samples else None,
        top_scores=partial(fold.tops, source, target) if samples else None,
        rows_to_plan=partial(fold.plan_after_refusal, source, target) if counting is None else None,
    )
    return CalibrationData(tally, transform=transform, target=target, rows=access)


def maker_of(certificate: Certificate) -> fold.SetMaker:
    """What makes the sets of a certificate."""
    return fold.SetMaker(certificate.rule, certificate.own_transform())
