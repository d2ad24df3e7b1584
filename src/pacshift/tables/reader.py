"""A table and its columns: batches are worked on by all cores, results come in order, memory stays bounded."""

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from pacshift.arrays import IntArray, Label
from pacshift.certificate import Certificate
from pacshift.errors import InputError
from pacshift.parallel import map_ordered
from pacshift.progress import Progress
from pacshift.rows.arrow.files import open_source
from pacshift.rows.arrow.find import find_layout
from pacshift.rows.arrow.layout import Asked
from pacshift.rows.arrow.records import ScoreRows, score_rows
from pacshift.rows.arrow.source import Records, Tables
from pacshift.rows.arrow.table import read_rows
from pacshift.rows.faults import Faults
from pacshift.scores.check import ScoreMatrix
from pacshift.scores.transforms import softmax, to_probabilities
from pacshift.tables.groups import BatchKeys, Choice, batch_keys
from pacshift.tally.groups import Grouped, LabelsPer
from pacshift.tally.once import Role

MAX_KEPT_BYTES = 1 << 26
"""A table up to this size (64 MB) is kept in memory when it is needed twice; a larger one is read twice."""

_Result = TypeVar("_Result")
_Work: TypeAlias = Callable[[Records], tuple[_Result | None, Faults]]


class TableReader:
    """A table and its layout.

    After ``map_batches`` or ``map_rows``, ``n_rows`` counts the rows read, ``faults`` those that cannot be used,
    ``faults_of`` these by file, ``usable_rows`` the others by file, and ``rows_of`` all rows by file, also those
    that were not chosen of their group. ``asked`` says which columns are meant, as in ``Asked``. With ``keep`` a
    small table stays in memory, so that reading it again costs nothing. With ``softmax`` it holds logits.

    If a group is asked for, only one row of each group is read, as ``choice`` says. ``within`` gives the period of
    each row, where there is one row per group and period. With ``some_labels`` rows are those of a target, some of
    which have a label, and ``labels_per`` says how these were chosen, as in ``choose_labelled``.
    """

    def __init__(
        self,
        paths: Tables,
        *,
        keep: bool = False,
        softmax: bool = False,
        some_labels: bool = False,
        labels_per: LabelsPer | None = None,
        within: Callable[[Records], IntArray] | None = None,
        **asked: Any,
    ) -> None:
        wanted = Asked(**asked)
        self.source = open_source(paths, label=wanted.label, scores=wanted.scores, columns=wanted.columns)
        self.layout = find_layout(self.source, wanted)
        self.softmax = softmax
        self.n_rows, self.faults = 0, Faults()
        self.usable_rows: dict[str, int] = {}
        self.rows_of: dict[str, int] = {}
        self.choice: Choice | None = None
        self._some_labels, self._labels_per, self._within = some_labels, labels_per, within
        self.faults_of: dict[str, Faults] = {}
        self._keep, self._kept = keep, list[Records]()

    @classmethod
    def for_certificate(cls, certificate: Certificate, paths: Tables, **options: Any) -> "TableReader":
        """A reader of the columns that the certificate was made from, or of those that are asked for."""
        known: dict[str, Any] = {"classes": certificate.classes, "columns": certificate.columns}
        return cls(paths, softmax=certificate.softmax, **known, **options)

    @property
    def n_in_all(self) -> int:
        """Rows of the table: read, left out, and not chosen of their group."""
        return sum(self.rows_of.values())

    @property
    def n_usable(self) -> int:
        """Rows that were not left out."""
        return self.n_rows - self.faults.n_rows

    def probabilities(self, scores: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
        """Rows as they are counted: the softmax of logits."""
        return softmax(scores) if self.softmax else scores

    @property
    def grouped(self) -> Grouped | None:
        """How many rows there were of which one per group was read; None where every row was."""
        return None if self.choice is None else Grouped(self.choice.n_rows)

    def map_batches(
        self,
        work: "_Work[_Result]",
        *,
        columns: Sequence[str] = (),
        drop_invalid: bool = False,
        progress: Progress | None = None,
    ) -> Iterator[_Result]:
        """``work`` of every batch, in order; ``columns`` are read beside scores and label.

        Faulty rows raise at the end, so that all of them are counted.
        """
        batches = self._batches(columns)
        if self.layout.group is not None:
            choice = self.choose(columns, drop_invalid=drop_invalid, progress=progress)
            batches = choice.only(batches, self.layout)
        yield from self._run(work, batches, drop_invalid=drop_invalid, progress=progress)

    def choose(
        self, columns: Sequence[str] = (), *, drop_invalid: bool = False, progress: Progress | None = None
    ) -> Choice:
        """One row of each group, in a pass of its own, once."""
        if self.choice is None:

            def keys(batch: Records) -> tuple[BatchKeys, Faults]:
                flags = {"some_labels": self._some_labels, "softmax": self.softmax}
                return batch_keys(batch, self.layout, self._periods(batch), **flags)

            batches = self._batches(columns)
            parts = list(self._run(keys, batches, drop_invalid=drop_invalid, progress=progress))
            role: Role = "target" if self._some_labels or self.layout.label is None else "source"
            chosen = Choice.of(parts, role, self._labels_per)
            self.choice = replace(chosen, faults=self.faults, faults_of=self.faults_of, rows_of=self.rows_of)
        return self.choice

    def choose_as(self, other: "TableReader", *, drop_invalid: bool) -> None:
        """Read the rows that ``other`` chooses of the same table."""
        self.choice = other.choose(drop_invalid=drop_invalid)

    def _periods(self, batch: Records) -> IntArray | None:
        return None if self._within is None else self._within(batch)

    def _run(
        self,
        work: "_Work[_Result]",
        batches: Iterator[Records],
        *,
        drop_invalid: bool,
        progress: Progress | None,
    ) -> Iterator[_Result]:
        """``work`` of every batch. Once rows are chosen, faulty ones are known and not among them."""
        self.faults, self.faults_of, self.rows_of = Faults(), {}, {}
        if self.choice is not None:
            self.faults, self.faults_of = deepcopy((self.choice.faults, self.choice.faults_of))
            self.rows_of = self.choice.rows_of
        self.n_rows, self.usable_rows = self.faults.n_rows, {}
        total = self.source.count_rows() if progress else None
        jobs = (partial(_on_sound, work, batch) for batch in batches)
        for batch, result, faults in map_ordered(jobs):
            self.n_rows += batch.data.num_rows
            if self.choice is None:
                self.rows_of[batch.file] = self.rows_of.get(batch.file, 0) + batch.data.num_rows
            usable = batch.data.num_rows - faults.n_rows
            self.usable_rows[batch.file] = self.usable_rows.get(batch.file, 0) + usable
            for all_faults in (self.faults, self.faults_of.setdefault(batch.file, Faults())):
                all_faults.add(faults)
            if result is not None and (drop_invalid or not self.faults.n_rows):
                yield result
            if progress:
                progress(self.n_rows, total)
        self.faults.raise_if_any(self.layout.classes, drop_invalid=drop_invalid, n_usable=self.n_usable)
        if not self.n_usable:
            raise InputError("the table has no usable row. At least one example is needed.")

    def map_rows(self, work: Callable[[ScoreRows, Records], _Result], **options: Any) -> Iterator[_Result]:
        """``work`` of the usable rows of every batch, in order; options as in ``map_batches``."""

        def on_rows(batch: Records) -> tuple[_Result | None, Faults]:
            rows = score_rows(batch, self.layout, softmax=self.softmax)
            return work(rows, batch) if len(rows.scores) else None, rows.faults

        return self.map_batches(on_rows, **options)

    def _batches(self, columns: Sequence[str]) -> Iterator[Records]:
        if self._kept:
            yield from self._kept
            return
        kept, n_bytes = list[Records](), 0
        for batch in self.layout.batches(self.source, columns):
            if self._keep:
                batch.require_sound()  # counting its bytes looks at offsets
                n_bytes += batch.data.nbytes
                kept.append(batch)
                if n_bytes > MAX_KEPT_BYTES:
                    self._keep, kept = False, []
            yield batch
        self._kept = kept


def _on_sound(work: "_Work[_Result]", batch: Records) -> tuple[Records, _Result | None, Faults]:
    batch.require_sound()
    return (batch, *work(batch))


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
