"""Rows as users give them, and how a verb binds them: as the source, or as a target that is read like it.

``Rows`` only holds what was said. A verb knows whether rows are a source or a target, what their classes are and
whether scores are logits: what one side leaves out is said by the other, or by the verb.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, TypeAlias, cast

from pacshift.arrays import Label, LabelsLike, ScoresLike
from pacshift.errors import InputError, param
from pacshift.rows.base import CheckedRows, Matrix
from pacshift.rows.memory import check_arrays
from pacshift.scores.check import ScoreMatrix, check_flag
from pacshift.scores.frames import column_names
from pacshift.scores.names import shorten
from pacshift.scores.transforms import TransformFunction
from pacshift.tally import Tally
from pacshift.tally.inputs import Role


@dataclass(frozen=True, eq=False, repr=False)
class Rows:
    """Scores with what belongs to each row: its label, if it is known, and its group.

    Every verb takes such rows where it takes an array of scores: ``calibrate(Rows(...), Rows(...))``. Plain arrays
    are enough where rows have no groups and the target has no labels. ``pacshift.read`` gives rows of files.

    Parameters
    ----------
    scores : array or frame of shape (n, K)
        One row per example, one column per class, higher is more likely: NumPy arrays, torch CPU tensors, nested
        lists, and pandas, polars or Arrow frames. They need not be calibrated or sum to 1.
    labels : array or series of length n, optional
        The true label of each row, matched to ``classes`` by value. Of a target some are enough: None or NaN where
        there is none. The labelled rows must be a random sample of the target; with groups they must be the
        counted ones, as those of a label sheet are, or all rows of random groups.
    classes : sequence of labels, optional
        The class of each score column, in order. Default: those of the source or certificate that the rows are
        used with, else the column names of a frame, else 0 to K-1.
    softmax : bool, default False
        Whether the scores are logits, of which the softmax is taken first. A target is read as its source is.
    groups : array or series of length n, optional
        The group of each row, such as the patient, if several rows belong to one. Such rows are not independent,
        so one random row of each group is counted, by coins that are thrown over ids and rows. A promise is then
        about a random row of a random group. Ids are compared as text.

    Examples
    --------
    Several scans of each patient:

    >>> from pacshift import Rows, calibrate
    >>> scans, patients = [[0.9, 0.1], [0.2, 0.8]] * 500, [f"patient {number // 3}" for number in range(1000)]
    >>> source = Rows(scans, [0, 1] * 500, groups=patients)
    >>> source
    <1,000 rows, with labels and groups>
    >>> calibrate(source, Rows(scans, groups=patients), method="PS-LW").n_source
    334
    """

    scores: ScoresLike
    labels: LabelsLike | None = None
    _: KW_ONLY
    classes: Sequence[Label] | None = None
    softmax: bool = False
    groups: LabelsLike | None = None

    def __post_init__(self) -> None:
        if isinstance(self.scores, Rows | CheckedRows):
            raise InputError("scores are rows already: pass them on as they are.")
        check_flag(self.softmax, "softmax")

    def __repr__(self) -> str:
        scores: Any = self.scores
        length = f"{len(scores):,} rows" if hasattr(scores, "__len__") else "rows"
        parts = [name for name in ("labels", "groups") if getattr(self, name) is not None]
        return f"<{length}{', with ' if parts else ''}{' and '.join(parts)}>"

    @property
    def has_labels(self) -> bool:
        """Whether some rows have a label."""
        return self.labels is not None

    @property
    def column_names(self) -> Sequence[str]:
        """The columns of a frame or table."""
        return [str(name) for name in column_names(self.scores) or ()]

    def bind(
        self,
        *,
        name: str,
        role: Role,
        classes: Sequence[Label] | None = None,
        columns: Sequence[str] = (),
        softmax: bool | None = None,
    ) -> CheckedRows:
        """Check the rows, now that it is known what they are rows of.

        Parameters
        ----------
        name : str
            What messages call them.
        role : {"source", "target"}
            Of a source every row has a label, if any; of a target some may.
        classes : sequence of labels, optional
            The classes of what they are used with.
        columns : sequence of str
            Score columns of a frame that a certificate remembers.
        softmax : bool, optional
            Whether scores of what they are used with are logits; None where nobody said so.

        Returns
        -------
        CheckedRows
        """
        return check_arrays(
            self.scores,
            self.labels,
            self.groups,
            name=name,
            role=role,
            classes=self._agree_on_classes(self.classes, classes, name),
            columns=columns,
            softmax=self._agree_on_softmax(softmax, name),
        )

    def _agree_on_classes(
        self, classes: Sequence[Label] | None, others: Sequence[Label] | None, name: str
    ) -> Sequence[Label] | None:
        """The classes of these rows, or those of what they are used with; an InputError if these differ."""
        if classes is None or others is None or tuple(classes) == tuple(others):
            return others if classes is None else classes
        raise InputError(
            f"the {name} has the classes {shorten(tuple(classes))}, but what it is used with has "
            f"{shorten(tuple(others))}; both must be the same, in the same order. Name them once: "
            f"{param('classes=')}, or like= where a table is read."
        )

    def _agree_on_softmax(self, others: bool | None, name: str) -> bool:
        if self.softmax and others is False:
            raise InputError(
                f"the {name} holds logits, but what it is used with does not. Say {param('softmax=True')} of "
                "both, or of neither."
            )
        return self.softmax if others is None else check_flag(others, "softmax")

    def tally(
        self,
        score: str | TransformFunction = "probability",
        *,
        soft: bool = True,
        bins: bool = True,
        grid: bool | None = None,
        sha256: bool = False,
    ) -> Tally:
        """The counts of all rows: of a source if they have labels, else of a target.

        Those of a table equal ``Tally.from_scores(..., grid=True)`` bit for bit, whatever the batches.

        Parameters
        ----------
        score : str or callable, default "probability"
            Transform of the scores that thresholds are compared with.
        soft : bool, default True
            Keep sums of probabilities, which only PS-R and WCP use.
        bins : bool, default True
            Keep a target's scores in coarse bins, by which PS-LP finds the smallest sets.
        grid : bool, optional
            Round true-label scores down to 12 bits of mantissa. False keeps every score: memory grows with the
            rows. Default: True for tables.
        sha256 : bool, default False
            List the SHA-256 of every file in the tally's ``inputs``. Files are read once more for it.

        Returns
        -------
        Tally
            The counts, and where they came from.

        Raises
        ------
        InputError
            If rows cannot be read or used.

        Examples
        --------
        >>> import pandas
        >>> from pacshift import Rows, read
        >>> Rows([[0.9, 0.1], [0.3, 0.7], [0.4, 0.6]], groups=["ann", "ann", "bob"]).tally().n_target
        2
        >>> table = pandas.DataFrame({"p_cat": [0.9, 0.3], "p_dog": [0.1, 0.7], "animal": ["cat", "dog"]})
        >>> read(table, label="animal").tally().confusion.tolist()
        [[1, 0], [0, 1]]
        """
        return self._bind_alone().tally(score, soft=soft, bins=bins, grid=grid, sha256=sha256)

    def arrays(self) -> tuple[Matrix, Any]:
        """All scores and the names of the labels, or None: for what needs every row at once.

        Returns
        -------
        scores : numpy.ndarray of shape (n, K)
            Of logits the softmax.
        labels : numpy.ndarray of shape (n,) or None
            Names among the classes.

        Raises
        ------
        InputError
            If rows cannot be read or used.

        Examples
        --------
        >>> import pandas
        >>> from pacshift import read
        >>> table = pandas.DataFrame({"p_cat": [0.9, 0.3], "p_dog": [0.1, 0.7], "animal": ["cat", "dog"]})
        >>> read(table, label="animal").arrays()[1].tolist()
        ['cat', 'dog']
        """
        return self._bind_alone().arrays()

    def _with_labels(self, labels: LabelsLike) -> Rows:
        return replace(self, labels=labels)

    def _bind_alone(self) -> CheckedRows:
        role: Role = "source" if self.has_labels else "target"
        return self.bind(name=role, role=role)


RowsLike: TypeAlias = ScoresLike | ScoreMatrix | Rows | CheckedRows
"""Whatever a verb takes for rows: as a user says them, or checked by an adapter."""


def bind_rows(
    rows: RowsLike,
    *,
    name: str,
    role: Role,
    labels: LabelsLike | None = None,
    classes: Sequence[Label] | None = None,
    columns: Sequence[str] = (),
    softmax: bool | None = None,
) -> CheckedRows:
    """Arrays or rows, checked; rows that an adapter has checked must agree with what is said beside them."""
    if isinstance(rows, CheckedRows):
        if (classes is not None and tuple(classes) != rows.classes) or softmax not in (None, rows.softmax):
            raise InputError(
                f"the {name} has the classes {shorten(rows.classes)}, but what it is used with has "
                f"{shorten(tuple(classes or ()))}; both must be the same, in the same order, and both logits or "
                "none. Read it with like=."
            )
        return rows
    if not isinstance(rows, Rows):
        rows = Rows(cast(ScoresLike, rows), labels)
    elif labels is not None:
        if rows.has_labels:
            raise InputError(f"the {name} has its labels in its rows. Leave out labels=.")
        rows = rows._with_labels(labels)
    return rows.bind(name=name, role=role, classes=classes, columns=columns, softmax=softmax)


def bind_source(
    source: RowsLike,
    labels: LabelsLike | None,
    *,
    name: str = "source",
    classes: Sequence[Label] | None = None,
    columns: Sequence[str] = (),
    softmax: bool | None = None,
) -> CheckedRows:
    """Rows of which every one has a label."""
    if labels is None and not has_labels(source):
        raise InputError(
            f"labels is missing: pass the true label of each {name} row, as labels= or in Rows(scores, labels). "
            f"Of a table name their column when it is read: {param('label=COLUMN')}."
        )
    return bind_rows(
        source, name=name, role="source", labels=labels, classes=classes, columns=columns, softmax=softmax
    )


def bind_pair(
    source: RowsLike,
    labels: LabelsLike | Rows | None,
    target: RowsLike | None,
    *,
    classes: Sequence[Label] | None = None,
    columns: Sequence[str] = (),
    softmax: bool = False,
) -> tuple[CheckedRows, CheckedRows | None]:
    """A labelled source and, if there is one, its target: after a source that has its labels comes the target."""
    if labels is not None and has_labels(source):
        if target is not None:
            raise InputError(
                "the source has its labels in its rows, so that the target comes next: calibrate(source, target). "
                "Leave out labels=."
            )
        labels, target = None, labels
    if isinstance(labels, Rows | CheckedRows):
        raise InputError(
            f"the source has no labels: pass Rows(scores, labels), or read it with {param('label=COLUMN')}."
        )
    is_logits = check_flag(softmax, "softmax") or None  # False: nobody has said so
    bound = bind_source(source, labels, classes=classes, columns=columns, softmax=is_logits)
    if target is None:
        return bound, None
    return bound, bind_rows(
        target, name="target", role="target", classes=bound.classes, columns=columns, softmax=bound.softmax
    )


def has_labels(rows: object) -> bool:
    """Whether these are rows that have their labels; arrays have none."""
    if isinstance(rows, CheckedRows):
        return rows.labels != "none"
    return isinstance(rows, Rows) and rows.has_labels
