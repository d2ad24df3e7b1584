"""From a target in memory to a label sheet."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pacshift.arrays import Frame, IntArray, Label, LabelsLike, RngLike, ScoresLike
from pacshift.certification.label_sheet.draw import RowDraw
from pacshift.certification.label_sheet.file import COLUMNS
from pacshift.certification.label_sheet.names import class_places
from pacshift.certification.label_sheet.plan import SheetPlan, plan_sheet
from pacshift.certification.label_sheet.sheet import LabelSheet
from pacshift.defaults import DELTA, EPSILON
from pacshift.errors import InputError
from pacshift.scores.check import check_scores, check_seed, is_finite, not_finite_error
from pacshift.scores.containers import as_array, column_names
from pacshift.scores.fingerprint import Fingerprint
from pacshift.scores.frames import require_same_index
from pacshift.scores.names import is_null, shorten, text_of
from pacshift.tally.groups import one_row_per_group


def label_sheet(
    target: ScoresLike,
    *,
    budget: int,
    looks: Sequence[int] = (),
    epsilon: float = EPSILON,
    delta: float = DELTA,
    rng: RngLike = None,
    keep: Mapping[str, Any] | Frame | None = None,
    classes: Sequence[Label] | None = None,
    groups: LabelsLike | None = None,
) -> LabelSheet:
    """Draw rows of a target to be labelled, in random order.

    Fill in the labels from the top, without skipping a row. After every complete look thresholds can be certified
    by these labels alone, whatever the shift is. All looks hold together, so you may stop at any of them.

    ``delta`` pays for one sheet: a second one for the same target, or a larger one with the same seed, spends it
    again. So let the budget be the most that you may want to label.

    Parameters
    ----------
    target : array or frame of shape (n, K)
        Scores of the target, as for ``calibrate``.
    budget : int
        How many rows to label at most.
    looks : sequence of int, optional
        After how many labelled rows you want to look before the budget is used up, increasing, such as (100, 200).
        The pilot counts among them. Looks cost little, but cannot be added later.
    epsilon : float, default 0.1
        The largest share of the target whose true label the sets may miss.
    delta : float, default 0.05
        The largest probability that they miss more.
    rng : int, numpy.random.Generator or None, optional
        Seed of the random order. None takes one from the operating system: with a fixed seed, the rows that are
        drawn from a sorted file would not be random. The sheet remembers the seed.
    keep : dict of columns or frame, optional
        Columns to copy into the sheet, such as an id or a text, with one entry per row of the target.
    classes : sequence of labels, optional
        The class of each score column, as for ``calibrate``: if the target is a frame, these columns are its
        scores.
    groups : array or series of length n, optional
        The group of each row, such as the patient: at most one row of each group is drawn, the one that
        ``calibrate`` counts with the same ``target_groups``.

    Returns
    -------
    LabelSheet
        ``sheet.save("to_label.csv")`` writes it for a spreadsheet; ``LabelSheet.load`` reads it again.

    Raises
    ------
    InputError
        If the target has fewer rows than the budget, looks do not increase, or the first one is too early to
        certify anything. The message says the least number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.random.default_rng(0).dirichlet([1, 1], 1000)
    >>> sheet = label_sheet(scores, budget=400, looks=(100, 200), rng=7)
    >>> sheet.looks, sheet.n_pilot, sheet.cuts(0.05)
    ((100, 200, 400), 24, (2, 9, 26))
    """
    plan = plan_sheet(budget, looks, epsilon=epsilon, delta=delta)
    matrix = check_scores(target, name="target", classes=classes)
    class_places(matrix.classes)  # refuses names that would not come back
    seed = sheet_seed(rng)
    numbers = None if groups is None else one_row_per_group(groups, matrix, name="target")
    counted = matrix if numbers is None else matrix.take(numbers)
    draw, fingerprint = RowDraw(plan.looks[-1], seed), Fingerprint(len(matrix.classes))
    for block in counted.blocks():
        if not is_finite(counted.values[block]):
            raise not_finite_error(matrix, "target")
        fingerprint.add(counted.values[block])
    draw.add(len(counted))
    draw.require_enough()
    sheet = drawn_sheet(plan, draw, fingerprint, seed, {}, numbers)
    if keep is None:
        return sheet
    return replace(sheet, kept=_kept_columns(keep, sheet.rows, len(matrix), matrix.index))


def drawn_sheet(
    plan: SheetPlan,
    draw: RowDraw,
    fingerprint: Fingerprint,
    seed: int,
    kept: Mapping[str, tuple[str, ...]],
    numbers: IntArray | None = None,
) -> LabelSheet:
    """The sheet of rows that were drawn, without labels.

    ``numbers`` are the rows' numbers in the target, where one of each group was left to draw from.
    """
    return LabelSheet(
        rows=draw.rows if numbers is None else numbers[draw.rows],
        looks=plan.looks,
        n_pilot=plan.n_pilot,
        epsilon=plan.epsilon,
        delta=plan.delta,
        seed=seed,
        n_target=draw.n_rows,
        target_sha256=fingerprint.hexdigest(),
        labels=(None,) * len(draw.rows),
        kept=kept,
    )


def sheet_seed(rng: RngLike) -> int:
    """The seed of the order; where none is given, one that nobody could choose."""
    seed = secrets.randbits(63) if rng is None else check_seed(rng)
    if seed >= 2**64:
        raise InputError(f"rng must be a seed below 2**64, which is written into the sheet, got {seed}.")
    return seed


def require_keepable(names: Sequence[str]) -> None:
    """Refuse columns that would stand in the sheet twice."""
    taken = [name for name in names if name.strip() in COLUMNS or not name.strip() or names.count(name) > 1]
    if taken:
        raise InputError(
            f"cannot keep {shorten(sorted(set(taken)))}: columns of a label sheet need different names, and other "
            f"names than {shorten(COLUMNS)}. Rename them."
        )


def cell_text(value: Any) -> str:
    """A value as it stands in a cell; nothing for what is missing."""
    return "" if is_null(value) else str(text_of(value) or value)


def _kept_columns(keep: Any, rows: IntArray, n_rows: int, index: Any) -> dict[str, tuple[str, ...]]:
    names = list(keep) if isinstance(keep, Mapping) else column_names(keep)
    if names is None:
        raise InputError(
            f"keep must be a frame or a dict of columns, such as {{'id': ids}}, got {type(keep).__name__}."
        )
    require_keepable([str(name) for name in names])
    require_same_index(index, keep, "target", what="columns to keep")
    kept = {}
    for name in names:
        column = as_array(keep[name], "keep", f"column {name!r}")
        if column.ndim != 1 or len(column) != n_rows:
            raise InputError(
                f"keep: column {name!r} has shape {column.shape}, but the target has {n_rows:,} rows. Give one "
                "entry per row."
            )
        kept[str(name)] = tuple(map(cell_text, np.asarray(column, object)[rows]))
    return kept
