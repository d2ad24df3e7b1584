"""The label sheet: rows of a target in random order, and the labels that were filled in from the top."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pacshift.arrays import IntArray, Label
from pacshift.certification.label_sheet import file
from pacshift.certification.label_sheet.names import UNKNOWN, class_places, place_of
from pacshift.certification.label_sheet.plan import plan_sheet
from pacshift.errors import InputError
from pacshift.files.writing import PathLike
from pacshift.ps_t.looks import look_cuts
from pacshift.scores.names import NOT_FOUND, shorten, text_of
from pacshift.words.display import short_repr


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
    name : str
        What the sheet is called in messages: its file.

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
    name: str = "the label sheet"

    __repr__ = short_repr

    @property
    def n_filled(self) -> int:
        """How many rows have a label or ``?``. There is no gap: they are the first ones."""
        return sum(label is not None for label in self.labels)

    @property
    def pilot_complete(self) -> bool:
        """Whether every row of the pilot is filled in."""
        return self.n_filled >= self.n_pilot

    @property
    def last_complete_look(self) -> int | None:
        """Which look, counted from 0, is the last that has all its labels; None before the first."""
        complete = sum(self.n_filled >= look for look in self.looks)
        return complete - 1 if complete else None

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

    def with_labels(self, labels: Iterable[Any]) -> "LabelSheet":
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
            If there are more labels than rows, or a row is skipped.
        """
        texts = [text_of(label) for label in labels]
        if len(texts) > len(self.rows):
            raise InputError(f"{self.name}: {len(texts):,} labels for {len(self.rows):,} rows.")
        filled = (*texts, *[None] * (len(self.rows) - len(texts)))
        require_no_gap(filled, self.name)
        return replace(self, labels=filled)

    def label_index(self, classes: Sequence[Label]) -> IntArray:
        """Which class each label is, for the rows that are filled in; -1 where nobody can tell.

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
        places = class_places(classes)
        texts = self.labels[: self.n_filled]
        found = [NOT_FOUND if text == UNKNOWN else place_of(str(text), places) for text in texts]
        wrong = [place for place, index in enumerate(found) if index is None]
        if wrong:
            first = wrong[0]
            raise InputError(
                f"{self.name}: {len(wrong)} label(s) are no class, the first is {texts[first]!r} at order "
                f"{first + 1} (row {self.rows[first]} of the target). The classes are {shorten(tuple(classes))}. "
                f"Write them so, or {UNKNOWN} where nobody can tell."
            )
        return np.array(found, np.int64)

    def require_target(self, sha256: str, n_rows: int, drawn: IntArray, name: str = "the target") -> None:
        """Refuse another target than the one that the sheet was made for, and rows that its seed does not draw.

        Parameters
        ----------
        sha256 : str
            Fingerprint of the target's scores.
        n_rows : int
            Rows of the target, among them those that were left out as unusable.
        drawn : numpy.ndarray of int
            Row numbers that the sheet's seed draws from this target, in their order.
        name : str
            What the target is called in the message.

        Raises
        ------
        InputError
            If the target is another one: labels would be given to rows that they do not belong to. Or if the rows,
            their order or the pilot are others: then nobody knows whether chance has chosen them.
        """
        if (sha256, n_rows) != (self.target_sha256, self.n_target):
            how = "its scores or their order differ" if n_rows == self.n_target else f"it has {n_rows:,} rows"
            raise InputError(
                f"{self.name} was made for another target of {self.n_target:,} rows: {name} is not that one, "
                f"{how}. The labels would go to the wrong rows. Use the target that the sheet was made from, as "
                "it was then. Another target needs a sheet of its own."
            )
        *looks, budget = self.looks
        planned = plan_sheet(budget, looks, epsilon=self.epsilon, delta=self.delta)
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
        file.write_sheet(self, path, overwrite=overwrite)

    @classmethod
    def load(cls, path: PathLike) -> "LabelSheet":
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
            If the file is not a label sheet, if rows, their order or the looks were changed, or if rows were
            skipped. The message says which.
        """
        fields = file.read_sheet(path)
        require_no_gap(fields["labels"], str(path))
        return cls(**fields, name=str(path))


def require_no_gap(labels: Sequence[str | None], name: str) -> None:
    """Refuse labels below a row without one: skipping rows would choose which rows are tested."""
    if None not in labels:
        return
    empty = labels.index(None) + 1
    below = [order for order, label in enumerate(labels, start=1) if label is not None and order > empty]
    if below:
        raise InputError(
            f"{name}: rows were skipped. Order {empty} has no label, but {len(below):,} row(s) below it have one, "
            f"the first is order {below[0]}. Rows must be labelled from the top without gaps, or they are not a "
            f"random sample. Label order {empty} too, or write {UNKNOWN} where nobody can tell."
        )
