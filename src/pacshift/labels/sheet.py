"""The label sheet: rows of a target in random order, and the labels that were filled in from the top.

What is fixed before the first label is known: when one may look, how many rows tune, which rows are drawn.
"""

from __future__ import annotations

import hashlib
import math
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from pacshift.arrays import BoolArray, Frame, IntArray, Label, RngLike, ScoresLike
from pacshift.errors import InputError, did_you_mean, param
from pacshift.files.writing import PathLike
from pacshift.labels import sheet_file
from pacshift.paths.looks import look_cuts, test_rows
from pacshift.rows.base import Batch, CheckedRows, Matrix
from pacshift.rows.columns import require_columns
from pacshift.rows.memory import MemoryRows
from pacshift.rows.rows import Rows, bind_rows
from pacshift.scores.check import (
    ScoreMatrix,
    check_flag,
    check_rate,
    check_seed,
    is_finite,
    not_finite_error,
)
from pacshift.scores.frames import as_array, column_names, require_same_index
from pacshift.scores.kind import FEWEST_ROWS, OTHER, ScoreKind
from pacshift.scores.names import NOT_FOUND, is_null, places_by_text, shorten, text_of
from pacshift.tally.coins import coins
from pacshift.words.display import short_repr

UNKNOWN = "?"
"""What stands in a sheet where nobody can tell the label."""

NOT_ASKED = -2
"""What stands for the class of a row that nobody was asked about; -1 stands for one that nobody can tell."""

BLOCK_ROWS = 1 << 20
"""Rows that get their random numbers at a time."""

LARGEST_BUDGET = 10**6
"""More rows than anybody labels. The cuts of ten looks at so many take some seconds."""


@dataclass(frozen=True, slots=True)
class SheetPlan:
    """``looks`` count labelled rows in all, from the top, the pilot included; the last of them is the budget."""

    epsilon: float
    delta: float
    looks: tuple[int, ...]
    n_pilot: int


def plan_sheet(budget: Any, looks: Any, *, epsilon: Any, delta: Any) -> SheetPlan:
    """The looks and the pilot, or an InputError that says what cannot be.

    >>> plan_sheet(400, (100, 200), epsilon=0.1, delta=0.05)
    SheetPlan(epsilon=0.1, delta=0.05, looks=(100, 200, 400), n_pilot=24)
    """
    epsilon, delta = check_rate(epsilon, "epsilon"), check_rate(delta, "delta")
    budget = _check_count(budget, "budget")
    if budget > LARGEST_BUDGET:
        raise InputError(f"{param('budget')} must be at most {LARGEST_BUDGET:,} rows, got {budget:,}.")
    if isinstance(looks, (str, bytes)) or not hasattr(looks, "__iter__"):
        raise InputError(f"{param('looks')} must be a list of numbers of rows such as (100, 200), got {looks!r}.")
    totals = [_check_count(look, "looks") for look in looks]
    if any(first >= second for first, second in pairwise(totals)):
        listed = ", ".join(map(str, totals))
        raise InputError(f"{param('looks')} must increase, got {listed}. They count labelled rows from the top.")
    if totals and totals[-1] > budget:
        raise InputError(
            f"{param('looks')} must not exceed the budget: got a look after {totals[-1]:,} rows and a budget of "
            f"{budget:,}. Raise the budget, or leave this look out."
        )
    if totals[-1:] != [budget]:
        totals.append(budget)
    # Sized for the first look: the path of thresholds must be fixed before the first look, and later labels that
    # would tune it are not there yet.
    n_pilot = totals[0] - test_rows(totals[0], epsilon=epsilon, delta=delta)
    for pilot in (n_pilot, 0):  # looks allow fewer misses than one test: without a pilot the first may still pass
        if look_cuts([total - pilot for total in totals], epsilon=epsilon, delta=delta)[0] >= 0:
            return SheetPlan(epsilon, delta, tuple(totals), pilot)
    # The least first look that can pass, the later looks staying where they are. Each of J looks at level
    # delta / J is always allowed (union bound), so `high` passes.
    low, high = totals[0], math.ceil(math.log(delta / len(totals)) / math.log1p(-epsilon)) + 1
    while 1 < high - low < LARGEST_BUDGET:
        middle = (low + high) // 2
        later = [middle, *(total for total in totals if total > middle)]
        passes = look_cuts(later, epsilon=epsilon, delta=delta)[0] >= 0
        low, high = (low, middle) if passes else (middle, high)
    what, remedy = f"the budget is {totals[0]:,} rows", "Raise the budget"
    if len(totals) > 1:
        what, remedy = f"the first look is after {totals[0]:,} rows", "Raise the first look"
        remedy += " and the budget" if high > totals[-1] else ""
    raise InputError(
        f"{what}, too few to certify anything at epsilon {epsilon:g} and delta {delta:g}, even if no label is "
        f"missed. {remedy} to at least {high:,}, or raise epsilon or delta."
    )


def _check_count(value: Any, name: str) -> int:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InputError(f"{param(name)} must be a whole number of rows above 0, got {value!r}.")
    return int(value)


class RowDraw:
    """Rows drawn in random order, without replacement, after one pass over scores; and which scores these were.

    Every row gets a random number; the rows with the smallest ones are drawn, in the order of these numbers. The
    numbers come from ``coins`` over the fingerprint of all scores: the same scores in the same order and the same
    seed draw the same rows, and no order of a file has any relation to the numbers. With the seed alone, a seed
    would always draw the same ranks, and of a sorted file fixed ranks are no random sample.
    A digest of each row would not be enough: where scores are few, rows that are alike stay in their order, and
    their labels may be sorted. Only targets that are alike to the last bit get the same draw.

    >>> scores = np.array([[0.25, 0.75], [1.0, 0.0], [0.5, 0.5]])
    >>> whole, parts = RowDraw(2, seed=1, n_classes=2), RowDraw(2, seed=1, n_classes=2)
    >>> whole.add(scores)
    >>> for block in (scores[:1, ::-1], scores[1:, ::-1].astype(np.float32)):
    ...     parts.add(block)
    >>> whole.rows.tolist() == parts.rows.tolist(), whole.sha256 == parts.sha256
    (True, True)
    """

    def __init__(self, budget: int, seed: int, n_classes: int) -> None:
        self.budget, self.seed = budget, seed
        self._columns = [hashlib.sha256() for _ in range(n_classes)]
        self._left_out = [np.empty(0, np.int64)]
        self.n_rows = 0

    def add(self, scores: Matrix, usable: BoolArray | None = None) -> None:
        """The next rows: the scores of those that are ``usable`` (None: all). Others are counted, never drawn."""
        if usable is not None:
            self._left_out.append(self.n_rows + np.flatnonzero(~usable))
        self.n_rows += len(scores) if usable is None else len(usable)
        for digest, column in zip(self._columns, scores.T, strict=True):
            digest.update((column.astype("<f8") + 0.0).data)  # -0.0 and 0.0 are one number

    @property
    def n_usable(self) -> int:
        """How many rows can be drawn."""
        return self.n_rows - sum(map(len, self._left_out))

    @property
    def rows(self) -> IntArray:
        """The rows that are drawn of those so far, in their order."""
        seen = np.frombuffer(bytes.fromhex(self.sha256), "<i8")
        thrown, left_out = coins("label sheet", self.seed, seen), np.concatenate(self._left_out)
        keys, rows = np.empty(0, np.uint64), np.empty(0, np.int64)
        for first in range(0, self.n_rows, BLOCK_ROWS):
            last = min(first + BLOCK_ROWS, self.n_rows)
            numbers = thrown.integers(0, 2**64, last - first, np.uint64)
            out = np.searchsorted(left_out, [first, last])
            places = np.delete(np.arange(last - first), left_out[slice(*out)] - first)
            if len(keys) == self.budget:  # soon few rows are below all that were drawn
                places = places[numbers[places] < keys[-1]]
            keys, rows = np.append(keys, numbers[places]), np.append(rows, first + places)
            order = np.argsort(keys, kind="stable")[: self.budget]
            keys, rows = keys[order], rows[order]
        return rows

    @property
    def sha256(self) -> str:
        """Fingerprint of the usable rows so far, in their order, however they are stored.

        Every column has a hash of its own, of float64 numbers, so that float32 in Parquet and float64 in memory
        agree; the SHA-256 of the sorted hashes of the columns is the fingerprint. So a table whose columns stand
        in another order has the same: which column belongs to which class is told by names, and not known before
        there is a source.
        """
        columns = sorted(digest.digest() for digest in self._columns)
        return hashlib.sha256(b"".join(columns)).hexdigest()


@dataclass(frozen=True, slots=True, eq=False)
class LabelSheet:
    """Target rows to be labelled, in random order; the labels so far.

    Made by ``label_sheet``, or read from a file with ``load``. The rows, their order, the pilot and the looks are
    fixed before any label is known.

    Attributes
    ----------
    rows : numpy.ndarray of int
        Row numbers in the target, counted from 0, in the order in which they are labelled.
    looks : tuple of int
        After how many labelled rows, counted from the top with the pilot, thresholds may be certified. The last
        number is that of all rows.
    n_pilot : int
        How many of the rows, from the top, are the pilot, by which thresholds are tuned. All others test.
    epsilon, delta : float
        The promise that the looks and the pilot were sized for.
    seed : int
        Seed of the random order.
    n_target : int
        Rows of the target, among them those that were left out as unusable; groups, where one row of each was
        left to draw from.
    target_sha256 : str
        Fingerprint of the target's scores.
    labels : tuple of str or None
        The labels in the order of ``rows``: None where nothing is filled in, ``"?"`` where nobody can tell.
    kept : dict of str to tuple of str
        Other columns of the sheet, such as an id.
    path : str
        Fingerprint of what the thresholds are planned with, fixed when rows that still matter were first marked,
        or when a certificate was first made of the file. A sheet that was never saved does not remember it.
    file : str
        Where it was loaded from; "" if it was not.

    Examples
    --------
    >>> import numpy as np
    >>> from pacshift import label_sheet
    >>> scores = np.random.default_rng(0).dirichlet([1, 1], 1000)
    >>> sheet = label_sheet(scores, budget=200, looks=(100,), rng=0)
    >>> sheet.n_pilot, sheet.looks, sheet.last_complete_look
    (24, (100, 200), None)
    >>> filled = sheet.with_labels([0] * 110)
    >>> filled.n_filled, filled.pilot_complete, filled.last_complete_look
    (110, True, 0)
    """

    rows: IntArray
    looks: tuple[int, ...]
    n_pilot: int
    epsilon: float
    delta: float
    seed: int
    n_target: int
    target_sha256: str
    labels: tuple[str | None, ...]
    kept: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    path: str = ""
    file: str = ""

    __repr__ = short_repr

    @property
    def name(self) -> str:
        """What the sheet is called in messages."""
        return self.file or "the label sheet"

    @property
    def n_filled(self) -> int:
        """How many rows have a label or ``?``."""
        return sum(label is not None for label in self.labels)

    @property
    def n_from_top(self) -> int:
        """How many rows are filled in from the top, before the first that is blank."""
        return next((place for place, label in enumerate(self.labels) if label is None), len(self.labels))

    @property
    def pilot_complete(self) -> bool:
        """Whether every row of the pilot is filled in."""
        return self.n_from_top >= self.n_pilot

    @property
    def last_complete_look(self) -> int | None:
        """Which look, counted from 0, is the last that has all its labels; None before the first."""
        complete = sum(self.n_from_top >= look for look in self.looks)
        return complete - 1 if complete else None

    @property
    def looks_in_reach(self) -> tuple[int, ...]:
        """Looks that labels can say something about: the last complete one and, after gaps, those that follow it.

        The last of them is the first that covers all labels. Empty before the first look.
        """
        complete = -1 if self.last_complete_look is None else self.last_complete_look
        if self.n_filled == self.n_from_top:  # no gap: labels are filled in from the top
            return (complete,) if complete >= 0 else ()
        n_rows = max(place for place, label in enumerate(self.labels, start=1) if label is not None)
        return tuple(range(max(complete, 0), sum(look < n_rows for look in self.looks) + 1))

    @property
    def test_rows(self) -> tuple[int, ...]:
        """How many rows test at each look."""
        return tuple(look - self.n_pilot for look in self.looks)

    def cuts(self, delta: float) -> tuple[int, ...]:
        """How many test rows may be missed at each look, so that all looks hold together (Lemma 1 of its page).

        Parameters
        ----------
        delta : float
            Allowed probability that any look's thresholds miss more than ``epsilon``.

        Returns
        -------
        tuple of int
            A number for each look; -1 where nothing can be certified.
        """
        return look_cuts(self.test_rows, epsilon=self.epsilon, delta=delta)

    def with_labels(self, labels: Iterable[Any]) -> LabelSheet:
        """The same sheet with other labels, for labels that are not typed into the file.

        Parameters
        ----------
        labels : array or list
            Labels of the rows in the order of the sheet, from the top; None or NaN for no label, ``"?"`` where
            nobody can tell. There may be fewer than rows.

        Returns
        -------
        LabelSheet

        Raises
        ------
        InputError
            If there are more labels than rows, or a row of the pilot is skipped.
        """
        texts = [text_of(label) for label in labels]
        if len(texts) > len(self.rows):
            raise InputError(f"{self.name}: {len(texts):,} labels for {len(self.rows):,} rows.")
        filled = (*texts, *[None] * (len(self.rows) - len(texts)))
        require_pilot(filled, self.n_pilot, self.name)
        return replace(self, labels=filled)

    def label_index(self, classes: Sequence[Label]) -> IntArray:
        """Which class each label is, as far as labels go; -1 where nobody can tell, -2 where nobody was asked.

        Labels are compared with the names of the classes as text. What spreadsheets make of names is understood
        too: 1.0 for 1, 1 for 01, TRUE for True, and blanks around them.

        Parameters
        ----------
        classes : sequence of labels
            The class of each score column.

        Returns
        -------
        numpy.ndarray of int

        Raises
        ------
        InputError
            If a label is no class, a class is called ``?``, or two classes are alike in a spreadsheet.
        """
        places = {**class_places(classes), UNKNOWN: NOT_FOUND, "": NOT_ASKED}  # no class is called so
        filled = [place for place, text in enumerate(self.labels, start=1) if text is not None]
        texts = ["" if text is None else str(text) for text in self.labels[: max(filled, default=0)]]
        indices = [places.get(text, places.get(_in_spreadsheet(text))) for text in texts]
        wrong = [place for place, index in enumerate(indices) if index is None]
        if wrong:
            first = wrong[0]
            raise InputError(
                f"{self.name}: {len(wrong)} label(s) are no class, the first is {texts[first]!r} at order "
                f"{first + 1} (row {self.rows[first]} of the target). The classes are {shorten(tuple(classes))}. "
                f"Write them so, or {UNKNOWN} where nobody can tell."
            )
        return np.array(indices, np.int64)

    def require_promise(self, *, epsilon: float, delta: float) -> None:
        """Refuse another promise than the one that the looks were planned for.

        Parameters
        ----------
        epsilon, delta : float
            The promise that is asked for.

        Raises
        ------
        InputError
            If one of them is another number.
        """
        for name, wanted, planned in (("epsilon", epsilon, self.epsilon), ("delta", delta, self.delta)):
            if wanted != planned:
                raise InputError(
                    f"{self.name} was made for {name}={planned:g}, but {name}={wanted:g} was asked for. Its looks "
                    f"hold for the {name} that they were planned with: pass {param(f'{name}={planned!r}')}. A "
                    "second sheet would spend delta again."
                )

    def require_target(self, draw: RowDraw, numbers: IntArray | None = None, name: str = "the target") -> None:
        """Refuse another target than the one that the sheet was made for, and rows that its seed does not draw.

        Parameters
        ----------
        draw : RowDraw
            As many rows as the sheet has, drawn with its seed from this target.
        numbers : numpy.ndarray of int, optional
            Numbers of the rows in the target, where one of each group was left to draw from.
        name : str
            What the target is called in the message.

        Raises
        ------
        InputError
            If the target is another one: labels would be given to rows that they do not belong to. Or if the rows,
            their order or the pilot are others: then nobody knows whether chance has chosen them.
        """
        if (draw.sha256, draw.n_rows) != (self.target_sha256, self.n_target):
            how = f"of {self.n_target:,} rows; {name} has {draw.n_rows:,}"
            how = f"{name} has other scores or another order" if draw.n_rows == self.n_target else how
            raise InputError(
                f"{self.name} was drawn from another target ({how}), so its labels would go to the wrong rows. "
                "Use that target as it was, or draw a new sheet."
            )
        *looks, budget = self.looks
        planned = plan_sheet(budget, looks, epsilon=self.epsilon, delta=self.delta)
        rows = draw.rows
        drawn = rows if numbers is None else numbers[rows]
        if not np.array_equal(drawn, self.rows) or planned.n_pilot != self.n_pilot:
            raise InputError(
                f"{self.name}: its rows, their order or its pilot are not those that its seed {self.seed} draws "
                f"from {name}. Rows that were chosen otherwise are not a random sample. Use the sheet as it was "
                "made; the same seed, budget and looks draw it again."
            )

    def save(self, path: PathLike, *, overwrite: bool = False) -> None:
        """Write the sheet as CSV, to be filled in with a spreadsheet or an editor.

        Parameters
        ----------
        path : path-like
            The file, which appears when it is complete, or not at all.
        overwrite : bool, default False
            Whether a file that exists may be replaced. It may hold labels.
        """
        sheet_file.write_sheet(self, path, overwrite=overwrite)

    @classmethod
    def load(cls, path: PathLike) -> LabelSheet:
        """Read a sheet, filled in or not, as spreadsheets save it.

        Parameters
        ----------
        path : path-like
            A file that ``save`` or ``pacshift label`` wrote.

        Returns
        -------
        LabelSheet

        Raises
        ------
        InputError
            If the file is not a label sheet, if rows, their order or the looks were changed, or if rows of the
            pilot were skipped. The message says which.
        """
        fields = sheet_file.read_sheet(path)
        require_pilot(fields["labels"], fields["n_pilot"], str(path))
        return cls(**fields, file=str(path))


def require_pilot(labels: Sequence[str | None], n_pilot: int, name: str) -> None:
    """Refuse labels below a row of the pilot without one: the pilot plans the thresholds that the others test."""
    empty = next((place for place, label in enumerate(labels[:n_pilot], start=1) if label is None), None)
    if empty is not None and any(labels[empty:]):
        raise InputError(
            f"{name}: order {empty} has no label, but rows below it have one. The first {n_pilot:,} rows, the "
            f"pilot, plan the thresholds and cannot be skipped: label it, or write {UNKNOWN} if nobody can tell. "
            "Later rows may stay blank."
        )


@did_you_mean
def label_sheet(
    target: ScoresLike | Rows,
    *,
    budget: int,
    looks: Sequence[int] = (),
    epsilon: float = 0.1,
    delta: float = 0.05,
    rng: RngLike = None,
    keep: Mapping[str, Any] | Frame | Sequence[str] | None = None,
    classes: Sequence[Label] | None = None,
    softmax: bool = False,
) -> LabelSheet:
    """Draw rows of a target to be labelled, in random order.

    Fill in the labels from the top. After every complete look thresholds can be certified by these labels alone,
    whatever the shift is. All looks hold together, so you may stop at any of them. After the pilot rows may stay
    blank: such a row counts as missed unless its set holds all labels, and ``next_labels`` says which rows matter.

    ``delta`` pays for one sheet: a second one for the same target, or a larger one with the same seed, spends it
    again. So let the budget be the most that you may want to label.

    Parameters
    ----------
    target : array or frame of shape (n, K), or rows
        Scores of the target, as for ``calibrate``; or a table of any size by ``pacshift.read``, read once more for
        the columns to keep.
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
        Seed of the random order, which depends on it and on all scores, so that a file may be sorted. None takes
        one from the operating system. The sheet remembers it; nobody may try several.
    keep : dict of columns, frame, or names of columns, optional
        Columns to copy into the sheet, such as an id or a text, with one entry per row of the target; of a table
        their names.
    classes : sequence of labels, optional
        The class of each score column, as for ``calibrate``: if the target is a frame, these columns are its
        scores.
    softmax : bool, default False
        Whether the scores are logits, in which a class may be ruled out with -inf.

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
    seed = secrets.randbits(63) if rng is None else check_seed(rng)
    if seed >= 2**64:
        raise InputError(
            f"{param('rng')} must be a seed below 2**64, which is written into the sheet, got {seed}."
        )
    is_logits = check_flag(softmax, "softmax") or None  # False: nobody has said so
    rows = bind_rows(target, name="target", role="target", classes=classes, softmax=is_logits)
    if rows.labels != "none":
        raise InputError("a sheet is for rows without labels, but these have some. Leave them out.")
    if not isinstance(rows.every, MemoryRows):
        if keep is not None and (isinstance(keep, str) or not isinstance(keep, Sequence)):
            raise InputError(f"{param('keep')} must be a list of columns of the table, such as ['id'].")
        return _drawn(rows, plan, seed, tuple(keep or ()))
    batch = rows.every.batch
    matrix = batch.matrix
    if rows.softmax:
        _ = batch.ready  # or says what is wrong with the logits
    elif not is_finite(matrix.values):
        raise not_finite_error(matrix, "target")
    require_scores(matrix)
    sheet = _drawn(rows, plan, seed)
    if keep is None:
        return sheet
    names = list(keep) if isinstance(keep, Mapping) else column_names(keep)
    if names is None:
        raise InputError(
            f"{param('keep')} must be a frame or a dict of columns, such as {{'id': ids}}, got "
            f"{type(keep).__name__}."
        )
    texts = [str(name) for name in names]
    taken = {text for text in texts if text.strip() in ("", *sheet_file.COLUMNS) or texts.count(text) > 1}
    if taken:
        raise InputError(
            f"cannot keep {shorten(sorted(taken))}: columns of a label sheet need different names, and other "
            f"names than {shorten(sheet_file.COLUMNS)}. Rename them."
        )
    require_same_index(matrix.index, keep, "target", what="columns to keep")
    columns: Any = keep
    kept = {}
    for name in names:
        column = as_array(columns[name], "keep", f"column {name!r}")
        if column.ndim != 1 or len(column) != len(matrix):
            raise InputError(
                f"{param('keep')}: column {name!r} has shape {column.shape}, but the target has {len(matrix):,} "
                "rows. Give one entry per row."
            )
        kept[str(name)] = tuple(map(cell_text, np.asarray(column, object)[sheet.rows]))
    return replace(sheet, kept=kept)


def require_scores(matrix: ScoreMatrix) -> None:
    """Refuse a table of features: labels of its rows would come back to a ``calibrate`` that knows other rows.

    Only what is plain can be told: numbers of no kind of score, and a column that has one or two whole values, as
    a sex or a yes has. No logit is like that.
    """
    kind = ScoreKind.of_rows(matrix.values)
    if len(matrix) < FEWEST_ROWS or kind is None or kind.name != OTHER:
        return
    for name, column in zip(matrix.classes, matrix.values.T, strict=True):
        low, high = column.min(), column.max()
        if low == round(low) and high == round(high) and np.isin(column, (low, high)).all():
            raise InputError(
                f"target: column {name!r} holds only {low:g} and {high:g}, others do not: these are features, not "
                "scores. Pass what the classifier gives for them, such as model.predict_proba(X). A PACClassifier "
                "takes features: model.label_sheet(X, ...)."
            )


def _drawn(rows: CheckedRows, plan: SheetPlan, seed: int, keep: Sequence[str] = ()) -> LabelSheet:
    """The verb: draw rows, and copy the columns to ``keep`` of those that were drawn, in a second pass."""
    class_places(rows.classes)  # refuses names that would not come back
    require_columns(keep, rows.column_names, taken=sheet_file.COLUMNS)
    draw = RowDraw(plan.looks[-1], seed, len(rows.classes))

    def read(batch: Batch) -> Batch:
        _ = batch.raw_scores  # on all cores; what follows is one batch after the other
        return batch

    for batch in rows.fold(read, "drawing rows", every=True):
        draw.add(batch.raw_scores, batch.kept)
    if draw.n_usable < draw.budget:
        raise InputError(
            f"{param('budget')} must not exceed the target: {draw.budget:,} rows to label, but the target has "
            f"{draw.n_usable:,} usable rows. Lower the budget, or take a larger target."
        )
    drawn, first, kept = draw.rows, 0, dict[int, list[str]]()
    for batch in rows.fold(read, "drawing rows", keep=keep, every=True) if keep else ():
        for row in drawn[(drawn >= first) & (drawn < first + batch.n_rows)].tolist():
            kept[row] = [cell_text(cell) for cell in batch.cells(row - first, keep)]
        first += batch.n_rows
    return LabelSheet(
        # By their numbers in the target, where one of each group was left to draw from.
        rows=drawn if rows.numbers is None else rows.numbers[drawn],
        **asdict(plan),
        seed=seed,
        n_target=draw.n_rows,
        target_sha256=draw.sha256,
        labels=(None,) * len(drawn),
        kept={name: tuple(kept[row][place] for row in drawn.tolist()) for place, name in enumerate(keep)},
    )


def cell_text(value: Any) -> str:
    """A value as it stands in a cell; nothing for what is missing."""
    return "" if is_null(value) else str(text_of(value) or value)


def class_places(classes: Sequence[Label]) -> Mapping[str, int]:
    """Position of each class by its name and by what a spreadsheet may make of it.

    A label would silently become another one where two names are alike in a spreadsheet, so these are refused.
    """
    names, places = [str(text_of(name)) for name in classes], dict[str, int]()
    for place, name in enumerate(names):
        form = _in_spreadsheet(name)
        if form in ("", UNKNOWN):
            meaning = "that nobody can tell" if form else "that the row has no label yet"
            raise InputError(
                f"a class is called {name!r}, which in a label sheet means {meaning}. Rename the class."
            )
        if form in places:
            raise InputError(
                f"the classes {names[places[form]]!r} and {name!r} cannot be told apart in a label sheet: "
                "spreadsheets drop blanks and zeros, and write TRUE for True. Rename one of them."
            )
        places[form] = place
    return places_by_text(classes) | places


def _in_spreadsheet(text: str) -> str:
    """A name as it comes back from a spreadsheet: without blanks, 1 for 01 or 1.0, True for TRUE."""
    bare = text.strip()
    if whole := re.fullmatch(r"([+-]?[0-9]+)(\.0*)?", bare):
        return str(int(whole.group(1)))
    return bare.capitalize() if bare.upper() in ("TRUE", "FALSE") else bare
