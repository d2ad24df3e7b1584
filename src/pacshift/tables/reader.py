"""A whole table in memory, for what needs every score at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import Label
from pacshift.rows.arrow.source import Tables
from pacshift.rows.arrow.table import read_rows
from pacshift.scores.check import ScoreMatrix
from pacshift.scores.transforms import to_probabilities


@dataclass(frozen=True, slots=True, eq=False)
class LoadedTable:
    """A table in memory.

    Parameters
    ----------
    scores : numpy.ndarray of shape (n, K)
        One row per example, one column per class.
    labels : numpy.ndarray of shape (n,) or None
        Names among ``classes``.
    classes : tuple
        Class names, in the order of the columns.
    """

    scores: NDArray[np.floating[Any]]
    labels: NDArray[Any] | None
    classes: tuple[Label, ...]


def read_table(
    paths: Tables,
    *,
    label: str | None = None,
    scores: str | None = None,
    classes: Sequence[Label] | None = None,
    by_position: bool = False,
    softmax: bool = False,
    drop_invalid: bool = False,
    group: str | None = None,
) -> LoadedTable:
    """Read a whole table into memory, for what needs every score at once.

    Parameters
    ----------
    paths : path-like, sequence of path-like or frame
        Files, folders or a frame, as in ``tally_table``.
    label : str, optional
        Column of the true labels.
    scores : str, optional
        The score columns, as in ``tally_table``.
    classes : sequence, optional
        Class names, as in ``tally_table``.
    by_position : bool, default False
        Match columns to classes in their order, as in ``tally_table``.
    softmax : bool, default False
        Whether the scores are logits, of which the softmax is given back.
    drop_invalid : bool, default False
        Leave out rows that cannot be used, instead of raising an error.
    group : str, optional
        Column that names the group of each row: one random row of each group is read, as in ``tally_table``.

    Returns
    -------
    LoadedTable
        Scores, labels (where ``label`` is given) and class names.

    Raises
    ------
    InputError
        If a file cannot be read, columns are missing, or rows cannot be used.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "scores.csv")
    >>> _ = path.write_text("p_cat,p_dog,animal\\n0.9,0.1,cat\\n0.3,0.7,dog\\n")
    >>> read_table(path, label="animal").labels.tolist()
    ['cat', 'dog']
    >>> folder.cleanup()
    """
    rows = read_rows(
        paths,
        label=label,
        scores=scores,
        classes=classes,
        by_position=by_position,
        group=group,
        softmax=softmax,
        drop_invalid=drop_invalid,
        keep=False,
    )
    parts = list(rows.map(lambda batch: (batch.given, batch.labels)))
    values = np.concatenate([scores for scores, _ in parts])
    if softmax:
        values = to_probabilities(ScoreMatrix(values, rows.classes), name="the table").values
    if label is None:
        return LoadedTable(values, None, rows.classes)
    index = np.concatenate([labels for _, labels in parts if labels is not None])
    return LoadedTable(values, _names(rows.classes)[index], rows.classes)


def _names(classes: tuple[Label, ...]) -> NDArray[Any]:
    """An array of the names in their own type; a mix of types stays a mix."""
    return np.array(classes, None if len({type(name) for name in classes}) == 1 else object)
