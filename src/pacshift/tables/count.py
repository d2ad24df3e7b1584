"""Tables to tallies: each batch is counted, the counts are added; memory does not grow with the rows."""

from collections.abc import Sequence
from dataclasses import dataclass

from pacshift.arrays import Label
from pacshift.progress import Progress
from pacshift.rows.arrow.source import Tables
from pacshift.rows.arrow.table import read_rows
from pacshift.rows.base import told
from pacshift.rows.columns import Columns
from pacshift.rows.fold import tally
from pacshift.scores.transforms import TransformFunction, resolve_transform
from pacshift.tally import Tally


@dataclass(frozen=True, slots=True, eq=False)
class TableTally:
    """The counts of a table.

    Parameters
    ----------
    tally : Tally
        The counts.
    n_rows : int
        Rows that were counted.
    n_dropped : int
        Rows that were left out because they cannot be used.
    columns : Columns
        The columns that were read.
    dropped_why : tuple of (str, int)
        Reasons for leaving rows out, each with its number of rows.
    """

    tally: Tally
    n_rows: int
    n_dropped: int
    columns: Columns
    dropped_why: tuple[tuple[str, int], ...] = ()

    @property
    def n_usable(self) -> int:
        """Rows that can be used. More than were counted if one row of each group was."""
        grouped = self.tally.source_grouped or self.tally.target_grouped
        return self.n_rows if grouped is None else grouped.rows


def tally_table(
    paths: Tables,
    *,
    label: str | None,
    scores: str | None = None,
    classes: Sequence[Label] | None = None,
    by_position: bool = False,
    score: str | TransformFunction = "probability",
    grid: bool = True,
    soft: bool = True,
    bins: bool = True,
    softmax: bool = False,
    drop_invalid: bool = False,
    sha256: bool = False,
    group: str | None = None,
    progress: Progress | None = None,
) -> TableTally:
    """Count a table of any size; without ``label`` it is an unlabelled target.

    The counts equal ``Tally.from_scores(..., grid=True)`` of the whole table bit for bit, whatever the batches.

    Parameters
    ----------
    paths : path-like, sequence of path-like or frame
        Parquet, Feather, CSV or NPZ files, or folders of them. All together are one table. Or a frame of pandas or
        polars, a lazy frame of polars, a relation of DuckDB, or anything else with ``__arrow_c_stream__``. Frames
        are read in batches; there is no copy of the whole.
    label : str or None
        Column of the true labels; None for an unlabelled target.
    scores : str, optional
        The score columns: a pattern whose star stands for the class name (``"p_*"``), a comma list of columns, or
        one column of lists. Default: ``"p_*"`` if there are such columns, else those named after the classes
        or, in a labelled table, after the labels.
    classes : sequence, optional
        Class names. Columns are matched to them by name. Default: what the star stands for, else the names of the
        columns, for lists 0 to K-1. Names that are all whole numbers become ints. Names of labels, classes and
        columns are compared as text: 1 and "1" are the same, "01" is another name.
    by_position : bool, default False
        Match the score columns to ``classes`` in the order in which they stand in the table, if their names do
        not tell.
    score : str or callable, default "probability"
        Transform of the scores that thresholds are compared with.
    grid : bool, default True
        Round true-label scores down to 12 bits of mantissa. False keeps every score: memory grows with the rows.
    soft : bool, default True
        Keep sums of probabilities, which only PS-R and WCP use.
    bins : bool, default True
        Keep a target's scores in coarse bins, by which PS-LP finds the smallest sets.
    softmax : bool, default False
        Whether the scores are logits, of which the softmax is counted. The tally remembers it.
    drop_invalid : bool, default False
        Leave out rows without a label or with non-numeric scores, instead of raising an error.
    sha256 : bool, default False
        List the SHA-256 of every file in the tally's ``inputs``. Files are read once more for it.
    group : str, optional
        Column that names the group of each row, such as the patient. Rows of one group are not independent, so one
        random row of each group is counted: ``Tally.from_scores(..., groups=...)`` chooses the same rows. Files
        are read once more for it, and memory grows with the rows: about 40 bytes each.
    progress : callable, optional
        Called with the rows done so far and, where known, the rows in all.

    Returns
    -------
    TableTally
        The counts, and how many rows were counted and left out.

    Raises
    ------
    InputError
        If a file cannot be read, columns are missing, or rows cannot be used.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "scores.csv")
    >>> _ = path.write_text("p_cat,p_dog,animal\\n0.9,0.1,cat\\n0.3,0.7,dog\\n0.6,0.4,dog\\n")
    >>> tally_table(path, label="animal").tally.confusion.tolist()
    [[1, 1], [0, 1]]
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
        grid=grid,
        keep=False,
        watch=told(progress),
    )
    found = tally(rows, resolve_transform(score), soft=soft, bins=bins, hashed=sha256)
    assert rows.columns is not None  # a table has some
    faults = rows.last.faults
    return TableTally(found, rows.last.n_given, faults.n_rows, rows.columns, faults.why)
