"""A few labels of the target: which rows are the pilot, which the test, and what they say about the label mix.

The docs page "A few target labels" (docs/methods/few-labels.md) has the proofs. The labelled rows must be a random
sample of the target. They are counted on their own, and among the unlabelled rows too. A row of a new kind, which
has no class, stays unlabelled; ``contamination`` allows for such rows. What the labels certify without label shift
is PS-T (``pacshift.paths.labelled``).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pacshift.acceptance.tops import TopScoreTable
from pacshift.arrays import IntArray, Label
from pacshift.bounds import ROUNDING, Interval, binomial_lower, binomial_upper, clean_shares
from pacshift.errors import AssumptionError, InputError, UnfinishedSheetError, param
from pacshift.labels.sheet import NOT_ASKED, UNKNOWN, LabelSheet, RowDraw
from pacshift.paths.labelled import (
    Blanks,
    LabelledTarget,
    Planning,
    RowsToPlan,
    choose_pilot,
    forecast,
    path_digest,
    tuned_path,
    typical_error,
)
from pacshift.paths.looks import test_rows
from pacshift.rows import fold
from pacshift.rows.base import CheckedRows, Matrix
from pacshift.scores.check import ScoreMatrix
from pacshift.scores.transforms import TRANSFORMS, Transform
from pacshift.tally import Tally
from pacshift.words.numbers import between, given, mean_size

if TYPE_CHECKING:
    from pacshift.certification.request import Request

SEEN_BY_CHANCE = 1e-6
"""Rows of the test count as rows of the source where it is less likely that they only look alike."""


def split_at_random(
    scores: Matrix,
    labels: IntArray,
    to_plan: RowsToPlan,
    transform: Transform,
    tally: Tally,
    request: "Request",
) -> LabelledTarget:
    """Labelled rows with a pilot chosen by coins, and one look at the others."""
    n_test = test_rows(len(labels), epsilon=request.epsilon, delta=request.delta)
    pilot = choose_pilot(scores, labels, len(labels) - n_test, request.seed)
    is_test = np.ones(len(labels), bool)
    is_test[pilot] = False
    require_unseen(to_plan.chance_to_see(scores[is_test]))
    # In the pilot's own order, because sums of floats depend on it.
    planning = to_plan.with_pilot(scores[pilot], labels[pilot], transform)
    counted = _count(scores, labels, transform, tally)
    test = _count(scores[is_test], labels[is_test], transform, tally)
    tops = TopScoreTable.of_rows(scores[is_test], labels[is_test])
    return LabelledTarget(counted, test, looks=(n_test,), planning=planning, tops=tops)


def _count(scores: Matrix, labels: IntArray, transform: Transform, tally: Tally) -> Tally:
    """The counts of rows whose labels are columns, of the same kind as ``tally``."""
    names, soft = [tally.classes[column] for column in labels.tolist()], tally.soft is not None
    counts = Tally.from_scores(ScoreMatrix(scores, tally.classes), names, score=transform, soft=soft)
    return replace(counts, softmax=tally.softmax)


def use_label_counts(labelled: Tally, tally: Tally) -> LabelledTarget:
    """Counts of labelled rows, which must be draws of the same kind as the target's."""
    if (labelled.source_grouped is None) != (tally.target_grouped is None):
        raise InputError(
            f"{param('target_labels')}: the labelled rows and the target must both be counted with "
            f"{param('groups=')}, or both without."
        )
    return LabelledTarget.of_tally(labelled)


def count_labelled_rows(
    source: CheckedRows | Tally, target: CheckedRows | None, labelled_rows: LabelSheet | Tally | None, tally: Tally
) -> LabelledTarget | None:
    """The labelled rows as counts alone, for shares: of a tally, of a sheet, or of the target's own labels."""
    if isinstance(labelled_rows, Tally):
        return use_label_counts(labelled_rows, tally)
    if isinstance(source, Tally) or target is None:
        return None
    plain = TRANSFORMS["probability"]
    if isinstance(labelled_rows, LabelSheet):
        scores, others = sheet_scores(target, labelled_rows)
        if not labelled_rows.looks_in_reach:
            raise UnfinishedSheetError(_missing_rows(labelled_rows))
        labels, look = labelled_rows.label_index(tally.classes), labelled_rows.looks_in_reach[0]
        labelled = _at_look(labelled_rows, look, scores, labels, None, plain, tally)
        tested = _find_test_rows(labelled_rows, labels, look)
    elif target.labels == "some":
        scores, labels, others = fold.read_labelled_rows(target)
        labelled, tested = LabelledTarget.of_tally(_count(scores, labels, plain, tally)), np.arange(len(labels))
    else:
        return None
    if source.reread_cost != "never":
        require_unseen(fold.to_plan(source, others).chance_to_see(scores[tested]))
    return labelled


def sheet_scores(target: CheckedRows, sheet: LabelSheet) -> tuple[Matrix, Matrix]:
    """The scores of the sheet's rows, in the order of the sheet, and of a sample of the other rows.

    An InputError if this is another target, or if the sheet's seed draws other rows.
    """
    draw = RowDraw(len(sheet.rows), sheet.seed, len(target.classes))
    scores = fold.pick(target, sheet.rows, lambda batch: draw.add(batch.raw_scores, batch.kept))
    sheet.require_target(draw, target.numbers, target.described)
    return scores


def split_by_sheet(
    source: CheckedRows | None,
    target: CheckedRows,
    sheet: LabelSheet,
    transform: Transform,
    tally: Tally,
    request: "Request",
) -> LabelledTarget:
    """The labels of a sheet up to its last complete look, with rows that are not on it to plan with.

    Where rows were left blank, later looks are in reach too: all hold at once, with any blanks (Lemma 4 of
    docs/methods/ps-t.md). Without the source's rows, where only its counts are at hand, nothing is tuned. Before
    the first look nothing can be certified: an UnfinishedSheetError says what to expect.
    """
    sheet.require_promise(epsilon=request.epsilon, delta=request.delta)
    *others, last = split_at_looks(source, target, sheet, transform, tally, request, within_reach=True)
    return replace(last, other_looks=tuple(others))


def split_at_looks(
    source: CheckedRows | None,
    target: CheckedRows,
    sheet: LabelSheet,
    transform: Transform,
    tally: Tally,
    request: "Request",
    *,
    within_reach: bool = False,
) -> list[LabelledTarget]:
    """The rows of a sheet at each of its looks, or at those that its labels say something about.

    What thresholds are planned with must be what the sheet says, if it does; so must limits of the error of each
    label, which must be fixed before a look too.
    """
    scores, others = sheet_scores(target, sheet)
    to_plan = None if source is None else fold.to_plan(source, others)
    labels, n_pilot = sheet.label_index(tally.classes), sheet.n_pilot
    pilot = np.flatnonzero(labels[:n_pilot] >= 0)  # without rows that nobody can label
    planning = None if to_plan is None else to_plan.with_pilot(scores[pilot], labels[pilot], transform)
    looks = sheet.looks_in_reach if within_reach else range(len(sheet.looks))
    if not looks:
        raise _explain_unfinished_sheet(sheet, planning, tally)
    at_looks = [_at_look(sheet, look, scores, labels, planning, transform, tally) for look in looks]
    if to_plan is not None:
        require_unseen(to_plan.chance_to_see(scores[_find_test_rows(sheet, labels, looks[-1])]))
    limits = None if request.label_error is None else request.for_classes(tally.classes).limits
    path = path_digest(at_looks[0], tally, epsilon=request.sheet_epsilon, limits=limits)
    if sheet.path and sheet.path != path:
        raise InputError(
            f"{sheet.name}: since it was first used, a label of the pilot, the source, the score, contamination "
            "or label_error has changed. Thresholds must be planned as they were then, or rows would test "
            "thresholds that were chosen after them. Undo the change, or draw a new sheet, which spends delta "
            "again."
        )
    return [replace(each, path=path) for each in at_looks]


def _at_look(
    sheet: LabelSheet,
    look: int,
    scores: Matrix,
    labels: IntArray,
    planning: Planning | None,
    transform: Transform,
    tally: Tally,
) -> LabelledTarget:
    """The rows of a sheet at one look: those that have a class, those that nobody can tell, and blank ones."""
    n_used, n_pilot = sheet.looks[look], sheet.n_pilot
    all_labels = np.full(n_used, NOT_ASKED)
    all_labels[: min(len(labels), n_used)] = labels[:n_used]
    known, blank = all_labels >= 0, all_labels == NOT_ASKED
    if not known.any():
        raise InputError(
            f"no row of {sheet.name} has a class: the first {n_used:,} are all {UNKNOWN}. Rows that nobody can "
            "label certify nothing."
        )
    used, tested = np.flatnonzero(known), _find_test_rows(sheet, labels, look)
    n_unknown = n_used - n_pilot - len(tested) - int(blank.sum())
    left = np.asarray(transform.apply(scores[np.flatnonzero(blank)]), float) if blank.any() else None
    return LabelledTarget(
        _count(scores[used], all_labels[used], transform, tally),
        _count(scores[tested], all_labels[tested], transform, tally),
        n_unknown=n_unknown,
        n_unknown_pilot=int((all_labels[:n_pilot] < 0).sum()),
        looks=sheet.test_rows,
        look=look,
        planning=planning,
        tops=TopScoreTable.of_rows(scores[tested], all_labels[tested]),
        blanks=None if left is None else Blanks(left),
        is_sheet=True,
    )


def _find_test_rows(sheet: LabelSheet, labels: IntArray, look: int) -> IntArray:
    """Places in a sheet of the rows that test at a look, and have a class."""
    return sheet.n_pilot + np.flatnonzero(labels[sheet.n_pilot : sheet.looks[look]] >= 0)


def require_unseen(chance: float) -> None:
    """Refuse labelled rows that are in the source too; ``chance`` says how likely they only look alike (Lemma 3).

    Every verb that takes both asks: by counts in ``check_label_rows``, by rows where they are read anyway.
    """
    if chance < SEEN_BY_CHANCE:
        ps = param("method='PS'")
        raise InputError(
            "labelled target rows are in the source too: that so many are alike by chance has a probability below "
            f"{SEEN_BY_CHANCE:g}. What the source has shown, the same rows cannot test. Leave these rows out of "
            f"the source. If there is no other source, calibrate with {ps}, the labelled rows as the source and "
            "no target: one threshold for all classes, for the population that these rows are a sample of."
        )


def _explain_unfinished_sheet(sheet: LabelSheet, planning: Planning | None, source: Tally) -> UnfinishedSheetError:
    """What is missing, and what sets can be expected by the labels of the pilot."""
    missing = f"{_missing_rows(sheet)} Nothing is certified yet."
    if planning is None or not (sheet.pilot_complete and len(planning.pilot)):
        return UnfinishedSheetError(missing)
    expected = forecast(planning)
    path = tuned_path(expected, source, epsilon=sheet.epsilon)
    cuts = zip(sheet.looks, sheet.test_rows, sheet.cuts(sheet.delta), strict=True)
    sizes = [
        f"{mean_size(expected.size_at(path, typical_error(cut, rows)))} after {look:,}" for look, rows, cut in cuts
    ]
    return UnfinishedSheetError(
        f"{missing} By the {len(planning.pilot):,} labels of the pilot, sets of about this many labels can be "
        f"expected: {', '.join(sizes)}."
    )


def _missing_rows(sheet: LabelSheet) -> str:
    first, filled = sheet.looks[0], sheet.n_from_top
    more = f"{first - filled:,} more {'row' if first - filled == 1 else 'rows'}"
    filled_in = f"{filled:,} rows are filled in, and the first look is after {first:,}"
    return f"{sheet.name}: {filled_in}. Label {more} from the top."


def check_label_rows(labelled: LabelledTarget, tally: Tally) -> None:
    """Refuse counts of labelled rows that do not fit the others, or are those of source rows."""
    counted = labelled.counted
    kinds = [(part.classes, part.score, part.softmax) for part in (counted, tally)]
    if kinds[0] != kinds[1]:
        raise InputError(
            f"{param('target_labels')}: the labelled target rows must be counted with the classes and the score "
            f"of the source, and with {param('softmax=True')} if the source was."
        )
    if not 0 < counted.n_source <= tally.n_target:
        raise InputError(
            f"{param('target_labels')}: {counted.n_source:,} labelled rows, but the target has {tally.n_target:,} "
            "rows. Count the labelled rows among the target as well, and label at least one."
        )
    require_unseen(labelled.chance_to_match(tally))


def mix_bounds(labelled: Tally, n_unknown: int = 0, *, delta: float) -> Interval:
    """Bounds of the target's label mix, right for all classes at once with probability at least 1 - δ (Lemma 1).

    The mix of the rows that have a class: those of a new kind are not labelled (Lemma 2). Each of ``n_unknown``
    rows that nobody could label may be of any class. Of two classes one's upper end is what the other's lower end
    leaves, the same event.

    >>> labelled = Tally.from_scores([[0.9, 0.1], [0.2, 0.8]] * 50, [0, 0] * 50)
    >>> mix_bounds(labelled, delta=0.05).lower.round(3)
    array([0.964, 0.   ])
    """
    counts, total, n_classes = labelled.class_counts, labelled.n_source + n_unknown, labelled.n_classes
    each = delta / (2 if n_classes == 2 else 2 * n_classes)
    lower = binomial_lower(counts, total, delta=each)
    upper = 1 - lower[::-1] if n_classes == 2 else binomial_upper(counts + n_unknown, total, delta=each)
    return Interval(lower, upper)


def mix_within(labelled: LabelledTarget, request: "Request", *, delta: float) -> Interval:
    """Bounds of the target's mix: what the labelled rows show at ``delta``, and what the user knows.

    Right at all planned looks at once: each has its share. Without a class are rows that nobody could label.
    """
    counted, level = labelled.counted, delta / len(labelled.looks)
    by_labels = mix_bounds(counted, labelled.n_without_class, delta=level)
    return intersect_bounds(
        request.known, by_labels, counted.classes, level=delta, contamination=request.contamination
    )


def intersect_bounds(
    known: Interval | None, bounds: Interval, classes: Sequence[Label], *, level: float, contamination: float = 0.0
) -> Interval:
    """The mixes within both. If there is none: AssumptionError, of chance at most ``level`` if both are right.

    With contamination the two may be about different rows: all of the target, and those that have a class. What
    both bound is the mix of the label-shifted part (Lemma 2), so they contradict each other only there.
    """
    if known is None:
        return bounds
    lower, upper = np.maximum(known.lower, bounds.lower), np.minimum(known.upper, bounds.upper)
    clean = clean_shares(Interval(lower, upper), contamination)
    wrong = clean.lower > clean.upper + ROUNDING
    if wrong.any() or clean.lower.sum() > 1 + ROUNDING or clean.upper.sum() < 1 - ROUNDING:
        label = int(np.argmax(lower - upper))
        raise AssumptionError(
            f"the labelled target rows contradict {param('known_mix=')}: by the labels "
            f"{between(bounds.lower[label], bounds.upper[label])} of the target is {classes[label]!r}, by "
            f"{param('known_mix=')} {between(known.lower[label], known.upper[label])}. If both were right, the "
            f"chance of this would be at most {given(level)}. Correct {param('known_mix=')}, or check that the "
            "labelled rows are a random sample of the target."
        )
    # Ends cross by rounding or, with contamination, by what the two are about: turned, they are wider and valid.
    return Interval(np.minimum(lower, upper), np.maximum(lower, upper))
