"""Labelled target rows: which are the pilot, which the test, and what to plan with."""

from dataclasses import replace

import numpy as np

from pacshift.arrays import BoolArray, IntArray
from pacshift.certification.label_sheet import LabelSheet
from pacshift.certification.label_sheet.sheet import UNKNOWN
from pacshift.certification.request import Request
from pacshift.errors import InputError, UnfinishedSheetError
from pacshift.paths.labelled import (
    LabelledTarget,
    Planning,
    RowsToPlan,
    choose_pilot,
    forecast,
    tuned_path,
    typical_error,
)
from pacshift.paths.looks import test_rows
from pacshift.scores.check import ScoreMatrix
from pacshift.scores.transforms import Transform
from pacshift.tally import Tally
from pacshift.words.numbers import mean_size

SEEN_BY_CHANCE = 1e-6
"""Rows of the test count as rows of the source where it is less likely that they only look alike."""


def split_at_random(
    rows: ScoreMatrix,
    labels: IntArray,
    request: Request,
    to_plan: RowsToPlan,
    transform: Transform,
    tally: Tally,
) -> LabelledTarget:
    """Labelled rows with a pilot chosen by coins, and one look at the others."""
    n_test = test_rows(len(labels), epsilon=request.epsilon, delta=request.delta)
    pilot = choose_pilot(rows.values, labels, len(labels) - n_test, request.seed)
    is_pilot = np.zeros(len(labels), bool)
    is_pilot[pilot] = True
    require_unseen(to_plan.chance_to_see(rows.values[~is_pilot]))
    # In the pilot's own order, because sums of floats depend on it.
    planning = to_plan.with_pilot(rows.values[pilot], labels[pilot], transform)
    return LabelledTarget(
        _count(rows, labels, np.ones(len(labels), bool), transform, tally),
        _count(rows, labels, ~is_pilot, transform, tally),
        looks=(n_test,),
        planning=planning,
    )


def _count(
    rows: ScoreMatrix, labels: IntArray, chosen: BoolArray | IntArray, transform: Transform, tally: Tally
) -> Tally:
    """The counts of chosen rows, whose labels are columns, of the same kind as ``tally``."""
    names = [rows.classes[column] for column in labels[chosen].tolist()]
    soft, own = tally.soft is not None, replace(rows, values=rows.values[chosen])
    found = Tally.from_scores(own, names, score=transform, soft=soft)
    return replace(found, softmax=tally.softmax)


def split_by_sheet(
    sheet: LabelSheet,
    rows: ScoreMatrix,
    request: Request,
    to_plan: RowsToPlan | None,
    transform: Transform,
    tally: Tally,
) -> LabelledTarget:
    """The labels of a sheet up to its last complete look; ``rows`` are its rows, in its order.

    Without ``to_plan`` there are only counts of the source, and nothing is tuned. Before the first look
    nothing can be certified: an UnfinishedSheetError says what to expect.
    """
    require_same_promise(sheet, request)
    labels, n_pilot = sheet.label_index(rows.classes), sheet.n_pilot
    known = labels >= 0  # in the pilot rows that nobody can label are left out
    pilot = np.flatnonzero(known[:n_pilot])
    planning = None if to_plan is None else to_plan.with_pilot(rows.values[pilot], labels[pilot], transform)
    if sheet.last_complete_look is None:
        raise _unfinished(sheet, planning, tally, request)
    n_used = sheet.looks[sheet.last_complete_look]
    if not known[:n_used].any():
        raise InputError(
            f"no row of {sheet.name} has a class: the first {n_used:,} are all {UNKNOWN}. Rows that nobody can "
            "label certify nothing."
        )
    used, tested = np.flatnonzero(known[:n_used]), n_pilot + np.flatnonzero(known[n_pilot:n_used])
    if to_plan is not None:
        require_unseen(to_plan.chance_to_see(rows.values[tested]))
    return LabelledTarget(
        _count(rows, labels, used, transform, tally),
        _count(rows, labels, tested, transform, tally),
        n_unknown=n_used - n_pilot - len(tested),
        n_unknown_pilot=n_pilot - len(pilot),
        looks=sheet.test_rows,
        look=sheet.last_complete_look,
        planning=planning,
    )


def require_unseen(chance: float) -> None:
    """Refuse rows of the test that are in the source too; ``chance`` says how likely they only look alike."""
    if chance < SEEN_BY_CHANCE:
        raise InputError(
            "labelled target rows are in the source too: that so many are alike by chance has a probability below "
            f"{SEEN_BY_CHANCE:g}. Rows that test the thresholds must not have planned them. Leave these rows out "
            "of the source. If there is no other source, use method='PS' with the labelled rows as the source and "
            "no target: one threshold for all classes, for the population that these rows are a sample of."
        )


def require_same_promise(sheet: LabelSheet, request: Request) -> None:
    """The looks of a sheet are paid for at its own epsilon and delta."""
    for name in ("epsilon", "delta"):
        asked, planned = getattr(request, name), getattr(sheet, name)
        if asked != planned:
            raise InputError(
                f"{sheet.name} was made for {name}={planned:g}, but {name}={asked:g} was asked for. Its looks "
                f"hold for the {name} that they were planned with: pass {name}={planned!r}. A second sheet would "
                "spend delta again."
            )


def _unfinished(
    sheet: LabelSheet, planning: Planning | None, source: Tally, request: Request
) -> UnfinishedSheetError:
    first, filled = sheet.looks[0], sheet.n_filled
    missing = f"{sheet.name}: {filled:,} rows are filled in, and the first look is after {first:,}."
    more = first - filled
    remedy = f"Label {more:,} more {'row' if more == 1 else 'rows'} from the top. Nothing is certified yet."
    if planning is None or not (sheet.pilot_complete and len(planning.pilot)):
        return UnfinishedSheetError(f"{missing} {remedy}")
    expected = forecast(planning)
    path = tuned_path(expected, source, epsilon=request.epsilon)
    cuts = zip(sheet.looks, sheet.test_rows, sheet.cuts(request.delta), strict=True)
    sizes = [
        f"{mean_size(expected.size_at(path, typical_error(cut, rows)))} after {look:,}" for look, rows, cut in cuts
    ]
    return UnfinishedSheetError(
        f"{missing} {remedy} By the {len(planning.pilot):,} labels of the pilot, sets of about this many labels "
        f"can be expected: {', '.join(sizes)}."
    )
