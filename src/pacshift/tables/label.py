"""Rows of a table to be labelled, drawn in one pass, and their scores when the labels come back."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import BoolArray, Label, RngLike
from pacshift.certification.label_sheet import LabelSheet
from pacshift.certification.label_sheet.file import COLUMNS
from pacshift.certification.label_sheet.plan import RowDraw, plan_sheet
from pacshift.certification.label_sheet.sheet import cell_text, class_places, drawn_sheet, sheet_seed
from pacshift.defaults import DELTA, EPSILON
from pacshift.progress import Progress
from pacshift.rows.arrow.records import score_rows
from pacshift.rows.arrow.source import Records, Tables, without_codes
from pacshift.rows.faults import Faults
from pacshift.tables.count import why_of
from pacshift.tables.labelled import planning_sample
from pacshift.tables.reader import TableReader
from pacshift.tables.sets import require_columns


@dataclass(frozen=True, slots=True, eq=False)
class TableSheet:
    """The label sheet of a table.

    Parameters
    ----------
    sheet : LabelSheet
        The rows to label.
    n_dropped : int
        Rows that were left out because they cannot be used.
    classes : tuple
        Class names, in the order of the score columns.
    n_rows : int
        Rows of the table in all: those that could be drawn, left out, and not chosen of their group.
    dropped_why : tuple of (str, int)
        Reasons for leaving rows out, each with its number of rows.
    """

    sheet: LabelSheet
    n_dropped: int
    classes: tuple[Label, ...]
    n_rows: int
    dropped_why: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class _Piece:
    """Rows of one batch: scores of the ``usable`` ones (None: all), and every column that was read."""

    n_rows: int
    scores: NDArray[np.floating[Any]]
    usable: BoolArray | None
    columns: Any


def label_table(
    paths: Tables,
    *,
    budget: int,
    looks: Sequence[int] = (),
    epsilon: float = EPSILON,
    delta: float = DELTA,
    rng: RngLike = None,
    keep: Sequence[str] = (),
    scores: str | None = None,
    classes: Sequence[Label] | None = None,
    by_position: bool = False,
    drop_invalid: bool = False,
    group: str | None = None,
    softmax: bool = False,
    progress: Progress | None = None,
) -> TableSheet:
    """As ``pacshift.label_sheet``, of a table of any size, read once; the same seed draws the same rows.

    Parameters
    ----------
    paths : path-like, sequence of path-like or frame
        The target: files, folders or a frame, as in ``tally_table``.
    budget : int
        How many rows to label at most.
    looks : sequence of int, optional
        After how many labelled rows you want to look before the budget is used up, increasing.
    epsilon : float, default 0.1
        The largest share of the target whose true label the sets may miss.
    delta : float, default 0.05
        The largest probability that they miss more.
    rng : int, numpy.random.Generator or None, optional
        Seed of the random order. None takes one from the operating system.
    keep : sequence of str, optional
        Columns to copy into the sheet, as text.
    scores : str, optional
        The score columns, as in ``tally_table``.
    classes : sequence, optional
        Class names, as in ``tally_table``.
    by_position : bool, default False
        Match columns to classes in their order, as in ``tally_table``.
    drop_invalid : bool, default False
        Leave out rows that cannot be used, instead of raising an error. Row numbers still count them.
    group : str, optional
        Column that names the group of each row: at most one row of each group is drawn, as in ``tally_table``.
    softmax : bool, default False
        Whether the scores are logits, in which a class may be ruled out with -inf.
    progress : callable, optional
        Called with the rows done so far and, where known, the rows in all.

    Returns
    -------
    TableSheet
        The sheet, and how many rows were left out.

    Raises
    ------
    InputError
        If a file cannot be read, columns are missing, rows cannot be used, or the sheet cannot be planned so.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "target.csv")
    >>> _ = path.write_text("id,p_cat,p_dog\\n" + "".join(f"{n},{n / 100},{1 - n / 100}\\n" for n in range(100)))
    >>> made = label_table(path, budget=40, keep=["id"], rng=1)
    >>> made.classes, made.sheet.kept["id"] == tuple(str(row) for row in made.sheet.rows)
    (('cat', 'dog'), True)
    >>> folder.cleanup()
    """
    plan, seed, keep = plan_sheet(budget, looks, epsilon=epsilon, delta=delta), sheet_seed(rng), tuple(keep)
    asked: dict[str, Any] = {"scores": scores, "classes": classes, "by_position": by_position, "group": group}
    reader = TableReader(paths, label=None, softmax=softmax, **asked)
    class_places(reader.layout.classes)  # refuses names that would not come back
    require_columns(keep, reader.source.schema.names, taken=COLUMNS)
    draw = RowDraw(plan.looks[-1], seed, len(reader.layout.classes))
    kept: dict[int, list[str]] = {}
    for piece in _pieces(reader, keep, drop_invalid=drop_invalid, progress=progress):
        first = draw.n_rows
        draw.add(piece.scores, piece.usable)
        kept |= {row: _cells(piece, row - first, keep) for row in draw.rows.tolist() if row >= first}
        kept = {row: kept[row] for row in draw.rows.tolist()}
    columns = {name: tuple(cells[place] for cells in kept.values()) for place, name in enumerate(keep)}
    numbers = None if reader.choice is None else reader.choice.places
    sheet = drawn_sheet(plan, draw, numbers, columns)
    faults = reader.faults
    return TableSheet(sheet, faults.n_rows, reader.layout.classes, reader.n_in_all, why_of(faults))


def _pieces(
    reader: TableReader, columns: Sequence[str], *, drop_invalid: bool, progress: Progress | None
) -> Iterator[_Piece]:
    def work(batch: Records) -> tuple[_Piece, Faults]:
        rows = score_rows(batch, reader.layout, softmax=reader.softmax)
        return _Piece(batch.data.num_rows, rows.scores, rows.kept, batch.data), rows.faults

    return reader.map_batches(work, columns=columns, drop_invalid=drop_invalid, progress=progress)


def _cells(piece: _Piece, place: int, keep: Sequence[str]) -> list[str]:
    return [cell_text(without_codes(piece.columns.column(name).slice(place, 1))[0].as_py()) for name in keep]


def sheet_scores(
    reader: TableReader, sheet: LabelSheet, *, drop_invalid: bool = False, progress: Progress | None = None
) -> tuple[NDArray[np.floating[Any]], NDArray[np.floating[Any]]]:
    """The scores of the sheet's rows, in the order of the sheet, and of a sample of the other rows.

    An InputError if this is another target, or if the sheet's seed draws other rows.
    """
    draw = RowDraw(len(sheet.rows), sheet.seed, len(reader.layout.classes))
    found = np.full((len(sheet.rows), len(reader.layout.classes)), np.nan)
    others = [found[:0]]
    for piece in _pieces(reader, (), drop_invalid=drop_invalid, progress=progress):
        first = draw.n_rows
        draw.add(piece.scores, piece.usable)
        every = np.full((piece.n_rows, found.shape[1]), np.nan)
        every[slice(None) if piece.usable is None else piece.usable] = reader.probabilities(piece.scores)
        rows = sheet.rows if reader.choice is None else np.searchsorted(reader.choice.places, sheet.rows)
        here = (rows >= first) & (rows < first + piece.n_rows)
        found[here] = every[rows[here] - first]
        every[rows[here] - first] = np.nan  # rows of the test must not be planned with
        others.append(planning_sample(every[np.isfinite(every).all(axis=1)]))
    files = ", ".join(map(str, reader.source.files[:3])) + (", ..." if len(reader.source.files) > 3 else "")
    sheet.require_target(draw, None if reader.choice is None else reader.choice.places, files or "the frame")
    return found, np.concatenate(others)
