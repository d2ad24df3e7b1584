"""Rows of a table to be labelled, drawn in one pass."""

from collections.abc import Sequence
from dataclasses import dataclass

from pacshift.arrays import Label, RngLike
from pacshift.certification.label_sheet import LabelSheet
from pacshift.certification.label_sheet.file import COLUMNS
from pacshift.certification.label_sheet.plan import RowDraw, SheetPlan, plan_sheet
from pacshift.certification.label_sheet.sheet import cell_text, class_places, drawn_sheet, sheet_seed
from pacshift.defaults import DELTA, EPSILON
from pacshift.progress import Progress
from pacshift.rows.arrow.source import Tables
from pacshift.rows.arrow.table import read_rows
from pacshift.rows.base import Batch, Rows, told
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
    rows = read_rows(
        paths,
        scores=scores,
        classes=classes,
        by_position=by_position,
        group=group,
        softmax=softmax,
        drop_invalid=drop_invalid,
        keep=False,
        watch=told(progress),
    )
    sheet = label_rows(rows, plan, seed, keep)
    faults = rows.last.faults
    return TableSheet(sheet, faults.n_rows, rows.classes, rows.last.n_rows, faults.why)


def label_rows(rows: Rows, plan: SheetPlan, seed: int, keep: Sequence[str] = ()) -> LabelSheet:
    """The verb: draw rows in one pass, and copy the columns to ``keep`` of those that were drawn."""
    class_places(rows.classes)  # refuses names that would not come back
    require_columns(keep, rows.column_names, taken=COLUMNS)
    draw, kept = RowDraw(plan.looks[-1], seed, len(rows.classes)), dict[int, list[str]]()

    def read(batch: Batch) -> Batch:
        _ = batch.given  # on all cores; what follows is one batch after the other
        return batch

    for batch in rows.fold(read, "drawing rows", keep=keep, every=True):
        first = draw.n_rows
        draw.add(batch.given, batch.kept)
        for row in (row for row in draw.rows.tolist() if row >= first):
            kept[row] = [cell_text(cell) for cell in batch.cells(row - first, keep)]
        kept = {row: kept[row] for row in draw.rows.tolist()}
    columns = {name: tuple(cells[place] for cells in kept.values()) for place, name in enumerate(keep)}
    return drawn_sheet(plan, draw, rows.numbers, columns)
