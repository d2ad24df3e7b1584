"""Sets of a table of any size, measured: their sizes, and against labels their errors."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import IntArray
from pacshift.certificate import Certificate
from pacshift.evaluation import Evaluation, EvaluationCounts
from pacshift.progress import Progress
from pacshift.rows.arrow.records import ScoreRows
from pacshift.rows.arrow.source import Records, Tables
from pacshift.rows.sets import count_sizes
from pacshift.tables.count import why_of
from pacshift.tables.reader import TableReader
from pacshift.tally.once import Role, file_sha256


@dataclass(frozen=True, slots=True, eq=False)
class TableEvaluation:
    """The evaluation of a table.

    Parameters
    ----------
    evaluation : Evaluation
        Error and size of the sets.
    n_dropped : int
        Rows that were left out because they cannot be used.
    n_rows : int
        Rows of the table in all: measured, left out, and not chosen of their group.
    dropped_why : tuple of (str, int)
        Reasons for leaving rows out, each with its number of rows.
    seen_as : {"source", "target"} or None
        If the certificate was made from one of these files, by its SHA-256: as what.
    """

    evaluation: Evaluation
    n_dropped: int
    n_rows: int
    dropped_why: tuple[tuple[str, int], ...] = ()
    seen_as: Role | None = None


def evaluate_table(
    certificate: Certificate,
    paths: Tables,
    *,
    label: str | None = None,
    scores: str | None = None,
    by_position: bool = False,
    drop_invalid: bool = False,
    group: str | None = None,
    progress: Progress | None = None,
) -> TableEvaluation:
    """As ``pacshift.evaluate``, of the sets of a labelled table; memory does not grow with the rows.

    Parameters
    ----------
    certificate : Certificate
        Makes the sets.
    paths : path-like, sequence of path-like or frame
        Files, folders or a frame, as in ``tally_table``.
    label : str, optional
        Column of the true labels. Default: the one that the certificate was made from, else ``"label"``.
    scores : str, optional
        The score columns, as in ``tally_table``. Default: those that the certificate was made from.
    by_position : bool, default False
        Match columns to classes in their order, if their names do not tell.
    drop_invalid : bool, default False
        Leave out rows that cannot be used, instead of raising an error.
    group : str, optional
        Column that names the group of each row: one random row of each group is measured, as in ``tally_table``.
    progress : callable, optional
        Called with the rows done so far and, where known, the rows in all.

    Returns
    -------
    TableEvaluation
        Error and size, and how many rows were left out.

    Raises
    ------
    InputError
        If a file cannot be read, columns are missing, or rows cannot be used.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from pacshift import calibrate
    >>> made = calibrate([[0.9, 0.1], [0.2, 0.8]] * 50, [0, 1] * 50, None, epsilon=0.1, delta=0.1, method="PS")
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "later.csv")
    >>> _ = path.write_text("p_0,p_1,label\\n0.95,0.05,0\\n0.1,0.9,0\\n")
    >>> evaluate_table(made, path, label="label").evaluation.error
    0.5
    >>> folder.cleanup()
    """
    remembered = None if certificate.columns is None else certificate.columns.label
    reader = TableReader.for_certificate(
        certificate,
        paths,
        label=label or remembered or "label",
        scores=scores,
        by_position=by_position,
        group=group,
    )

    def count(rows: ScoreRows, _batch: Records) -> EvaluationCounts:
        assert rows.index is not None  # a reader with a label has one
        return EvaluationCounts.of(certificate.sets_of_rows(rows.scores), rows.index)

    parts = reader.map_rows(count, drop_invalid=drop_invalid, progress=progress)
    evaluation, faults = reduce(add, parts).evaluation(), reader.faults
    seen_as = _seen_as(certificate, reader)
    return TableEvaluation(evaluation, faults.n_rows, reader.n_in_all, why_of(faults), seen_as)


def _seen_as(certificate: Certificate, reader: TableReader) -> Role | None:
    """As what the certificate was made from one of the files. Only files with as many rows are looked at again."""
    made = certificate.provenance
    for file in reader.source.files:
        n_rows = reader.rows_of.get(str(file))
        alike = [one for one in made.inputs if one.name is not None and one.rows_read == n_rows]
        sha256 = file_sha256(file) if alike else None
        for one in alike:
            if one.sha256 is not None and one.sha256 == sha256:
                return one.role
    return None


def count_set_sizes(
    certificate: Certificate,
    paths: Tables,
    *,
    scores: str | None = None,
    by_position: bool = False,
    drop_invalid: bool = False,
    progress: Progress | None = None,
) -> IntArray:
    """How many sets of a table hold 0, 1, ..., K labels: the certificate's ``set_sizes``.

    Parameters
    ----------
    certificate : Certificate
        Makes the sets.
    paths : path-like, sequence of path-like or frame
        Files, folders or a frame, as in ``tally_table``.
    scores : str, optional
        The score columns, as in ``tally_table``. Default: those that the certificate was made from.
    by_position : bool, default False
        Match columns to classes in their order, if their names do not tell.
    drop_invalid : bool, default False
        Leave out rows that cannot be used, instead of raising an error.
    progress : callable, optional
        Called with the rows done so far and, where known, the rows in all.

    Returns
    -------
    numpy.ndarray of shape (K + 1,)
        Counts of sets by size.

    Raises
    ------
    InputError
        If a file cannot be read, columns are missing, or rows cannot be used.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from pacshift import calibrate
    >>> made = calibrate([[0.9, 0.1], [0.2, 0.8]] * 50, [0, 1] * 50, None, epsilon=0.1, delta=0.1, method="PS")
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "target.csv")
    >>> _ = path.write_text("p_0,p_1\\n0.95,0.05\\n0.6,0.4\\n")
    >>> count_set_sizes(made, path).tolist()
    [1, 1, 0]
    >>> folder.cleanup()
    """
    reader = TableReader.for_certificate(certificate, paths, label=None, scores=scores, by_position=by_position)
    (measured,) = measure_sets(reader, [certificate], drop_invalid=drop_invalid, progress=progress)
    return measured.set_sizes


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredSets:
    """Counts of sets by their size, and of true labels that they miss (0 where labels are not known)."""

    set_sizes: IntArray
    n_missed: int

    def __add__(self, other: "MeasuredSets") -> "MeasuredSets":
        return MeasuredSets(self.set_sizes + other.set_sizes, self.n_missed + other.n_missed)


def measure_sets(
    reader: TableReader,
    certificates: Sequence[Certificate],
    *,
    drop_invalid: bool = False,
    progress: Progress | None = None,
) -> list[MeasuredSets]:
    """The sets of several certificates made from the same scores, measured in one pass over the table."""

    def measure(rows: ScoreRows, _batch: Records) -> list[MeasuredSets]:
        if rows.index is None:
            return [MeasuredSets(sizes, 0) for sizes in _sizes(certificates, rows.scores)]
        return [_measured(certificate, rows.scores, rows.index) for certificate in certificates]

    parts = reader.map_rows(measure, drop_invalid=drop_invalid, progress=progress)
    return [reduce(add, column) for column in zip(*parts, strict=True)]


def _sizes(certificates: Sequence[Certificate], scores: NDArray[Any]) -> list[IntArray]:
    """Counts of sets by size. Certificates that differ in their thresholds alone are measured together."""
    found: list[IntArray] = []
    for _, alike in groupby(certificates, key=lambda one: (one.score, one.transform, one.never_empty)):
        first, *others = alike
        found += first.sizes_of_rows(scores, [one.thresholds for one in (first, *others)])
    return found


def _measured(certificate: Certificate, scores: NDArray[Any], index: IntArray) -> MeasuredSets:
    sets = certificate.sets_of_rows(scores)
    return MeasuredSets(count_sizes(sets), int((~sets[np.arange(len(sets)), index]).sum()))
