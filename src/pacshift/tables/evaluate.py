"""Sets of a table of any size, measured: their sizes, and against labels their errors."""

from dataclasses import dataclass
from typing import Any

from pacshift.arrays import IntArray
from pacshift.certificate import Certificate
from pacshift.certification.check import evaluated
from pacshift.certification.counted import cut_of
from pacshift.evaluation import Evaluation
from pacshift.progress import Progress
from pacshift.rows.arrow.source import Tables
from pacshift.rows.arrow.table import read_rows
from pacshift.rows.base import told
from pacshift.rows.fold import sizes
from pacshift.tally.once import Role


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
    rows = read_rows(
        paths,
        label=label or remembered or "label",
        scores=scores,
        by_position=by_position,
        group=group,
        drop_invalid=drop_invalid,
        like=certificate,
        keep=False,
        watch=told(progress),
    )
    found, seen_as = evaluated(certificate, rows)
    faults = rows.last.faults
    return TableEvaluation(found, faults.n_rows, rows.last.n_rows, faults.why, seen_as)


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
    how: dict[str, Any] = {
        "scores": scores,
        "by_position": by_position,
        "drop_invalid": drop_invalid,
        "keep": False,
    }
    rows = read_rows(paths, **how, like=certificate, watch=told(progress))
    (found,) = sizes(rows, [cut_of(certificate)])
    return found
