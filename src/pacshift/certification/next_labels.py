"""``next_labels``: mark the rows of a label sheet whose labels can still change a certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pacshift.arrays import IntArray, Label, LabelsLike, ScoresLike
from pacshift.certification.counting import check_repeats, resolve_inputs
from pacshift.certification.request import check_request
from pacshift.errors import InputError, UnfinishedSheetError, did_you_mean
from pacshift.files.writing import PathLike
from pacshift.labels.labelled import split_at_looks
from pacshift.labels.needed import list_needed_rows
from pacshift.labels.sheet import LabelSheet
from pacshift.parallel import one_blas_thread
from pacshift.paths.labelled import families
from pacshift.rows import fold
from pacshift.rows.rows import Rows
from pacshift.scores.transforms import TransformFunction, resolve_transform
from pacshift.tally import Tally

NEEDED, SPARED = "needed", "no"
"""The column of a sheet that says which rows to label next, and what it says of rows that cannot matter."""


@dataclass(frozen=True, slots=True, eq=False)
class NextLabels:
    """Which rows of a sheet to label next.

    Parameters
    ----------
    sheet : LabelSheet
        The same sheet with the column ``needed``: 1, 2, ... for rows to label, ``no`` where labels cannot matter.
        From now on it holds a fingerprint of what its thresholds are planned with.
    look : int
        The look that these rows are for, counted from 0.
    rows : numpy.ndarray of int
        Their places in the sheet, counted from 0, the most telling first. Empty where no label can change a thing.
    n_spared : int
        Rows without a label, up to that look, that need none.
    """

    sheet: LabelSheet
    look: int
    rows: IntArray
    n_spared: int


@one_blas_thread()
@did_you_mean
def next_labels(
    source: ScoresLike | Rows,
    labels: LabelsLike | Rows | None = None,
    target: ScoresLike | Rows | None = None,
    *,
    labelled: LabelSheet | PathLike,
    contamination: float = 0.0,
    score: str | TransformFunction = "probability",
    classes: Sequence[Label] | None = None,
    softmax: bool = False,
) -> NextLabels:
    """Mark the rows of a label sheet whose labels can still change what PS-T certifies.

    A test row without a label counts as missed unless its set holds all labels. So a row whose set is full, or
    empty, at every threshold that may still be chosen needs no label. With two classes these are many. Then
    ``calibrate(..., labelled=sheet, method="PS-T")``, with as many labels as you like.

    Parameters
    ----------
    source, labels, target : as in ``calibrate``
        The source and the target that the sheet was made for.
    labelled : LabelSheet or path
        The sheet, its pilot filled in.
    contamination : float, default 0
        A share of the target that may have no class, as in ``calibrate``.
    score, classes, softmax : as in ``calibrate``
        Everything that thresholds depend on must stay as it is from the first call on.

    Returns
    -------
    NextLabels
        The sheet with the rows marked. ``found.sheet.save("to_label.csv", overwrite=True)`` writes it.

    Raises
    ------
    InputError
        If the data or a parameter break a rule, or something has changed that thresholds were planned with.
    UnfinishedSheetError
        If the pilot is not filled in.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> labels, hidden = rng.integers(0, 2, 2000), rng.integers(0, 2, 3000)
    >>> def scores(labels):
    ...     p = 1 / (1 + np.exp(-rng.normal(2 * labels - 1.0, 2.0)))
    ...     return np.column_stack([1 - p, p])
    >>> from pacshift import label_sheet
    >>> source, target = scores(labels), scores(hidden)
    >>> sheet = label_sheet(target, budget=200, epsilon=0.05, rng=1)
    >>> sheet = sheet.with_labels(hidden[sheet.rows[: sheet.n_pilot]])
    >>> found = next_labels(source, labels, target, labelled=sheet)
    >>> found.look, len(found.rows) + found.n_spared == 200 - sheet.n_pilot
    (0, True)
    """
    source_rows, target_rows, sheet = resolve_inputs(
        source, labels, target, labelled=labelled, classes=classes, softmax=softmax
    )
    if isinstance(source_rows, Tally) or target_rows is None or not isinstance(sheet, LabelSheet):
        raise InputError("next_labels needs rows of a source and of the target, and a label sheet.")
    if not sheet.n_filled:
        raise UnfinishedSheetError(f"{sheet.name}: no row is filled in. Begin with the first rows.")
    if not sheet.pilot_complete:
        raise UnfinishedSheetError(
            f"{sheet.name}: the first {sheet.n_pilot:,} rows are the pilot, which plans the thresholds, and "
            f"{sheet.n_from_top:,} of them are filled in. Label the others first."
        )
    request = check_request(epsilon=sheet.epsilon, delta=sheet.delta, contamination=contamination)
    transform = resolve_transform(score)
    tally = fold.both(source_rows, target_rows, transform, soft=False, bins=False)
    check_repeats(tally)
    looks = split_at_looks(source_rows, target_rows, sheet, transform, tally, request)
    family, *_ = families(looks[0], tally, epsilon=request.sheet_epsilon)
    for look, at_look in enumerate(looks):
        cut = at_look.cut(epsilon=request.sheet_epsilon, delta=request.delta)
        rows = list_needed_rows(at_look, family, cut)
        if len(rows) or look + 1 == len(looks):
            break
    blank = np.array([label is None for label in sheet.labels])
    places = np.flatnonzero(blank[sheet.n_pilot : sheet.looks[look]]) + sheet.n_pilot
    marks = np.full(len(sheet.labels), "", object)
    marks[places] = SPARED
    marks[places[rows]] = np.arange(1, len(rows) + 1).astype(str)
    marked = replace(sheet, path=looks[0].path, kept={**sheet.kept, NEEDED: tuple(marks.tolist())})
    return NextLabels(marked, look, places[rows], len(places) - len(rows))
