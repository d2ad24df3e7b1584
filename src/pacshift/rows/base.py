"""What every kind of rows gives: checked batches, any number of times, and what is known about the whole.

``Rows.map`` is the one way to the data. A fold (``pacshift.rows.fold``) is a function of a batch and a sum; a verb
is a few folds. A verb never asks what kind of rows it has: it asks ``again`` and ``labels``.
"""

import logging
import re
from abc import ABC, abstractmethod
from collections import Counter as Reasons
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from operator import add
from time import perf_counter
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import BoolArray, IntArray, KeyArray, Label
from pacshift.defaults import DROPPED_SHARE
from pacshift.errors import InputError, param
from pacshift.parallel import map_in_order
from pacshift.progress import Progress
from pacshift.rows.columns import Columns
from pacshift.scores.check import ScoreMatrix
from pacshift.scores.names import shorten, suggest_names
from pacshift.scores.transforms import Transform, TransformFunction, resolve_transform, to_probabilities
from pacshift.tally import Tally
from pacshift.tally.counter import Counter, CountOptions
from pacshift.tally.inputs import Grouped, Input, Role, why_in_words
from pacshift.words.numbers import given, percent, plural
from pacshift.words.visible import visible

logger = logging.getLogger(__name__)

Matrix: TypeAlias = NDArray[np.floating[Any]]
T = TypeVar("T")

NO_LABEL = -2
"""Instead of a column: the row has no label, where only some rows have one."""

RereadCost: TypeAlias = Literal["cheap", "expensive", "never"]
"""What it costs to read rows once more: memory, files and frames, a cluster. A promise of the kind of rows: a
small file that is kept in memory is still dear, or thresholds would depend on what fits."""

Labels: TypeAlias = Literal["all", "some", "none"]
"""Which rows have a label. With ``all`` a row without one cannot be used."""

Doing: TypeAlias = Literal[
    "counting",
    "checking",
    "measuring the sets",
    "reading the labelled target",
    "reading rows to plan with",
    "reading rows to tune thresholds with",
    "reading top scores",
    "estimating what labels would bring",
    "drawing rows",
    "finding thresholds (%)",
    "comparing methods",
]
"""What a pass or another long step is for, told to whoever watches."""

Watch: TypeAlias = "Callable[[CheckedRows, Doing], AbstractContextManager[Progress | None]]"
"""Around every long step: an adapter shows a bar, and says what was left out."""


BAD_SCORES = "scores that are null, NaN or infinite, or a list of another length"
LARGE_SCORES = "scores beyond single precision (3.4e38)"
WITHOUT_LABEL = "no label"
NO_GROUP = "no group id"


@dataclass(slots=True)
class Faults:
    """Rows that cannot be used: how many, why, and where the first is. Adds up over batches in order."""

    n_rows: int = 0
    reasons: Reasons[str] = field(default_factory=Reasons)
    first: str = ""
    n_unknown: int = 0
    first_unknown: str = ""

    def add(self, other: "Faults") -> None:
        """Count another batch's faults; it must come later in the table."""
        self.n_rows += other.n_rows
        self.reasons += other.reasons
        self.first = self.first or other.first
        self.n_unknown += other.n_unknown
        self.first_unknown = self.first_unknown or other.first_unknown

    def raise_if_any(
        self, classes: tuple[Label, ...], *, drop_invalid: float, n_rows: int, n_usable: int = 1
    ) -> None:
        """Unknown labels are never dropped: to leave a class out changes what is estimated.

        ``drop_invalid`` is the share of all ``n_rows`` that may be.
        """
        if self.n_unknown:
            is_number = re.match(r"'[-+]?[.0-9]", self.first_unknown)
            position = re.match(r"'?([0-9]+)'? in ", self.first_unknown)
            remedy = suggest_names([position[1]], classes) if position else ""
            hint = " Names are compared as text: '01' and '1.0' are not 1." if is_number and not remedy else ""
            raise InputError(
                f"{plural(self.n_unknown, 'label')} not among the classes, the first is {self.first_unknown}. The "
                f"classes are {shorten(classes)}.{hint}"
                + (remedy or f" Correct the labels, or name the classes as the labels do: {param('classes=')}.")
            )
        if self.n_rows and not n_usable:
            raise InputError(f"the table has no usable row: {self.in_words}. At least one is needed.")
        if self.n_rows and not drop_invalid:
            raise InputError(f"{self.in_words}. Fix them, or leave them out with {param('drop_invalid=True')}.")
        require_few(self.n_rows, n_rows, drop_invalid, self.in_words)

    @property
    def in_words(self) -> str:
        """How many rows, why, and where the first is."""
        return (
            f"{plural(self.n_rows, 'row')} cannot be used{why_in_words(list(self.reasons.items()))}, the first is "
            f"{self.first}"
        )

    @property
    def why(self) -> tuple[tuple[str, int], ...]:
        """Reasons, each with its number of rows."""
        return tuple(sorted(self.reasons.items()))


def resolve_drop(drop_invalid: bool | float) -> float:
    """The share of rows that may be left out.

    >>> resolve_drop(False), resolve_drop(True), resolve_drop(0.3)
    (0.0, 0.05, 0.3)
    """
    if isinstance(drop_invalid, (bool, np.bool_)):
        return DROPPED_SHARE if drop_invalid else 0.0
    if not isinstance(drop_invalid, (int, float, np.number)):
        raise InputError(
            f"{param('drop_invalid')} must be True, False or the share of rows that may be left out, got "
            f"{drop_invalid!r}."
        )
    if not 0 <= drop_invalid <= 1:
        raise InputError(f"{param('drop_invalid=SHARE')} must lie between 0 and 1, got {float(drop_invalid):g}.")
    return float(drop_invalid)


def require_few(n_dropped: int, n_rows: int, at_most: float, what: str, unit: str = "rows") -> None:
    """Refuse to leave out more than a share of the rows, or groups: what is promised is about the others."""
    if n_dropped > at_most * n_rows:
        raise InputError(
            f"{what}. That is {percent(n_dropped / n_rows)} of {n_rows:,} {unit}, and at most {given(at_most)} "
            "may be left out: nothing is promised for them. Fix them, or allow more: "
            f"{param('drop_invalid=SHARE')}."
        )


class Batch(ABC):
    """Some rows. Memory gives all of them as one batch, files about a million scores at a time.

    ``n_rows`` stood here, ``first`` stand before them in the whole table. ``kept`` marks those that can be used
    (None: all), and ``faults`` says why the others cannot. ``raw_scores``, ``scores`` and ``labels`` hold the
    usable ones only. Nothing is read before it is asked for.
    """

    first: int
    file: str
    faults: Faults

    @property
    @abstractmethod
    def n_rows(self) -> int: ...

    @property
    def kept(self) -> BoolArray | None:
        """Which of the ``n_rows`` can be used; None: all, or an error."""
        return None

    @property
    @abstractmethod
    def raw_scores(self) -> Matrix:
        """Scores as they came: logits stay logits. Fingerprints and the order within a group are made of them."""

    @property
    @abstractmethod
    def scores(self) -> Matrix:
        """Scores as they are counted and compared: the softmax of logits."""

    @property
    @abstractmethod
    def labels(self) -> IntArray | None:
        """The column of each label, ``NO_LABEL`` where a row may lack one."""

    @abstractmethod
    def count(self, counter: Counter) -> None:
        """Add the usable rows to a counter, in the cheapest way."""

    @abstractmethod
    def take(self, places: IntArray) -> "Batch":
        """Some rows, by their place among all ``n_rows``."""

    @abstractmethod
    def group_names(self) -> tuple[KeyArray, BoolArray | None]:
        """The hash of the name of each row's group, of all ``n_rows``, and which rows name none."""

    def leave_out(self, rows: BoolArray, why: str) -> None:
        """Count rows that cannot be used for another reason among the faults. In memory they are refused."""
        raise NotImplementedError

    def cells(self, place: int, columns: Sequence[str]) -> list[Any]:
        """Values of other columns in one of the ``n_rows``. Rows in memory have none."""
        assert not columns, "only a table has other columns"
        return []


@dataclass(slots=True)
class FileRows:
    """Rows of one file in a pass: in all, those that were given, and what is wrong with the others."""

    n_rows: int = 0
    n_given: int = 0
    faults: Faults = field(default_factory=Faults)


@dataclass(slots=True)
class ScanReport:
    """What a pass over rows has found, by file."""

    files: dict[str, FileRows] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Rows in all: given, left out, and not chosen of their group."""
        return sum(file.n_rows for file in self.files.values())

    @property
    def n_given(self) -> int:
        """Rows that can be used and, with groups, were chosen."""
        return sum(file.n_given for file in self.files.values())

    @property
    def faults(self) -> Faults:
        """What is wrong with rows of all files."""
        total = Faults()
        for file in self.files.values():
            total.add(file.faults)
        return total


def watch_with(progress: Progress | None) -> Watch:
    """A watch that tells a callable how far each pass is."""
    return lambda _rows, _doing: nullcontext(progress)


no_progress = watch_with(None)


@dataclass(eq=False, kw_only=True, repr=False)
class CheckedRows(ABC):
    """A table of scores that can be folded any number of times, its rows in the same order each time."""

    name: str
    """What messages call it: source, target, check, table."""
    role: Role
    """What a row is a draw of. Labels of a source are part of a row; those of a target are only known of it."""
    classes: tuple[Label, ...]
    labels: Labels = "none"
    softmax: bool = False
    drop_invalid: float = 0.0
    """Share of rows that may be left out because they cannot be used."""
    grid: bool = False
    """Whether true-label scores are counted on the grid, unless something else is asked for."""
    columns: Columns | None = None
    """The columns of a table, which a certificate remembers; None in memory."""
    described: str = "the target"
    """The table in a message about another one: its files."""
    watch: Watch = no_progress
    reread_cost: RereadCost = "expensive"
    is_one_batch: ClassVar[bool] = False
    """Whether all rows come as one batch, on which work is parallel inside."""
    last_scan: ScanReport = field(default_factory=ScanReport)
    """What the last pass has found; views of the same rows share it."""

    def __repr__(self) -> str:
        has = {"all": "labelled", "some": "partly labelled", "none": "unlabelled"}[self.labels]
        return f"<{has} rows of {visible(self.described)}, {len(self.classes)} classes>"

    @abstractmethod
    def batches(self, keep: Sequence[str] = ()) -> Iterator[Batch]:
        """All rows in order; ``keep`` are other columns that are read beside scores and labels."""

    @abstractmethod
    def without_labels(self) -> "CheckedRows":
        """The same rows as if they had no labels; what was read or chosen stays so."""

    def requiring_labels(self) -> "CheckedRows":
        """The same rows, of which none without a label can be used."""
        return replace(self, labels="all")

    @property
    def grouped(self) -> Grouped | None:
        """Of how many rows one per group is given; None where every row is."""
        return None

    @property
    def every(self) -> "CheckedRows":
        """All rows of the table, also where one of each group is given."""
        return self

    @property
    def numbers(self) -> IntArray | None:
        """The rows' numbers in the whole table, where one of each group is given."""
        return None

    @property
    def column_names(self) -> Sequence[str]:
        """The columns that can be kept."""
        return ()

    def count_rows(self) -> int | None:
        """Rows in all, or None where only a pass would tell."""
        return None

    def begin(self, keep: Sequence[str], progress: Progress | None) -> ScanReport:
        """What is known before a pass, or has to be found first."""
        return ScanReport()

    def map(
        self, work: Callable[[Batch], T], *, keep: Sequence[str] = (), progress: Progress | None = None
    ) -> Iterator[T]:
        """``work`` of every batch, in order, on all cores.

        Rows that cannot be used raise at the end, so that all of them are counted, or are left out.
        """

        def run_on(batch: Batch) -> tuple[Batch, T]:
            return batch, work(batch)

        jobs = (partial(run_on, batch) for batch in self.batches(keep))
        total = self.count_rows() if progress else None
        scan = self.begin(keep, progress)
        self.last_scan.files = scan.files
        is_first, bad, n_done = not scan.files, scan.faults, 0
        for batch, result in (job() for job in jobs) if self.is_one_batch else map_in_order(jobs):
            rows_of_file = scan.files.setdefault(batch.file, FileRows())
            rows_of_file.n_given += batch.n_rows - batch.faults.n_rows
            rows_of_file.n_rows += batch.n_rows if is_first else 0
            rows_of_file.faults.add(batch.faults)
            bad.add(batch.faults)
            n_done += batch.n_rows
            if self.drop_invalid or not bad.n_rows:
                yield result
            if progress:
                progress(n_done, total)
        bad.raise_if_any(self.classes, drop_invalid=self.drop_invalid, n_rows=scan.n_rows, n_usable=scan.n_given)
        if not scan.n_given:
            raise InputError("the table has no usable row. At least one is needed.")

    def fold(
        self, work: Callable[[Batch], T], doing: Doing, *, keep: Sequence[str] = (), every: bool = False
    ) -> Iterator[T]:
        """The results of a pass, shown to whoever watches.

        Batches without a usable row are passed over, unless ``every`` batch is wanted because its rows have
        numbers. A fold must be run to its end, or a bar stays open.
        """

        def of_usable(batch: Batch) -> T | None:
            return work(batch) if every or len(batch.raw_scores) else None

        with self.watch(self, doing) as progress:
            for result in self.map(of_usable, keep=keep, progress=progress):
                if result is not None:
                    yield result

    def total(self, work: Callable[[Matrix], IntArray]) -> IntArray:
        """The sum of ``work`` of the scores of all batches."""
        return reduce(add, self.without_labels().fold(lambda batch: work(batch.raw_scores), "measuring the sets"))

    def tally(
        self,
        score: str | TransformFunction | Transform = "probability",
        *,
        soft: bool = True,
        bins: bool = True,
        grid: bool | None = None,
        predicted: bool = True,
        sha256: bool = False,
    ) -> Tally:
        """The counts of all rows, as a source or as a target whose labels are not looked at.

        They equal ``Tally.from_scores(..., grid=True)`` of the whole table bit for bit, whatever the batches.

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
        predicted : bool, default True
            Count predicted labels too. False is for methods that need none; ``soft`` and ``bins`` do not matter.
        sha256 : bool, default False
            List the SHA-256 of every file in the tally's ``inputs``. Files are read once more for it.

        Returns
        -------
        Tally
            The counts, and where they came from. ``last_scan`` says how many rows were counted and left out.

        Raises
        ------
        InputError
            If rows cannot be read or used.

        Examples
        --------
        >>> import pandas
        >>> from pacshift import read
        >>> table = pandas.DataFrame({"p_cat": [0.9, 0.3], "p_dog": [0.1, 0.7], "animal": ["cat", "dog"]})
        >>> read(table, label="animal").tally().confusion.tolist()
        [[1, 0], [0, 1]]
        """
        rows = self if self.labels == "all" and self.role == "source" else self.without_labels()
        on_grid = self.grid if grid is None else grid
        options = CountOptions(resolve_transform(score), on_grid, soft, bins, predicted)
        start = perf_counter()
        with self.watch(rows, "counting") as progress, self.hashes() if sha256 else nullcontext({}) as hashes:
            counts = rows.count(options, progress)
            digests = {file: each.result() for file, each in hashes.items()}
        n_rows = counts.n_source + counts.n_target
        logger.info("counted %d rows of the %s in %.2f s", n_rows, self.name, perf_counter() - start)
        if rows.labels == "all":
            rows.require_plausible(counts.class_counts)
        return replace(counts, inputs=rows.inputs(rows.last_scan, digests), softmax=self.softmax)

    def count(self, options: CountOptions, progress: Progress | None) -> Tally:
        """The counts of one pass."""
        counter = Counter(len(self.classes), options, labelled=self.labels == "all")
        for _ in self.map(lambda batch: batch.count(counter), progress=progress):
            pass
        return Tally.from_counter(counter, self.classes, self.grouped)

    def arrays(self) -> tuple[Matrix, Any]:
        """All scores and the names of the labels, or None: for what needs every row at once.

        Returns
        -------
        scores : numpy.ndarray of shape (n, K)
            Of logits the softmax.
        labels : numpy.ndarray of shape (n,) or None
            Names among ``classes``; None for rows without one, where only some have a label.

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
        parts = list(self.map(lambda batch: (batch.raw_scores, batch.labels)))
        values = np.concatenate([scores for scores, _ in parts])
        if self.softmax:
            values = to_probabilities(ScoreMatrix(values, self.classes), name=f"the {self.name}").values
        if self.labels == "none":
            return values, None
        index = np.concatenate([labels for _, labels in parts if labels is not None])
        if self.labels == "some":
            return values, np.array([*self.classes, None, None], object)[index]  # NO_LABEL is the last but one
        own_type = len({type(name) for name in self.classes}) == 1
        return values, np.array(self.classes, None if own_type else object)[index]

    def require_plausible(self, class_counts: IntArray) -> None:  # noqa: B027  # a cluster has looked before
        """Refuse a column such as ``id`` that was taken for a class: no row has its label."""

    def hashes(self) -> "AbstractContextManager[Mapping[str, Any]]":
        """SHA-256 of the files, computed beside a pass."""
        return nullcontext({})

    def inputs(self, scan: ScanReport, digests: Mapping[str, str]) -> tuple[Input, ...]:
        """What a tally says about where the rows came from."""
        return ()
